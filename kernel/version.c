/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which Margay this is: what git says of the tree, and of which options, by the Makefile. Another
 * commit compiles it anew.
 */
#include <margay/host.h>

const char *host_version(void)
{
	return MARGAY_VERSION;
}

const char *host_image(void)
{
	return MARGAY_IMAGE;
}

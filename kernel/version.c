/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Margay this is: what git says of the tree, by the Makefile. A file of its own, as another commit compiles it anew. */
#include <margay/host.h>

const char *host_version(void)
{
	return MARGAY_VERSION;
}

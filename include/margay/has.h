/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the judges of VM files, kernels and the command line ask of the image: has it an option?
 * They are margay-check's as well, which has them with all options, and asks the image at hand
 * (tools/image_options.c).
 */
#ifndef MARGAY_HAS_H
#define MARGAY_HAS_H

#include <margay/types.h>

/*
 * HAS_WORD(): a word that an option brings, in a list; behind a `!` that option, where the word is
 * not sure.
 */
#ifdef MARGAY_CHECK
bool image_has(const char *option);
#define HAS(option) (IS_ENABLED(option) && image_has(#option))
#define HAS_WORD(option, word) word "!" #option
#else
static inline bool image_has(const char *)
{
	return false; /* what is asked for by its name is not there */
}
#define HAS(option) IS_ENABLED(option)
#define HAS_WORD(option, word) (IS_ENABLED(option) ? word : word "!" #option)
#endif

#endif

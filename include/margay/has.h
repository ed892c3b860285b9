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

/*
 * IF_ENABLED(option, (THIS), (THAT)): one of the two, without its parentheses, by whether the image
 * has the option. What is not taken is not compiled.
 */
#define MARGAY_BARE(...) __VA_ARGS__
#define MARGAY_PICK_1(yes, no) MARGAY_BARE yes
#define MARGAY_PICK_0(yes, no) MARGAY_BARE no
#define MARGAY_PICK2(on, yes, no) MARGAY_PICK_##on(yes, no)
#define MARGAY_PICK(on, yes, no) MARGAY_PICK2(on, yes, no)
#define IF_ENABLED(option, yes, no) MARGAY_PICK(IS_ENABLED(option), yes, no)

#endif

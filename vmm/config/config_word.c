/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a value that is one word of several, some of which an option of the image brings
 * (HAS_WORD()).
 */
#include "vmm/config/config_parse.h"

#include <margay/string.h>

/* The word of a list's entry, and what the image lacks for it; NULL: nothing. */
static struct span word_of(const char *entry, const char **lacks)
{
	struct span option = { entry, strlen(entry) };
	bool named;
	struct span word = span_part(&option, '!', &named);

	*lacks = named && !image_has(option.p) ? option.p : NULL;
	return word;
}

static bool any_of(const char *const *words)
{
	const char *lacks = "";

	while (*words && lacks)
		word_of(*words++, &lacks);
	return !lacks;
}

int config_word(struct parser *p, const char *key, struct span v, const char *const *words,
		unsigned *out)
{
	char expected[80] = "";

	for (unsigned i = 0; words[i]; i++) {
		size_t used = strlen(expected);
		const char *lacks;
		struct span word = word_of(words[i], &lacks);

		if (v.n == word.n && !memcmp(v.p, word.p, v.n)) {
			*out = i;
			return lacks ? config_fail(p, "%s = %.*s: needs %s", key, (int)word.n,
						   word.p, lacks)
				     : 0;
		}
		if (!lacks) {
			const char *before = any_of(words + i + 1) ? ", " : " or ";

			snprintf(expected + used, sizeof(expected) - used, "%s%.*s",
				 used ? before : "", (int)word.n, word.p);
		}
	}
	return config_wrong(p, key, expected, v);
}

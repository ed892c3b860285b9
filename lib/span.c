/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: <margay/span.h>. */
#include <margay/span.h>
#include <margay/string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

int hex_digit(char c)
{
	char letter = c | 0x20;

	if (c >= '0' && c <= '9')
		return c - '0';
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

struct span span_of(const char *text)
{
	return (struct span){ text, strlen(text) };
}

static void advance(struct span *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

struct span span_trim(struct span s)
{
	while (s.n && blank(s.p[0]))
		advance(&s, 1);
	while (s.n && blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool span_is(struct span s, const char *word)
{
	return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

bool span_skip(struct span *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (s->n < n || memcmp(s->p, prefix, n) != 0)
		return false;
	advance(s, n);
	return true;
}

struct span span_part(struct span *s, char end, bool *found)
{
	struct span part = { s->p, 0 };

	while (part.n < s->n && s->p[part.n] != end)
		part.n++;
	*found = part.n < s->n;
	advance(s, part.n + *found);
	return part;
}

bool span_number(struct span *s, unsigned base, u64 *out)
{
	const char *start = s->p;
	u64 v = 0;

	for (; s->n; advance(s, 1)) {
		int digit = hex_digit(s->p[0]);

		if (digit < 0 || digit >= (int)base)
			break;
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*out = v;
	return s->p > start;
}

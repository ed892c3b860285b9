/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the printf subset that include/margay/string.h describes (ISO C 7.21.6.1). */
#include "lib/libc_name.h"

struct output {
	char *buf;
	size_t size; /* of buf, terminator included */
	size_t len;  /* of the whole text so far, stored or not */
};

/* One conversion specification. */
struct spec {
	bool left;
	bool zero;
	bool alt;
	int width;
	int precision; /* -1: none */
	bool is_long; /* long, long long and size_t are all 64 bits wide */
};

static void put(struct output *out, char c)
{
	if (out->len + 1 < out->size)
		out->buf[out->len] = c;
	out->len++;
}

static void pad(struct output *out, char c, int count)
{
	for (; count > 0; count--)
		put(out, c);
}

static void put_string(struct output *out, const struct spec *spec, const char *s, size_t len)
{
	int fill = spec->width - (int)MIN(len, (size_t)INT32_MAX);

	if (!spec->left)
		pad(out, ' ', fill);
	for (size_t i = 0; i < len; i++)
		put(out, s[i]);
	if (spec->left)
		pad(out, ' ', fill);
}

/* prefix: sign or "0x", before any zeros. */
static void put_number(struct output *out, const struct spec *spec, u64 value, unsigned base,
		       const char *prefix)
{
	char text[20];
	int n = 0, zeros = 0, fill;

	while (value) {
		text[n++] = "0123456789abcdef"[value % base];
		value /= base;
	}
	if (spec->precision >= 0)
		zeros = spec->precision - n;
	else if (!n)
		zeros = 1;
	zeros = MAX(zeros, 0);
	fill = spec->width - n - zeros - (int)LIBC_NAME(strlen)(prefix);
	if (spec->zero && !spec->left && spec->precision < 0 && fill > 0) {
		zeros += fill;
		fill = 0;
	}
	if (!spec->left)
		pad(out, ' ', fill);
	while (*prefix)
		put(out, *prefix++);
	pad(out, '0', zeros);
	while (n)
		put(out, text[--n]);
	if (spec->left)
		pad(out, ' ', fill);
}

/* A decimal number in the format, capped: nothing sensible is wider. */
static int parse_number(const char **fmt)
{
	int n = 0;

	for (; **fmt >= '0' && **fmt <= '9'; (*fmt)++)
		n = MIN(n * 10 + (**fmt - '0'), 65536);
	return n;
}

int LIBC_NAME(vsnprintf)(char *buf, size_t size, const char *fmt, va_list args)
{
	struct output out = { buf, size, 0 };
	va_list ap;

	va_copy(ap, args);
	while (*fmt) {
		struct spec spec = { .precision = -1 };
		u64 u;
		s64 s;
		char c;
		const char *str;

		if (*fmt != '%') {
			put(&out, *fmt++);
			continue;
		}
		for (fmt++;; fmt++) {
			if (*fmt == '-')
				spec.left = true;
			else if (*fmt == '0')
				spec.zero = true;
			else if (*fmt == '#')
				spec.alt = true;
			else
				break;
		}
		if (*fmt == '*') {
			fmt++;
			spec.width = va_arg(ap, int);
			if (spec.width < 0) {
				spec.left = true;
				spec.width = spec.width == INT32_MIN ? 0 : -spec.width;
			}
		} else {
			spec.width = parse_number(&fmt);
		}
		if (*fmt == '.') {
			fmt++;
			if (*fmt == '*') {
				fmt++;
				spec.precision = va_arg(ap, int);
				spec.precision = MAX(spec.precision, -1);
			} else {
				spec.precision = parse_number(&fmt);
			}
		}
		while (*fmt == 'l' || *fmt == 'z') {
			spec.is_long = true;
			fmt++;
		}

		switch (*fmt) {
		case 'd':
			s = spec.is_long ? va_arg(ap, s64) : va_arg(ap, int);
			put_number(&out, &spec, s < 0 ? 0 - (u64)s : (u64)s, 10, s < 0 ? "-" : "");
			break;
		case 'u':
		case 'x':
			u = spec.is_long ? va_arg(ap, u64) : va_arg(ap, unsigned);
			put_number(&out, &spec, u, *fmt == 'u' ? 10 : 16,
				   spec.alt && u && *fmt == 'x' ? "0x" : "");
			break;
		case 'c':
			c = (char)va_arg(ap, int);
			put_string(&out, &spec, &c, 1);
			break;
		case 's':
			str = va_arg(ap, const char *);
			if (!str)
				str = "(null)";
			put_string(&out, &spec, str,
				   LIBC_NAME(strnlen)(str, spec.precision < 0
								   ? SIZE_MAX
								   : (size_t)spec.precision));
			break;
		case '%': put(&out, '%'); break;
		default:
			/* not ours: show it, so that the mistake is seen */
			put(&out, '%');
			continue;
		}
		fmt++;
	}
	va_end(ap);
	if (size)
		buf[MIN(out.len, size - 1)] = 0;
	return (int)out.len;
}

int LIBC_NAME(snprintf)(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = LIBC_NAME(vsnprintf)(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

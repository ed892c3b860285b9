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

/* `*` stands for an argument. */
static int parse_size(const char **fmt, va_list *args)
{
	if (**fmt != '*')
		return parse_number(fmt);
	(*fmt)++;
	return va_arg(*args, int);
}

static void parse_flags(const char **fmt, struct spec *spec)
{
	for (;; (*fmt)++) {
		if (**fmt == '-')
			spec->left = true;
		else if (**fmt == '0')
			spec->zero = true;
		else if (**fmt == '#')
			spec->alt = true;
		else
			return;
	}
}

static void parse_width(const char **fmt, struct spec *spec, va_list *args)
{
	spec->width = parse_size(fmt, args);
	if (spec->width < 0) {
		spec->left = true;
		spec->width = spec->width == INT32_MIN ? 0 : -spec->width;
	}
}

static void parse_precision(const char **fmt, struct spec *spec, va_list *args)
{
	spec->precision = -1;
	if (**fmt != '.')
		return;
	(*fmt)++;
	spec->precision = parse_size(fmt, args);
	if (spec->precision < 0)
		spec->precision = -1;
}

static void parse_length(const char **fmt, struct spec *spec)
{
	for (; **fmt == 'l' || **fmt == 'z'; (*fmt)++)
		spec->is_long = true;
}

/* All between '%' and the conversion's letter. */
static struct spec parse_spec(const char **fmt, va_list *args)
{
	struct spec spec = { 0 };

	parse_flags(fmt, &spec);
	parse_width(fmt, &spec, args);
	parse_precision(fmt, &spec, args);
	parse_length(fmt, &spec);
	return spec;
}

static void put_signed(struct output *out, const struct spec *spec, s64 value)
{
	put_number(out, spec, value < 0 ? 0 - (u64)value : (u64)value, 10, value < 0 ? "-" : "");
}

static void put_text(struct output *out, const struct spec *spec, const char *s)
{
	size_t max = spec->precision < 0 ? SIZE_MAX : (size_t)spec->precision;

	if (!s)
		s = "(null)";
	put_string(out, spec, s, LIBC_NAME(strnlen)(s, max));
}

/* The argument that the letter stands for; false: the letter is not ours. */
static bool convert(struct output *out, const struct spec *spec, char letter, va_list *args)
{
	u64 u;
	char c;

	switch (letter) {
	case 'd':
		put_signed(out, spec, spec->is_long ? va_arg(*args, s64) : va_arg(*args, int));
		return true;
	case 'u':
	case 'x':
		u = spec->is_long ? va_arg(*args, u64) : va_arg(*args, unsigned);
		put_number(out, spec, u, letter == 'u' ? 10 : 16,
			   spec->alt && u && letter == 'x' ? "0x" : "");
		return true;
	case 'c':
		c = (char)va_arg(*args, int);
		put_string(out, spec, &c, 1);
		return true;
	case 's': put_text(out, spec, va_arg(*args, const char *)); return true;
	case '%': put(out, '%'); return true;
	default: return false;
	}
}

int LIBC_NAME(vsnprintf)(char *buf, size_t size, const char *fmt, va_list args)
{
	struct output out = { buf, size, 0 };
	va_list ap;

	va_copy(ap, args);
	while (*fmt) {
		struct spec spec;

		if (*fmt != '%') {
			put(&out, *fmt++);
			continue;
		}
		fmt++;
		spec = parse_spec(&fmt, &ap);
		if (convert(&out, &spec, *fmt, &ap))
			fmt++;
		else
			put(&out, '%'); /* shown, so that the mistake is seen */
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

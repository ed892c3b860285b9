/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see hwcheck_encode.h. CRC-32 as in ISO 3309, base64 as in RFC 4648. */
#include "vmm/report/hwcheck_encode.h"

#include <margay/string.h>

#define BACK_MAX 2048u
#define MATCH_MIN 3u
#define MATCH_MAX (MATCH_MIN + 31)

u32 dump_crc(u32 crc, const char *text)
{
	for (crc = ~crc; *text; text++) {
		crc ^= (u8)*text;
		for (unsigned i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void put_line(struct dump *d, const char *text)
{
	char line[DUMP_TEXT + 16];

	d->crc = dump_crc(d->crc, text);
	snprintf(line, sizeof(line), "dump: %s %08x", text, d->crc);
	d->line(line);
}

static void put_held(struct dump *d, char end)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[DUMP_RAW / 3 * 4 + 2], *p = text;

	for (unsigned i = 0; i < d->n; i += 3) {
		unsigned left = d->n - i;
		u32 bits = (u32)d->raw[i] << 16 | (left > 1 ? (u32)d->raw[i + 1] << 8 : 0) |
			   (left > 2 ? d->raw[i + 2] : 0);

		for (unsigned k = 0; k < 4; k++, bits <<= 6)
			*p++ = k <= left ? digit[bits >> 18 & 63] : '=';
	}
	p[0] = end;
	p[1] = 0;
	put_line(d, text);
	d->n = 0;
}

static void put_bytes(struct dump *d, const u8 *p, unsigned n)
{
	while (n--) {
		d->raw[d->n++] = *p++;
		if (d->n == DUMP_RAW)
			put_held(d, 0);
	}
}

/* The longest run behind `at` that is also what stands at `at`, and how far behind. */
static unsigned find_match(const u8 *p, size_t at, size_t size, unsigned *back)
{
	unsigned best = 0;

	for (unsigned b = 1; b <= MIN(at, BACK_MAX) && best < MATCH_MAX; b++) {
		unsigned n = 0;

		while (n < MATCH_MAX && at + n < size && p[at + n] == p[at + n - b])
			n++;
		if (n > best) {
			best = n;
			*back = b;
		}
	}
	return best;
}

static void put_data(struct dump *d, const u8 *p, size_t size)
{
	while (size && !p[size - 1])
		size--;
	for (size_t at = 0; at < size;) {
		u8 group[1 + 8 * 2] = { 0 };
		unsigned n = 1;

		for (unsigned i = 0; i < 8 && at < size; i++) {
			unsigned back = 0, length = find_match(p, at, size, &back);

			if (length < MATCH_MIN) {
				group[n++] = p[at++];
				continue;
			}
			at += length;
			back = (back - 1) | (length - MATCH_MIN) << 11;
			group[0] |= (u8)(1 << i);
			group[n++] = (u8)back;
			group[n++] = (u8)(back >> 8);
		}
		put_bytes(d, group, n);
	}
	put_held(d, '.');
}

void dump_item(struct dump *d, const void *data, size_t size, const char *fmt, va_list ap)
{
	char line[DUMP_TEXT];
	size_t n = (size_t)snprintf(line, sizeof(line), "%u ", d->items++);

	n += (size_t)vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	if (data)
		snprintf(line + n, sizeof(line) - n, " data=%lu", size);
	d->crc = 0;
	put_line(d, line);
	if (data)
		put_data(d, data, size);
}

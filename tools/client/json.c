/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See json.h. What is no UTF-8, in a VM file or a name, becomes U+FFFD, a byte each: JSON has to be
 * text.
 */
#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the character at s, of n bytes; 0: there is none in UTF-8. */
static size_t utf8_size(const char *s, size_t n)
{
	unsigned char first = (unsigned char)*s, second = n > 1 ? (unsigned char)s[1] : 0;
	size_t size = 0;

	if (first < 0x80)
		size = 1;
	else if (first >= 0xc2 && first < 0xf5)
		size = 2 + (first >= 0xe0) + (first >= 0xf0);
	/* Longer than need be, a half of UTF-16's pairs, beyond U+10FFFF. */
	if (size > n || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
	    (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
		return 0;
	for (size_t i = 1; i < size; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

void json_text(const char *s, size_t n)
{
	size_t size;

	putchar('"');
	for (; n; s += size, n -= size) {
		size = utf8_size(s, n);
		if (!size) {
			printf("\\ufffd");
			size = 1;
		} else if (*s == '"' || *s == '\\') {
			printf("\\%c", *s);
		} else if (size == 1 && *s < ' ') {
			printf("\\u%04x", (unsigned)*s);
		} else {
			fwrite(s, 1, size, stdout);
		}
	}
	putchar('"');
}

static int is_one_of(const char *key, size_t n, const char *const *keys)
{
	for (; *keys; keys++)
		if (n == strlen(*keys) && !strncmp(key, *keys, n))
			return 1;
	return 0;
}

/* Whatever stands there, also "no" or "17": somebody has chosen it. */
static int is_text(const char *key, size_t n)
{
	static const char *const texts[] = {
		"name",  "owner",      "file",    "commander", "kernel", "initrd", "module",
		"disk",  "sha256",     "segment", "cmdline",   "why",    "last",   "end",
		"state", "margay",     "event",   "vm",        "image",  "by",     "user",
		"text",  "management", "trunk",   NULL
	};

	return is_one_of(key, n, texts);
}

static int is_number(const char *s, size_t n)
{
	if (n > 1 && *s == '-') {
		s++;
		n--;
	}
	if (n > 1 && *s == '0')
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return 0;
	return n > 0;
}

/* A whole number, or one with decimals. */
static int is_decimal(const char *s, size_t n)
{
	const char *point = memchr(s, '.', n);
	size_t whole = point ? (size_t)(point - s) : n;

	for (size_t i = whole + 1; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return 0;
	return is_number(s, whole) && n != whole + 1;
}

/* Words with commas between them. */
static void put_list(const char *s, size_t n)
{
	const char *comma = "";

	putchar('[');
	while (n) {
		const char *end = memchr(s, ',', n);
		size_t word = end ? (size_t)(end - s) : n;

		printf("%s", comma);
		json_text(s, word);
		word += end != NULL;
		s += word;
		n -= word;
		comma = ",";
	}
	putchar(']');
}

static void put_value(const char *key, size_t key_size, const char *s, size_t n)
{
	static const char *const lists[] = { "may", NULL };
	/* Of a module of the boot; anywhere else it is a name. */
	int none = !n || (n == 1 && *s == '-' &&
			  is_one_of(key, key_size, (const char *const[]){ "sha256", NULL }));

	if (is_one_of(key, key_size, lists))
		put_list(s, n);
	else if (none)
		printf("null");
	else if (is_text(key, key_size))
		json_text(s, n);
	else if (n == 3 && !memcmp(s, "yes", 3))
		printf("true");
	else if (n == 2 && !memcmp(s, "no", 2))
		printf("false");
	else if (is_decimal(s, n))
		printf("%.*s", (int)n, s);
	else
		json_text(s, n);
}

void json_members(const char *line, const char *comma)
{
	for (; *line && *line != '\n'; line += *line == '\t') {
		size_t key_size = strcspn(line, "=\t\n"), n;
		const char *key = line;

		printf("%s", comma);
		json_text(key, key_size);
		line += key_size + (line[key_size] == '=');
		n = strcspn(line, "\t\n");
		putchar(':');
		put_value(key, key_size, line, n);
		line += n;
		comma = ",";
	}
}

void json_object(const char *line)
{
	putchar('{');
	json_members(line, "");
	putchar('}');
}

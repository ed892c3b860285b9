/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See shapes.h. An answer has a line for each thing, and the first name of a line says which it is.
 */
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* Does its first name say this? */
static int is_a(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && line[n] == '=';
}

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

/* An older node's answer may not fit. */
static int is_cut(const char *line)
{
	return is_a(line, "truncated");
}

/* first: the first name of the lines, or NULL: of all. */
static void put_array(const char *lines, const char *first)
{
	const char *comma = "";

	putchar('[');
	for (const char *line = lines; *line; line = next_line(line)) {
		if (is_cut(line) || (first && !is_a(line, first)))
			continue;
		printf("%s", comma);
		json_object(line);
		comma = ",\n ";
	}
	putchar(']');
}

/* The value of the one line that begins with it, or null. */
static void put_one(const char *lines, const char *name)
{
	printf(",\"%s\":", name);
	for (const char *line = next_line(lines); *line; line = next_line(line))
		if (is_a(line, name) && line[strlen(name) + 1] != '\n') {
			json_text(line + strlen(name) + 1, strcspn(line + strlen(name) + 1, "\n"));
			return;
		}
	printf("null");
}

static void put_modules(const char *lines)
{
	const char *comma = "";

	printf(",\"modules\":[");
	for (const char *line = next_line(lines); *line; line = next_line(line)) {
		if (!is_a(line, "module"))
			continue;
		printf("%s", comma);
		json_text(line + sizeof("module"), strcspn(line + sizeof("module"), "\n"));
		comma = ",";
	}
	putchar(']');
}

/* Those of an image, and those of memory. */
static void put_disks(const char *lines)
{
	const char *comma = "";

	printf(",\"disks\":[");
	for (const char *line = next_line(lines); *line; line = next_line(line)) {
		int image = is_a(line, "disk");
		const char *value = line + (image ? sizeof("disk") : sizeof("scratch"));

		if (!image && !is_a(line, "scratch"))
			continue;
		printf("%s{\"image\":", comma);
		if (image) {
			json_text(value, strcspn(value, "\n"));
			printf(",\"scratch\":null}");
		} else {
			printf("null,\"scratch\":%lu}", strtoul(value, NULL, 10));
		}
		comma = ",";
	}
	putchar(']');
}

static void put_vm(const char *lines)
{
	putchar('{');
	json_members(lines, "");
	put_one(lines, "kernel");
	put_one(lines, "initrd");
	put_one(lines, "cmdline");
	put_modules(lines);
	put_disks(lines);
	printf(",\n \"networks\":");
	put_array(next_line(lines), "segment");
	printf(",\n \"vcpus\":");
	put_array(next_line(lines), "vcpu");
	printf(",\n \"pieces\":");
	put_array(next_line(lines), "memory");
	putchar('}');
}

static void put_node(const char *lines)
{
	const char *own = NULL;

	printf("{\"nodes\":");
	put_array(lines, "node");
	printf(",\n\"hypervisor\":");
	for (const char *line = lines; *line && !own; line = next_line(line))
		own = is_a(line, "own") ? line : NULL;
	/* An older node's answer may end before it. */
	if (own)
		json_object(own);
	else
		printf("null");
	printf(",\n\"cpus\":");
	put_array(lines, "cpu");
	putchar('}');
}

/* Lines of exits, and one behind them that has all else of the vCPU. */
static void put_stats(const char *lines, const char *gap)
{
	const char *comma = "", *exit = "";
	char name[64], count[32];

	putchar('[');
	for (const char *line = lines; *line; line = next_line(line)) {
		if (is_cut(line))
			continue;
		if (!*exit)
			printf("%s{\"exits\":{", comma);
		if (margay_value(line, "exit", name, sizeof(name)) &&
		    margay_value(line, "count", count, sizeof(count))) {
			printf("%s\"%s\":%s", *exit ? exit : "", name, count);
			exit = ",";
			continue;
		}
		putchar('}');
		json_members(line, ",");
		putchar('}');
		exit = "";
		comma = gap;
	}
	/* One whose last line did not fit. */
	printf("%s]", *exit ? "}}" : "");
}

void shape_answer(enum management_request what, const char *lines)
{
	switch (what) {
	case MANAGEMENT_HELLO: json_object(lines); break;
	case MANAGEMENT_SHOW: put_vm(lines); break;
	case MANAGEMENT_NODE: put_node(lines); break;
	case MANAGEMENT_STATS: put_stats(lines, ",\n "); break;
	default: put_array(lines, NULL); break;
	}
	putchar('\n');
}

void shape_stats_at(unsigned long seconds, const char *lines)
{
	printf("{\"time\":%lu,\"vcpus\":", seconds);
	put_stats(lines, ",");
	puts("}");
}

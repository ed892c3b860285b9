/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/console/editor.c vmm/console/command.c lib/span.c */
/* FUZZ: -max_len=512 */
/*
 * The monitor console's keyboard: bytes through the line editor; lines to the command parser, parts
 * of them to completion.
 */
#include "tests/fuzz/fuzz.h"
#include "vmm/console/command.h"
#include "vmm/console/editor.h"

static const struct command table[] = {
	{ .name = "log", .args = "n", .usage = "[LINES]" },
	{ .name = "regs", .args = "Vn", .usage = "VM [VCPU]" },
	{ .name = "stats", .args = "vn", .usage = "[VM [VCPU]]" },
	{ .name = "vm", .args = "", .usage = "" },
	{ .name = "vm start", .args = "V", .usage = "VM" },
	{ .name = "vm stop", .args = "V", .usage = "VM" },
};
#define COUNT (sizeof(table) / sizeof(table[0]))

static const char *vm_name(unsigned i)
{
	static const char *const names[] = { "vm0", "login", "log-in" };

	return i < 3 ? names[i] : NULL;
}

static void ignore(const char *, size_t) { }

static void offer(const char *word)
{
	CHECK(strlen(word) < COMMAND_WORD);
}

static void line(struct editor *e)
{
	struct command_args args;
	char error[COMMAND_ERROR];
	const struct command *c = command_parse(table, COUNT, vm_name, e->text, &args, error);

	CHECK(strlen(error) < COMMAND_ERROR && (!c || !error[0]));
	CHECK(!c || !args.has_vm || vm_name(args.vm));
	editor_prompt(e);
}

static void complete(struct editor *e)
{
	char text[EDITOR_MAX + 1], insert[COMMAND_WORD];

	memcpy(text, e->text, e->cursor);
	text[e->cursor] = 0;
	command_complete(table, COUNT, vm_name, text, insert, offer);
	editor_insert(e, insert);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct editor e = { .prompt = "> ", .echo = ignore };

	editor_prompt(&e);
	for (size_t i = 0; i < size; i++) {
		switch (editor_feed(&e, data[i])) {
		case EDITOR_LINE: line(&e); break;
		case EDITOR_COMPLETE: complete(&e); break;
		case EDITOR_NONE: break;
		}
		CHECK(e.length <= EDITOR_MAX && e.cursor <= e.length && strlen(e.text) == e.length);
		CHECK(e.browsed <= e.nr_history && e.nr_history <= EDITOR_HISTORY);
	}
	return 0;
}

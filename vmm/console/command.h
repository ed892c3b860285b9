/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: from a typed line to a command of a table with its arguments,
 * and what Tab completes. Knows no command by itself.
 */
#ifndef VMM_CONSOLE_COMMAND_H
#define VMM_CONSOLE_COMMAND_H

#include <margay/types.h>

#define COMMAND_WORD 40 /* characters of a word, with its terminator */
#define COMMAND_ERROR 160

struct command_args {
	unsigned vm; /* index of the VM named */
	bool has_vm;
	bool has_number;
	u32 number;
	char word[COMMAND_WORD]; /* empty: none was given */
};

struct command {
	const char *name; /* one word or two */
	/*
	 * One letter per argument: v a VM's name, n a number, w any word; a capital one must be
	 * given.
	 */
	const char *args;
	const char *usage; /* the arguments for people */
	const char *help;
	void (*run)(const struct command_args *args);
};

/* The name of VM i; NULL past the last. */
typedef const char *(*command_vm_name)(unsigned i);

/*
 * The command of the line. NULL and an empty *error when the line is empty;
 * NULL and what is wrong in *error (one line) when there is no such command.
 */
const struct command *command_parse(const struct command *table, unsigned count,
				    command_vm_name vm_name, const char *line,
				    struct command_args *args, char error[COMMAND_ERROR]);

/* Calls say() with each command whose name begins with these words; how many there were. */
unsigned command_each(const struct command *table, unsigned count, const char *words,
		      void (*say)(const struct command *c));

/*
 * What continues the last word of `line`. insert: what can only follow, with a
 * blank behind a whole word; empty when there is nothing or a choice. offer()
 * is then called for each choice.
 */
void command_complete(const struct command *table, unsigned count, command_vm_name vm_name,
		      const char *line, char insert[COMMAND_WORD], void (*offer)(const char *word));

#endif

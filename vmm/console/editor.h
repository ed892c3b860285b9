/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the line editor of the monitor console. Bytes of any terminal
 * in, echo out; works where the screen is a log file, too: what is typed at
 * the end of the line is echoed as it is. Keys: arrows, Home, End, Delete,
 * Backspace, Tab, ^A ^B ^C ^D ^E ^F ^K ^L ^N ^P ^U ^W.
 */
#ifndef VMM_CONSOLE_EDITOR_H
#define VMM_CONSOLE_EDITOR_H

#include <margay/types.h>

#define EDITOR_MAX 100    /* characters of a line */
#define EDITOR_HISTORY 8  /* lines remembered */

struct editor {
	char text[EDITOR_MAX + 1]; /* the line, terminated */
	unsigned length;
	unsigned cursor;
	char history[EDITOR_HISTORY][EDITOR_MAX + 1]; /* entered ones, the youngest first */
	unsigned nr_history;
	unsigned browsed; /* history[browsed - 1] is shown; 0: a new line */
	enum { EDITOR_PLAIN, EDITOR_ESC, EDITOR_CSI } state; /* within a terminal's key sequence */
	u8 parameter; /* of the sequence */
	bool after_cr; /* a line feed that follows is the same key */
	const char *prompt;
	void (*echo)(const char *text, size_t n);
};

enum editor_event {
	EDITOR_NONE,
	EDITOR_LINE, /* e->text is complete; editor_prompt() begins the next one */
	EDITOR_COMPLETE, /* Tab: the caller may editor_insert() */
};

/* One received byte. */
enum editor_event editor_feed(struct editor *e, u8 byte);

/* Forgets the line and shows the prompt. */
void editor_prompt(struct editor *e);

/* Shows the prompt and the line again, where the screen's line is empty. */
void editor_show(struct editor *e);

/* As typed at the cursor; what does not fit is dropped with a bell. */
void editor_insert(struct editor *e, const char *text);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* See command.h. */
#include "vmm/console/command.h"

#include <margay/span.h>
#include <margay/string.h>

#define WORDS 5 /* more than any command takes */

struct words {
	char word[WORDS][COMMAND_WORD]; /* too long ones are cut, and fit nothing then */
	unsigned count;                 /* may be WORDS + 1: too many */
	bool open;        /* the last one may go on: nothing follows it */
};

static void split(const char *line, struct words *w)
{
	memset(w, 0, sizeof(*w));
	for (;;) {
		unsigned n = 0;

		while (*line == ' ')
			line++;
		if (!*line)
			return;
		if (w->count == WORDS) {
			w->count++;
			return;
		}
		for (; *line && *line != ' '; line++)
			if (n < COMMAND_WORD - 1)
				w->word[w->count][n++] = *line;
		w->count++;
		w->open = !*line;
	}
}

/* With how many words of a command's name a line of `complete` words begins. */
static unsigned common(const struct words *name, const struct words *w, unsigned complete)
{
	unsigned n = 0;

	while (n < name->count && n < complete && !strcmp(name->word[n], w->word[n]))
		n++;
	return n;
}

static bool optional(char letter)
{
	return letter >= 'a';
}

static bool takes(char letter, char what)
{
	return (letter | 0x20) == what;
}

static bool parse_number(const char *word, u32 *out)
{
	struct span s = span_of(word);
	u64 v = 0;
	bool found = span_number(&s, 10, &v);

	*out = (u32)v;
	return found && !s.n && v <= 0xffffffff;
}

static bool parse_vm(const char *word, command_vm_name vm_name, struct command_args *args)
{
	const char *name;

	for (args->vm = 0; (name = vm_name(args->vm)); args->vm++)
		if (!strcmp(name, word)) {
			args->has_vm = true;
			return true;
		}
	return false;
}

/*
 * Appends what stands behind the words of c in longer names of the table, as "restart, start"; how
 * many there are.
 */
static unsigned say_longer(const struct command *table, unsigned count, const struct words *c,
			   char *text, size_t size)
{
	struct words name;
	unsigned found = 0;
	size_t n = strlen(text);

	for (unsigned i = 0; i < count; i++) {
		split(table[i].name, &name);
		if (name.count <= c->count || common(c, &name, name.count) < c->count)
			continue;
		n += (size_t)snprintf(text + n, size - MIN(n, size), "%s%s", found++ ? ", " : "",
				      name.word[c->count]);
	}
	return found;
}

/*
 * What is wrong with a word behind a command that takes no more; with those that may stand there,
 * if there are some.
 */
static void refuse_word(const struct command *table, unsigned count, const struct command *c,
			const char *word, char error[COMMAND_ERROR])
{
	struct words own;

	split(c->name, &own);
	snprintf(error, COMMAND_ERROR, "no command '%s %s': %s has ", c->name, word, c->name);
	if (*c->args || !say_longer(table, count, &own, error, COMMAND_ERROR))
		snprintf(error, COMMAND_ERROR, "'%s' is too much: usage: %s%s%s", word, c->name,
			 *c->usage ? " " : "", c->usage);
}

static bool parse_args(const struct command *table, unsigned count, const struct command *c,
		       const struct words *w, unsigned first, command_vm_name vm_name,
		       struct command_args *args, char error[COMMAND_ERROR])
{
	unsigned i = first;

	for (const char *letter = c->args; *letter; letter++, i++) {
		if (i >= w->count) {
			if (optional(*letter))
				return true;
			snprintf(error, COMMAND_ERROR, "usage: %s %s", c->name, c->usage);
			return false;
		}
		if (takes(*letter, 'v') && !parse_vm(w->word[i], vm_name, args)) {
			snprintf(error, COMMAND_ERROR, "no VM has the name '%s': vm lists them",
				 w->word[i]);
			return false;
		}
		if (takes(*letter, 'n')) {
			if (!parse_number(w->word[i], &args->number)) {
				snprintf(error, COMMAND_ERROR, "expected a number, found '%s'",
					 w->word[i]);
				return false;
			}
			args->has_number = true;
		}
		if (takes(*letter, 'w'))
			snprintf(args->word, sizeof(args->word), "%s", w->word[i]);
	}
	if (i < w->count) {
		refuse_word(table, count, c, i < WORDS ? w->word[i] : "...", error);
		return false;
	}
	return true;
}

const struct command *command_parse(const struct command *table, unsigned count,
				    command_vm_name vm_name, const char *line,
				    struct command_args *args, char error[COMMAND_ERROR])
{
	const struct command *best = NULL;
	unsigned words = 0;
	struct words w, name;

	error[0] = 0;
	*args = (struct command_args){ 0 };
	split(line, &w);
	if (!w.count)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		split(table[i].name, &name);
		if (name.count > words &&
		    common(&name, &w, MIN(w.count, (unsigned)WORDS)) == name.count) {
			words = name.count;
			best = &table[i];
		}
	}
	if (!best) {
		snprintf(error, COMMAND_ERROR, "unknown command '%s': help lists them", w.word[0]);
		return NULL;
	}
	return parse_args(table, count, best, &w, words, vm_name, args, error) ? best : NULL;
}

unsigned command_each(const struct command *table, unsigned count, const char *words,
		      void (*say)(const struct command *c))
{
	struct words w, name;
	unsigned found = 0;

	split(words, &w);
	for (unsigned i = 0; i < count; i++) {
		split(table[i].name, &name);
		if (w.count > name.count || common(&w, &name, name.count) < w.count)
			continue;
		found++;
		say(&table[i]);
	}
	return found;
}

/* ---- completion ----------------------------------------------------------- */

struct completion {
	const char *part; /* what the word begins with */
	char common[COMMAND_WORD]; /* to all candidates */
	char seen[COMMAND_WORD]; /* the last candidate: words of neighbours in the table repeat */
	unsigned candidates;
	void (*offer)(const char *word); /* NULL: only counts */
};

static void candidate(struct completion *c, const char *word)
{
	unsigned n = 0;

	if (!word[0] || strncmp(word, c->part, strlen(c->part)) != 0 || !strcmp(word, c->seen))
		return;
	snprintf(c->seen, sizeof(c->seen), "%s", word);
	if (c->offer)
		c->offer(word);
	if (!c->candidates++) {
		memcpy(c->common, c->seen, sizeof(c->common));
		return;
	}
	while (c->common[n] && c->common[n] == word[n])
		n++;
	c->common[n] = 0;
}

/* All that may stand at position `at`, behind the words before it. */
static void candidates(const struct command *table, unsigned count, command_vm_name vm_name,
		       const struct words *w, unsigned at, struct completion *c)
{
	struct words name;
	bool names = false;

	c->seen[0] = 0;
	c->candidates = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned n;

		split(table[i].name, &name);
		n = common(&name, w, at);
		if (n == name.count)
			names = names || (strlen(table[i].args) > at - n &&
					  takes(table[i].args[at - n], 'v'));
		else if (n == at)
			candidate(c, name.word[at]);
	}
	if (names)
		for (unsigned i = 0; vm_name(i); i++)
			candidate(c, vm_name(i));
}

void command_complete(const struct command *table, unsigned count, command_vm_name vm_name,
		      const char *line, char insert[COMMAND_WORD], void (*offer)(const char *word))
{
	struct completion c = { 0 };
	struct words w;
	unsigned at, part;

	insert[0] = 0;
	split(line, &w);
	if (w.count > WORDS || (w.count == WORDS && !w.open))
		return;
	at = w.count - w.open;
	c.part = w.open ? w.word[at] : "";
	part = (unsigned)strlen(c.part);
	candidates(table, count, vm_name, &w, at, &c);
	if (!c.candidates || part == COMMAND_WORD - 1)
		return;
	if (c.candidates == 1)
		snprintf(insert, COMMAND_WORD, "%s ", c.common + part);
	else if (strlen(c.common) > part)
		snprintf(insert, COMMAND_WORD, "%s", c.common + part);
	if (insert[0])
		return;
	c.offer = offer;
	candidates(table, count, vm_name, &w, at, &c);
}

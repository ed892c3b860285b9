/* SPDX-License-Identifier: GPL-2.0-only */
/* margay: the command line of the management VM; margay(1), docs/management-vm.md. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "audit.h"
#include "json.h"
#include "margay.h"
#include "metrics.h"
#include "shapes.h"

int json, result;
struct margay *node;
const char *unfinished;

void fail(int status, const char *what, const char *why)
{
	static char text[MARGAY_DATA_MAX + 200]; /* a VM file's errors may be many */

	snprintf(text, sizeof(text), "%s%s%s", what, why ? ": " : "", why ? why : "");
	if (json) {
		printf("{\"error\":{\"status\":%d,\"message\":", status);
		json_text(text, strlen(text));
		puts("}}");
	} else {
		fprintf(stderr, "margay: %s\n", text);
	}
	if (unfinished)
		unlink(unfinished);
	exit(status);
}

void fail_channel(void)
{
	if (errno == EBUSY)
		fail(BROKEN, "all ports to the node are in use", "try again");
	fail(BROKEN, "the channel broke", strerror(errno));
}

void done(void)
{
	if (json)
		puts("{\"done\":true}");
}

char *ask(enum management_request what, const char *text, size_t *size)
{
	char *answer;
	int err = margay_call(node, what, text, strlen(text), &answer, size);

	if (err < 0)
		fail_channel();
	if (err == ENOSYS)
		fail(REFUSED, "this node is of an older version, or built without this", answer);
	if (err > 0)
		fail(REFUSED, answer[0] ? answer : strerror(err), NULL);
	return answer;
}

char *lines_of(enum management_request what, const char *text)
{
	char *lines;
	int err = margay_lines(node, what, text, &lines);

	if (err < 0)
		fail_channel();
	if (err > 0)
		fail(REFUSED, lines[0] ? lines : strerror(err), NULL);
	/* margay_lines() has taken off what a node says that can go on. */
	if (strstr(lines, "truncated=yes"))
		fprintf(stderr,
			"margay: the answer does not fit, and this node cannot go on with it\n");
	return lines;
}

void show(enum management_request what, const char *text)
{
	char *lines = lines_of(what, text);

	if (json)
		shape_answer(what, lines);
	else
		answer_table(lines);
	free(lines);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void command_create(const struct words *w)
{
	static char text[MARGAY_DATA_MAX + 1];
	const char *file = w->arg[0];
	int fd = open(file, O_RDONLY);
	size_t n = (size_t)snprintf(text, sizeof(text), "%s\n", basename(w->arg[0]));
	char *answer;
	ssize_t got;
	int err;

	if (fd < 0)
		fail(BROKEN, file, strerror(errno));
	while ((got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		fail(BROKEN, file, strerror(errno));
	if (n == sizeof(text))
		fail(REFUSED, file, "too large for a VM file");
	err = margay_call(node, MANAGEMENT_CREATE, text, n, &answer, NULL);
	if (err < 0)
		fail_channel();
	if (err)
		fail(REFUSED, answer, NULL);
	done();
}

/* The text of its VM file, in as many pieces as it takes. */
static void show_file(const char *name)
{
	char text[100], next[24], size[24], *answer, *whole = NULL, *more;
	unsigned long at = 0, end;
	size_t n;
	FILE *to = open_memstream(&whole, &n);

	do {
		snprintf(text, sizeof(text), "%.60s %lu", name, at);
		answer = ask(MANAGEMENT_FILE, text, &n);
		more = strchr(answer, '\n');
		if (!to || !more || !margay_value(answer, "next", next, sizeof(next)) ||
		    !margay_value(answer, "size", size, sizeof(size)))
			fail(BROKEN, "an answer without an offset", NULL);
		fwrite(more + 1, 1, n - (size_t)(more + 1 - answer), to);
		end = strtoul(next, NULL, 10);
		if (end == at)
			break;
		at = end;
	} while (at < strtoul(size, NULL, 10));
	if (fclose(to))
		fail(BROKEN, name, strerror(errno));
	if (json) {
		printf("{\"text\":");
		json_text(whole, n);
		puts("}");
	} else {
		fwrite(whole, 1, n, stdout);
	}
	free(whole);
}

static void command_show(const struct words *w)
{
	if (w->file)
		show_file(w->arg[0]);
	else
		show(MANAGEMENT_SHOW, w->arg[0]);
}

static void command_net_show(const struct words *w)
{
	char *lines;
	int err = margay_lines(node, MANAGEMENT_NET, w->n ? w->arg[0] : "", &lines);

	if (err < 0)
		fail_channel();
	if (err == ENOSYS)
		fail(REFUSED, "net show",
		     "this node is of an older version, which does not know it");
	if (err)
		fail(REFUSED, lines, NULL);
	if (json)
		shape_answer(MANAGEMENT_NET, lines);
	else
		answer_table(lines);
	free(lines);
}

static void command_metrics(const struct words *w)
{
	int err = w->output ? metrics_write_file(node, w->output) : metrics_write(node, stdout);

	if (err)
		fail(err < 0 ? BROKEN : REFUSED, w->output ? w->output : "metrics",
		     strerror(err < 0 ? errno : err));
	if (w->output)
		done();
}

static const struct command {
	/* args names the options that it takes */
	const char *name;
	const char *args;
	const char *help;
	enum management_request what;    /* 0: run() */
	void (*run)(const struct words *w);
	int shows;        /* lines of values */
	/* words beside options */
	unsigned needs;
	unsigned takes;
} commands[] = {
	{ "info", "", "version, rights, memory", MANAGEMENT_HELLO, NULL, 1, 0, 0 },
	{ "list", "", "the VMs", MANAGEMENT_LIST, NULL, 1, 0, 0 },
	{ "show", "[--file] VM", "one of them; --file: its VM file", 0, command_show, 0, 1, 1 },
	{ "create", "FILE", "makes a VM of a VM file", 0, command_create, 0, 1, 1 },
	{ "destroy", "VM", "forgets one that is over", MANAGEMENT_DESTROY, NULL, 0, 1, 1 },
	{ "start", "[--wait] VM", "starts it; --wait: until it runs, or has failed", 0,
	  command_start, 0, 1, 1 },
	{ "stop", "[--timeout SECONDS] VM",
	  "presses its power button; after that time (60) kills it", 0, command_stop, 0, 1, 1 },
	{ "press", "VM", "presses its power button: it ends, or wakes", MANAGEMENT_PRESS, NULL, 0,
	  1, 1 },
	{ "kill", "VM", "ends it at once, like pulling the plug", MANAGEMENT_STOP, NULL, 0, 1, 1 },
	{ "restart", "VM", "stops it and starts it again", MANAGEMENT_RESTART, NULL, 0, 1, 1 },
	{ "pause", "VM", "keeps it out of its CPUs", MANAGEMENT_PAUSE, NULL, 0, 1, 1 },
	{ "resume", "VM", "lets it go on", MANAGEMENT_RESUME, NULL, 0, 1, 1 },
	{ "nmi", "VM", "sends its guest an NMI, as a server's button does", MANAGEMENT_NMI, NULL, 0,
	  1, 1 },
	{ "apply", "[--dry-run] [--prune] [--each] [--timeout SECONDS] DIR",
	  "makes the node as VM files and images of a folder say", 0, command_apply, 0, 1, 1 },
	{ "wait", "VM", "waits until it is over, shows it; status: how it ended", 0, command_wait,
	  0, 1, 1 },
	{ "watch", "", "looks at the node for all who wait (margay-watch.socket)", 0, command_watch,
	  0, 0, 0 },
	{ "console", "[--raw] VM", "its console, from the oldest output kept; --raw: as it is", 0,
	  command_console, 0, 1, 1 },
	{ "dump", "VM FILE", "its memory and registers as a core file, for crash and gdb", 0,
	  command_dump, 0, 2, 2 },
	{ "stats", "[-f [SECONDS]] VM", "its exits; -f: again and again (1)", 0, command_stats, 0,
	  1, 2 },
	{ "metrics", "[--output FILE]", "the node's numbers, for Prometheus", 0, command_metrics, 0,
	  0, 0 },
	{ "log", "[-f] [LINES]", "the last lines of the node's log (20); -f: goes on", 0,
	  command_log, 0, 0, 1 },
	{ "events", "[-f]", "what has happened to VMs and the node; -f: goes on", 0, command_events,
	  0, 0, 0 },
	{ "journal", "", "feeds the journal of this VM with both (margay-journal.service)", 0,
	  command_journal, 0, 0, 0 },
	{ "node", "", "CPUs and memory", MANAGEMENT_NODE, NULL, 1, 0, 0 },
	{ "pci", "", "PCI functions", MANAGEMENT_PCI, NULL, 1, 0, 0 },
	{ "net show", "[SEGMENT]", "virtual networks: interfaces, frames, and why some were lost",
	  0, command_net_show, 0, 0, 1 },
	{ "image put", "[--replace] [--sha256 HEX] [--size BYTES] FILE [NAME]",
	  "sends an image; - NAME: from a pipe, and at once if its hash and size are told", 0,
	  command_image_put, 0, 1, 2 },
	{ "image pull", "[--prefix PREFIX] [--allow-downgrade] NAME[:VERSION]",
	  "fetches one from the store of images", 0, command_image_pull, 0, 1, 1 },
	{ "image list", "", "the images, and the modules of the boot", MANAGEMENT_IMAGES, NULL, 1,
	  0, 0 },
	{ "image rm", "NAME", "forgets one that no VM file names", MANAGEMENT_IMAGE_REMOVE, NULL, 0,
	  1, 1 },
};

static void usage(FILE *to)
{
	fprintf(to, "usage: margay [--json] COMMAND ...; margay --version\n");
	for (const struct command *c = commands;
	     c < commands + sizeof(commands) / sizeof(*commands); c++)
		fprintf(to, "  %-12s%-23s  %s\n", c->name, c->args, c->help);
}

/* ---- the command line ------------------------------------------------------------------- */

/* Takes the command's one or two words off. */
static const struct command *find(int *argc, char ***argv)
{
	char two[64];

	snprintf(two, sizeof(two), "%.30s %.30s", *argc ? **argv : "", *argc > 1 ? (*argv)[1] : "");
	for (const struct command *c = commands;
	     c < commands + sizeof(commands) / sizeof(*commands); c++) {
		int words = strchr(c->name, ' ') ? 2 : 1;
		const char *typed = words == 2 ? two : **argv;

		if (*argc < words || strcmp(typed, c->name) != 0)
			continue;
		*argc -= words;
		*argv += words;
		return c;
	}
	return NULL;
}

static void fail_usage(const struct command *c)
{
	char text[100];

	snprintf(text, sizeof(text), "expected %s", *c->args ? c->args : "nothing behind it");
	fail(USAGE, c->name, text);
}

/* Does the command take it? Where a value follows in its arguments, *value is the next word. */
static int takes_option(const struct command *c, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = c->args; (p = strchr(p, '[')); p++)
		if (!strncmp(p + 1, word, n) && (p[n + 1] == ']' || p[n + 1] == ' '))
			return 1;
	return 0;
}

static void take_option(const struct command *c, struct words *w, char **argv, int *i)
{
	/* clang-format off */
	const struct {
		const char *word;
		int *flag;          /* that it sets, */
		const char **value; /* or where the word behind it goes */
	} options[] = {
		{ "--wait", &w->wait, NULL }, { "--file", &w->file, NULL },
		{ "--raw", &w->raw, NULL },
		{ "--replace", &w->replace, NULL }, { "-f", &w->follow, NULL },
		{ "--timeout", NULL, &w->timeout },
		{ "--output", NULL, &w->output }, { "--sha256", NULL, &w->sha256 },
		{ "--size", NULL, &w->size },
		{ "--prefix", NULL, &w->prefix },
		{ "--allow-downgrade", &w->allow_downgrade, NULL },
		{ "--dry-run", &w->dry_run, NULL }, { "--prune", &w->prune, NULL },
		{ "--each", &w->each, NULL },
	};
	/* clang-format on */

	for (unsigned k = 0; takes_option(c, argv[*i]) && k < sizeof(options) / sizeof(*options);
	     k++) {
		if (strcmp(argv[*i], options[k].word) != 0)
			continue;
		if (options[k].flag)
			*options[k].flag = 1;
		else if (argv[*i + 1])
			*options[k].value = argv[++*i];
		else
			fail_usage(c);
		return;
	}
	fail_usage(c);
}

/* What follows the command: options anywhere, but none behind --. */
static void take_words(const struct command *c, int argc, char **argv, struct words *w)
{
	int options = 1;

	for (int i = 0; i < argc; i++) {
		if (options && !strcmp(argv[i], "--")) {
			options = 0;
			continue;
		}
		if (options && argv[i][0] == '-' && argv[i][1]) {
			take_option(c, w, argv, &i);
			continue;
		}
		if (w->n == c->takes)
			fail_usage(c);
		w->arg[w->n++] = argv[i];
	}
	if (w->n < c->needs)
		fail_usage(c);
}

/* Takes --json off, wherever it is before a --. */
static void take_json(int *argc, char **argv)
{
	int to = 1, options = 1;

	for (int i = 1; i < *argc; i++) {
		options = options && strcmp(argv[i], "--") != 0;
		if (options && !strcmp(argv[i], "--json"))
			json = 1;
		else
			argv[to++] = argv[i];
	}
	argv[to] = NULL;
	*argc = to;
}

/* What stands before the command. True: nothing else is to be done. */
static int take_first_options(int *argc, char ***argv)
{
	for (; *argc && (**argv)[0] == '-'; --*argc, ++*argv) {
		if (!strcmp(**argv, "--version")) {
			puts("margay " MARGAY_VERSION);
			return 1;
		}
		if (!strcmp(**argv, "--help") || !strcmp(**argv, "-h")) {
			usage(stdout);
			return 1;
		}
		if (strcmp(**argv, "-j") != 0)
			fail(USAGE, **argv, "expected --json, --version, --help or a command");
		json = 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct words w = { 0 };
	char error[200];

	take_json(&argc, argv);
	argc--;
	argv++;
	if (take_first_options(&argc, &argv))
		return OK;
	if (!argc && !json) {
		usage(stderr);
		return USAGE;
	}
	if (!argc)
		fail(USAGE, "expected a command", "margay --help lists them");
	c = find(&argc, &argv);
	if (!c)
		fail(USAGE, argv[0], "there is no such command: margay --help lists them");
	take_words(c, argc, argv, &w);
	audit_command(c->name, argv);
	node = margay_open(error, sizeof(error));
	if (!node)
		fail(BROKEN, error, NULL);
	margay_set_user(node, audit_user());
	if (c->shows) {
		show(c->what, w.n ? w.arg[0] : "");
	} else if (c->run) {
		c->run(&w);
	} else {
		ask(c->what, w.arg[0], NULL);
		done();
	}
	margay_close(node);
	return result;
}

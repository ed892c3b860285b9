/* SPDX-License-Identifier: GPL-2.0-only */
/* margay: the command line of the VM that commands a node; margay(1), docs/commander.md. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "answers.h"
#include "libmargay.h"
#include "margay.h"
#include "metrics.h"
#include "plain.h"

#define DETACH 0x1d /* Ctrl-] */
#define LINES "20"
#define DUMP_POLLS 100
#define LAST_PIECES 8 /* of 32 KiB: more than is kept */

int json;
struct margay *node;
static const char *unfinished; /* a file that is no good yet */

void fail(int status, const char *what, const char *why)
{
	fprintf(stderr, "margay: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	if (unfinished)
		unlink(unfinished);
	exit(status);
}

char *ask(enum commander_request what, const char *text, size_t *size)
{
	char *answer;
	int err = margay_call(node, what, text, strlen(text), &answer, size);

	if (err < 0)
		fail(BROKEN, "the channel broke", strerror(errno));
	if (err > 0)
		fail(REFUSED, answer[0] ? answer : strerror(err), NULL);
	return answer;
}

char *lines_of(enum commander_request what, const char *text)
{
	char *lines;
	int err = margay_lines(node, what, text, &lines);

	if (err < 0)
		fail(BROKEN, "the channel broke", strerror(errno));
	if (err > 0)
		fail(REFUSED, lines[0] ? lines : strerror(err), NULL);
	return lines;
}

void show(enum commander_request what, const char *text)
{
	char *lines = lines_of(what, text);

	json ? answer_json(lines) : answer_table(lines);
	free(lines);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void command_create(char **args)
{
	static char text[MARGAY_DATA_MAX + 1];
	int fd = open(args[0], O_RDONLY);
	size_t n = (size_t)snprintf(text, sizeof(text), "%s\n", basename(args[0]));
	char *answer;
	ssize_t got;
	int err;

	if (fd < 0)
		fail(BROKEN, args[0], strerror(errno));
	while ((got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		fail(BROKEN, args[0], strerror(errno));
	if (n == sizeof(text))
		fail(REFUSED, args[0], "too large for a VM file");
	err = margay_call(node, COMMANDER_CREATE, text, n, &answer, NULL);
	if (err < 0)
		fail(BROKEN, "the channel broke", strerror(errno));
	if (err)
		fail(REFUSED, answer, NULL);
}

/* Some of what it has written since *at: so many bytes. plain: what is text of them; NULL: as they are. */
static size_t put_output(const char *name, unsigned long *at, struct plain *plain)
{
	char text[100], next[24], *answer, *output;
	size_t size;

	snprintf(text, sizeof(text), "%.60s %lu", name, *at);
	answer = ask(COMMANDER_READ, text, &size);
	output = strchr(answer, '\n');
	if (!output || !margay_value(answer, "next", next, sizeof(next)))
		fail(BROKEN, "an answer without an offset", NULL);
	*at = strtoul(next, NULL, 10);
	size -= (size_t)(output + 1 - answer);
	if (plain)
		plain_write(plain, output + 1, size, stdout);
	else
		fwrite(output + 1, 1, size, stdout);
	fflush(stdout);
	return size;
}

static struct termios before;

static void restore(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void killed(int signal)
{
	restore();
	_exit(128 + signal);
}

static void command_console(char **args)
{
	int terminal = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long at = 0;
	char text[COMMANDER_TYPED + 64];
	struct plain state = { 0 }, *plain = &state;
	size_t head;

	if (!strcmp(args[0], "--raw")) {
		plain = NULL;
		args++;
	}
	if (!args[0] || (plain && args[1]))
		fail(USAGE, "console", "expected [--raw] VM");
	head = (size_t)snprintf(text, sizeof(text), "%.60s\n", args[0]);

	if (terminal) {
		struct termios raw = before;

		fprintf(stderr, "margay: %s: Ctrl-] leaves%s\n", args[0], plain ? "; without escape sequences (--raw)" : "");
		cfmakeraw(&raw);
		atexit(restore);
		signal(SIGTERM, killed);
		signal(SIGHUP, killed);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	for (;;) {
		char *answer, *leave;
		ssize_t n;
		int err;

		if (poll(&in, 1, put_output(args[0], &at, plain) ? 0 : POLL_MS) <= 0)
			continue;
		n = read(STDIN_FILENO, text + head, COMMANDER_TYPED);
		leave = n > 0 && terminal ? memchr(text + head, DETACH, (size_t)n) : NULL;
		if (leave)
			n = leave - text - (ssize_t)head;
		if (n > 0) {
			err = margay_call(node, COMMANDER_WRITE, text, head + (size_t)n, &answer, NULL);
			if (err)
				fail(err < 0 ? BROKEN : REFUSED, err < 0 ? strerror(errno) : answer, NULL);
		}
		if (n <= 0 || leave)
			break;
	}
	/* What is there now: it may never stop. */
	for (unsigned n = 0; n < LAST_PIECES && put_output(args[0], &at, plain); n++)
		;
}

static void command_image_put(char **args)
{
	const char *name = args[1] ? args[1] : basename(args[0]);
	int fd = open(args[0], O_RDONLY), err;
	char *answer = NULL;

	if (fd < 0)
		fail(BROKEN, args[0], strerror(errno));
	err = margay_put_image(node, name, fd, &answer);
	if (err)
		fail(err < 0 ? BROKEN : REFUSED, err < 0 ? strerror(errno) : answer, NULL);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int)
{
	interrupted = 1;
}

static int stops(void)
{
	return interrupted;
}

/* Is it paused now, and was not before? All its vCPUs stand still then. */
static int pauses(const char *name)
{
	char paused[4] = "", may[100] = "", *answer;
	int err = 0, asked = 0;

	margay_value(ask(COMMANDER_HELLO, "", NULL), "may", may, sizeof(may));
	for (unsigned n = 0; n < DUMP_POLLS; n++) {
		answer = ask(COMMANDER_DUMP, name, NULL);
		margay_value(answer, "paused", paused, sizeof(paused));
		if (!strcmp(paused, "yes"))
			return asked;
		/* Who may not let it go on does not stop it. */
		if (!strstr(may, "create") || !strstr(may, "destroy")) {
			fprintf(stderr, "margay: %s runs on meanwhile: control_may does not have create and destroy\n", name);
			return 0;
		}
		if (!asked)
			err = margay_call(node, COMMANDER_PAUSE, name, strlen(name), &answer, NULL);
		if (err < 0)
			fail(BROKEN, "the channel broke", strerror(errno));
		asked = asked || !err;
		pause_ms(POLL_MS);
	}
	fprintf(stderr, "margay: %s: some of its vCPUs do not stand still\n", name);
	return asked;
}

static void command_dump(char **args)
{
	int fd = open(args[1], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), paused, err, why;
	char *answer, said[500];

	if (fd < 0)
		fail(BROKEN, args[1], strerror(errno));
	/* It goes on whatever becomes of the dump. */
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	signal(SIGHUP, interrupt);
	unfinished = args[1];
	paused = pauses(args[0]);
	err = margay_dump(node, args[0], fd, stops, &answer);
	why = errno;
	if (!err && close(fd)) {
		err = -1;
		why = errno;
	}
	if (err)
		snprintf(said, sizeof(said), "%s", err > 0 ? answer : strerror(why));
	if (paused && margay_call(node, COMMANDER_RESUME, args[0], strlen(args[0]), &answer, NULL))
		fprintf(stderr, "margay: %s stays paused: resume it\n", args[0]);
	if (err)
		fail(err > 0 ? REFUSED : BROKEN, err > 0 ? said : args[1], err > 0 ? NULL : said);
	unfinished = NULL;
}

static void command_log(char **args)
{
	char *answer = ask(COMMANDER_LOG, args[0] ? args[0] : LINES, NULL);
	const char *comma = "";

	if (!json) {
		fputs(answer, stdout);
		return;
	}
	putchar('[');
	for (char *line; (line = strsep(&answer, "\n")) && *line; comma = ",\n ") {
		printf("%s", comma);
		answer_json_text(line, strlen(line));
	}
	puts("]");
}

static void command_metrics(char **args)
{
	int err;

	if (args[0] && (strcmp(args[0], "--output") != 0 || !args[1]))
		fail(USAGE, "metrics", "expected [--output FILE]");
	err = args[0] ? metrics_write_file(node, args[1]) : metrics_write(node, stdout);
	if (err)
		fail(err < 0 ? BROKEN : REFUSED, args[0] ? args[1] : "metrics", strerror(err < 0 ? errno : err));
}

static const struct command {
	const char *name, *args, *help;
	enum commander_request what; /* 0: run() */
	void (*run)(char **args);
	int shows;                   /* lines of values */
	int needs, takes;
} commands[] = {
	{ "info", "", "version, rights, memory", COMMANDER_HELLO, NULL, 1, 0, 0 },
	{ "list", "", "the VMs", COMMANDER_LIST, NULL, 1, 0, 0 },
	{ "show", "VM", "one of them", COMMANDER_SHOW, NULL, 1, 1, 1 },
	{ "create", "FILE", "makes a VM of a VM file", 0, command_create, 0, 1, 1 },
	{ "destroy", "VM", "forgets one that is over", COMMANDER_DESTROY, NULL, 0, 1, 1 },
	{ "start", "VM", "starts it", COMMANDER_START, NULL, 0, 1, 1 },
	{ "stop", "[--timeout SECONDS] VM", "presses its power button; after that time (60) kills it", 0, command_stop, 0, 1, 3 },
	{ "press", "VM", "presses its power button: it ends, or wakes", COMMANDER_PRESS, NULL, 0, 1, 1 },
	{ "kill", "VM", "ends it at once, like pulling the plug", COMMANDER_STOP, NULL, 0, 1, 1 },
	{ "restart", "VM", "stops it and starts it again", COMMANDER_RESTART, NULL, 0, 1, 1 },
	{ "pause", "VM", "keeps it out of its CPUs", COMMANDER_PAUSE, NULL, 0, 1, 1 },
	{ "resume", "VM", "lets it go on", COMMANDER_RESUME, NULL, 0, 1, 1 },
	{ "nmi", "VM", "sends its guest an NMI, as a server's button does", COMMANDER_NMI, NULL, 0, 1, 1 },
	{ "wait", "VM", "waits until it is over, then shows it", 0, command_wait, 0, 1, 1 },
	{ "console", "[--raw] VM", "its console, from the oldest output kept; --raw: as it is", 0, command_console, 0, 1, 2 },
	{ "dump", "VM FILE", "its memory and registers as a core file, for crash and gdb", 0, command_dump, 0, 2, 2 },
	{ "stats", "[-f [SECONDS]] VM", "its exits; -f: again and again (1)", 0, command_stats, 0, 1, 3 },
	{ "metrics", "[--output FILE]", "the node's numbers, for Prometheus", 0, command_metrics, 0, 0, 2 },
	{ "log", "[LINES]", "the node's log (" LINES ")", 0, command_log, 0, 0, 1 },
	{ "node", "", "CPUs and memory", COMMANDER_NODE, NULL, 1, 0, 0 },
	{ "pci", "", "PCI functions", COMMANDER_PCI, NULL, 1, 0, 0 },
	{ "image put", "FILE [NAME]", "sends an image", 0, command_image_put, 0, 1, 2 },
	{ "image list", "", "the images, and the modules of the boot", COMMANDER_IMAGES, NULL, 1, 0, 0 },
	{ "image rm", "NAME", "forgets one that no VM file names", COMMANDER_IMAGE_REMOVE, NULL, 0, 1, 1 },
};

static void usage(FILE *to)
{
	fprintf(to, "usage: margay [--json] COMMAND ...; margay --version\n");
	for (const struct command *c = commands; c < commands + sizeof(commands) / sizeof(*commands); c++)
		fprintf(to, "  %-10s %-23s %s\n", c->name, c->args, c->help);
}

static const struct command *find(int *argc, char ***argv)
{
	char two[64];

	snprintf(two, sizeof(two), "%.30s %.30s", *argc ? **argv : "", *argc > 1 ? (*argv)[1] : "");
	for (const struct command *c = commands; c < commands + sizeof(commands) / sizeof(*commands); c++) {
		int words = strchr(c->name, ' ') ? 2 : 1;

		if (*argc < words || strcmp(words == 2 ? two : **argv, c->name) != 0)
			continue;
		*argc -= words;
		*argv += words;
		return *argc >= c->needs && *argc <= c->takes ? c : NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "version", no_argument, NULL, 'V' }, { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const struct command *c;
	char error[200];
	int option;

	while ((option = getopt_long(argc, argv, "+jh", options, NULL)) != -1) {
		if (option == 'V') {
			puts("margay " MARGAY_VERSION);
			return OK;
		}
		if (option == 'h')
			usage(stdout);
		if (option != 'j') {
			if (option != 'h')
				usage(stderr);
			return option == 'h' ? OK : USAGE;
		}
		json = 1;
	}
	argc -= optind;
	argv += optind;
	c = find(&argc, &argv);
	if (!c) {
		usage(stderr);
		return USAGE;
	}
	node = margay_open(error, sizeof(error));
	if (!node)
		fail(BROKEN, error, NULL);
	if (c->shows)
		show(c->what, argc ? argv[0] : "");
	else if (c->run)
		c->run(argv);
	else
		ask(c->what, argv[0], NULL);
	margay_close(node);
	return OK;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay watch: asks the node for all who wait, one message for all of them, as long as somebody
 * waits. systemd starts it by its socket, and it ends when nobody has waited for a while; by hand
 * it makes the socket itself, and stays.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "margay.h"

#define LISTENING 3     /* systemd's first */
#define LOOK_MS 100
#define SOON_MS 10      /* for who has just come */
#define IDLE_MS 30000
#define ANSWER_SECONDS 5 /* who does not hear within that time that it is looked at looks itself */
#define WATCHERS 1000u /* below what a process may have open by default */

static struct watcher {
	int fd;
	unsigned n; /* characters of the name that have come */
	/* all of them; it knows that it is looked at */
	int named;
	int told;

	char name[64];
	char last[160]; /* what it has been told of */
} watchers[WATCHERS];
static unsigned count;

static int make_address(struct sockaddr_un *address)
{
	const char *path = getenv(WATCH_VARIABLE);

	if (!path)
		path = WATCH_SOCKET;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return *path && (size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%s", path) <
				sizeof(address->sun_path);
}

int watch_connect(const char *vm)
{
	struct sockaddr_un address;
	const struct timeval patience = { .tv_sec = ANSWER_SECONDS };
	char line[70], byte;
	int n = snprintf(line, sizeof(line), "%.63s\n", vm), fd;

	if (!make_address(&address))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
	    !connect(fd, (const struct sockaddr *)&address, sizeof(address)) &&
	    send(fd, line, (size_t)n, MSG_NOSIGNAL) == n && read(fd, &byte, 1) == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- those who wait --------------------------------------------------------------------- */

static void leave(unsigned i)
{
	close(watchers[i].fd);
	watchers[i] = watchers[--count];
}

static void take_in(int listening)
{
	int fd = accept(listening, NULL, NULL);

	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* One too many looks for himself. */
	if (count == WATCHERS)
		close(fd);
	else
		watchers[count++] = (struct watcher){ .fd = fd };
}

/* Part of the name; 0: it has gone, or says what is none. */
static int hear(struct watcher *w)
{
	ssize_t got = read(w->fd, w->name + w->n, sizeof(w->name) - w->n);
	char *end;

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	if (w->named)
		return 0;
	w->n += (unsigned)got;
	end = memchr(w->name, '\n', w->n);
	if (!end)
		return w->n < sizeof(w->name);
	*end = 0;
	w->named = 1;
	return 1;
}

/* What of the VM is looked at; empty: there is none. */
static void find(const char *lines, const char *vm, char *found, size_t size)
{
	char name[64], state[32] = "", starts[24] = "", ended[24] = "";

	found[0] = 0;
	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
		if (!margay_value(lines, "name", name, sizeof(name)) || strcmp(name, vm) != 0)
			continue;
		margay_value(lines, "state", state, sizeof(state));
		margay_value(lines, "starts", starts, sizeof(starts));
		margay_value(lines, "ended", ended, sizeof(ended));
		snprintf(found, size, "%s %s %s", state, starts, ended);
		return;
	}
}

/* One look for all. */
static void look(void)
{
	char *lines, found[160];

	if (margay_lines(node, MANAGEMENT_LIST, "", &lines))
		fail(BROKEN, "watch", "the node does not answer");
	for (unsigned i = count; i--;) {
		struct watcher *w = &watchers[i];

		if (!w->named)
			continue;
		find(lines, w->name, found, sizeof(found));
		if (w->told && !strcmp(found, w->last))
			continue;
		snprintf(w->last, sizeof(w->last), "%s", found);
		w->told = 1;
		/* Who does not read what he waits for does not need more of it. */
		if (send(w->fd, ".", 1, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			leave(i);
	}
	free(lines);
}

/* ---- the process ------------------------------------------------------------------------ */

static int inherited(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");

	return pid && fds && atol(pid) == getpid() && atoi(fds) == 1;
}

static int make_socket(void)
{
	struct sockaddr_un address;
	struct stat there;
	char *slash;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!make_address(&address))
		fail(USAGE, WATCH_VARIABLE, "expected a path");
	slash = strrchr(address.sun_path, '/');
	if (slash && slash != address.sun_path) {
		*slash = 0;
		mkdir(address.sun_path, 0755);
		*slash = '/';
	}
	/* Who is there already keeps it. */
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		fail(REFUSED, address.sun_path, "somebody watches there already");
	/* Nobody's any more; what is no socket stays, and bind() says so. */
	if (!lstat(address.sun_path, &there) && S_ISSOCK(there.st_mode))
		unlink(address.sun_path);
	umask(0177);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, SOMAXCONN))
		fail(BROKEN, address.sun_path, strerror(errno));
	return fd;
}

/* Who came, who has gone, who has said what he waits for. Returns whether anybody new has. */
static int take_events(struct pollfd *polled, unsigned n)
{
	int news = 0;

	for (unsigned i = n; i--;) {
		if (!polled[i + 1].revents)
			continue;
		if (hear(&watchers[i]))
			news = news || watchers[i].named;
		else
			leave(i);
	}
	if (polled[0].revents)
		take_in(polled[0].fd);
	return news;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until somebody says something, or the next look is due. */
static int wait_for_events(struct pollfd *polled, int listening, long ms)
{
	polled[0] = (struct pollfd){ .fd = listening, .events = POLLIN };
	for (unsigned i = 0; i < count; i++)
		polled[i + 1] = (struct pollfd){ .fd = watchers[i].fd, .events = POLLIN };
	return poll(polled, count + 1, (int)ms);
}

void command_watch(const struct words *)
{
	static struct pollfd polled[WATCHERS + 1];
	int by_systemd = inherited(), listening = by_systemd ? LISTENING : make_socket();
	long due = now_ms();

	signal(SIGPIPE, SIG_IGN);
	fcntl(listening, F_SETFL, O_NONBLOCK);
	for (;;) {
		long idle = by_systemd ? IDLE_MS : -1;
		long left = count ? due - now_ms() : idle;
		unsigned n = count;
		int some = wait_for_events(polled, listening, count && left < 0 ? 0 : left);

		if (!some && !n)
			return;
		/* All who come within a moment are looked at by one message. */
		if (some > 0 && take_events(polled, n) && due > now_ms() + SOON_MS)
			due = now_ms() + SOON_MS;
		if (!count || now_ms() < due)
			continue;
		look();
		due = now_ms() + LOOK_MS;
	}
}

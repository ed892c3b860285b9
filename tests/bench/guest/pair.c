/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two machines and TCP between them: `pair serve` answers until it is told to end; `pair ask ADDRESS MIB TRIPS` sends so many MiB
 * and then asks so many times for a byte, by a byte, with a warm-up before and markers around each.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../marker.h"

#define PORT 5000
#define PIECE 65536
#define WARM_MIB 2
#define WARM_TRIPS 200

/* What is asked for: so many bytes are coming; answer each of so many bytes; end. */
struct wish {
	char what;
	unsigned count;
};

static char piece[PIECE];

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void send_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	for (ssize_t n; size; p += n, size -= (size_t)n)
		if ((n = write(fd, p, size)) <= 0)
			give_up("write");
}

static void receive(int fd, void *data, size_t size)
{
	char *p = data;

	for (ssize_t n; size; p += n, size -= (size_t)n)
		if ((n = read(fd, p, size)) <= 0)
			give_up("read");
}

static struct sockaddr_in at(const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static void at_once(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static void serve(void)
{
	struct sockaddr_in any = at("0.0.0.0");
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	struct wish wish;

	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 1) || (fd = accept(listener, NULL, NULL)) < 0)
		give_up("listen");
	at_once(fd);
	for (receive(fd, &wish, sizeof(wish)); wish.what != 'e'; receive(fd, &wish, sizeof(wish))) {
		for (unsigned i = 0; wish.what == 'r' && i < wish.count; i++) {
			receive(fd, piece, 1);
			send_all(fd, piece, 1);
		}
		/* In whatever pieces it comes. */
		for (size_t left = wish.what == 's' ? wish.count : 0; left;) {
			ssize_t n = read(fd, piece, left < PIECE ? left : PIECE);

			if (n <= 0)
				give_up("read");
			left -= (size_t)n;
		}
		send_all(fd, "", 1);
	}
}

static void stream(int fd, unsigned mib)
{
	struct wish wish = { 's', mib << 20 };

	send_all(fd, &wish, sizeof(wish));
	for (unsigned i = 0; i < wish.count / PIECE; i++)
		send_all(fd, piece, PIECE);
	receive(fd, piece, 1);
}

static void trips(int fd, unsigned count)
{
	struct wish wish = { 'r', count };

	send_all(fd, &wish, sizeof(wish));
	for (unsigned i = 0; i < count; i++) {
		send_all(fd, "", 1);
		receive(fd, piece, 1);
	}
	receive(fd, piece, 1);
}

static void ask(const char *address, unsigned mib, unsigned count)
{
	struct sockaddr_in other = at(address);
	int fd = -1;

	/* It may not have come so far. */
	for (unsigned i = 0; i < 600; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&other, sizeof(other)))
			break;
		close(fd);
		fd = -1;
		usleep(100000);
	}
	if (fd < 0)
		give_up(address);
	at_once(fd);
	stream(fd, WARM_MIB);
	MARKER(1);
	stream(fd, mib);
	MARKER(2);
	trips(fd, WARM_TRIPS);
	MARKER(1);
	trips(fd, count);
	MARKER(2);
	send_all(fd, &(struct wish){ 'e', 0 }, sizeof(struct wish));
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "ask"))
		ask(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
	else
		serve();
	return 0;
}

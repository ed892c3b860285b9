/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two machines and TCP between them: `pair serve` answers until it is told to end; `pair ask
 * ADDRESS MIB TRIPS DATAGRAMS` sends so many MiB and then asks so many times for a byte, by a byte,
 * with a warm-up before and markers around each. Then it sends so many datagrams to the other,
 * which asks for them without a pause, and has markers around that itself; then it does nothing.
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
#define DATAGRAM 1400
#define BUFFER (4 << 20)  /* of who receives them: none of them is to be lost for want of it */
#define QUIET 500000      /* us, in which what TCP still has to say is said */
#define NOTHING 1000000

/*
 * What is asked for: so many bytes are coming; answer each of so many bytes; so many datagrams are
 * coming; end.
 */
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

/*
 * It never waits. The last one is sent again until it has come, whatever became of the others,
 * which are told.
 */
static void poll_datagrams(int fd, unsigned count)
{
	struct sockaddr_in any = at("0.0.0.0");
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned number = 0, came = 0;

	if (setsockopt(udp, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ BUFFER }, sizeof(int)) ||
	    bind(udp, (struct sockaddr *)&any, sizeof(any)))
		give_up("datagrams");
	send_all(fd, "", 1);
	while (number < count - 1)
		if (recv(udp, piece, PIECE, MSG_DONTWAIT) == DATAGRAM) {
			if (!came++)
				MARKER(1);
			memcpy(&number, piece, sizeof(number));
		}
	MARKER(2);
	close(udp);
	send_all(fd, &came, sizeof(came));
}

static void serve(void)
{
	struct sockaddr_in any = at("0.0.0.0");
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	struct wish wish;

	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 1) ||
	    (fd = accept(listener, NULL, NULL)) < 0)
		give_up("listen");
	at_once(fd);
	for (receive(fd, &wish, sizeof(wish)); wish.what != 'e'; receive(fd, &wish, sizeof(wish))) {
		for (unsigned i = 0; wish.what == 'r' && i < wish.count; i++) {
			receive(fd, piece, 1);
			send_all(fd, piece, 1);
		}
		if (wish.what == 'd')
			poll_datagrams(fd, wish.count);
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

static void datagrams(int fd, const struct sockaddr_in *other, unsigned count)
{
	struct wish wish = { 'd', count };
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned came;

	if (connect(udp, (const struct sockaddr *)other, sizeof(*other)))
		give_up("datagrams");
	send_all(fd, &wish, sizeof(wish));
	receive(fd, piece, 1);
	for (unsigned i = 0; i < count; i++) {
		memcpy(piece, &i, sizeof(i));
		if (send(udp, piece, DATAGRAM, 0) != DATAGRAM)
			give_up("send");
	}
	while (recv(fd, &came, sizeof(came), MSG_DONTWAIT) != sizeof(came)) {
		usleep(1000);
		send(udp, piece, DATAGRAM, 0);
	}
	receive(fd, piece, 1);
	printf("margay-test: datagrams: %u of %u\n", came, count);
	fflush(stdout);
}

static void ask(const char *address, unsigned mib, unsigned count, unsigned frames)
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
	MARKER(3); /* from here on it is counted */
	stream(fd, WARM_MIB);
	MARKER(1);
	stream(fd, mib);
	MARKER(2);
	trips(fd, WARM_TRIPS);
	MARKER(1);
	trips(fd, count);
	MARKER(2);
	datagrams(fd, &other, frames);
	usleep(QUIET);
	MARKER(1);
	usleep(NOTHING);
	MARKER(2);
	send_all(fd, &(struct wish){ 'e', 0 }, sizeof(struct wish));
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "ask"))
		ask(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]),
		    (unsigned)atoi(argv[5]));
	else
		serve();
	return 0;
}

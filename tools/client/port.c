/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See port.h. Linux opens a port for one program only; where MARGAY_PORT names something else a
 * lock says the same.
 */
#include "port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "libmargay.h"

#define PORTS "/sys/class/virtio-ports"
#define PATIENCE 15 /* seconds; each is held for a message, or an image */
#define AGAIN_NS 2000000 /* at least, and at most four times as long: not all at once */

static int is_ours(const char *port)
{
	char path[300], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), PORTS "/%s/name", port);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	fclose(f);
	return !strncmp(name, "margay.", 7);
}

/* The next of the paths, until NULL. */
static const char *next_port(DIR *dir, char path[300])
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_ours(entry->d_name)) {
			snprintf(path, 300, "/dev/%s", entry->d_name);
			return path;
		}
	return NULL;
}

int port_there(char *error, size_t size)
{
	const char *given = getenv("MARGAY_PORT");
	char path[300];
	DIR *dir = given ? NULL : opendir(PORTS);
	const char *port = given ? given : next_port(dir, path);
	int may = port && !access(port, R_OK | W_OK);

	if (!port)
		snprintf(error, size,
			 "this is not the management VM: no port in " PORTS " is margay's");
	else if (!may)
		snprintf(error, size, "%s: %s", port, strerror(errno));
	if (dir)
		closedir(dir);
	return may;
}

/* EBUSY: another has it. */
static int open_one(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	errno = EBUSY;
	return -1;
}

static int open_any(void)
{
	const char *given = getenv("MARGAY_PORT"), *port;
	char path[300];
	int fd = given ? open_one(given) : -1, err = errno;
	DIR *dir = given ? NULL : opendir(PORTS);

	while (!given && fd < 0 && (port = next_port(dir, path))) {
		fd = open_one(port);
		err = errno;
	}
	if (dir)
		closedir(dir);
	errno = err;
	return fd;
}

int port_open(void)
{
	struct timespec now, end;
	unsigned seed = (unsigned)getpid();
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PATIENCE;
	while ((fd = open_any()) < 0 && (errno == EBUSY || errno == EMFILE)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end.tv_sec) {
			errno = EBUSY;
			break;
		}
		nanosleep(&(struct timespec){ 0,
					      AGAIN_NS + (long)(rand_r(&seed) % (3 * AGAIN_NS)) },
			  NULL);
	}
	return fd;
}

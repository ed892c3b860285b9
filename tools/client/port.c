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
#define FUNCTIONS "/sys/bus/pci/devices"
#define PCI_DRIVER "/sys/bus/pci/drivers/virtio-pci"
/* a virtio console of Margay's: other makers have another subsystem */
#define CONSOLE "pci:v00001AF4d00001043sv00001AF4sd00001043"
#define PATIENCE 15 /* seconds; each is held for a message, or an image */
#define AGAIN_NS 2000000 /* at least, and at most four times as long: not all at once */

/* The next entry of a folder of sysfs whose file begins with these letters, until NULL. */
static const char *next_with(DIR *dir, const char *folder, const char *file, const char *letters)
{
	struct dirent *entry;
	char path[600], line[64] = "";
	FILE *f;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/%s", folder, entry->d_name, file);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
		fclose(f);
		if (!strncmp(line, letters, strlen(letters)))
			return entry->d_name;
	}
	return NULL;
}

/* The next of the paths, until NULL. */
static const char *next_port(DIR *dir, char path[300])
{
	const char *name = next_with(dir, PORTS, "name", "margay.");

	if (!name)
		return NULL;
	snprintf(path, 300, "/dev/%s", name);
	return path;
}

/* Why there is no port. Linux makes their class with the driver, built in or not. */
static const char *no_port(void)
{
	DIR *dir = opendir(FUNCTIONS);
	int console = !!next_with(dir, FUNCTIONS, "modalias", CONSOLE);

	if (dir)
		closedir(dir);
	if (!console || !access(PORTS, F_OK))
		return "this is not the management VM: no port in " PORTS " is margay's";
	if (access(PCI_DRIVER, F_OK))
		return "virtio_pci is not loaded: modprobe -a virtio_pci virtio_console";
	return "virtio_console is not loaded: modprobe virtio_console";
}

int port_there(char *error, size_t size)
{
	const char *given = getenv("MARGAY_PORT");
	char path[300];
	DIR *dir = given ? NULL : opendir(PORTS);
	const char *port = given ? given : next_port(dir, path);
	int may = port && !access(port, R_OK | W_OK);

	if (!port)
		snprintf(error, size, "%s", no_port());
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

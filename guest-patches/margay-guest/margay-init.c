// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program of an initramfs that knows nothing of Margay: rdinit=/margay/init
 * from an archive in front of it (tools/guest-module). Loads the module for the kernel
 * that runs, /margay/RELEASE.ko, and becomes the initramfs' own /init. What goes wrong is
 * said on the console, and no reason to stop: devices stay silent then. Linked statically,
 * as no library is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void say(const char *what, const char *why)
{
	char text[300];
	int n = snprintf(text, sizeof(text), "margay-init: %s: %s\n", what, why),
	    fd = open("/dev/console", O_WRONLY | O_NOCTTY);

	if (fd < 0)
		return;
	if (write(fd, text, (size_t)n) < 0)
		n = 0;
	close(fd);
}

int main(int argc, char **argv)
{
	struct utsname u;
	char path[200];
	int fd;

	(void)argc;
	uname(&u);
	snprintf(path, sizeof(path), "/margay/%.150s.ko", u.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		say(path, strerror(errno));
	else if (syscall(SYS_finit_module, fd, "", 0))
		say(path, strerror(errno));
	argv[0] = "/init";
	execv("/init", argv);
	say("/init", strerror(errno));
	return 1;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first program of a guest that starts another kernel by itself, and of that kernel:
 * test_kexec.py. What it does stands on the kernel's command line, as kexec.do=WORD: `exec` loads
 * the other kernel and starts it, `crash` loads it for the case of a panic and panics; `after` and
 * `core` are that kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static char cmdline[4096];

static void end(void)
{
	fflush(stdout);
	tcdrain(1);
	reboot(RB_POWER_OFF);
}

static int must(const char *what, long result)
{
	if (result < 0) {
		printf("kexec: failed: %s: %s\n", what, strerror(errno));
		end();
	}
	return (int)result;
}

static void load(const char *word, unsigned long flags)
{
	int kernel = must("kernel", open("/kexec/vmlinuz", O_RDONLY)),
	    initrd = must("initrd", open("/kexec/initrd", O_RDONLY));
	char text[200];
	int n = snprintf(text, sizeof(text),
			 "console=ttyS0 panic=-1 quiet rdinit=/kexec/run kexec.do=%s%s", word,
			 flags ? " nr_cpus=1" : "");

	must("load",
	     syscall(SYS_kexec_file_load, kernel, initrd, (unsigned long)n + 1, text, flags));
	printf("kexec: loaded\n");
	fflush(stdout);
	tcdrain(1); /* a panic does not wait for the UART */
}

/* The memory of the kernel that panicked, as an ELF file: its first word, and how large it is. */
static void core(void)
{
	int fd = must("/proc/vmcore", open("/proc/vmcore", O_RDONLY));
	char magic[4] = "";

	must("read", read(fd, magic, sizeof(magic)));
	printf("kexec: core: %s, %ld MiB\n", memcmp(magic, "\177ELF", 4) ? "no ELF" : "ELF",
	       (long)(lseek(fd, 0, SEEK_END) >> 20));
}

int main(void)
{
	const char *what;
	int fd;

	mount("proc", "/proc", "proc", 0, NULL);
	fd = must("/proc/cmdline", open("/proc/cmdline", O_RDONLY));
	must("read", read(fd, cmdline, sizeof(cmdline) - 1));
	what = strstr(cmdline, "kexec.do=");
	what = what ? what + strlen("kexec.do=") : "";
	printf("kexec: at %.4s with %ld CPUs\n", what, sysconf(_SC_NPROCESSORS_ONLN));
	if (!strncmp(what, "exec", 4)) {
		load("after", 0);
		must("reboot", reboot(LINUX_REBOOT_CMD_KEXEC));
	} else if (!strncmp(what, "crash", 5)) {
		load("core", KEXEC_FILE_ON_CRASH);
		fd = must("sysrq", open("/proc/sysrq-trigger", O_WRONLY));
		must("write", write(fd, "c", 1));
	} else if (!strncmp(what, "core", 4)) {
		core();
	}
	end();
	for (;;)
		pause();
}

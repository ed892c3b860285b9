/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/load/load_linux.c and vmm/load/load_vmlinux.c: a Linux guest that is being placed.
 */
#ifndef VMM_LINUX_IMAGE_H
#define VMM_LINUX_IMAGE_H

#include <margay/bootparams.h>

struct host_module;
struct vm;

#define LINUX_LOW_GUARD 0x100000ull /* kernels and initrds stay above 1 MiB */
#define LINUX_COMMAND_LINE_MAX 2047u
/*
 * What tells a guest without KVM's clock the rate of its TSC, and, where the node's TSCs are one
 * clock, that nothing needs to watch it: with a clock source that watches it Linux would have no
 * timers finer than a tick (Linux, admin-guide/kernel-parameters.txt). Before all other words: the
 * operator's own, which come later, are the ones that count, and behind "--" none would.
 */
#define LINUX_TSC_RATE "tsc_early_khz=%lu "
#define LINUX_TSC_RELIABLE "tsc=reliable "
#define LINUX_TSC_RATE_MAX (sizeof(LINUX_TSC_RELIABLE "tsc_early_khz=4294967295 ") - 1)

/* What has been placed so far. */
struct linux_load {
	struct vm *vm;
	const char *name; /* the kernel module's */
	/* why it has no clock but its TSC; NULL: it has KVM's, or does not tell */
	const char *no_clock;
	/* guest RAM that the kernel takes while it starts */
	u64 kernel;
	u64 kernel_size;

	struct linux_setup_header hdr;
	u64 initrd;
	u64 initrd_size;
};

/* Says what is wrong with the kernel's image and what to do; -ENOEXEC. */
int load_refuse(const struct linux_load *l, const char *why);

/* load_vmlinux.c: places an ELF kernel. 0 or -errno, printed. */
int load_vmlinux(struct linux_load *l, const struct host_module *kernel);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to vmm/load/load_linux.c and vmm/load/load_vmlinux.c: a Linux guest that is being placed. */
#ifndef VMM_LINUX_IMAGE_H
#define VMM_LINUX_IMAGE_H

#include <margay/bootparams.h>

struct host_module;
struct vm;

#define LINUX_LOW_GUARD 0x100000ull /* kernels and initrds stay above 1 MiB */
#define LINUX_COMMAND_LINE_MAX 2047u
/*
 * What tells a guest without KVM's clock the rate of its TSC, and that nothing needs to watch it: by a clock source that watches it
 * Linux would have no timers finer than a tick (Documentation/admin-guide/kernel-parameters.txt).
 */
#define LINUX_TSC_RATE " tsc=reliable tsc_early_khz=%lu"
#define LINUX_TSC_RATE_MAX (sizeof(" tsc=reliable tsc_early_khz=4294967295") - 1)

/* What has been placed so far. */
struct linux_load {
	struct vm *vm;
	const char *name;        /* the kernel module's */
	u64 kernel, kernel_size; /* guest RAM that the kernel takes while it starts */
	struct linux_setup_header hdr;
	u64 initrd, initrd_size;
};

/* Says what is wrong with the kernel's image and what to do; -ENOEXEC. */
int load_refuse(const struct linux_load *l, const char *why);

/* load_vmlinux.c: places an ELF kernel. 0 or -errno, printed. */
int load_vmlinux(struct linux_load *l, const struct host_module *kernel);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the CPU layer asks of the kernel above it, by a table that the kernel gives it in its first
 * line of C: none of the calls is made before. None of them sleeps. A room of the kernel that
 * panic() stands above calls upcall_panic(), too.
 */
#ifndef ARCH_CPU_UPCALL_H
#define ARCH_CPU_UPCALL_H

#include <margay/string.h>
#include <margay/types.h>

struct trap_frame;
struct upcalls;

/* From now on what is called below is what stands there. */
void upcall_register(const struct upcalls *kernel);

/* One log line, without a trailing newline and without "margay: ". */
void upcall_log(const char *fmt, ...) __printf(1, 2);

/* The machine cannot go on: reports and halts. */
void upcall_panic(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));

/* An exception that no fixup explains: reports it with its registers and halts. */
void upcall_trap(const struct trap_frame *frame, const char *what) __attribute__((noreturn));

/* An NMI was taken on the calling CPU. Must not fault, lock or print. */
void upcall_nmi(void);

/*
 * A machine check of the calling CPU, and what it was doing. If a guest has used lost memory its
 * work item has been told; an access of mc_access.h shall fail by its table. Only with
 * CONFIG_MACHINE_CHECKS.
 */
enum mc_place {
	MC_IN_ROOT,      /* the hypervisor's own business */
	MC_IN_ACCESS,    /* an access of mc_access.h */
	MC_IN_GUEST,     /* an exit has brought it */
};
enum mc_outcome {
	MC_STOPS,        /* the node cannot go on */
	MC_GOES_ON,      /* whoever was interrupted does */
	MC_ACCESS_FAILS, /* of MC_IN_ACCESS */
};
enum mc_outcome upcall_machine_check(enum mc_place place);

/* An exit by a machine check. Returns where the node can go on. */
static inline void machine_check_of_guest(void)
{
	if (!IS_ENABLED(CONFIG_MACHINE_CHECKS)) {
		asm volatile("int $18" : : : "memory");
		__builtin_unreachable();
	}
	if (upcall_machine_check(MC_IN_GUEST) == MC_STOPS)
		upcall_panic("a machine check");
}

/*
 * apic_init_cpu() has masked LINT0 of the calling CPU: its inputs that are NMI, by
 * apic_local_nmi().
 */
void upcall_local_nmis(void);

/*
 * There are no device registers at that address: ends what the calling CPU works for, or panics
 * where that is the node.
 */
void upcall_device_fault(const volatile void *reg);

/*
 * Only in images with IOMMU. Lets the input of a global system interrupt through to a CPU, as its
 * I/O APIC's entry says, which, where interrupts are remapped, becomes one that does so. 0;
 * -ERANGE: that APIC ID is out of reach; -ENOSPC; -ENOMEM; -EIO.
 */
int upcall_route(u32 gsi, u32 apic_id, u64 *entry);

/*
 * A zeroed page for a page table: its physical address, in reach of phys_to_virt(). Panics when
 * there is none.
 */
u64 upcall_table_page(void);

/* All of them. NULL: never called in this image. */
struct upcalls {
	void (*log)(const char *fmt, va_list ap) __printf(1, 0);
	void (*panic)(const char *fmt, va_list ap) __printf(1, 0) __attribute__((noreturn));
	void (*trap)(const struct trap_frame *frame, const char *what) __attribute__((noreturn));
	void (*nmi)(void);
	enum mc_outcome (*machine_check)(enum mc_place place);
	void (*local_nmis)(void);
	void (*device_fault)(const volatile void *reg);
	int (*route)(u32 gsi, u32 apic_id, u64 *entry);
	u64 (*table_page)(void);
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* What every tiny guest has: its verdict, its console, its command line, its other CPUs. */
#ifndef TINY_TINY_H
#define TINY_TINY_H

#include "cpu.h"

/* The guest's own part. When it returns, finish() is called. */
void test_main(void);

/*
 * A line on the console, in one piece; it brings the line's end: %s, %d, %u, %x with l for 64 bits,
 * %c.
 */
void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Counts one check; a false one is printed, with the text, and fails the guest. Read a port or
 * register once, before it.
 */
#define check(ok, ...) check_result((ok), __FILE__, __LINE__, __VA_ARGS__)
bool check_result(bool ok, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The one line that the runner looks for, "tiny: NAME: ok checks=N" or "tiny:
 * NAME: FAILED failed=N checks=N". A guest without a check has failed. Called
 * once, from any CPU: by a guest that dies next on purpose, else by exit_test().
 */
void result(void);
/*
 * result(), unless printed already, and the end by the debug-exit port: status 0 when all checks
 * held, else 1.
 */
void exit_test(void) __attribute__((noreturn));

/* The value of KEY= on the command line, or NULL. */
const char *option(const char *key);
u64 option_number(const char *key, u64 otherwise);
/* Which emulator runs us: the option machine=. */
bool on_bochs(void);
bool on_qemu(void);
/* Whether KVM is the node's processor, on that emulator: the option processor=. */
bool on_kvm(void);
/* Under Margay, and not on the bare emulator? */
bool on_margay(void);

/* The multiboot information, as handed over. */
extern const u32 *boot_info;
extern u32 boot_magic;
/* ECX, EDX, ESI, EDI, EBP, ESP, R8 to R15 at the entry: undefined for a kernel, 0 under Margay. */
extern const u64 entry_regs[14];

/*
 * Starts CPUs 1..n-1, n from the option cpus= (default 1), by INIT and SIPI; returns n. They wait
 * for work.
 */
unsigned smp_start(void);
/* Starts one of them again, whatever it was doing. */
void smp_restart(unsigned cpu);
/* Runs fn(arg) on a CPU that has been started; does not wait. */
void smp_run(unsigned cpu, void (*fn)(void *arg), void *arg);
/* Waits until the CPU has done its work. */
void smp_wait(unsigned cpu);

/*
 * Waits until a count that others raise is what is wanted, for so many looks at most; whether it
 * is.
 */
static inline bool reaches(const volatile u32 *count, u32 want, unsigned looks)
{
	for (unsigned i = 0; i < looks && *count < want; i++)
		cpu_relax();
	return *count == want;
}

/*
 * Runs fn, 32-bit code, in protected mode without paging, at the same stack, and
 * comes back to 64-bit mode; descriptors and IDT are as before then. What fn left in EAX.
 */
u32 legacy_call(void (*fn)(void));

/*
 * Leaf entries of the identity map, split to 4 KiB where needed: sets the entry of a page; flags 0
 * unmaps it.
 */
enum { PTE_P = 1, PTE_W = 2, PTE_U = 4 };
#define PTE_NX BIT(63)
void map_page(u64 va, u64 pa, u64 flags);
/* The entry itself, for a guest that changes it behind a CPU's back. */
u64 *page_entry(u64 va);
/* A zeroed page behind the image; there are some 4,000 with 32 MiB of memory. */
void *page_alloc(void);

#endif

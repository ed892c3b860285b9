/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * SYSCALL, SYSRET, SYSENTER and SYSEXIT where they work and where they must
 * not: without EFER.SCE, without SYSENTER_CS, in ring 3.
 */
#include "tiny.h"

#define EFER_SCE 1

u64 syscall_rcx, syscall_r11, syscall_cs;

asm("syscall_entry:\n\t"
    "mov %rcx, syscall_rcx; mov %r11, syscall_r11; mov %cs, %r8; mov %r8, syscall_cs\n\t"
    "sysretq\n"
    "sysenter_entry:\n\t"
    "mov %cs, %r8; mov %r8, syscall_cs; mov $0x3b, %r8d; mov %r8d, %ds\n\t"
    /* Not by SYSEXIT, whose selectors our GDT has not: an IRET to the instruction behind. */
    "push $0x3b; push %rcx; push $2; push $0x43; push %rdx; iretq");
extern u8 syscall_entry[], sysenter_entry[];

static void no_sce(void *arg)
{
	(void)arg;
	check(TRY("syscall", , , "rcx", "r11") == VEC_UD, "SYSCALL without EFER.SCE raises #UD");
	check(TRY("sysretq", , , "rcx", "r11") != NO_TRAP, "SYSRET in ring 3 is refused");
	check(TRY("sysexitl", , O("c"(0), "d"(0))) != NO_TRAP, "SYSEXIT in ring 3 is refused");
	check(TRY("sysenter", , ) == (is_amd() ? VEC_UD : VEC_GP),
	      "SYSENTER without SYSENTER_CS is refused");
}

static void with_sce(void *arg)
{
	u64 next;

	(void)arg;
	for (unsigned i = 0; i < 10; i++) {
		syscall_rcx = syscall_r11 = syscall_cs = 0;
		asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:" : "=&r"(next) : : "rcx", "r8",
										  "r11", "memory");
		check(syscall_rcx == next && syscall_cs == SEL_CODE64 && syscall_r11 & 2,
		      "SYSCALL: RCX %#lx, CS %#lx", syscall_rcx, syscall_cs);
	}
}

static void sysenter(void *arg)
{
	(void)arg;
	syscall_cs = 0;
	asm volatile("mov %%rsp, %%rcx; lea 1f(%%rip), %%rdx; sysenter\n1:" : : : "rcx", "rdx",
										  "r8", "memory");
	check(syscall_cs == SEL_CODE64, "SYSENTER went to CS %#lx", syscall_cs);
}

void test_main(void)
{
	u64 odd = 0x8000000000000000;

	check(user_run(no_sce, NULL) == NO_TRAP, "ring 3 came to its end");
	check(TRY("syscall", , , "rcx", "r11") == VEC_UD,
	      "SYSCALL in ring 0 without EFER.SCE raises #UD");
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
	wrmsr(0xc0000081, (u64)SEL_USER_CODE32 << 48 | (u64)SEL_CODE64 << 32);
	wrmsr(0xc0000082, (u64)syscall_entry);
	wrmsr(0xc0000084, 0x200);
	check(rdmsr(0xc0000082) == (u64)syscall_entry, "LSTAR reads back");
	check(user_run(with_sce, NULL) == NO_TRAP, "ring 3 came to its end");
	/* TCG keeps a LSTAR that is not canonical, natively too. */
	if (!on_qemu())
		check(try_wrmsr(0xc0000082, odd) == VEC_GP, "LSTAR must be canonical");
	if (!is_amd()) {
		wrmsr(0x174, SEL_CODE64);
		wrmsr(0x175, (u64)(cpus[0].trap_stack + sizeof(cpus[0].trap_stack)));
		wrmsr(0x176, (u64)sysenter_entry);
		check(user_run(sysenter, NULL) == NO_TRAP, "ring 3 came to its end");
		/* KVM makes it canonical, as AMD's CPUs do not mind. */
		if (!on_kvm())
			check(try_wrmsr(0x175, odd) == VEC_GP, "SYSENTER_ESP must be canonical");
	}
}

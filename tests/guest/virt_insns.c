/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * The instructions of VMX, SVM, SMX, SGX, TDX and SMM, and RDPRU, which no guest is shown, and
 * MONITOR and MWAIT, which are where it has its CPU's local APIC and MWAIT
 * sleeps: #UD in ring 0 and in ring 3, as on a CPU without them. On
 * an AMD host ring 3 gets #GP from those of SVM: the CPU tests CPL before the
 * intercept, and EFER.SVME must be on for the host.
 */
#include "tiny.h"

static u64 area[512] __attribute__((aligned(4096)));

enum { SVM = 1, GROUP9 = 2, MWAIT = 4 };

/* RAX points to 4 KiB of zeros, RCX and RDX are 0. */
#define INSNS \
	X(vmlaunch, "vmlaunch", 0) \
	X(vmresume, "vmresume", 0) \
	X(vmxoff, "vmxoff", 0) \
	X(vmxon, "vmxon (%%rax)", GROUP9) \
	X(vmptrld, "vmptrld (%%rax)", GROUP9) \
	X(vmptrst, "vmptrst (%%rax)", GROUP9) \
	X(vmclear, "vmclear (%%rax)", GROUP9) \
	X(vmread, "vmread %%rdx, %%rcx", 0) \
	X(vmwrite, "vmwrite %%rcx, %%rdx", 0) \
	X(vmread_mem, "vmread %%rdx, (%%rax)", 0) \
	X(invept, "invept (%%rax), %%rcx", 0) \
	X(invvpid, "invvpid (%%rax), %%rcx", 0) \
	X(vmfunc, ".byte 0x0f, 0x01, 0xd4", 0) \
	X(vmrun, ".byte 0x0f, 0x01, 0xd8", SVM) \
	X(vmload, ".byte 0x0f, 0x01, 0xda", SVM) \
	X(vmsave, ".byte 0x0f, 0x01, 0xdb", SVM) \
	X(stgi, ".byte 0x0f, 0x01, 0xdc", SVM) \
	X(clgi, ".byte 0x0f, 0x01, 0xdd", SVM) \
	X(skinit, ".byte 0x0f, 0x01, 0xde", SVM) \
	X(invlpga, ".byte 0x0f, 0x01, 0xdf", SVM) \
	X(getsec, ".byte 0x0f, 0x37", 0) \
	X(encls, ".byte 0x0f, 0x01, 0xcf", 0) \
	X(enclu, ".byte 0x0f, 0x01, 0xd7", 0) \
	X(enclv, ".byte 0x0f, 0x01, 0xc0", 0) \
	X(tdcall, ".byte 0x66, 0x0f, 0x01, 0xcc", 0) \
	X(seamcall, ".byte 0x66, 0x0f, 0x01, 0xcf", 0) \
	X(rdpru, ".byte 0x0f, 0x01, 0xfd", 0) \
	X(rsm, ".byte 0x0f, 0xaa", 0) \
	X(mwait, ".byte 0x0f, 0x01, 0xc9", MWAIT) \
	X(monitor, ".byte 0x0f, 0x01, 0xc8", MWAIT) \
	X(ud0, ".byte 0x0f, 0xff, 0xc0", 0) \
	X(ud2, "ud2", 0)

#define X(name, text, flags) \
	static int try_##name(void) \
	{ \
		return TRY(text, , O("a"(area), "c"(0ull), "d"(0ull))); \
	}
INSNS
#undef X

static const struct {
	const char *name;
	int (*run)(void);
	unsigned flags;
} insns[] = {
#define X(name, text, flags) { #name, try_##name, flags },
	INSNS
#undef X
};

static bool mwait_shown;

static void all(void *ring3)
{
	for (unsigned i = 0; i < ARRAY_SIZE(insns); i++) {
		int trap = insns[i].run();

		/* TCG executes 0F C7 /6 and /7 with a memory operand as nothing, natively too. */
		if (on_qemu() && insns[i].flags & GROUP9)
			continue;
		if (ring3 && insns[i].flags & SVM && is_amd() && trap == VEC_GP)
			trap = VEC_UD;
		/* MWAIT comes first: it does not wait for what no MONITOR has named. */
		if (!ring3 && insns[i].flags & MWAIT && mwait_shown && trap == NO_TRAP)
			trap = VEC_UD;
		check(trap == VEC_UD, "%s in ring %d: vector %d", insns[i].name, ring3 ? 3 : 0,
		      trap);
	}
}

static bool shown(u32 leaf, u32 subleaf, unsigned reg, unsigned bit)
{
	struct cpuid r = cpuid(leaf, subleaf);

	return (&r.eax)[reg] >> bit & 1;
}

/* What CPUID does not show is undefined. */
static void by_cpuid(void)
{
	u32 eax, edx;

	check((TRY("invpcid (%%rax), %%rcx", , O("a"(area), "c"(2ull))) == NO_TRAP) ==
		      shown(7, 0, 1, 10),
	      "INVPCID as CPUID says");
	check((TRY("rdtscp", O("=a"(eax), "=d"(edx)), , "rcx") == NO_TRAP) ==
		      shown(0x80000001, 0, 3, 27),
	      "RDTSCP as CPUID says");
	check((TRY("rdpid %%rax", , , "rax") == NO_TRAP) == shown(7, 0, 2, 22),
	      "RDPID as CPUID says");
	check((TRY("tpause %%ecx", , O("a"(0), "d"(0), "c"(1))) == NO_TRAP) == shown(7, 0, 2, 5),
	      "TPAUSE as CPUID says");
	/* Not there at all: executes as WBINVD. */
	check(TRY("wbnoinvd", , ) == NO_TRAP, "WBNOINVD");
	check(TRY("rdpmc", O("=a"(eax), "=d"(edx)), O("c"(0))) == VEC_GP,
	      "RDPMC without counters raises #GP");
}

void test_main(void)
{
	mwait_shown = cpuid(1, 0).ecx & BIT(3);
	check(!(cpuid(1, 0).ecx & (BIT(5) | BIT(6))), "CPUID shows neither VMX nor SMX");
	check(mwait_shown == (option_number("direct", 0) && on_bochs() && !on_kvm()),
	      "CPUID shows MONITOR or not");
	check(!(cpuid(0x80000001, 0).ecx & BIT(2)), "CPUID shows no SVM");
	all(NULL);
	check(user_run(all, area) == NO_TRAP, "ring 3 came to its end");
	by_cpuid();
}

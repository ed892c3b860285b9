/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON qemu: TCG has no #AC, natively neither
 *
 * CPU 1 takes #AC to a handler of ring 3 on a misaligned stack of ring 3, so
 * that the delivery of #AC raises the next one and no instruction runs any more
 * (CVE-2015-5307). CPU 0 goes on, and its end of the VM reaches CPU 1.
 */
#include "tiny.h"

extern volatile u32 ac_handled, ac_about;
extern const u8 ac_handler[];
void ac_endless(void);
struct gate32 {
	u16 offset0;
	u16 selector;
	u16 attr;
	u16 offset1;
} ac_idt[32];

static void endless(void *arg)
{
	u32 to = (u32)(u64)ac_handler;

	(void)arg;
	ac_idt[VEC_AC] = (struct gate32){ (u16)to, SEL_USER_CODE32 | 3, 0x8e00, (u16)(to >> 16) };
	legacy_call(ac_endless);
}

void test_main(void)
{
	smp_start();
	smp_run(1, endless, NULL);
	while (!ac_about)
		cpu_relax();
	for (unsigned i = 0; i < 20000; i++)
		check(cpuid(0, 0).eax != 0, "CPU 0 goes on");
	/* Else it was not endless, and nothing was tested. */
	check(!ac_handled, "CPU 1 came to its handler %u times", ac_handled);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * EXPECT bochs: end=crash
 * EXPECT bochs-svm: exit=0
 *
 * A hardware task switch, to another task by a far call and back by its IRET.
 * With SVM the CPU makes it itself. With VT-x each one exits, and the
 * hypervisor, which does not emulate it (no 64-bit kernel makes one), ends the
 * VM with a line that says so.
 */
#include "tiny.h"

struct tss32 {
	u32 link;
	u32 esp0;
	u32 ss0;
	u32 esp1;
	u32 ss1;
	u32 esp2;
	u32 ss2;
	u32 cr3;
	u32 eip;
	u32 eflags;
	u32 eax;
	u32 ecx;
	u32 edx;
	u32 ebx;
	u32 esp;
	u32 ebp;
	u32 esi;
	u32 edi;
	u32 es;
	u32 cs;
	u32 ss;
	u32 ds;
	u32 fs;
	u32 gs;
	u32 ldt;
	u16 trap;
	u16 iomap;
};
_Static_assert(sizeof(struct tss32) == 104, "SDM vol. 3, 8.2.1");

static struct tss32 first, second;
static u8 stack[4096] __attribute__((aligned(16)));
extern volatile u32 task_ran;
extern const u8 task_second[];
void task_switch(void);

static u64 descriptor(const struct tss32 *t)
{
	u64 base = (u64)t;

	return (sizeof(*t) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
	       (base >> 24 & 0xff) << 56;
}

void test_main(void)
{
	u32 left;

	second = (struct tss32){ .eip = (u32)(u64)task_second,
				 .eflags = 2,
				 .esp = (u32)(u64)(stack + sizeof(stack)),
				 .ecx = 41,
				 .es = SEL_DATA,
				 .cs = SEL_CODE32,
				 .ss = SEL_DATA,
				 .ds = SEL_DATA,
				 .iomap = sizeof(second) };
	first.iomap = sizeof(first);
	gdt[SEL_FREE / 8] = descriptor(&first);
	gdt[SEL_FREE / 8 + 1] = descriptor(&second);
	check(task_ran == 0, "before the switch");
	if (!is_amd() && on_margay())
		result();
	left = legacy_call(task_switch);
	check(task_ran == 42, "the second task ran with its registers: %u", task_ran);
	check(left == 7, "the first one came back with its own: %u", left);
	check((second.link & 0xffff) == SEL_FREE, "the second task's link is %#x", second.link);
	/*
	 * KVM asks for an exit there, which QEMU's CPU does not make, and so hands our hypervisor
	 * the CR0 of before.
	 */
	if (!on_kvm())
		check(read_cr0() & BIT(3), "the switch has set CR0.TS");
}

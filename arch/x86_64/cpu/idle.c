/* SPDX-License-Identifier: GPL-2.0-only */
/* The NMI side of idle.asm. */
#include "arch/x86_64/cpu/idle.h"
#include "arch/x86_64/cpu/trap.h"

extern const u8 idle_hlt_begin[], idle_hlt_end[], idle_mwait_begin[], idle_mwait_end[];

void idle_nmi_fixup(struct trap_frame *frame)
{
	if (frame->rip >= (u64)idle_hlt_begin && frame->rip < (u64)idle_hlt_end)
		frame->rip = (u64)idle_hlt_end;
	if (frame->rip >= (u64)idle_mwait_begin && frame->rip < (u64)idle_mwait_end)
		frame->rip = (u64)idle_mwait_end;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Port 0x61, by which a PC says that an NMI is an error of the board. */
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/cpu/nmi.h"

/* NMI status and control of a PC: Intel ICH9 data sheet, 13.7.1. */
#define NMI_SC 0x61
#define NMI_SC_SERR BIT(7)
#define NMI_SC_IOCHK BIT(6)
#define NMI_SC_CLEAR_IOCHK BIT(3)
#define NMI_SC_CLEAR_SERR BIT(2)
#define NMI_SC_KEPT 0x03u /* timer gate and speaker */

/* A system error or an I/O channel check is acknowledged, so that the next one is seen too. */
bool nmi_port_61(void)
{
	static struct log_limit limit = { .burst = 1 }; /* a device may send as many as it likes */
	u8 status = inb(NMI_SC), cause = status & (NMI_SC_SERR | NMI_SC_IOCHK);
	u8 clear = (cause & NMI_SC_SERR ? NMI_SC_CLEAR_SERR : 0) |
		   (cause & NMI_SC_IOCHK ? NMI_SC_CLEAR_IOCHK : 0);

	/* All ones: no such register. */
	if (!cause || status == 0xff)
		return false;
	host_log_limited(&limit, "margay",
			 "NMI of the platform: the machine reports a hardware error:%s%s",
			 cause & NMI_SC_SERR ? " system error (SERR#)" : "",
			 cause & NMI_SC_IOCHK ? " I/O channel check" : "");
	outb(NMI_SC, (u8)((status & NMI_SC_KEPT) | clear));
	outb(NMI_SC, status & NMI_SC_KEPT);
	return true;
}

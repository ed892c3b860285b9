/* SPDX-License-Identifier: GPL-2.0-only */
/* What an NMI was. */
#include "kernel/nmi.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/boot/cmdline.h"
#include "kernel/console/printk.h"
#include "kernel/irq.h"
#include "kernel/panic.h"
#include "kernel/percpu.h"

/* NMI status and control of a PC: Intel ICH9 data sheet, 13.7.1. */
#define NMI_SC 0x61
#define NMI_SC_SERR BIT(7)
#define NMI_SC_IOCHK BIT(6)
#define NMI_SC_CLEAR_IOCHK BIT(3)
#define NMI_SC_CLEAR_SERR BIT(2)
#define NMI_SC_KEPT 0x03u /* timer gate and speaker */

#define DEVICES (2 + IS_ENABLED(CONFIG_IOMMU) + IS_ENABLED(CONFIG_DIRECT_INTERRUPTS))

static bool (*device[DEVICES])(void);

int nmi_request_isa(unsigned irq, bool (*fn)(void))
{
	unsigned i = 0;
	int err;

	while (device[i])
		if (++i == DEVICES)
			return -ENOSPC;
	__atomic_store_n(&device[i], fn, __ATOMIC_RELEASE);
	err = DEVICES > 2 && irq == NMI_MESSAGE ? 0 : irq_route_isa_nmi(irq);
	if (err)
		__atomic_store_n(&device[i], NULL, __ATOMIC_RELEASE);
	return err;
}

void nmi_taken(void)
{
	struct cpu *cpu = this_cpu();
	bool sent = IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && __atomic_exchange_n(&cpu->kick_due, false, __ATOMIC_SEQ_CST);
	bool kicked = __atomic_load_n(&cpu->kick, __ATOMIC_RELAXED);

	cpu->nmi_count++;
	/* Of two kicks at once the second's NMI may come alone: then there is the word of them. */
	if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && !sent && !kicked)
		cpu->nmi_foreign = true;
	/* The device's NMI may have met a kick's: the word of the boot CPU says nothing. */
	if (cpu->id == 0 || !kicked) {
		cpu->nmi_noted = true;
		__atomic_store_n(&cpu->kick, 1, __ATOMIC_RELAXED);
	}
}

/* A system error or an I/O channel check is acknowledged, so that the next one is seen too. */
static bool platform(void)
{
	u8 status = inb(NMI_SC), cause = status & (NMI_SC_SERR | NMI_SC_IOCHK);
	u8 clear = (cause & NMI_SC_SERR ? NMI_SC_CLEAR_SERR : 0) | (cause & NMI_SC_IOCHK ? NMI_SC_CLEAR_IOCHK : 0);

	/* All ones: no such register. */
	if (!cause || status == 0xff)
		return false;
	printk_error("NMI of the platform: the machine reports a hardware error:%s%s",
		     cause & NMI_SC_SERR ? " system error (SERR#)" : "", cause & NMI_SC_IOCHK ? " I/O channel check" : "");
	outb(NMI_SC, (u8)((status & NMI_SC_KEPT) | clear));
	outb(NMI_SC, status & NMI_SC_KEPT);
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && cmdline_of_boot()->nmi_panic)
		panic("nmi=panic");
	return true;
}

/* All are asked: one NMI may have been several. */
static bool devices(void)
{
	bool asked = false;

	for (unsigned i = 0; i < DEVICES; i++) {
		bool (*fn)(void) = __atomic_load_n(&device[i], __ATOMIC_ACQUIRE);

		asked |= fn && fn();
	}
	return asked;
}

void nmi_look(void)
{
	struct cpu *cpu = this_cpu();

	if (likely(!cpu->nmi_noted))
		return;
	/* An NMI from here on is noted again. */
	__atomic_store_n(&cpu->nmi_noted, false, __ATOMIC_SEQ_CST);
	/* The platform's NMIs come to the boot CPU (LINT1), the devices' too. */
	if (cpu->id == 0 && (devices() || platform())) {
		/* Those that came meanwhile, too. */
		cpu->nmi_foreign &= !IS_ENABLED(CONFIG_DIRECT_INTERRUPTS);
		return;
	}
	if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && cpu->nmi_foreign)
		guest_apic_nmi();
	/* A kick whose word was seen before its NMI came, a device's when another CPU served it, or nobody's. */
	cpu->nmi_stray++;
}

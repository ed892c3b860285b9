/* SPDX-License-Identifier: GPL-2.0-only */
/* NMIs of the platform: errors of the machine that it tells of in no other way. */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/boot/cmdline.h"
#include "kernel/cpu/kick.h"
#include "kernel/log/printk.h"
#include "kernel/errors/mce.h"
#include "kernel/cpu/nmi.h"
#include "kernel/errors/panic.h"

/*
 * The platform's, with a sign (port 0x61, firmware's blocks) or without. It may have come to
 * several CPUs: the first one tells.
 */
bool nmi_platform(const struct cpu *cpu, bool unclaimed)
{
	static struct spinlock lock;
	static u64 told; /* TSC; guarded by the lock */
	const s64 patience = (s64)(KICK_PATIENCE_MS * host_tsc_khz());
	u64 expected = __atomic_load_n(&cpu->nmi_expected, __ATOMIC_RELAXED);
	bool tell, alone = !expected || (s64)(rdtsc() - expected) > patience;

	spin_lock(&lock);
	tell = nmi_port_61();
	if (tell || unclaimed)
		tell |= ghes_look();
	if (!tell && unclaimed && alone && (!told || (s64)(rdtsc() - told) > patience)) {
		printk_error(
			"NMI of the platform on CPU %u: no device's, no sign at port 0x61: the BMC's, or a button's?",
			cpu->id);
		tell = true;
	}
	if (tell)
		told = rdtsc();
	spin_unlock(&lock);
	if (tell && cmdline_of_boot()->nmi_panic)
		panic("nmi=panic");
	return tell;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs' clocks: as arch/x86_64/cpu/power.h decides. */
#include "kernel/cpu/power.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/power.h"
#include "kernel/boot/cmdline.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

static PERCPU struct power set; /* what the CPU's clock was set to */

void power_init_cpu(void)
{
	static const struct power_cpu here = { host_cpuid, host_rdmsr, host_wrmsr };

	power_set_up(&here, cmdline_of_boot()->power, &cpu_own(this_cpu(), set));
}

void power_tell(void)
{
	unsigned differ = 0, first = 0;
	char text[96];

	for (unsigned i = host_cpu_count(); i-- > 1;)
		if (memcmp(&cpu_own(cpu_get(i), set), &cpu_own(cpu_get(0), set),
			   sizeof(struct power))) {
			differ++;
			first = i;
		}
	power_describe(&cpu_own(cpu_get(0), set), text, sizeof(text));
	printk("power: %s", text);
	power_describe(&cpu_own(cpu_get(first), set), text, sizeof(text));
	if (differ)
		printk("power: CPU %u (of %u that differ): %s", first, differ, text);
}

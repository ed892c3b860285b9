/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * <margay/host.h> over the kernel: the monitor's only door. The structures that
 * both sides know under names of their own are asserted to agree, and
 * pointers to them are converted here and nowhere else.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/fpu.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/safe.h"
#include "kernel/acpi/acpi.h"
#include "kernel/console/console.h"
#include "kernel/console/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/panic.h"
#include "kernel/pci/pci.h"
#include "kernel/percpu.h"
#include "kernel/poweroff.h"
#include "kernel/time/clock.h"

#define SAME_FIELD(a, b, field) \
	static_assert(offsetof(struct a, field) == offsetof(struct b, field) && \
		      sizeof(((struct a *)0)->field) == sizeof(((struct b *)0)->field), #a " is " #b)
#define SAME_SIZE(a, b) static_assert(sizeof(struct a) == sizeof(struct b), #a " is " #b)

SAME_SIZE(host_console, console_user);
SAME_FIELD(host_console, console_user, name);
SAME_FIELD(host_console, console_user, rx);
SAME_FIELD(host_console, console_user, tx_room);
SAME_FIELD(host_console, console_user, cut);
SAME_FIELD(host_console, console_user, line);

unsigned host_node_count(void)
{
	return numa_node_count();
}

u8 host_node_distance(unsigned from, unsigned to)
{
	return numa_distance(from, to);
}

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa(virt_to_phys(va));
}

void *host_hpa_to_virt(hpa_t pa)
{
	return phys_to_virt(pa.v);
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	cpuid(leaf, subleaf, out);
}

u64 host_tsc(void)
{
	return rdtsc();
}

int host_rdmsr(u32 msr, u64 *value)
{
	return rdmsr_safe(msr, value);
}

int host_wrmsr(u32 msr, u64 value)
{
	return wrmsr_safe(msr, value);
}

int host_xsetbv(u32 xcr, u64 value)
{
	return xsetbv_safe(xcr, value);
}

void host_fpu_reset(u64 xcr0)
{
	fpu_reset(xcr0);
}

void host_wbinvd(void)
{
	asm volatile("wbinvd" : : : "memory");
}

static_assert(HOST_LOG_LINE == PRINTK_LINE - 1, "with its terminator");

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	/* Never hidden: these lines tell operators and scripts what is wrong with a VM file and how a VM ended. */
	vlog_line(LOGLEVEL_ERROR, fmt, ap);
	va_end(ap);
}

static void (*log_last)(const char *text);

static void pass_log_line(enum loglevel level, const char *text, size_t length)
{
	(void)level;
	(void)length;
	log_last(text);
}

void host_log_last(unsigned lines, void (*fn)(const char *text))
{
	log_last = fn;
	printk_last(lines, pass_log_line);
}

void host_console_add(struct host_console *con)
{
	console_add((struct console_user *)con);
}

void host_console_remove(struct host_console *con)
{
	console_remove((struct console_user *)con);
}

int host_console_foreground(struct host_console *con)
{
	return console_set_foreground((struct console_user *)con);
}

const struct host_console *host_console_get_foreground(void)
{
	return (const struct host_console *)console_get_foreground();
}

u8 host_console_escape(struct host_console *con)
{
	return console_set_escape((struct console_user *)con);
}

size_t host_console_write(struct host_console *con, const u8 *buf, size_t n)
{
	return console_write((struct console_user *)con, buf, n);
}

void host_node_poweroff(unsigned vms, unsigned failed)
{
	clock_report();
	/* at the level that no command line hides: margay-run and scripts look for this line */
	printk_error("node: end=poweroff vms=%u failed=%u", vms, failed);
	poweroff();
}

void host_node_reboot(void)
{
	printk_error("node: end=reboot");
	reboot();
}

void host_panic_report(void (*fn)(void))
{
	panic_set_report(fn);
}

bool host_pci_info(unsigned i, struct pci_info *out)
{
	return IS_ENABLED(CONFIG_PCI) && pci_info(i, out);
}

void host_console_drain(void)
{
	console_drain();
}

void host_panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vpanic(fmt, ap);
}

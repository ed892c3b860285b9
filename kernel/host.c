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
#include "kernel/memory/pmem.h"
#include "kernel/memory/zero_parallel.h"
#include "kernel/modules.h"
#include "kernel/panic.h"
#include "kernel/pci/pci.h"
#include "kernel/percpu.h"
#include "kernel/poweroff.h"
#include "kernel/time/clock.h"
#include "kernel/version.h"

#define SAME_FIELD(a, b, field) \
	static_assert(offsetof(struct a, field) == offsetof(struct b, field) && \
		      sizeof(((struct a *)0)->field) == sizeof(((struct b *)0)->field), #a " is " #b)
#define SAME_SIZE(a, b) static_assert(sizeof(struct a) == sizeof(struct b), #a " is " #b)

SAME_SIZE(host_extent_request, pmem_request);
SAME_FIELD(host_extent_request, pmem_request, size);
SAME_FIELD(host_extent_request, pmem_request, align);
SAME_FIELD(host_extent_request, pmem_request, node);
SAME_FIELD(host_extent_request, pmem_request, min_addr);
SAME_FIELD(host_extent_request, pmem_request, max_addr);
SAME_SIZE(host_extent, pmem_extent);
SAME_FIELD(host_extent, pmem_extent, base);
SAME_FIELD(host_extent, pmem_extent, size);
SAME_FIELD(host_extent, pmem_extent, node);
SAME_SIZE(host_module, module);
SAME_FIELD(host_module, module, name);
SAME_FIELD(host_module, module, args);
SAME_FIELD(host_module, module, data);
SAME_FIELD(host_module, module, size);
SAME_SIZE(host_console, console_user);
SAME_FIELD(host_console, console_user, name);
SAME_FIELD(host_console, console_user, rx);
SAME_FIELD(host_console, console_user, tx_room);
SAME_FIELD(host_console, console_user, cut);
SAME_FIELD(host_console, console_user, line);

static void account(s64 pages)
{
	u64 *bytes = this_cpu()->account;

	if (bytes)
		__atomic_add_fetch(bytes, (u64)pages * PAGE_SIZE, __ATOMIC_RELAXED);
}

void *host_pages_alloc(unsigned count, int node)
{
	void *pages = pmem_pages_alloc(count, node);

	if (pages)
		account(count);
	return pages;
}

void host_pages_free(void *pages, unsigned count)
{
	pmem_pages_free(pages, count);
	if (pages)
		account(-(s64)count);
}

void host_account(u64 *bytes)
{
	this_cpu()->account = bytes;
}

int host_extent_alloc(const struct host_extent_request *req, struct host_extent *out)
{
	return pmem_extent_alloc((const struct pmem_request *)req, (struct pmem_extent *)out) ? -ENOMEM : 0;
}

void host_extent_free(const struct host_extent *e)
{
	pmem_extent_free((const struct pmem_extent *)e);
}

void host_extents_zero(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus,
		       bool (*unowned)(unsigned cpu))
{
	if (IS_ENABLED(CONFIG_PARALLEL_ZERO)) {
		zero_extents((const struct pmem_extent *)e, count, cpu, nr_cpus, unowned);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		for (u64 at = 0; at < e[i].size; at += PAGE_SIZE_2M) {
			memset(phys_to_virt(e[i].base.v + at), 0, MIN(PAGE_SIZE_2M, e[i].size - at));
			host_interrupt_window();
		}
	}
}

bool host_mem_piece(unsigned i, struct host_extent *out)
{
	return pmem_piece(i, (struct pmem_extent *)out);
}

u64 host_node_memory(unsigned node)
{
	return pmem_node_bytes(node);
}

unsigned host_node_count(void)
{
	return numa_node_count();
}

u64 host_mem_free(int node, u64 *largest)
{
	return pmem_free_bytes(node, largest);
}

const char *host_version(void)
{
	return margay_version;
}

u64 host_own_bytes(u64 *used)
{
	*used = pmem_used_bytes();
	return pmem_pool_bytes();
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

const struct host_module *host_module(unsigned i)
{
	return (const struct host_module *)modules_get(i);
}

u64 host_modules_release(void)
{
	return modules_release();
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

static_assert(HOST_ZERO_MAX == ZERO_MAX, "that many extents have a counter");
static_assert(HOST_LOG_LINE == PRINTK_LINE - 1, "with its terminator");

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	/* Never hidden: these lines tell operators and scripts what is wrong with a VM file and how a VM ended. */
	vlog_line(LOGLEVEL_ERROR, fmt, ap);
	va_end(ap);
}

int host_no_memory(const char *who)
{
	printk_error("%s: no memory left for the hypervisor itself", who);
	return -ENOMEM;
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

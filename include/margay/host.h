/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything the monitor asks of the kernel below it. In the image the files of
 * kernel/ and arch/x86_64/cpu that have a thing implement it, and use it
 * themselves; on the build host tests/unit/fake_host.c does. Nothing else of
 * the kernel is visible to vmm/.
 */
#ifndef MARGAY_HOST_H
#define MARGAY_HOST_H

#include <margay/host_apic.h>
#include <margay/host_check.h>
#include <margay/host_console.h>
#include <margay/host_cpu.h>
#include <margay/host_lost.h>
#include <margay/host_pci.h>
#include <margay/host_sha256.h>
#include <margay/log_limit.h>
#include <margay/pci.h>
#include <margay/types.h>
#include <margay/x86.h>

/* ---- memory ---------------------------------------------------------- */

/*
 * Allocates count contiguous 4 KiB pages of the LWK's own memory, zeroed, on
 * NUMA node `node` where possible (-1: any). NULL when there is none; the
 * caller reports. Any CPU, interrupts off or on.
 */
void *host_pages_alloc(unsigned count, int node);
void host_pages_free(void *pages, unsigned count); /* NULL: does nothing */

/*
 * From now on what the calling CPU allocates by host_pages_alloc() is added to
 * *bytes, atomically, and what it frees taken off; NULL: not counted.
 */
void host_account(u64 *bytes);

/* A contiguous piece of guest memory on one NUMA node. */
struct host_extent {
	hpa_t base;
	u64 size; /* bytes, a multiple of PAGE_SIZE_2M unless a smaller align was asked for */
	int node;
	bool zero; /* nothing else is in it */
};

#if IS_ENABLED(CONFIG_PARALLEL_ZERO)
/* For host_extent_free(). */
static inline void host_extent_is_zero(struct host_extent *e, bool zero)
{
	e->zero = zero;
}
#else
/* That is not kept. */
static inline void host_extent_is_zero(struct host_extent *, bool) { }
#endif

/* A constraint record: what the caller needs of an extent. */
struct host_extent_request {
	u64 size;      /* bytes; rounded up to 4 KiB */
	/* power of two; 0: 1 GiB where size >= 1 GiB and such a piece exists, else 2 MiB */
	u64 align;
	int node;      /* -1: any */
	u64 min_addr;  /* lowest HPA allowed */
	u64 max_addr;  /* highest HPA allowed, exclusive; 0: no limit */
};

/*
 * Takes an extent, whatever is in it; out->zero: it was zero when it was given
 * back, and nobody has had it since. 0, or -ENOMEM (nothing printed: the
 * caller knows what it is for).
 */
int host_extent_alloc(const struct host_extent_request *req, struct host_extent *out);
/* Gives it back. e->zero must be true only of what nobody has written to since it was zeroed. */
void host_extent_free(const struct host_extent *e);

#define HOST_ZERO_MAX 16 /* extents in one call */

/*
 * Zeroes extents that are not zero, each by those of the CPUs that are on its
 * node and by CPUs there for which unowned() is true, in parallel; back when it
 * is done. The CPUs are the caller's to use: idle, or its own. One that is not,
 * or has work, does nothing, and the calling CPU does its part. The others stop
 * within some 10 ms when unowned() is true no longer. Where no CPU is on an
 * extent's node, all of cpu[] do it. At most 64 CPUs take part, of each node
 * some. unowned(): called on any CPU. In images without PARALLEL_ZERO the
 * calling CPU does it all.
 */
void host_extents_zero(const struct host_extent *e, unsigned count, const u16 *cpu,
		       unsigned nr_cpus, bool (*unowned)(unsigned cpu));

/*
 * The i-th piece of memory that is free for guests, in whole 2 MiB pages, sorted by address; false
 * past the last.
 */
bool host_mem_piece(unsigned i, struct host_extent *out);
/* Bytes of a node that were free for guests before anything was taken. */
u64 host_node_memory(unsigned node);

/* NUMA nodes of the machine, at least 1; numbered densely from 0. */
unsigned host_node_count(void);
/*
 * Bytes free for guests, in whole 2 MiB pages, on a node (-1: on all); *largest (may be NULL): the
 * largest contiguous piece.
 */
u64 host_mem_free(int node, u64 *largest);
/*
 * Bytes that the hypervisor holds, its image and page tables with them, apart from guests' memory;
 * *used: how many are in use.
 */
u64 host_own_bytes(u64 *used);
/* SLIT distance between two nodes (10: local). */
u8 host_node_distance(unsigned from, unsigned to);

/* The direct map: valid for host pages, extents and modules, not for MMIO. */
hpa_t host_virt_to_hpa(const void *va);
void *host_hpa_to_virt(hpa_t pa);

/* ---- the hypervisor itself ---------------------------------------------- */

/* Its version, as git names it. */
const char *host_version(void);
/*
 * Its configuration: `default`, or what differs from the nearest of configs/ (tools/image-options).
 */
const char *host_image(void);

/* ---- boot modules ----------------------------------------------------- */

struct host_module {
	const char *name; /* the module's command line up to the first blank; "" when unnamed */
	const char *args; /* the rest of it, without leading blanks */
	const void *data; /* in the direct map */
	u64 size;
};

/* Module i in boot order, or NULL past the last and after host_modules_release(). */
const struct host_module *host_module(unsigned i);

/*
 * In images with BOOT_LOG: how much firmware had left for one module, below 4 GiB and in one piece;
 * bytes.
 */
u64 host_module_room(void);

/*
 * In images with MANAGEMENT_VM: data that from now on are a module, too, which nobody writes to;
 * its name is none of another's and stays as long. 0, or -ENOSPC. Nobody uses one that is removed.
 * One call at a time, on any CPU.
 */
#define HOST_LATE_MODULES 128u
int host_module_add(const char *name, const void *data, u64 size);
void host_module_remove(const char *name);

/*
 * Gives all modules' memory back when no VM can need them again, with all that points there;
 * returns the bytes freed.
 */
u64 host_modules_release(void);

/* ---- time -------------------------------------------------------------- */

/*
 * The TSC's rate, rounded to kHz, since that is all that Linux holds: 0.25 ppm at 2 GHz. Coarse
 * while the kernel boots.
 */
u64 host_tsc_khz(void);
/*
 * True when the TSC is invariant (by CPUID, or QEMU's TCG) and the same on all CPUs that are
 * online.
 */
bool host_tsc_stable(void);
/* Wall clock: nanoseconds since 1970-01-01 UTC when the TSC was `*tsc`. */
u64 host_wall_clock(u64 *tsc);

/*
 * Only in images with DEBUG_CLOCK. The HPET's time in ns since an arbitrary moment, by nothing but
 * its own rate; 0: none.
 */
u64 host_reference_ns(void);

/*
 * A one-shot timer. fn runs in the interrupt window of the CPU that armed it,
 * interrupts off, never early, already disarmed: it may arm again.
 */
struct host_timer {
	/* The kernel's own; who arms it may read deadline and armed. */
	struct host_timer *next; /* while armed */
	u64 deadline; /* TSC */
	bool armed;
	unsigned cpu; /* whose list holds it */
	/* Its user's: */
	void (*fn)(struct host_timer *timer);
};

/*
 * Arms on the calling CPU; an armed timer is moved. A deadline in the past fires at the next
 * window. Interrupts off.
 */
void host_timer_arm(struct host_timer *timer, u64 tsc_deadline);
/* Disarms. Only from the CPU that armed it. No effect when not armed. Interrupts off. */
void host_timer_cancel(struct host_timer *timer);

/* ---- SMBIOS --------------------------------------------------------------- */

/*
 * Only in images with SMBIOS: the node's structures as firmware has them, hence maybe wrong; they
 * stay. NULL: none.
 */
const void *host_smbios(u32 *size);

/* ---- PCI ------------------------------------------------------------------ */

#if IS_ENABLED(CONFIG_PCI_INFO)
/*
 * The i-th function of the machine, in address order, used or not; false past the last. Any CPU.
 */
bool host_pci_info(unsigned i, struct pci_info *out);
#else
static inline bool host_pci_info(unsigned, struct pci_info *)
{
	return false;
}
#endif

/* ---- the local APIC -------------------------------------------------------- */

/* Is the local APIC in x2APIC mode? */
bool host_is_x2apic(void);

/* ---- debugger's line, only in images with GDB ------------------------------ */

#if IS_ENABLED(CONFIG_GDB)
/* The VM that the command line's gdb= names; NULL: none, or its port was not found (logged). */
const char *host_debug_name(void);
#else
static inline const char *host_debug_name(void)
{
	return NULL;
}
#endif
/*
 * At boot: from now on rx() gets each byte of the line, in interrupt windows of the boot CPU, no
 * lock held. 0, or -errno: its interrupt does not come (logged).
 */
int host_debug_listen(void (*rx)(u8 byte));
/* Queues bytes; what does not fit into 8 KiB is lost. From any CPU. */
void host_debug_send(const u8 *bytes, unsigned n);

/* ---- the log and the end of the node --------------------------------------- */

/*
 * One log line, without a trailing newline; the text begins with its source
 * ("vm0: ..."). Never mixes with another line or with guest output.
 */
void host_log(const char *fmt, ...) __printf(1, 2);
/* The same of what is as it should be; nothing in images without BOOT_LOG. */
#define host_note(fmt, ...) \
	do { \
		if (IS_ENABLED(CONFIG_BOOT_LOG)) \
			host_log(fmt, ##__VA_ARGS__); \
	} while (0)
/*
 * The same of what a guest or its device can cause as often as it likes: "SOURCE: ...", if the
 * limit lets it; else it is counted, and the next one ends with ", N more since the last line".
 */
void host_log_limited(struct log_limit *limit, const char *source, const char *fmt, ...)
	__printf(3, 4);
/* The same for the log alone; with loglevel=debug on the line, too. */
void host_log_quiet(const char *fmt, ...) __printf(1, 2);
#if IS_ENABLED(CONFIG_LOG_TIME)
/*
 * Whether lines begin with the time, as at first. Not what is read by tools, or copied. Boot CPU.
 */
void host_log_times(bool on);
#else
static inline void host_log_times(bool) { }
#endif
/* The one line for all that `who` could not have of the hypervisor's own memory. -ENOMEM. */
int host_no_memory(const char *who);
#define HOST_LOG_LINE 511 /* characters of a line; what is longer is cut */

/*
 * Calls fn with each of the log's last lines, oldest first; the text is valid during the call only.
 * boot: 0, or 1 for the boot before this one. False: nothing of it is left. Only in images with
 * MONITOR_CONSOLE.
 */
bool host_log_last(unsigned boot, unsigned lines, void (*fn)(const char *text));
/*
 * Only in images with MANAGEMENT_VM: copies whole lines of this boot's log from byte *from of it
 * on, or from the oldest that there is, which *from becomes; as many as fit into `room`. Each is
 * '0' for what is always shown, '1', or '2' for what the line does not show, then its text and a
 * newline. Returns their bytes.
 */
u32 host_log_copy(u64 *from, char *to, u32 room);
/* When the log began, by its times: milliseconds since 1970; 0: its lines have none. */
u64 host_log_began(void);

/*
 * Ends the node: prints the machine-readable last line, drains the console and
 * powers off. vms: what that line says of the VMs, "vms=1 failed=0" and so on.
 */
void host_node_poweroff(const char *vms) __attribute__((noreturn));

/* Prints "end=reboot" as the last line, drains the console and restarts the machine. */
void host_node_reboot(void) __attribute__((noreturn));

/*
 * fn adds lines to what a panic prints: all other CPUs have stopped then, whatever locks they hold.
 */
void host_panic_report(void (*fn)(void));

/* A monitor bug: registers, backtrace, log; ends the node as failed. */
void host_panic(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));

#endif

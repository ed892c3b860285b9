/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The build host's implementation of <margay/host.h> for unit tests and fuzzers:
 * malloc'ed memory, a TSC and timers that only move when told, a captured log
 * and console. One CPU unless fake_host says otherwise. A host address is the
 * pointer itself.
 */
#ifndef TESTS_FAKE_HOST_H
#define TESTS_FAKE_HOST_H

#include <margay/host.h>
#include <margay/host_cst.h>
#include <margay/host_rdt.h>
#include <margay/mitigations.h>

#define FAKE_MSRS 32
#define FAKE_CPUS 4
#define FAKE_NODES 4
#define FAKE_RAMS 4
#define FAKE_EXTENTS 32
/* far from all else in a process, the sanitizers' shadows included */
#ifdef __SANITIZE_THREAD__
#define FAKE_RAM_BASE 0x1000000000ull
#else
#define FAKE_RAM_BASE 0x200000000000ull
#endif
#define FAKE_ESCAPE 0x14
#define FAKE_FUNCTIONS 4
#define FAKE_REGISTERS 0x20000
#define FAKE_VECTORS 64
#define FAKE_ENTRIES 640
#define FAKE_LINES 32

struct fake_host {
	u64 tsc;
	u64 tsc_khz;
	bool tsc_stable;
	u64 wall_ns; /* wall clock when tsc was 0 */
	u64 tsc_step; /* what each host_tsc() adds: time passes for who polls */
	/* for guests; extents are cut from it, what is around them cannot be touched */
	struct host_extent ram[FAKE_RAMS];
	unsigned nr_ram;
	struct host_extent extent[FAKE_EXTENTS]; /* taken */
	unsigned nr_extents;
	/* what is taken is zero; something was given back as that */
	bool extents_zero;
	bool freed_zero;
	u64 failed_page; /* host_failed_page() */
	u64 lost[4]; /* pages, in the order of their loss */
	unsigned nr_lost;
	/* the next one is from that question on, counted from 1; 0: none is */
	unsigned lost_in;
	void (*on_memory_lost)(void); /* who wants to know of them */
	unsigned pages_until_fail; /* host_pages_alloc() fails after this many calls; 0: never */
	unsigned pages_in_use;
	struct host_timer *timers; /* armed */
	bool x2apic_off; /* no CPU may use it */
	bool mwait; /* it sleeps */
	bool no_alarm; /* none for CPUs whose local APIC is a guest's */
	/* has the foreground; gets the escape key */
	struct host_console *console;
	struct host_console *escape;
	struct host_console *asked; /* by host_console_ask() */
	size_t output_len;
	size_t output_room; /* bytes that the console takes before it is full */
	bool output_short; /* the last write was short: tx_room() is owed */
	u64 corrected; /* machine checks */
	struct host_module modules[16];
	unsigned nr_modules;
	u8 counter_vector[FAKE_CPUS]; /* as told last */
	u8 vector_register[32][64];
	/* readable and writable MSRs; others fault */
	struct {
		u32 msr;
		u64 value;
	} msrs[FAKE_MSRS];
	unsigned nr_msrs;
	void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out); /* NULL: zeros */
	const struct cstates *cstates; /* of each CPU */
	const void *smbios; /* the node's table */
	u32 smbios_size;
	struct host_cpu_info cpus[FAKE_CPUS];
	struct host_mitigations mitigations; /* of each CPU */
	unsigned pages_on[FAKE_NODES]; /* so many were asked for on it */
	unsigned nr_cpus;
	unsigned this_cpu;
	unsigned nr_nodes;
	unsigned kicks[FAKE_CPUS]; /* how many ever */
	u32 kick_word[FAKE_CPUS]; /* as host_cpu_kick_word() describes it */
	struct host_work *work[FAKE_CPUS]; /* assigned, never run by the fake itself */
	/* what the test took from work[] and runs: it may name its CPU's next */
	struct host_work *running[FAKE_CPUS];
	struct host_pci_function pci[FAKE_FUNCTIONS];
	unsigned nr_pci;
	const char *pci_problem[FAKE_FUNCTIONS]; /* as in struct pci_info */
	/* as in struct pci_info */
	u8 pci_pin[FAKE_FUNCTIONS];
	u8 pci_msi[FAKE_FUNCTIONS];

	bool pci_no_msix[FAKE_FUNCTIONS];
	u8 pci_config[FAKE_FUNCTIONS][4096]; /* plain memory: what is written is read */
	bool pci_posted[FAKE_FUNCTIONS]; /* nothing was read since the last write */
	struct pci_cap pci_cap[FAKE_FUNCTIONS][8];
	unsigned nr_pci_caps[FAKE_FUNCTIONS];
	int take_back_says;
	int reset_says;
	struct pci_address pci_group[FAKE_FUNCTIONS]; /* 0: its own */
	struct host_idle_work *idle_work; /* the last that was begun */
	bool reset_waits; /* none is over */
	int pci_reset_says[FAKE_FUNCTIONS]; /* of that one, if not 0 */
	/* how often */
	unsigned pci_reset_begun[FAKE_FUNCTIONS];
	unsigned pci_taken_back[FAKE_FUNCTIONS];
	unsigned pci_reset[FAKE_FUNCTIONS];

	unsigned pci_open[FAKE_FUNCTIONS];
	bool pci_path_less; /* neither AtomicOps nor relaxed ordering */
	struct {
		struct host_intx at;
		int err; /* what host_intx_route() says */
	} pci_route[FAKE_FUNCTIONS];
	/* Inputs of the I/O APICs, by number. */
	struct {
		void (*fn)(void *arg, unsigned n);
		void *arg;
		/* others: not to be had */
		bool taken;
		bool open;
		bool others;
		/* Where it leads without fn, and how often that was said; vector 0: nowhere. */
		u32 apic;
		u8 vector;
		bool in_service;
		unsigned led;
		unsigned ended;
	} intx[FAKE_LINES];
	bool given[FAKE_CPUS]; /* whose local APIC is a guest's */
	unsigned apic_resets;
	struct {
		unsigned cpu;
		u8 vector;
	} sent[64]; /* to guests' own APICs, in order */
	unsigned nr_sent;
	/* host_apic_interrupt(), before it looks whose that APIC is; NULL: nothing */
	void (*sending)(void);
	bool iommu; /* there is one */
	int iommu_error; /* what the next call that can fail says, once */
	const char *iommu_unfit[FAKE_FUNCTIONS];
	const struct host_iommu_user *iommu_user; /* of the last one made */
	/* of each function, but for the domain, which follows their numbers */
	struct host_iommu_state iommu_state;
	char iommu_log[512]; /* what was asked of it, in order */
	/* interrupts; with APIC IDs above 254, too */
	bool remaps;
	bool wide;
	int reserve; /* host_iommu_reserve()'s error */
	unsigned entries; /* that it keeps at most; 0: FAKE_ENTRIES */
	/* how many it was asked for, and how many came back, in all */
	unsigned reserved;
	unsigned released;

	struct {
		bool used;
		unsigned index;
		unsigned cpu;
		unsigned vector;
	} entry[FAKE_ENTRIES]; /* of interrupts, by the number in a message */
	/* what host_may_map() does not allow as registers, nor host_may_open() as ports */
	u64 platform;
	u64 platform_size;
	/* registers are there only while function 0 has its memory decoding on */
	bool decodes;
	/* what host_mmio_map() maps, FAKE_REGISTERS bytes; NULL: nothing */
	u8 *registers;
	struct {
		void (*fn)(void *arg, unsigned n);
		void *arg;
		unsigned cpu;
		unsigned n;
	} vector[FAKE_VECTORS]; /* taken where fn is set */
	void (*wait)(void); /* host_cpu_wait(); NULL: time goes on to the next timer */
	void (*window)(void); /* host_interrupt_window(), once timers have run; NULL: nothing */
	void (*poweroff)(void); /* host_node_poweroff(), does not return; NULL: abort() */
	bool quiet; /* lines are made, and thrown away */
	char log[8192]; /* all lines, each ended by '\n' */
	char output[65536]; /* what guests wrote to the console */
};

extern struct fake_host fake_host;

/* Back to the state at the start of each test: 2 GHz, TSC 0, one CPU, one node, an empty log. */
void fake_host_reset(void);

/* Moves the TSC to `tsc` and fires each timer that falls due at its deadline, in order. */
void fake_host_advance(u64 tsc);

/*
 * Fires what is due now on this CPU, late or not, without moving the TSC. Is there anything on a
 * CPU?
 */
void fake_host_window(void);
bool fake_host_timer_due(unsigned cpu);

/* The operator types; the foreground gets it, and FAKE_ESCAPE who asked for that. */
void fake_host_type(const char *text);

/* The line has taken `room` bytes: calls tx_room() when a short write waits for it. */
void fake_host_drain(size_t room);

/* The configuration space of function 0. */
extern const struct pci_config_io fake_pci_io;

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of host.h: the hardware check, and what firmware and IOMMUs say of the node. */
#ifndef MARGAY_HOST_CHECK_H
#define MARGAY_HOST_CHECK_H

#include <margay/types.h>

/*
 * Seconds that the command line wants the node to be watched for SMIs in a
 * check that takes the place of the VMs; 0: none is wanted. *stay: the node
 * stays on after it. *dump: it says all that tools/margay-replay needs. *json:
 * what tools/margay-fleet reads.
 */
unsigned host_check_wanted(bool *stay, bool *dump, bool *json);

/*
 * What the kernel has of the machine for that, piece by piece, as docs/hardware.md
 * lists it: a text, and bytes that are valid during the call only (NULL: none).
 * Boot CPU, before any VM exists.
 */
typedef void (*host_dump_item)(const void *data, size_t size, const char *fmt, ...) __printf(3, 4);
void host_dump(host_dump_item item);

/* What the firmware described, and the IOMMUs say. */
struct host_platform {
	/* NUMA nodes, their distances */
	bool srat;
	bool slit;
	bool ecam;               /* all of configuration space of PCI Express is reachable */
	const char *iommu;       /* "VT-d", "AMD-Vi"; NULL: none */
	unsigned iommus;
	bool remaps_interrupts;  /* all of them can */
	bool remaps_x2apic;      /* ... to APIC IDs of 32 bits */
	char iommu_left[64];     /* what firmware had left on in them, in words; "": nothing */
	bool iommu_stuck;        /* ... and some of it still is */
};

/* Once, on the boot CPU, before any VM exists. */
void host_platform(struct host_platform *out);

/*
 * A watchdog of the machine's, which firmware or a BMC may have left running: no guest sees it, and
 * nobody feeds it.
 */
enum host_watchdog_state {
	HOST_WATCHDOG_OFF,
	HOST_WATCHDOG_HARMLESS, /* it runs, but does nothing */
	HOST_WATCHDOG_RUNS,
	HOST_WATCHDOG_UNKNOWN
};
struct host_watchdog {
	const char *name; /* "WDAT", "TCO", "SP5100", "FCH", "BMC" */
	enum host_watchdog_state state;
	bool timed;
	u32 seconds;      /* until it runs out, if timed */
	const char *what; /* it does then; why it does nothing; why it is unknown */
};
#define HOST_WATCHDOGS 2
/* How many are known to be there. By reads, and by a question to a BMC: a second at most. */
unsigned host_watchdogs(struct host_watchdog out[HOST_WATCHDOGS]);

#endif

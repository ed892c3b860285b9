/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the hypervisor's own command line: check, console=, corrected=, escape=, gdb=,
 * idle=, iommu=, loglevel=, mitigate=, nmi=, panic=, power=, screen=, x2apic=. VMs: elsewhere.
 */
#ifndef KERNEL_CMDLINE_H
#define KERNEL_CMDLINE_H

#include <margay/types.h>

enum cmdline_console { CMDLINE_CONSOLE_NONE, CMDLINE_CONSOLE_PORT, CMDLINE_CONSOLE_MMIO };

/* What is logged to the console; the ring keeps everything. */
enum loglevel { LOGLEVEL_ERROR, LOGLEVEL_INFO, LOGLEVEL_DEBUG };

/* PAGE_SECONDS of kernel/console/screen.c where there is no serial line, else 0 */
#define CMDLINE_SCREEN_DEFAULT (~0u)

#define CMDLINE_IRQ_UNKNOWN (-1)
#define CMDLINE_IRQ_NONE (-2)
#define CMDLINE_IRQ_MAX 255

struct cmdline {
	enum cmdline_console console;
	u64 console_address; /* port number or physical address */
	u32 baud; /* 0: as it is */
	enum loglevel loglevel;
	u32 panic; /* seconds from a panic to the restart of the node; 0: it halts */
	u16 gdb_port; /* where gdb debugs a guest; 0: nowhere */
	/* the port's speed and ISA interrupt */
	u32 gdb_baud;
	u32 gdb_irq;

	char gdb_vm[32];
	u8 escape; /* control character that calls the monitor console; 0: none */
	/*
	 * the node is checked instead of starting VMs, and listens for SMIs so many seconds; 0: no
	 */
	u32 check;
	/*
	 * It stays on afterwards; it also prints what a replay of the machine needs; a block for
	 * machines.
	 */
	bool check_stay;
	bool check_dump;
	bool check_json;
	u32 mitigate; /* MIT_ that are forced on */
	bool mitigate_off; /* none at all */
	bool nmi_panic; /* an NMI by which the machine reports an error ends the node */
	/* CPUs look every minute for errors that the machine has corrected, whatever they do */
	bool corrected_in_time;
	/* by the DMAR, or always, or never */
	enum { CMDLINE_X2APIC_AUTO, CMDLINE_X2APIC_ON, CMDLINE_X2APIC_OFF } x2apic;
	bool idle_halt; /* halted vCPUs' CPUs sleep no deeper than by HLT */
	u8 power; /* enum power_policy */
	bool iommu_off; /* as if the node had none */
	/*
	 * 0: none; seconds that a page of the check's report stays on it, or CMDLINE_SCREEN_DEFAULT
	 */
	u32 screen;
	/*
	 * Of console=: what the operator has said. What he has not, console_find() takes from the
	 * firmware.
	 */
	bool console_named;
	bool baud_named;
	bool console_wide; /* registers in memory have 32 bits */
	/*
	 * an ISA interrupt, from 16 on an I/O APIC's input; CMDLINE_IRQ_NONE; CMDLINE_IRQ_UNKNOWN
	 */
	s32 console_irq;
};

static inline bool cmdline_console_mmio(const struct cmdline *c)
{
	return IS_ENABLED(CONFIG_CONSOLE_TABLES) && c->console == CMDLINE_CONSOLE_MMIO;
}

#if IS_ENABLED(CONFIG_GDB)
/* Is the debugger's at that port? */
static inline bool cmdline_is_gdb_port(const struct cmdline *c, u64 port)
{
	return c->gdb_port == port;
}
#else
static inline bool cmdline_is_gdb_port(const struct cmdline *, u64)
{
	return false;
}
#endif

/*
 * Fills *out from `text`; starts from the defaults (com1 at 115200, info, ^T, halt), so
 * that a wrong word changes nothing. report() is called with one text for each
 * word that is wrong; returns how many were.
 */
unsigned cmdline_parse(const char *text, struct cmdline *out, void (*report)(const char *line));

/* What the boot loader gave; boot.c has it. */
const struct cmdline *cmdline_of_boot(void);

#endif

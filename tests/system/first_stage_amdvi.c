/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD-Vi, left on: a device table of bus 0 in which all is blocked, rings of commands and events,
 * the one of another length than Margay's and worked on halfway, the other with an event that is
 * told of but has not been seen; and interrupt tables without entries, which are of the other kind
 * than Margay's; with INTERRUPTS 0 all of these pass.
 *
 * AMD I/O Virtualization Technology Specification 3.07: 2.2.2.1 (device table), 2.4 (commands), 3.4
 * (registers), 5.2.2.3 (IVMD).
 */
#include "first_stage.h"

#define UNIT 0xfed80000u
enum {
	DEVICES = 0,
	COMMANDS = 8,
	EVENTS = 0x10,
	CONTROL = 0x18,
	COMMAND_TAIL = 0x2008,
	EVENT_HEAD = 0x2010,
	EVENT_TAIL = 0x2018
};
#define IDS 256u
#ifndef INTERRUPTS
#define INTERRUPTS 1
#endif
#define RING (512u * 16) /* bytes */
#define RING_LENGTH (9u << 24)

const u32 unit_table = 0x53525649; /* IVRS */
const u32 unit_edu = 0x58;
const u32 unit_memory[8] = {
			     /* an IVMD: of one function, which reads and writes */
	0x21 | 7 << 8 | 32 << 16, KEPT_DEVICE << 3, 0, 0, KEPT, 0, 0x1000, 0,
};
static u64 devices[IDS * 4] __attribute__((aligned(4096))),
	tables[512] __attribute__((aligned(4096))), entries[512] __attribute__((aligned(4096))),
	commands[RING / 8] __attribute__((aligned(4096))),
	events[RING / 8] __attribute__((aligned(4096)));
static volatile u64 waited;

static void unit_write(u32 reg, u32 low, u32 high)
{
	*(volatile u32 *)(UNIT + reg) = low;
	*(volatile u32 *)(UNIT + reg + 4) = high;
}

void unit_turn_on(void)
{
	u64 *c = commands;

	for (u32 id = 0; id < IDS; id++) {
		/* valid, translated by four levels, neither read nor written */
		devices[id * 4] = (u32)tables | 3 | 4 << 9;
		devices[id * 4 + 1] = 1;                    /* domain */
		devices[id * 4 + 2] = INTERRUPTS ? 2ull << 60 | (u32)entries | 8 << 1 | 1 : 0;
		*c = 2ull << 60 | id; /* drop that */
		c += 2;
	}
	*c = 8ull << 60; /* drop all */
	c[2] = 1ull << 60 | (u32)&waited | 1;
	c[3] = 1;
	unit_write(DEVICES, (u32)devices | (sizeof(devices) / 4096 - 1), 0);
	unit_write(COMMANDS, (u32)commands, RING_LENGTH);
	unit_write(EVENTS, (u32)events, RING_LENGTH);
	/* on, events and messages of them, coherent, commands */
	unit_write(CONTROL, 1 | 1 << 2 | 1 << 3 | 1 << 10 | 1 << 12, 0);
	unit_write(COMMAND_TAIL, (IDS + 2) * 16, 0);
	while (!waited)
		;
}

int unit_has_noted(void)
{
	return *(volatile u32 *)(UNIT + EVENT_TAIL) != *(volatile u32 *)(UNIT + EVENT_HEAD);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VT-d, left on: queued invalidation, translation by tables in which nothing is mapped, and
 * interrupt remapping by a table without entries. QEMU's unit has no protected regions. VT-d 4.0:
 * 11.4 (registers), 9 (tables), 8.4 (RMRR).
 */
#include "first_stage.h"

#define UNIT 0xfed90000u
enum {
	GCMD = 0x18,
	GSTS = 0x1c,
	RTADDR = 0x20,
	FSTS = 0x34,
	IQH = 0x80,
	IQT = 0x88,
	IQA = 0x90,
	IRTA = 0xb8
};
#define TE 0x80000000u
#define SRTP 0x40000000u
#define QIE 0x04000000u
#define IRE 0x02000000u
#define SIRTP 0x01000000u

const u32 unit_table = 0x52414d44; /* DMAR */
const u32 unit_edu = 0x48;
const u32 unit_memory[8] = {
			     /* an RMRR */
	1 | 32 << 16, 0, KEPT, 0, KEPT + 0xfff, 0, 1 | 8 << 8, KEPT_DEVICE << 16,
};
static u64 root[512] __attribute__((aligned(4096))), context[512] __attribute__((aligned(4096))),
	tables[512] __attribute__((aligned(4096))), entries[512] __attribute__((aligned(4096))),
	queue[512] __attribute__((aligned(4096)));
static volatile u32 waited;

static u32 unit_read(u32 reg)
{
	return *(volatile u32 *)(UNIT + reg);
}

static void unit_write(u32 reg, u32 value)
{
	*(volatile u32 *)(UNIT + reg) = value;
}

static void command(u32 bit)
{
	unit_write(GCMD, (unit_read(GSTS) & 0x96ffffff) | bit);
	while (!(unit_read(GSTS) & bit))
		;
}

void unit_turn_on(void)
{
	root[0] = (u32)context | 1;
	for (unsigned i = 0; i < 256; i++) {
		context[i * 2] = (u32)tables | 1;
		context[i * 2 + 1] = 1 << 8 | 2; /* domain 1, four levels */
	}
	unit_write(IQA, (u32)queue);
	command(QIE);
	queue[0] = 0x11;                  /* contexts */
	queue[2] = 0xd2;                  /* translations */
	queue[4] = 1ull << 32 | 0x65;     /* wait */
	queue[5] = (u32)&waited;
	unit_write(IQT, 3 * 16);
	while (!waited)
		;
	unit_write(RTADDR, (u32)root);
	command(SRTP);
	command(TE);
	unit_write(IRTA, (u32)entries | 1 << 11 | 7); /* 256 entries, APIC IDs of 32 bits */
	command(SIRTP);
	command(IRE);
}

int unit_has_noted(void)
{
	return unit_read(FSTS) & 2;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A firmware that leaves its IOMMU on: it is started by GRUB in Margay's place, turns the unit on
 * (first_stage_vtd.c or first_stage_amdvi.c) with all devices blocked, has an edu leave a fault
 * behind that nobody has taken, adds memory that firmware keeps for 00:0a.0 to the unit's ACPI
 * table, and then enters Margay, which it finds among its modules, with the boot information that
 * it has got.
 *
 * Multiboot2 2.0: 3.3 and 3.6. 32-bit code without paging.
 */
#include "first_stage.h"

#define BASE 0x200000u /* of Margay, as linked */
#define MODULE "margay"

u8 stack[16384];

asm(".section .header, \"a\"\n"
    ".balign 8\n"
    "header: .long 0xe85250d6, 0, header_end - header, -(0xe85250d6 + (header_end - header))\n"
    "	.short 1, 0\n	.long 12, 6\n	.balign 8\n"            /* the memory map */
    /* command line, modules, RSDP */
    "	.short 1, 1\n	.long 24, 1, 3, 14, 15\n	.balign 8\n"
    "	.short 6, 0\n	.long 8\n"                              /* modules on page boundaries */
    "	.short 0, 0\n	.long 8\n"
    "header_end:\n"
    ".text\n"
    ".globl _start\n"
    "_start: cli\n	cld\n	mov $stack + 16384, %esp\n	push %ebx\n	push %eax\n	call stage\n"
    "	mov %eax, %ecx\n	pop %eax\n	pop %ebx\n	jmp *%ecx\n");

void *memcpy(void *to, const void *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		((volatile u8 *)to)[i] = ((const u8 *)from)[i];
	return to;
}

void *memset(void *to, int c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		((volatile u8 *)to)[i] = (u8)c;
	return to;
}

static void outb(u16 port, u8 value)
{
	asm volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static void outl(u16 port, u32 value)
{
	asm volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static u32 inl(u16 port)
{
	u32 value;

	asm volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static void say(const char *text)
{
	for (; *text; text++)
		outb(0x3f8, (u8)*text);
	outb(0x3f8, '\n');
}

void want(int ok, const char *what)
{
	if (ok)
		return;
	say(what);
	for (;;)
		asm volatile("hlt");
}

static u32 config(u32 bdf, u32 at)
{
	outl(0xcf8, 1u << 31 | bdf << 8 | at);
	return inl(0xcfc);
}

static void leave_a_fault(void)
{
	volatile u32 *edu = (volatile u32 *)(config(unit_edu, 0x10) & ~0xfu);

	want(config(unit_edu, 0) == 0x11e81234, "first stage: no edu");
	config(unit_edu, 4);
	outl(0xcfc, 6);
	edu[0x80 / 4] = 0x1000000;
	edu[0x88 / 4] = 0x40000;
	edu[0x90 / 4] = 4096;
	edu[0x98 / 4] = 1;
	while (edu[0x98 / 4] & 1)
		;
	want(unit_has_noted(), "first stage: nothing was blocked");
}

static void sum(u8 *table, u32 size, u32 at)
{
	u8 all = 0;

	table[at] = 0;
	for (u32 i = 0; i < size; i++)
		all += table[i];
	table[at] = (u8)-all;
}

/* Firmware's table with one structure more, in memory that is not given to anyone. */
static void add_memory(u32 rsdt)
{
	u32 *table = (u32 *)rsdt, *own = (u32 *)KEPT, size;

	for (u32 i = 9; i < table[1] / 4; i++) {
		if (*(u32 *)table[i] != unit_table)
			continue;
		size = ((u32 *)table[i])[1];
		memcpy(own, (void *)table[i], size);
		memcpy((u8 *)own + size, unit_memory, sizeof(unit_memory));
		own[1] = size + sizeof(unit_memory);
		sum((u8 *)own, own[1], 9);
		table[i] = (u32)own;
		sum((u8 *)table, table[1], 9);
		return;
	}
	want(0, "first stage: no table of the unit's");
}

struct tag {
	u32 type;
	u32 size;
	u32 words[];
};

static struct tag *next(struct tag *t)
{
	return (struct tag *)((u32)t + ((t->size + 7) & ~7u));
}

static struct tag *first(u32 info)
{
	return (struct tag *)(info + 8);
}

/* Where so much is free: behind this program, and what GRUB has brought. */
static u32 find_place(u32 info, u32 size)
{
	extern u8 end[];
	u32 at = ((u32)end + 0x1fffff) & ~0x1fffffu;

	for (struct tag *t = first(info); t->type;) {
		u32 from = t->type == 3 ? t->words[0] : (u32)t,
		    to = t->type == 3 ? t->words[1] : (u32)t + t->size;
		int over = from < at + size && at < to;

		at = over ? (to + 0x1fffff) & ~0x1fffffu : at;
		t = over ? first(info) : next(t);
	}
	return at;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

u32 stage(u32 magic, u32 info)
{
	const u8 *elf = 0;
	u32 at, rsdt = 0;

	want(magic == 0x36d76289, "first stage: no multiboot2");
	for (struct tag *t = first(info); t->type; t = next(t)) {
		if (t->type == 3 && same((const char *)&t->words[2], MODULE))
			elf = (const u8 *)t->words[0];
		if (t->type == 14)
			rsdt = t->words[4];
	}
	want(elf && rsdt, "first stage: no image, or no RSDT");
	add_memory(rsdt);
	unit_turn_on();
	leave_a_fault();
	at = find_place(info, BASE);
	for (u32 i = 0; i < *(const u16 *)(elf + 56); i++) {
		const u64 *h = (const u64 *)(elf + *(const u32 *)(elf + 32) + i * 56);
		u32 to = at + (u32)h[3] - BASE;

		if ((u32)h[0] != 1)
			continue;
		memset((void *)to, 0, (u32)h[5]);
		memcpy((void *)to, elf + (u32)h[1], (u32)h[4]);
	}
	say("first stage: all is on");
	return at + (*(const u32 *)(elf + 24) & 0x7fffffff) - BASE;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A firmware that leaves its VT-d on: it is started by GRUB in Margay's place, turns on queued invalidation, translation by tables
 * in which nothing is mapped, and interrupt remapping by a table without entries; has edu (00:09.0) leave a fault behind that
 * nobody has taken; adds an RMRR for 00:0a.0 to the DMAR; and then enters Margay, which it finds among its modules, with the
 * boot information that it has got. QEMU's unit has no protected regions.
 *
 * VT-d 4.0: 11.4 (registers), 9 (tables), 8.4 (RMRR). Multiboot2 2.0: 3.3 and 3.6. 32-bit code without paging.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

#define UNIT 0xfed90000u
enum { GCMD = 0x18, GSTS = 0x1c, RTADDR = 0x20, FSTS = 0x34, IQH = 0x80, IQT = 0x88, IQA = 0x90, IRTA = 0xb8 };
#define TE 0x80000000u
#define SRTP 0x40000000u
#define QIE 0x04000000u
#define IRE 0x02000000u
#define SIRTP 0x01000000u

#define EDU 0x48u /* device and function, on bus 0 */
#define KEPT 0x9f000u /* a page that firmware keeps: DMAR and the RMRR's memory */
#define RMRR_DEVICE 0x0a
#define BASE 0x200000u /* of Margay, as linked */
#define MODULE "margay"

static u64 root[512] __attribute__((aligned(4096))), context[512] __attribute__((aligned(4096))),
	tables[512] __attribute__((aligned(4096))), entries[512] __attribute__((aligned(4096))),
	queue[512] __attribute__((aligned(4096)));
static volatile u32 waited;
u8 stack[16384];

asm(".section .header, \"a\"\n"
    ".balign 8\n"
    "header: .long 0xe85250d6, 0, header_end - header, -(0xe85250d6 + (header_end - header))\n"
    "	.short 1, 0\n	.long 12, 6\n	.balign 8\n"            /* the memory map */
    "	.short 1, 1\n	.long 24, 1, 3, 14, 15\n	.balign 8\n" /* command line, modules, RSDP */
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

static void want(int ok, const char *what)
{
	if (ok)
		return;
	say(what);
	for (;;)
		asm volatile("hlt");
}

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

static void turn_on(void)
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

static u32 config(u32 bdf, u32 at)
{
	outl(0xcf8, 1u << 31 | bdf << 8 | at);
	return inl(0xcfc);
}

static void leave_a_fault(void)
{
	volatile u32 *edu = (volatile u32 *)(config(EDU, 0x10) & ~0xfu);

	want(config(EDU, 0) == 0x11e81234, "first stage: no edu");
	config(EDU, 4);
	outl(0xcfc, 6);
	edu[0x80 / 4] = 0x1000000;
	edu[0x88 / 4] = 0x40000;
	edu[0x90 / 4] = 4096;
	edu[0x98 / 4] = 1;
	while (edu[0x98 / 4] & 1)
		;
	want(unit_read(FSTS) & 2, "first stage: nothing was blocked");
}

static void sum(u8 *table, u32 size, u32 at)
{
	u8 all = 0;

	table[at] = 0;
	for (u32 i = 0; i < size; i++)
		all += table[i];
	table[at] = (u8)-all;
}

/* Firmware's DMAR with one structure more, in memory that is not given to anyone. */
static void add_rmrr(u32 rsdt)
{
	static const u32 rmrr[8] = {
		1 | 32 << 16, 0, KEPT, 0, KEPT + 0xfff, 0, 1 | 8 << 8, RMRR_DEVICE << 16,
	};
	u32 *table = (u32 *)rsdt, *dmar = (u32 *)KEPT, size;

	for (u32 i = 9; i < table[1] / 4; i++) {
		if (*(u32 *)table[i] != 0x52414d44) /* DMAR */
			continue;
		size = ((u32 *)table[i])[1];
		memcpy(dmar, (void *)table[i], size);
		memcpy((u8 *)dmar + size, rmrr, sizeof(rmrr));
		dmar[1] = size + sizeof(rmrr);
		sum((u8 *)dmar, dmar[1], 9);
		table[i] = (u32)dmar;
		sum((u8 *)table, table[1], 9);
		return;
	}
	want(0, "first stage: no DMAR");
}

struct tag { u32 type, size, words[]; };

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
		u32 from = t->type == 3 ? t->words[0] : (u32)t, to = t->type == 3 ? t->words[1] : (u32)t + t->size;
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
	add_rmrr(rsdt);
	turn_on();
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

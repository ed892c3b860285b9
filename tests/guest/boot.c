/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: word=x last
 * VM: module = boot some arguments
 * VM: module = triple
 *
 * What a multiboot kernel is handed over: registers, memory map, command line,
 * modules, the loader's name; page 0 is RAM; the local APIC is in xAPIC mode.
 */
#include "tiny.h"

#define AT(address) ((const void *)(u64)(address))

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static void check_memory(const u32 *info)
{
	const u8 *p = AT(info[12]), *end = p + info[11];
	u64 ram = 0, above = 0;
	bool acpi = false;

	while (p < end) {
		u64 addr = *(const u64 *)(p + 4), size = *(const u64 *)(p + 12);
		u32 type = *(const u32 *)(p + 20);

		ram += type == 1 ? size : 0;
		above = type == 1 && addr == 0x100000 ? size : above;
		acpi = acpi || (type == 3 && addr < 0xa0000);
		p += *(const u32 *)p + 4;
	}
	check(p == end, "the memory map ends where its length says");
	check(acpi, "the ACPI tables are in the memory map");
	check(info[2] == above >> 10 && above > 30 << 20, "mem_upper %u KiB, %lu bytes above 1 MiB",
	      info[2], above);
	check(info[1] >= 256 && info[1] <= 640, "mem_lower %u KiB", info[1]);
	check(ram < 32 << 20 && ram > 31 << 20, "%lu bytes of RAM", ram);
}

static void check_modules(const u32 *info)
{
	const u32 *m = AT(info[6]);

	if (!check(info[5] == 2, "%u modules", info[5]))
		return;
	check(!(m[0] & 0xfff) && !(m[4] & 0xfff) && m[4] >= m[1], "modules at %#x, %#x", m[0],
	      m[4]);
	check(same(AT(m[2]), "boot some arguments"), "module line '%s'", (const char *)AT(m[2]));
	check(same(AT(m[6]), "triple"), "module line '%s'", (const char *)AT(m[6]));
	/* The first module is this image, as a file. */
	check(*(const u32 *)AT(m[0]) == 0x464c457f, "the module begins with %#x",
	      *(const u32 *)AT(m[0]));
}

void test_main(void)
{
	const u32 *info = boot_info;
	volatile u64 *page0 = NULL;

	check(boot_magic == 0x2badb002, "EAX was %#x", boot_magic);
	check((info[0] & 0x24d) == 0x24d, "flags %#x", info[0]);
	check_memory(info);
	check(option("word") && *option("word") == 'x' && !option("last"), "command line '%s'",
	      (const char *)AT(info[4]));
	check_modules(info);
	check(same(AT(info[16]), "Margay"), "loader '%s'", (const char *)AT(info[16]));
	asm("" : "+r"(page0)); /* address 0 is an address like others here */
	*page0 = 0x1122334455667788;
	check(*page0 == 0x1122334455667788, "page 0 is RAM");
	check((rdmsr(MSR_APIC_BASE) & 0xd00) == (option_number("direct", 0) ? 0xd00 : 0x900),
	      "APIC_BASE %#lx: its mode, boot CPU", rdmsr(MSR_APIC_BASE));
	check(!(read_rflags() & RFLAGS_IF), "interrupts are off");
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/hest.c kernel/acpi/rsdp.c kernel/memory/lost.c */
/*
 * HEST and the blocks that it names, as ACPI 6.4 and UEFI 2.9 have them; broken ones; and what
 * kernel/errors/ghes.c does with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/acpi_table.h"
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/fake_limited.h"
#include "kernel/boot/cmdline.h"

static u8 memory[0x20000] __aligned(8); /* the machine's, from BASE on */
#define BASE 0x7f000000ull
#include "kernel/errors/ghes.c"

static struct cmdline words;
static struct bootinfo boot;
static char said[4000];
static const void *hest_table;
static jmp_buf ended;

const struct cmdline *cmdline_of_boot(void)
{
	return &words;
}
const struct bootinfo *bootinfo_of_boot(void)
{
	return &boot;
}
const struct acpi_sdt *acpi_table(const char signature[4], unsigned)
{
	assert_memory_equal(signature, "HEST", 4);
	return hest_table;
}

void *mmio_map_type(u64 pa, u64 size, bool)
{
	return pa >= BASE && pa - BASE + size <= sizeof(memory) ? memory + (pa - BASE) : NULL;
}

static void add(const char *fmt, va_list ap)
{
	vsnprintf(said + strlen(said), sizeof(said) - strlen(said), fmt, ap);
	strcat(said, "\n");
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(fmt, ap);
	va_end(ap);
}

static u64 limited_now(void)
{
	return 0;
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(fmt, ap);
	va_end(ap);
}

void panic(const char *, ...)
{
	longjmp(ended, 1);
}

static void expect(const char *text)
{
	assert_string_equal(said, text);
	said[0] = 0;
}

/* ---- the table ---- */

static struct hest_info h;

static void begin_hest(u32 sources)
{
	begin("HEST", 1);
	put(sources, 4);
}

static void gas(u8 space, u64 address)
{
	put8(space);
	put8(64);
	put8(0);
	put8(4);
	put(address, 8);
}

/* Type 9, or 10 where there is a register to acknowledge by. */
static void generic(bool enabled, u8 space, u64 pointer, u32 size, u64 ack)
{
	put(ack ? 10 : 9, 2);
	put(1, 2);
	put(0xffff, 2);
	put8(0);
	put8(enabled);
	put(1, 4);
	put(1, 4);
	put(0x1000, 4);
	gas(space, pointer);
	put8(4); /* NMI */
	put8(28);
	zeros(26);
	put(size, 4);
	if (!ack)
		return;
	gas(0, ack);
	put(0xfffffffe, 8);
	put(1, 8);
}

static void sized(u16 type, unsigned size, unsigned banks_at, u8 banks)
{
	size_t from = used;

	put(type, 2);
	zeros(size - 2);
	if (banks_at)
		buf[from + banks_at] = banks;
	zeros(banks * 28u);
}

static void test_table(void **)
{
	begin_hest(9);
	sized(0, 40, 32, 3);
	sized(1, 48, 44, 2);
	sized(2, 20, 0, 0);
	sized(6, 48, 0, 0);
	sized(7, 44, 0, 0);
	sized(8, 56, 0, 0);
	generic(true, 0, BASE, 0x1000, 0);
	sized(11, 48, 44, 1);
	generic(true, 0, BASE + 8, 0x2000, BASE + 16);
	finish();
	assert_null(READ(hest_read, &h));
	assert_true(h.count == 2 && !h.dropped);
	assert_true(h.source[0].pointer == BASE && h.source[0].size == 0x1000 && !h.source[0].ack);
	assert_true(h.source[1].pointer == BASE + 8 && h.source[1].ack == BASE + 16 &&
		    h.source[1].ack_kept == 0xfffffffe && h.source[1].ack_set == 1);
	/* Off, in a port, nowhere, too small for a block. */
	begin_hest(5);
	generic(false, 0, BASE, 0x1000, 0);
	generic(true, 1, BASE, 0x1000, 0);
	generic(true, 0, 0, 0x1000, 0);
	generic(true, 0, BASE, 19, 0);
	generic(true, 0, ~0ull, 0x1000, 0);
	finish();
	assert_null(READ(hest_read, &h));
	assert_int_equal(h.count, 0);
	/* What cannot be followed ends it; what was before stays. */
	begin_hest(3);
	generic(true, 0, BASE, 0x1000, 0);
	sized(12, 64, 0, 0);
	generic(true, 0, BASE, 0x1000, 0);
	finish();
	assert_string_equal(READ(hest_read, &h), "it has an entry of a kind that is not known");
	assert_int_equal(h.count, 1);
	begin_hest(2);
	generic(true, 0, BASE, 0x1000, 0);
	finish();
	assert_string_equal(READ(hest_read, &h), "an entry is too short");
	assert_int_equal(h.count, 1);
	begin_hest(1);
	sized(0, 40, 32, 3);
	used -= 28;
	finish();
	assert_string_equal(READ(hest_read, &h), "an entry is too short");
	begin_hest(HEST_MAX + 2);
	for (unsigned i = 0; i < HEST_MAX + 2; i++)
		generic(true, 0, BASE, 0x1000, 0);
	finish();
	assert_null(READ(hest_read, &h));
	assert_true(h.count == HEST_MAX && h.dropped == 2);
}

/* ---- blocks ---- */

static u8 block[0x1000];
static size_t filled;

static void word(u64 value, unsigned bytes)
{
	memcpy(block + filled, &value, bytes);
	filled += bytes;
}

static void begin_block(u32 severity)
{
	memset(block, 0, sizeof(block));
	filled = 0;
	word(1 << 4 | 1, 4);
	word(0, 8);
	word(0, 4);
	word(severity, 4);
}

static void section(const char *guid, u32 severity, u16 revision, const char *fru, u32 size)
{
	unsigned byte;

	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(sscanf(guid + 2 * i, "%2x", &byte), 1);
		block[filled++] = (u8)byte;
	}
	word(severity, 4);
	word(revision, 2);
	word(fru ? 2 : 0, 1);
	word(0, 1);
	word(size, 4);
	filled += 16;
	if (fru)
		memcpy(block + filled, fru, MIN(strlen(fru), (size_t)20));
	filled += revision >= 0x300 ? 28 : 20;
	filled += size;
	*(u32 *)(void *)(block + 12) = (u32)filled - 20;
}

#define MEMORY "1411bca5646fde4eb8633e83ed7c83b1"
#define GENERIC_CPU "adcc7698b447db4bb65e16f193c4f3db"
#define X86 \
	"b0a03edc44a19747" \
	"b95b53fa242b6e1d"
#define PCIE "54e995d9c1bb0f43ad91b44dcb3c6f35"

static void at(size_t offset, u64 value, unsigned bytes, u32 size)
{
	memcpy(block + filled - size + offset, &value, bytes);
}

static bool reads(size_t size, size_t *where, const char *text)
{
	char got[200] = "";
	struct hest_found found;
	bool is = hest_section(block, size, where, got, sizeof(got), &found);

	assert_string_equal(got, text);
	return is;
}

static void test_sections(void **)
{
	size_t where = 0;

	begin_block(2);
	section(MEMORY, 2, 0x300, "DIMM_A1", 80);
	at(0, BIT(1) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(14) | BIT(17), 8, 80);
	at(16, 0x123456780, 8, 80);
	at(32, 1, 2, 80);
	at(34, 2, 2, 80);
	at(36, 3, 2, 80);
	at(38, 4, 2, 80);
	at(40, 99, 2, 80);
	at(72, 2, 1, 80);
	at(78, 0x41, 2, 80);
	/* An older one, shorter: what it has not is not told. */
	section(MEMORY, 0, 0x201, NULL, 73);
	at(0, BIT(1) | BIT(17), 8, 73);
	at(16, 0x5000, 8, 73);
	section(GENERIC_CPU, 1, 0x201, NULL, 192);
	at(0, BIT(2) | BIT(8), 8, 192);
	at(10, 4, 1, 192);
	at(152, 17, 8, 192);
	section(X86, 2, 0x201, "a long name of 20 by", 64);
	at(0, 1, 8, 64);
	at(8, 5, 8, 64);
	section(PCIE, 3, 0x300, NULL, 208);
	at(0, BIT(3), 8, 208);
	at(24, 0x8086, 2, 208);
	at(26, 0x10d3, 2, 208);
	at(31, 1, 1, 208);
	at(32, 2, 1, 208);
	at(33, 0, 2, 208);
	at(35, 0x5e, 1, 208);
	section("00112233445566778899aabbccddeeff", 7, 0x300, NULL, 0);
	assert_true(
		reads(sizeof(block), &where,
		      "memory, corrected: address 0x123456780 node 1 card 2 module 3 bank 4 kind 2 "
		      "SMBIOS handle 0x41 part 'DIMM_A1'"));
	assert_true(reads(sizeof(block), &where, "memory, recoverable: address 0x5000"));
	assert_true(reads(sizeof(block), &where, "processor, fatal: kind 4 APIC ID 17"));
	assert_true(reads(sizeof(block), &where,
			  "processor, corrected: APIC ID 5 part 'a long name of 20 by'"));
	assert_true(
		reads(sizeof(block), &where,
		      "PCIe, informational: segment 0 bus 0x5e device 0x2 function 1 vendor 0x8086 "
		      "ID 0x10d3"));
	assert_true(reads(sizeof(block), &where, "of another kind, informational:"));
	assert_false(reads(sizeof(block), &where, ""));
	/* Cut anywhere: never past the end. */
	for (size_t size = 20; size < filled; size++) {
		static u8 room[sizeof(block)];
		u8 *end = room + sizeof(room) - size;
		char text[60];
		struct hest_found found;

		memcpy(end, block, size);
		for (where = 0; hest_section(end, size, &where, text, sizeof(text), &found);)
			assert_true(where <= size);
	}
	block[0] = 0; /* nothing is new */
	where = 0;
	assert_false(reads(sizeof(block), &where, ""));
	begin_block(2);
	section(MEMORY, 2, 0x300, NULL, 80);
	*(u32 *)(void *)(block + 20 + 24) = ~0u; /* longer than all */
	where = 0;
	assert_false(reads(sizeof(block), &where, ""));
}

/* A memory section with a page, by its severity and address; has: bits of what is valid. */
static void memory_section(u32 severity, u64 address, u64 has)
{
	section(MEMORY, severity, 0x300, NULL, 80);
	at(0, has, 8, 80);
	at(16, address, 8, 80);
}

static void test_pages(void **)
{
	static const struct {
		u32 severity;
		u64 address;
		u64 has;
		u64 page;
		bool lost;
		bool fatal;
	} table[] = {
		{ 0, 0x123456789, BIT(1), 0x123456000, true, false },
		{ 1, 0xfff, ~0ull, 0, true, true },
		{ 0, BIT(52) - 1, BIT(1), BIT(52) - PAGE_SIZE, true, false },
		/*
		 * Nothing is lost; it does not say where; no address of memory; a severity that is
		 * none.
		 */
		{ 2, 0x5000, BIT(1), 0, false, false },
		{ 3, 0x5000, BIT(1), 0, false, false },
		{ 0, 0x5000, ~BIT(1), 0, false, false },
		{ 0, BIT(52), BIT(1), 0, false, false },
		{ 4, 0x5000, BIT(1), 0, false, false },
	};
	struct hest_found found;
	char text[200];
	size_t where;

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		begin_block(2);
		memory_section(table[i].severity, table[i].address, table[i].has);
		where = 0;
		assert_true(hest_section(block, filled, &where, text, sizeof(text), &found));
		assert_int_equal(found.lost, table[i].lost);
		assert_int_equal(found.fatal, table[i].fatal);
		assert_true(!found.lost || found.page == table[i].page);
	}
	/* Too short to have an address; and another kind of section. */
	for (unsigned i = 0; i < 2; i++) {
		begin_block(0);
		section(i ? X86 : MEMORY, 0, 0x300, NULL, i ? 64 : 23);
		at(0, ~0ull, 8, i ? 64 : 23);
		where = 0;
		assert_true(hest_section(block, filled, &where, text, sizeof(text), &found));
		assert_false(found.lost);
	}
}

/* ---- what is done ---- */

static int machine(void **)
{
	static u8 table[1000];

	memset(memory, 0, sizeof(memory));
	memset(&boot, 0, sizeof(boot));
	memset(of, 0, sizeof(of));
	count = 0;
	corrected.free = lost.free = fatal.free = 0;
	words.nmi_panic = false;
	boot.nr_ranges = 1;
	boot.range[0] = (struct boot_range){ BASE + 0x18000, BASE + 0x20000, BOOT_MEMORY_USABLE };
	begin_hest(4);
	generic(true, 0, BASE, 0x1000, 0);
	generic(true, 0, BASE + 0x18000, 0x1000, 0); /* where VMs have their memory */
	generic(true, 0, BASE + 16, 0x1000, 0); /* and its block there */
	generic(true, 0, BASE + 8, 0x100000, BASE + 24);
	finish();
	memcpy(table, buf, used);
	hest_table = table;
	*(u64 *)(void *)memory = BASE + 0x1000;
	*(u64 *)(void *)(memory + 8) = BASE + 0x8000;
	*(u64 *)(void *)(memory + 16) = BASE + 0x17ff8;
	*(u64 *)(void *)(memory + 0x18000) = BASE + 0x1000;
	*(u64 *)(void *)(memory + 24) = 0xff0;
	said[0] = 0;
	ghes_init();
	return 0;
}

static void test_look(void **)
{
	expect("acpi: table HEST: source 1 has its block at an impossible address, 0\n"
	       "acpi: table HEST: source 2 has its block at an impossible address, 0x7f017ff8\n"
	       "firmware's errors: 2 blocks in memory\n");
	assert_false(ghes_look());
	begin_block(2);
	section(MEMORY, 2, 0x300, NULL, 80);
	memcpy(memory + 0x1000, block, filled);
	memcpy(memory + 0x8000, block, filled);
	assert_true(ghes_look());
	expect("firmware reports an error: memory, corrected:\nfirmware reports an error: memory, corrected:\n");
	/* Both are the firmware's again; the second's register is told. */
	assert_true(!memory[0x1000] && !memory[0x8000] && *(u64 *)(void *)(memory + 24) == 0xff1);
	assert_false(ghes_look());
	for (unsigned i = 3; i <= 17; i++) {
		memcpy(memory + 0x1000, block, filled);
		said[0] = 0;
		assert_true(ghes_look());
		assert_int_equal(said[0] != 0, i <= 16);
	}
	/* A fatal one is told always, and ends the node where that is wanted. */
	begin_block(1);
	section(PCIE, 1, 0x300, NULL, 208);
	memcpy(memory + 0x8000, block, filled);
	assert_true(ghes_look());
	expect("firmware reports an error: PCIe, fatal:\n");
	memcpy(memory + 0x8000, block, filled);
	words.nmi_panic = true;
	if (!setjmp(ended)) {
		ghes_look();
		fail();
	}
	assert_true(!memory[0x8000]);
}

/*
 * Whoever finds it, its page is given to nobody any more; and it is told, however many corrected
 * ones were.
 */
static void test_lost(void **)
{
	said[0] = 0;
	corrected.free = 1ull << 60;
	begin_block(0);
	memory_section(2, 0x10000, BIT(1));
	memory_section(0, 0x20123, BIT(1));
	memory_section(1, 0x30000, BIT(1));
	memcpy(memory + 0x1000, block, filled);
	assert_true(ghes_look());
	expect("firmware reports an error: memory, recoverable: address 0x20123\n"
	       "memory: the page at 0x20000 is given to nobody any more\n"
	       "firmware reports an error: memory, fatal: address 0x30000\n"
	       "memory: the page at 0x30000 is given to nobody any more\n");
	/* The same once more is no news, but for what is fatal. */
	memcpy(memory + 0x1000, block, filled);
	assert_true(ghes_look());
	expect("firmware reports an error: memory, fatal: address 0x30000\n");
	assert_int_equal(host_memory_lost_in(0, 0x100000), 0x20000);
	assert_int_equal(host_memory_lost_in(0x21000, 0x100000), 0x30000);
	/* Each page is told, however many at once. */
	for (unsigned i = 0; i < 40; i++) {
		begin_block(0);
		memory_section(0, GIB(1) + i * PAGE_SIZE, BIT(1));
		memcpy(memory + 0x1000, block, filled);
		said[0] = 0;
		assert_true(ghes_look());
		assert_non_null(strstr(said, "firmware reports an error: memory, recoverable"));
	}
}

/* In a guest's machine check of which the banks do not tell. */
static void test_judge(void **)
{
	static const struct {
		u32 severity[2];
		enum mce_verdict verdict;
		u64 page;
	} table[] = {
		{ { 2, 3 }, MCE_NONE, HOST_LOST_UNKNOWN },
		{ { 2, 0 }, MCE_USED, 0x41000 },
		{ { 0, 0 }, MCE_USED, HOST_LOST_UNKNOWN },
		{ { 0, 1 }, MCE_FATAL, HOST_LOST_UNKNOWN },
	};
	u64 page;

	assert_int_equal(ghes_judge(&page), MCE_NONE);
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		begin_block(2);
		memory_section(table[i].severity[0], 0x40010, BIT(1));
		memory_section(table[i].severity[1], 0x41010, BIT(1));
		memcpy(memory + 0x8000, block, filled);
		assert_int_equal(ghes_judge(&page), table[i].verdict);
		assert_true(page == table[i].page);
		assert_int_equal(ghes_judge(&page), MCE_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_pages),
		cmocka_unit_test_setup(test_look, machine),
		cmocka_unit_test_setup(test_lost, machine),
		cmocka_unit_test_setup(test_judge, machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

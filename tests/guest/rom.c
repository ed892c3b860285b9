/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs edu with a ROM, and somebody outside: tests/system/test_pci_rom.py
 * NOT ON bochs: no device edu
 *
 * Switches the ROM of edu on (bit 0 of register 0x30; PCI Local Bus 3.0, 6.2.5.2) where firmware
 * has left it, and at the address at=, and reads and programs what lies at the machine's flash
 * then, by the commands of the flash chip that QEMU has (Intel's set). What it finds is nothing or
 * the ROM's own pattern (rom=). A key starts it, and ends it, for somebody outside compares the
 * flash.
 */
#include "pci.h"
#include "tiny.h"

#define ROM 0x30u
#define ROM_ON 1u
#define NOTHING 0xffffffffu
#define RESET_VECTOR 0xfffffff0u
#define UART 0x3f8
enum { FLASH_PROGRAM = 0x40, FLASH_ERASE = 0x20, FLASH_CONFIRM = 0xd0, FLASH_READ = 0xff };

static void wait_for_key(const char *what)
{
	print("rom: %s", what);
	while (!(inb(UART + 5) & 1))
		;
	(void)inb(UART);
}

static u32 read(u64 at)
{
	return *(volatile u32 *)at;
}

/* The store of variables, the code, and where the CPU begins. */
static bool look(u32 flash, u32 pattern)
{
	const u32 places[] = { flash, flash + 0x28, flash + 0x100000, RESET_VECTOR };
	bool own = false;

	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		u32 found = read(places[i]);

		check(found == NOTHING || found == pattern, "at %#x is %#x", places[i], found);
		own = own || found == pattern;
	}
	return own;
}

static void program(u32 flash)
{
	volatile u8 *block = (volatile u8 *)(u64)flash;

	block[0] = FLASH_PROGRAM;
	block[0] = 0;
	block[0x40] = FLASH_PROGRAM;
	block[0x40] = 0x55;
	block[0] = FLASH_ERASE;
	block[0] = FLASH_CONFIRM;
	block[0] = FLASH_READ;
}

static void attack(u32 bdf, u32 rom, u32 flash, u32 pattern)
{
	pci_write(bdf, ROM, rom | ROM_ON);
	if (!look(flash, pattern))
		program(flash);
	look(flash, pattern);
	pci_write(bdf, ROM, rom);
}

void test_main(void)
{
	u32 bdf = pci_find(EDU_IDS), flash = (u32)option_number("at", 0),
	    pattern = (u32)option_number("rom", 0), first, size;

	if (!check(bdf && flash && pattern, "no edu, or no words"))
		return;
	wait_for_key("waits");
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 2);
	first = pci_read(bdf, ROM);
	pci_write(bdf, ROM, ~ROM_ON);
	size = -pci_read(bdf, ROM);
	pci_write(bdf, ROM, first);
	print("rom: first %#x, size %#x", first, size);
	if (size) {
		pci_write(bdf, ROM, first | ROM_ON);
		print("rom: there is %#x", read(first));
		pci_write(bdf, ROM, first);
	}
	attack(bdf, first, flash, pattern);
	attack(bdf, flash, flash, pattern);
	attack(bdf, 0xff000000u, flash, pattern);
	wait_for_key("is done");
}

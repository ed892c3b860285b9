/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the node's SMBIOS table (DSP0134 3.6, 5.2), by EFI or by the scan of the BIOS area, and
 * keeps a copy.
 */
#include <margay/host.h>
#include <margay/string.h>

#include "kernel/acpi/acpi.h"

#define BIOS_AREA 0xf0000
#define BIOS_AREA_SIZE 0x10000
#define ENTRY_SIZE 32
#define TABLE_MAX KIB(64) /* what is behind is not read; SMBIOS 2 ends there */

/* UEFI 2.10, 4.3 and 4.6. */
struct efi_system_table {
	u64 signature;
	u8 unused[96];
	u64 count;
	u64 tables;
} __packed;
static_assert(sizeof(struct efi_system_table) == 120, "EFI system table");
#define EFI_SIGNATURE 0x5453595320494249ull /* "IBI SYST" */
#define EFI_TABLES_MAX 256

struct efi_table {
	u8 guid[16];
	u64 address;
} __packed;
static_assert(sizeof(struct efi_table) == 24, "EFI configuration table");

static const void *copy;
static u32 copy_size;

static bool by_efi(u64 address, u64 *table, u32 *size)
{
	static const u8 guid[2][16] = {
		{ 0x44, 0x15, 0xfd, 0xf2, 0x94, 0x97, 0x2c, 0x4a, 0x99, 0x2e, 0xe5, 0xbb, 0xcf,
		  0x20, 0xe3, 0x94 },
		{ 0x31, 0x2d, 0x9d, 0xeb, 0x88, 0x2d, 0xd3, 0x11, 0x9a, 0x16, 0x00, 0x90, 0x27,
		  0x3f, 0xc1, 0x4d },
	};
	const struct efi_system_table *system = firmware_map(address, sizeof(*system));
	u64 count = system && system->signature == EFI_SIGNATURE
			    ? MIN(system->count, (u64)EFI_TABLES_MAX)
			    : 0;
	const struct efi_table *t = count ? firmware_map(system->tables, count * sizeof(*t)) : NULL;

	/* SMBIOS 3 first. */
	for (u64 i = 0; t && i < 2 * count; i++) {
		const struct efi_table *one = &t[i % count];
		const void *entry = memcmp(one->guid, guid[i / count], 16)
					    ? NULL
					    : firmware_map(one->address, ENTRY_SIZE);

		if (entry && smbios_entry(entry, ENTRY_SIZE, table, size))
			return true;
	}
	return false;
}

void smbios_init(const struct bootinfo *bi)
{
	const void *area, *from;
	void *to;
	u64 table;
	u32 size;

	if (!by_efi(bi->efi_table, &table, &size)) {
		area = firmware_map(BIOS_AREA, BIOS_AREA_SIZE);
		if (!area || !smbios_entry(area, BIOS_AREA_SIZE, &table, &size))
			return;
	}
	size = MIN(size, (u32)TABLE_MAX);
	from = size ? firmware_map(table, size) : NULL;
	to = from ? host_pages_alloc((unsigned)ALIGN_UP(size, PAGE_SIZE) / PAGE_SIZE, -1) : NULL;
	if (!to)
		return;
	/*
	 * Should it lie in RAM that firmware calls usable, a guest would have it, and write to it.
	 */
	copy = memcpy(to, from, size);
	copy_size = size;
}

const void *host_smbios(u32 *size)
{
	*size = copy_size;
	return copy;
}

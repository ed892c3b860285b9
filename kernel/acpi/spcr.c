/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see uart.h. */
#include <margay/acpi.h>
#include "kernel/acpi/tables.h"
#include "kernel/acpi/uart.h"

/* Of the table, "Interface Type" (by DBG2's numbers), "Interrupt Type", "Baud Rate". */
enum { FULL_16550 = 0, SUBSET_16550 = 1, GAS_16550 = 0x12 };
enum { BY_8259 = BIT(0), BY_IOAPIC = BIT(1) };
#define ACCESS_DWORD 3

static u32 speed(u8 code)
{
	static const u32 rates[] = { [3] = 9600, [4] = 19200, [6] = 57600, [7] = 115200 };

	return code < ARRAY_SIZE(rates) ? rates[code] : 0;
}

/* -1: none that it can have. */
static int irq_of(const struct acpi_spcr *t)
{
	if (t->interrupt & BY_8259 && t->irq < 16)
		return acpi_uart_irq(t->irq);
	return t->interrupt & BY_IOAPIC && t->gsi <= 255 ? acpi_uart_irq(t->gsi) : -1;
}

const char *spcr_read(const void *table, size_t size, struct acpi_uart *out)
{
	struct acpi_spcr t;
	const char *reason = acpi_read_fixed(table, size, "SPCR", &t, sizeof(t));
	u64 align;

	if (reason)
		return reason;
	if (t.interface != FULL_16550 && t.interface != SUBSET_16550 && t.interface != GAS_16550)
		return "its port is no 16550";
	if (!t.base.address)
		return "it has no port";
	*out = (struct acpi_uart){
		.mmio = t.base.space_id == ACPI_SPACE_MEMORY,
		.address = t.base.address,
		.irq = irq_of(&t),
		.baud = speed(t.baud),
	};
	if (!out->mmio)
		return t.base.space_id == ACPI_SPACE_IO && out->address <= 0xfff8
			       ? NULL
			       : "its port is neither I/O nor memory";
	out->wide = t.base.access_size == ACCESS_DWORD || t.base.bit_width == 32;
	align = out->wide ? 4 : 1;
	return out->address < BIT(52) - 32 && IS_ALIGNED(out->address, align)
		       ? NULL
		       : "its address is impossible";
}

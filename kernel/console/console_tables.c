/* SPDX-License-Identifier: GPL-2.0-only */
/* What firmware's tables, the SPCR and the DSDT, say of the console's port. */
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/uart.h"
#include "kernel/boot/bootinfo.h"
#include "kernel/console/console.h"
#include "kernel/console/console_find.h"
#include "kernel/log/printk.h"

#define COM1 0x3f8
#define REGISTERS_MAX 32 /* bytes: eight of 32 bits */
#define DSDT_MAX 16      /* more ports than any board has */

static bool is_at(const struct acpi_uart *u, bool mmio, u64 address)
{
	return u->mmio == mmio && u->address == address;
}

/* What a table says of the port that the console has, and of the debugger's. */
static void learn(struct cmdline *c, const struct acpi_uart *u)
{
	if (is_at(u, cmdline_console_mmio(c), c->console_address)) {
		if (c->console_irq == CMDLINE_IRQ_UNKNOWN && u->irq >= 0)
			c->console_irq = u->irq;
		/* A divisor for registers in memory is only known for the clock of a PC's port. */
		if (!c->baud_named && u->baud && !u->mmio)
			c->baud = u->baud;
	}
	if (u->irq >= 0 && u->irq < 16 && !u->mmio && cmdline_is_gdb_port(c, u->address))
		c->gdb_irq = (u32)u->irq;
}

/* Goes over to it, if a port answers there. */
static bool move(struct cmdline *c, const struct acpi_uart *u, const char *table)
{
	struct cmdline at = *c;

	/* The operator has named that for something else. */
	if (!u->mmio && cmdline_is_gdb_port(c, u->address))
		return false;
	if (is_at(u, cmdline_console_mmio(c), c->console_address))
		return console_works();
	/* A port is looked for by writing to it. */
	if (u->mmio &&
	    bootinfo_is_usable(bootinfo_of_boot(), u->address, u->address + REGISTERS_MAX)) {
		printk("console: the %s has it at mmio:%#lx, which is memory: ignored", table,
		       u->address);
		return false;
	}
	at.console = u->mmio ? CMDLINE_CONSOLE_MMIO : CMDLINE_CONSOLE_PORT;
	at.console_address = u->address;
	at.console_wide = u->wide;
	if (u->mmio)
		at.baud = 0;
	else if (u->baud)
		at.baud = u->baud;
	if (console_start(&at))
		return false;
	*c = at;
	printk("console: at %s%#lx, as the %s says", u->mmio ? "mmio:" : "port ", u->address,
	       table);
	return true;
}

/* Of those of the DSDT the one that everybody means, else the first. */
static bool find_in_dsdt(const struct acpi_sdt *dsdt, struct acpi_uart *out)
{
	const void *aml = dsdt + 1;
	size_t size = dsdt->length - sizeof(*dsdt);

	for (unsigned n = 0; n < DSDT_MAX && aml_uart(aml, size, n, out); n++)
		if (is_at(out, false, COM1))
			return true;
	return aml_uart(aml, size, 0, out);
}

static void learn_all(struct cmdline *c, const struct acpi_uart *spcr, const struct acpi_sdt *dsdt)
{
	struct acpi_uart u;

	if (spcr)
		learn(c, spcr);
	if (!dsdt)
		return;
	for (unsigned n = 0;
	     n < DSDT_MAX && aml_uart(dsdt + 1, dsdt->length - sizeof(*dsdt), n, &u); n++)
		learn(c, &u);
}

void console_ask_tables(struct cmdline *c)
{
	const struct acpi_sdt *table = acpi_table("SPCR", 0), *dsdt = acpi_table("DSDT", 0);
	struct acpi_uart spcr, u;
	const char *why = table ? spcr_read(table, table->length, &spcr) : NULL;
	bool has_spcr = table && !why;
	u32 baud;

	if (why)
		printk("console: table SPCR: %s: ignored", why);
	/*
	 * The DSDT has ports, and does not say which is a console: one that works already is not
	 * left for it.
	 */
	if (!c->console_named && !(has_spcr && move(c, &spcr, "SPCR")) && !console_works() &&
	    dsdt && find_in_dsdt(dsdt, &u))
		move(c, &u, "DSDT");
	baud = c->baud;
	learn_all(c, has_spcr ? &spcr : NULL, dsdt);
	if (console_works() && c->baud != baud)
		(void)console_init(c);
}

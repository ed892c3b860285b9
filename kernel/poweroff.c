/* SPDX-License-Identifier: GPL-2.0-only */
/* Ends the node through ACPI's fixed registers. */
#include "kernel/poweroff.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/s5.h"
#include "kernel/console/console.h"
#include "kernel/console/screen.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_core.h"
#include "kernel/time/clock.h"

/* Polls of a register before the platform counts as deaf: some 100 ms by port. */
#define OBEY_POLLS 100000u
#define RESET_CONTROL_CF9 0xcf9
#define CF9_RESET 0x06 /* hard reset of the processors, ICH9 13.7.5 */

/* A register that can be accessed without any more set-up. */
struct fixed_register {
	u8 width; /* bytes; 0: absent */
	u16 port; /* or: */
	volatile u8 *mmio;
};

static struct fixed_register pm1a, pm1b, sleep_control;
static struct s5_info s5;
static bool has_s5;

static struct fixed_register open_register(const struct acpi_gas *gas, u8 width)
{
	struct fixed_register r = { 0 };

	if (!gas->address)
		return r;
	if (gas->space_id == ACPI_SPACE_IO && gas->address <= 0xffff)
		r.port = (u16)gas->address;
	else if (gas->space_id == ACPI_SPACE_MEMORY)
		r.mmio = mmio_map(gas->address, width);
	if (r.port || r.mmio)
		r.width = width;
	return r;
}

static u16 read_register(const struct fixed_register *r)
{
	if (r->mmio)
		return r->width == 1 ? *r->mmio : *(volatile u16 *)r->mmio;
	return r->width == 1 ? inb(r->port) : inw(r->port);
}

static void write_register(const struct fixed_register *r, u16 value)
{
	if (r->mmio && r->width == 1)
		*r->mmio = (u8)value;
	else if (r->mmio)
		*(volatile u16 *)r->mmio = value;
	else if (r->width == 1)
		outb(r->port, (u8)value);
	else
		outw(r->port, value);
}

static bool find_s5(void)
{
	static const char *const signatures[] = { "DSDT", "SSDT" };
	const struct acpi_sdt *t;

	for (unsigned i = 0; i < ARRAY_SIZE(signatures); i++)
		for (unsigned k = 0; (t = acpi_table(signatures[i], k)); k++)
			if (s5_find(t + 1, t->length - sizeof(*t), &s5))
				return true;
	return false;
}

/* What is missing for it, or NULL. */
static const char *find_registers(const struct fadt_info *fadt)
{
	if (!fadt)
		return "no FADT";
	pm1a = open_register(&fadt->pm1a_cnt, 2);
	pm1b = open_register(&fadt->pm1b_cnt, 2);
	sleep_control = open_register(&fadt->sleep_control, 1);
	has_s5 = find_s5();
	if (!has_s5)
		return "no \\_S5 in the DSDT or an SSDT";
	return pm1a.width || sleep_control.width ? NULL : "the FADT names no register for it";
}

/*
 * PM1 control means nothing before firmware has handed the chipset over (ACPI 4.8.2.5), and what
 * the chipset tells of comes as SMIs that take all CPUs from their guests.
 */
static void enable_acpi(void)
{
	const struct fadt_info *fadt = acpi.fadt;

	if (!pm1a.width || !fadt->smi_cmd || fadt->smi_cmd > 0xffff || !fadt->acpi_enable ||
	    read_register(&pm1a) & ACPI_PM1_SCI_EN)
		return;
	outb((u16)fadt->smi_cmd, fadt->acpi_enable);
	for (unsigned i = 0; i < OBEY_POLLS && !(read_register(&pm1a) & ACPI_PM1_SCI_EN); i++)
		inb(RESET_CONTROL_CF9);
	if (read_register(&pm1a) & ACPI_PM1_SCI_EN)
		printk("acpi: switched on: firmware had left it off");
	else
		printk_error("acpi: firmware does not switch it on: poweroff may not work");
}

void poweroff_init(void)
{
	const char *missing = find_registers(acpi.fadt);

	if (missing)
		printk_error("poweroff: %s: the node will halt instead", missing);
	enable_acpi();
}

static void wait_for_effect(void)
{
	for (unsigned i = 0; i < OBEY_POLLS; i++) {
		/* an access to the chipset takes about 1 us, a pause only some ns */
		inb(RESET_CONTROL_CF9);
		cpu_pause();
	}
}

static u16 pm1_value(const struct fixed_register *r, u8 type)
{
	u16 keep = read_register(r) & (u16) ~(7u << ACPI_PM1_SLP_TYP_SHIFT | ACPI_PM1_SLP_EN);

	return (u16)(keep | (unsigned)type << ACPI_PM1_SLP_TYP_SHIFT);
}

/* The type first and the enable bit with a second write: ACPI 4.8.3.2.1. */
static void enter_s5(void)
{
	u16 a, b = 0;

	if (!pm1a.width) {
		write_register(&sleep_control,
			       (u16)(s5.slp_typa << ACPI_SLEEP_SLP_TYP_SHIFT | ACPI_SLEEP_SLP_EN));
		return;
	}
	a = pm1_value(&pm1a, s5.slp_typa);
	write_register(&pm1a, a);
	if (pm1b.width) {
		b = pm1_value(&pm1b, s5.slp_typb);
		write_register(&pm1b, b);
	}
	write_register(&pm1a, (u16)(a | ACPI_PM1_SLP_EN));
	if (pm1b.width)
		write_register(&pm1b, (u16)(b | ACPI_PM1_SLP_EN));
}

static __attribute__((noreturn)) void halt(const char *what)
{
	printk_error("%s: the platform did not obey: halted, switch it by hand", what);
	host_console_drain();
	for (;;) {
		cpu_cli();
		cpu_hlt();
	}
}

void host_node_poweroff(const char *vms)
{
	clock_report();
	/* at the level that no command line hides: margay-run and scripts look for this line */
	printk_error("node: end=poweroff %s", vms);
	host_console_drain();
	screen_last_page();
	if (has_s5 && (pm1a.width || sleep_control.width)) {
		enter_s5();
		wait_for_effect();
	}
	halt("poweroff");
}

static void acpi_reset(const struct fadt_info *fadt)
{
	const struct acpi_gas *gas = &fadt->reset_reg;
	struct fixed_register r;

	if (pci_reset_machine(gas, fadt->reset_value))
		return;
	r = open_register(gas, 1);
	if (r.width)
		write_register(&r, fadt->reset_value);
}

void reboot(void)
{
	const struct fadt_info *fadt = acpi.fadt;

	host_console_drain();
	if (fadt) {
		acpi_reset(fadt);
		wait_for_effect();
	}
	outb(RESET_CONTROL_CF9, CF9_RESET);
	wait_for_effect();
	halt("reboot");
}

void host_node_reboot(void)
{
	printk_error("node: end=reboot");
	reboot();
}

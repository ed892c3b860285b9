/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure header: the fixed addresses and rates of the guest platform. Devices, the ACPI builder,
 * CPUID policy and the loader take them from here, so that what the guest is told is what it finds.
 */
#ifndef VMM_GUEST_PLATFORM_H
#define VMM_GUEST_PLATFORM_H

#include <margay/types.h>

/* Local APIC page (SDM vol. 3, 11.4.1) and I/O APIC page. */
#define GUEST_LAPIC_BASE 0xfee00000ul
#define GUEST_LAPIC_SIZE 0x1000ul
#define GUEST_IOAPIC_BASE 0xfec00000ul
#define GUEST_IOAPIC_SIZE 0x1000ul
#define GUEST_IOAPIC_PINS 24
#define GUEST_IOAPIC_ID 0
/*
 * The first of the pins that line interrupts of PCI functions have: the UART's and the platform's
 * are below.
 */
#define GUEST_INTX_GSI 8

/*
 * Input clock of the APIC timer before its divider, in Hz. Linux takes CPUID
 * 0x15's crystal clock (ECX) for exactly this, so that leaf must show the same
 * value: EAX = LAPIC_TIMER_HZ / 1000, EBX = TSC kHz, ECX = LAPIC_TIMER_HZ.
 * 1 MHz is the largest round value for which Linux' 32-bit product of crystal
 * kHz and EBX does not overflow below a 4.29 GHz TSC.
 */
#define LAPIC_TIMER_HZ 1000000u

/* The console: a 16550A, interrupt edge-triggered, active high. */
#define GUEST_UART_PORT 0x3f8
#define GUEST_UART_PORTS 8
#define GUEST_UART_GSI 4
/* Edges too: the power button's presses, and that virtual functions of PCI are gone. */
#define GUEST_BUTTON_GSI 5
#define GUEST_VFS_GSI 6
/* The GPIO controller whose pin wakes a guest that sleeps, and its interrupt, an edge. */
#define GUEST_WAKE_BASE 0xfec10000ul
#define GUEST_WAKE_SIZE 0x1000ul
#define GUEST_WAKE_GSI 7

/*
 * ACPI sleep and reset registers, each one byte in system I/O space (ACPI 6.4,
 * 4.8.3.7 and 4.8.3.6). ACPI_S5_TYPE is the SLP_TYP value that \_S5 names.
 */
#define GUEST_SLEEP_CONTROL_PORT 0x600
#define GUEST_SLEEP_STATUS_PORT 0x601
#define GUEST_RESET_PORT 0x602
#define GUEST_ACPI_PORTS 3
#define GUEST_RESET_VALUE 0x06
/* A word by which kernels made for QEMU power off. */
#define GUEST_QEMU_PM_PORT 0x604
/* The panic port, where QEMU has it; where the CMOS clock has the century. */
#define GUEST_PVPANIC_PORT 0x505
#define GUEST_RTC_CENTURY 0x32
/* The watchdog: bytes RUN, FEED and STATUS (bit 0 each), words COUNT and LEFT, in ticks. */
#define GUEST_WATCHDOG_PORT 0x610
#define GUEST_WATCHDOG_TICK_MS 100
#define GUEST_WATCHDOG_MAX 0xffff
enum {
	GUEST_WATCHDOG_RUN,
	GUEST_WATCHDOG_FEED,
	GUEST_WATCHDOG_COUNT,
	GUEST_WATCHDOG_LEFT = 4,
	GUEST_WATCHDOG_STATUS = 6,
	GUEST_WATCHDOG_PORTS = 8
};
/* F000:FFF0, in RAM that the e820 map does not report. */
#define GUEST_RESET_VECTOR 0xffff0
#define ACPI_S5_TYPE 5

/*
 * The guest's ACPI tables: the last 256 KiB of its low RAM, which 4,096 CPUs need, reported as e820
 * type 3. KASLR may move a kernel over any usable RAM, but never over this.
 */
#define GUEST_ACPI_BASE 0x60000ul
#define GUEST_ACPI_SIZE 0x40000ul

/*
 * Virtual PCI functions: at the highest multiple of this size below the I/O APIC that is free, the
 * ECAM of so many buses, for a VM that has no others, and the functions' BARs.
 */
#define GUEST_VIRTUAL_PCI_END 0xfe000000ul
#define GUEST_VIRTUAL_PCI_SIZE MIB(16)
#define GUEST_VIRTUAL_PCI_BUSES 8

#endif

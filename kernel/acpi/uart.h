/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure modules: the serial ports that firmware's tables describe. spcr.c: the one that firmware
 * uses as its console (Microsoft, Serial Port Console Redirection Table 1.10); aml_uart.c: those of
 * the DSDT (PNP0501), as far as they are constants.
 */
#ifndef KERNEL_ACPI_UART_H
#define KERNEL_ACPI_UART_H

#include <margay/types.h>

/*
 * Interrupt 0 is nobody's who has not set it, 2 is the other 8259's; where they lead to the PIT
 * comes, whoever asks.
 */
static inline s32 acpi_uart_irq(u32 irq)
{
	return irq == 0 || irq == 2 ? -1 : (s32)irq;
}

struct acpi_uart {
	/* wide: registers of 32 bits */
	bool mmio;
	bool wide;

	u64 address;
	s32 irq; /* an ISA interrupt, from 16 on an I/O APIC's input; -1: not said */
	u32 baud; /* 0: not said */
};

/* NULL, or why it is none of ours. */
const char *spcr_read(const void *table, size_t size, struct acpi_uart *out);

/* The n-th that is there and has constants for its address; false: past the last. */
bool aml_uart(const void *aml, size_t size, unsigned n, struct acpi_uart *out);

#endif

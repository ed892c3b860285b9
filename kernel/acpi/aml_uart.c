/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: see uart.h. By the bytes, as s5.c: a Device whose _HID is PNP0501, and in it _STA,
 * if that is a constant, and the buffer of _CRS (ACPI 6.4, 6.4 and 20.2). What a method makes,
 * firmware of a super I/O chip often, is not known.
 */
#include <margay/errno.h>
#include <margay/string.h>
#include "kernel/acpi/aml_resource.h"
#include "kernel/acpi/uart.h"

#define LOOKS_MAX 64

enum { PORT = 0x40, FIXED_PORT = 0x48, MEMORY32 = 0x85, FIXED_MEMORY32 = 0x86 };

static const u8 hid_number[] = { AML_NAME, '_', 'H', 'I', 'D', AML_DWORD, 0x41, 0xd0, 0x05, 0x01 };
static const u8 hid_string[] = { AML_NAME, '_', 'H', 'I', 'D', AML_STRING, 'P',
				 'N',      'P', '0', '5', '0', '1',        0 };
static const u8 sta[] = { AML_NAME, '_', 'S', 'T', 'A' };
static const u8 crs[] = { AML_NAME, '_', 'C', 'R', 'S', AML_BUFFER };

/* Goes behind the next place where these bytes stand. */
static bool find(struct aml_span *s, const u8 *bytes, size_t n)
{
	for (size_t at = 0; at + n <= s->left; at++)
		if (!memcmp(s->p + at, bytes, n))
			return aml_skip(s, at + n);
	return false;
}

/* The innermost Device around a place: the last one before it that reaches it. */
static bool device_around(const u8 *aml, size_t size, size_t at, struct aml_span *out)
{
	for (size_t i = at; i-- > 0;) {
		struct aml_span s = { aml + i, size - i };
		u64 op;

		if (aml_take_bytes(&s, 2, &op) && op == (0x5b | (AML_DEVICE & 0xff) << 8) &&
		    aml_take_package(&s, out) && out->p <= aml + at &&
		    aml + at < out->p + out->left)
			return true;
	}
	return false;
}

/* Its interrupt, flags of the list in front of it: of the first. */
static void read_line(const struct aml_resource *r, struct acpi_uart *out)
{
	const u8 *p = r->body.p;

	if (out->irq >= 0)
		return;
	if (r->tag == AML_RESOURCE_IRQ && r->body.left >= 2 && (p[0] | p[1]))
		out->irq = acpi_uart_irq((u32)__builtin_ctz(p[0] | p[1] << 8));
	else if (r->tag == AML_RESOURCE_INTERRUPT && r->body.left >= 6 && p[1] && !p[3] && !p[4] &&
		 !p[5])
		out->irq = acpi_uart_irq(p[2]);
}

static void read_place(const struct aml_resource *r, struct acpi_uart *out)
{
	struct aml_span body = r->body;
	struct aml_window window;
	bool port = r->tag == PORT || r->tag == FIXED_PORT;
	unsigned width = port ? 2 : 4;
	u64 address = 0;

	if (out->address)
		return;
	if (aml_window(r, &window)) {
		out->mmio = window.type == AML_WINDOW_MEMORY;
		address = window.type == AML_WINDOW_BUS ? 0 : window.first;
	} else if (port || r->tag == MEMORY32 || r->tag == FIXED_MEMORY32) {
		/* Behind a byte of flags, but for the fixed port, which has none. */
		out->mmio = !port;
		if ((r->tag != FIXED_PORT && !aml_skip(&body, 1)) ||
		    !aml_take_bytes(&body, width, &address))
			address = 0;
	}
	out->address = out->mmio || address <= 0xfff8 ? address : 0;
}

/* False: it is not there, or has no constants. */
static bool read_device(struct aml_span device, struct acpi_uart *out)
{
	struct aml_span s = device, buffer;
	struct aml_resource r;
	u64 number;

	*out = (struct acpi_uart){ .irq = -1 };
	if (find(&s, sta, sizeof(sta)) && aml_take_integer(&s, &number) && !(number & 1))
		return false;
	s = device;
	if (!find(&s, crs, sizeof(crs)) || !aml_take_package(&s, &buffer) ||
	    !aml_take_integer(&buffer, &number))
		return false;
	while (!aml_next_resource(&buffer, &r)) {
		read_line(&r, out);
		read_place(&r, out);
	}
	return out->address;
}

bool aml_uart(const void *aml, size_t size, unsigned n, struct acpi_uart *out)
{
	const u8 *p = aml;
	struct aml_span device;
	unsigned looks = 0;

	for (size_t at = 0; at < size; at++) {
		struct aml_span s = { p + at, size - at };

		if (s.left < sizeof(hid_number) ||
		    (memcmp(s.p, hid_number, sizeof(hid_number)) &&
		     (s.left < sizeof(hid_string) || memcmp(s.p, hid_string, sizeof(hid_string)))))
			continue;
		if (device_around(p, size, at, &device) && read_device(device, out) && !n--)
			return true;
		/* Each of these goes back through all before it. */
		if (++looks == LOOKS_MAX)
			return false;
	}
	return false;
}

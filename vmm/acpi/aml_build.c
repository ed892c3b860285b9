/* SPDX-License-Identifier: GPL-2.0-only */
/* The buffer of the AML encoder, and what goes into it encoded already. */
#include "vmm/acpi/aml_build.h"

#include <margay/errno.h>

void aml_fail(struct aml *a, int err)
{
	if (!a->error)
		a->error = err;
}

void aml_put(struct aml *a, u64 value, unsigned bytes)
{
	if (a->error)
		return;
	if (a->cap - a->len < bytes) {
		aml_fail(a, -ENOSPC);
		return;
	}
	for (unsigned i = 0; i < bytes; i++)
		a->buf[a->len++] = (u8)(value >> (i * 8));
}

void aml_bytes(struct aml *a, const void *bytes, size_t n)
{
	for (const u8 *p = bytes; n; n--)
		aml_put(a, *p++, 1);
}

void aml_init(struct aml *a, void *buf, size_t cap)
{
	*a = (struct aml){ .buf = buf, .cap = cap };
}

int aml_error(const struct aml *a)
{
	if (a->error)
		return a->error;
	return a->depth ? -EINVAL : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: \_S5 by its bytes: NameOp, the name, PackageOp, PkgLength,
 * NumElements, then small integer constants (ACPI 20.2.2, 20.2.3, 20.2.4,
 * 20.2.5.4). A name that is not followed by exactly that is not taken, so text
 * or code that happens to hold the four letters does no harm.
 */
#include "kernel/acpi/s5.h"

#include "kernel/acpi/aml.h"

static bool read_s5(struct aml_span s, struct s5_info *out)
{
	struct aml_span package;
	u64 a, b = 0;
	u8 op, elements;

	if (!aml_take(&s, &op) || op != AML_PACKAGE || !aml_take_package(&s, &package) ||
	    !aml_take(&package, &elements) || elements < 1)
		return false;
	if (!aml_take_integer(&package, &a))
		return false;
	/* Firmware that packs both types into the first element is as old as ACPI 1.0. */
	if (elements == 1)
		b = a >> 8;
	else if (!aml_take_integer(&package, &b))
		return false;
	if ((a & 0xff) > 7 || (b & 0xff) > 7)
		return false;
	out->slp_typa = a & 7;
	out->slp_typb = b & 7;
	return true;
}

bool s5_find(const void *aml, size_t size, struct s5_info *out)
{
	static const u8 name[4] = { '_', 'S', '5', '_' };
	const u8 *p = aml;

	for (size_t at = 1; at + sizeof(name) <= size; at++) {
		bool named = p[at - 1] == AML_NAME ||
			     (at > 1 && p[at - 1] == AML_ROOT && p[at - 2] == AML_NAME);
		size_t after = at + sizeof(name);

		if (named && p[at] == name[0] && p[at + 1] == name[1] && p[at + 2] == name[2] &&
		    p[at + 3] == name[3] &&
		    read_s5((struct aml_span){ p + after, size - after }, out))
			return true;
	}
	return false;
}

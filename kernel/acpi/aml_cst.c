/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see aml_cst.h. */
#include "kernel/acpi/aml_cst.h"

#include <margay/string.h>

#include "kernel/acpi/aml_resource.h"
#include "kernel/acpi/aml_value.h"

#define SEG(s) AML_SEG((s)[0], (s)[1], (s)[2], (s)[3])
#define CST_FIELDS 4 /* register, type, latency, power */

/* ---- processors ------------------------------------------------------------------------- */

/* _HID and _UID of a device are two names, one behind the other in either order. */
struct found {
	struct aml_processor *out;
	unsigned count;
	unsigned max;
	/* the last device with ACPI0007, and with a number; n: 0: none yet */
	struct aml_name of_hid;
	struct aml_name of_uid;

	u64 uid;
};

static void add(struct found *f, const struct aml_name *path, u64 uid)
{
	if (f->count < f->max)
		f->out[f->count] = (struct aml_processor){ .path = *path, .uid = (u32)uid };
	f->count++;
}

static bool is_processor_id(struct aml_span value)
{
	static const char id[] = "ACPI0007";

	return value.left > sizeof(id) && *value.p == AML_STRING &&
	       !memcmp(value.p + 1, id, sizeof(id));
}

static bool add_processor(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	struct aml_name device = *path;
	struct found *f = ctx;
	u8 id;

	if (op == AML_PROCESSOR && path->n && aml_take(&value, &id))
		add(f, path, id);
	if (op != AML_NAME || path->n < 2)
		return true;
	device.n--;
	if (path->seg[device.n] == SEG("_HID") && is_processor_id(value))
		f->of_hid = device;
	else if (path->seg[device.n] == SEG("_UID") && aml_take_integer(&value, &f->uid))
		f->of_uid = device;
	else
		return true;
	if (aml_same(&f->of_hid, &f->of_uid))
		add(f, &device, f->uid);
	return true;
}

unsigned aml_processors(const struct aml_tables *t, struct aml_processor *out, unsigned max)
{
	struct found f = { .out = out, .max = max };

	aml_walk(t, add_processor, &f);
	return f.count;
}

/* ---- C-states --------------------------------------------------------------------------- */

static bool take_package(struct aml_span *s, u8 *elements, struct aml_span *inner)
{
	u8 op;

	return aml_take(s, &op) && op == AML_PACKAGE && aml_take_package(s, inner) &&
	       aml_take(inner, elements);
}

/* Package { ResourceTemplate { Register }, type, latency, power } */
static bool read_state(struct aml_span *s, struct cstate *out)
{
	struct aml_span fields, bytes;
	struct aml_resource r;
	u64 type, latency, power;
	u8 elements;

	if (!take_package(s, &elements, &fields) || elements != CST_FIELDS ||
	    !aml_take_buffer(&fields, &bytes) || aml_next_resource(&bytes, &r) ||
	    r.tag != AML_RESOURCE_REGISTER || r.body.left < sizeof(out->reg))
		return false;
	memcpy(&out->reg, r.body.p, sizeof(out->reg));
	if (!aml_take_integer(&fields, &type) || !aml_take_integer(&fields, &latency) ||
	    !aml_take_integer(&fields, &power) || !type || type > 3)
		return false;
	out->type = (u8)type;
	out->latency = (u32)latency;
	out->power = (u32)power;
	return true;
}

/* Package { count, state, ... }: all of it, or none. */
static void read_states(struct aml_span s, struct cstates *out)
{
	struct cstates states = { 0 };
	struct aml_span list;
	u64 count;
	u8 elements;

	if (!take_package(&s, &elements, &list) || !aml_take_integer(&list, &count) ||
	    count + 1 != elements || count > CSTATES_MAX)
		return;
	while (states.count < count)
		if (!read_state(&list, &states.state[states.count++]))
			return;
	*out = states;
}

struct asked {
	const struct aml_tables *t;
	struct aml_processor *processor;
	unsigned count;
};

static bool read_cst(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	struct asked *a = ctx;
	struct aml_name at = *path, of = *path;

	if (path->n < 2 || path->seg[path->n - 1] != SEG("_CST") || op == AML_IF ||
	    op == AML_PROCESSOR)
		return true;
	of.n--;
	for (unsigned i = 0; i < a->count; i++)
		if (aml_same(&a->processor[i].path, &of) && !a->processor[i].states.count &&
		    aml_settle(a->t, &at, op, &value))
			read_states(value, &a->processor[i].states);
	return true;
}

void aml_cstates(const struct aml_tables *t, struct aml_processor *processor, unsigned count)
{
	struct asked a = { t, processor, count };

	aml_walk(t, read_cst, &a);
}

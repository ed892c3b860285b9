/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see aml_value.h. */
#include "kernel/acpi/aml_value.h"

#include <margay/errno.h>

#define BRANCHES 4   /* of Ifs in Ifs */
#define CALLS 8      /* of methods that \_PIC passes its argument to */
#define REFERENCES 4 /* from name to name */
#define NAMES 4      /* that a method declares */
#define LOCALS 8

/* What a variable has in it; not known: something that is no constant, or what was there before. */
struct stored {
	u32 seg; /* the last one of its name */
	bool known;
	u64 value;
	unsigned calls; /* that may still be followed */
};

static bool noted_by_pic(const struct aml_tables *t, struct stored *s);

/*
 * A constant, the code's argument where that is known, or a variable that \_PIC (1) has set
 * (5.8.1).
 */
static bool operand(const struct aml_tables *t, const u64 *arg0, struct aml_span *s, u64 *value)
{
	struct stored variable = { .calls = CALLS };
	struct aml_name name;

	if (arg0 && s->left && *s->p == AML_ARG0) {
		*value = *arg0;
		return aml_skip_value(s);
	}
	if (!aml_at_name(s))
		return aml_take_integer(s, value);
	/* In code that gets an argument, \_PIC's own, none is set yet. */
	if (arg0 || !aml_take_name(s, &name) || !name.n)
		return false;
	variable.seg = name.seg[name.n - 1];
	if (!noted_by_pic(t, &variable))
		return false;
	*value = variable.value;
	return true;
}

static bool predicate(const struct aml_tables *t, const u64 *arg0, struct aml_span *s, bool *yes)
{
	struct aml_span rest = *s;
	bool negate = false;
	u64 a, b;
	u16 op;

	while (aml_take_op(&rest, &op) && op == AML_LNOT) {
		negate = !negate;
		*s = rest;
	}
	rest = *s;
	if (aml_take_op(&rest, &op) && op == AML_LEQUAL) {
		*s = rest;
		if (!operand(t, arg0, s, &a) || !operand(t, arg0, s, &b))
			return false;
		*yes = (a == b) != negate;
		return true;
	}
	if (!operand(t, arg0, s, &a))
		return false;
	*yes = (a != 0) != negate;
	return true;
}

/*
 * An If, behind its opcode, and the Else that may follow it. *known: its condition is decided, and
 * *yes says how.
 */
static bool take_if(const struct aml_tables *t, const u64 *arg0, struct aml_span *code,
		    struct aml_span *then, struct aml_span *other, bool *known, bool *yes)
{
	struct aml_span condition;
	u16 op;

	*other = (struct aml_span){ code->p, 0 };
	if (!aml_take_package(code, then))
		return false;
	if (code->left && *code->p == AML_ELSE &&
	    (!aml_take_op(code, &op) || !aml_take_package(code, other)))
		return false;
	condition = *then;
	*known = predicate(t, arg0, &condition, yes);
	return aml_skip_value(then);
}

/* What a method has given names to, and put into its locals; those have nothing at first. */
struct frame {
	struct {
		u32 seg;
		struct aml_span value;
	} name[NAMES];
	unsigned nr_names;
	struct aml_span local[LOCALS];
};

/*
 * Takes a value, or finds the one that a local or name of the method stands for; what else a name
 * is, is not asked here.
 */
static bool take_value(const struct frame *f, struct aml_span *code, struct aml_span *value)
{
	u8 first = code->left ? *code->p : AML_ONES;
	struct aml_name name;

	*value = *code;
	if (aml_at_name(code)) {
		if (!aml_take_name(code, &name))
			return false;
		for (unsigned i = 0; i < f->nr_names; i++)
			if (name.n == 1 && !name.up && !name.absolute &&
			    name.seg[0] == f->name[i].seg)
				*value = f->name[i].value;
		return true;
	}
	if (first >= AML_LOCAL0 && first < AML_LOCAL0 + LOCALS)
		*value = f->local[first - AML_LOCAL0];
	/* No expression. */
	else if (first > AML_QWORD && first != AML_BUFFER && first != AML_PACKAGE &&
		 first != AML_VAR_PACKAGE && first != AML_ONES)
		return false;
	return aml_skip_value(code);
}

static bool take_declaration(struct frame *f, struct aml_span *code)
{
	struct aml_name name;

	if (f->nr_names == NAMES || !aml_take_name(code, &name) || name.n != 1 || name.up ||
	    name.absolute)
		return false;
	f->name[f->nr_names].seg = name.seg[0];
	f->name[f->nr_names++].value = *code;
	return aml_skip_value(code);
}

static bool take_store(struct frame *f, struct aml_span *code)
{
	struct aml_span value;
	u8 target;

	if (!take_value(f, code, &value) || !aml_take(code, &target) || target < AML_LOCAL0 ||
	    target >= AML_LOCAL0 + LOCALS)
		return false;
	f->local[target - AML_LOCAL0] = value;
	return true;
}

enum flow { GOES_ON, RETURNS, UNKNOWN };

/*
 * What code returns that only chooses: If (flag) { Return (A) } Else { Return (B) }, in any of its
 * spellings.
 */
static enum flow follow(const struct aml_tables *t, struct aml_span code, unsigned depth,
			struct frame *f, struct aml_span *value)
{
	struct aml_span then, other;
	enum flow flow;
	bool known, yes;
	u16 op;

	while (aml_take_op(&code, &op)) {
		switch (op) {
		case AML_RETURN: return take_value(f, &code, value) ? RETURNS : UNKNOWN;
		case AML_NAME:
			if (!take_declaration(f, &code))
				return UNKNOWN;
			break;
		case AML_STORE:
			if (!take_store(f, &code))
				return UNKNOWN;
			break;
		case AML_IF:
			if (!depth || !take_if(t, NULL, &code, &then, &other, &known, &yes) ||
			    !known)
				return UNKNOWN;
			flow = follow(t, yes ? then : other, depth - 1, f, value);
			if (flow != GOES_ON)
				return flow;
			break;
		default: return UNKNOWN;
		}
	}
	return GOES_ON;
}

static bool returned(const struct aml_tables *t, struct aml_span code, struct aml_span *value)
{
	struct frame f = { 0 };

	return follow(t, code, BRANCHES, &f, value) == RETURNS;
}

/* ---- \_PIC ------------------------------------------------------------------------------- */

static bool run_code(const struct aml_tables *t, const struct aml_name *scope, struct aml_span code,
		     const u64 *arg0, unsigned depth, struct stored *s);

/* Store, behind its opcode, of the argument or a constant into a variable, or to the debugger. */
static bool run_store(struct aml_span *code, const u64 *arg0, struct stored *s)
{
	struct aml_span debug;
	struct aml_name target;
	u8 source = code->left ? *code->p : AML_ZERO;
	u64 value = *arg0;
	bool taken;
	u16 op;

	if (source == AML_ARG0 || source == AML_STRING)
		taken = aml_skip_value(code);
	else
		taken = aml_take_integer(code, &value);
	if (!taken)
		return false;
	debug = *code;
	if (aml_take_op(&debug, &op) && op == AML_DEBUG) {
		*code = debug;
		return true;
	}
	if (!aml_take_name(code, &target) || !target.n)
		return false;
	if (target.seg[target.n - 1] == s->seg) {
		s->known = source != AML_STRING;
		s->value = value;
	}
	return true;
}

/*
 * A call, if it is one without arguments, or with one; and that is looked at where it can be the
 * argument that is known.
 */
static bool run_call(const struct aml_tables *t, const struct aml_name *scope,
		     struct aml_span *code, const u64 *arg0, unsigned depth, struct stored *s)
{
	struct aml_name name, path;
	struct aml_span body;
	u8 flags, arguments;
	u16 op;

	if (!aml_take_name(code, &name) || !aml_search(t, scope, &name, 0, &path, &op, &body) ||
	    op != AML_METHOD || !aml_take(&body, &flags))
		return false;
	arguments = flags & 7;
	if (arguments == 1 && code->left && *code->p == AML_ARG0)
		return s->calls && s->calls-- && aml_skip_value(code) &&
		       run_code(t, &path, body, arg0, depth, s);
	for (unsigned i = 0; i < arguments; i++)
		if (aml_at_name(code) || !aml_skip_value(code))
			return false;
	return true;
}

static bool run_if(const struct aml_tables *t, const struct aml_name *scope, struct aml_span *code,
		   const u64 *arg0, unsigned depth, struct stored *s)
{
	struct stored a = *s, b = *s;
	struct aml_span then, other;
	bool known, yes;

	if (!depth || !take_if(t, arg0, code, &then, &other, &known, &yes))
		return false;
	if (known)
		return run_code(t, scope, yes ? then : other, arg0, depth - 1, s);
	/* Only what both ways leave the same. */
	if (!run_code(t, scope, then, arg0, depth - 1, &a))
		return false;
	b.calls = a.calls;
	if (!run_code(t, scope, other, arg0, depth - 1, &b))
		return false;
	*s = b;
	s->known = a.known && b.known && a.value == b.value;
	return true;
}

/*
 * Follows code that is no more than stores, Ifs and calls. False: it is more, or ends before its
 * end.
 */
static bool run_code(const struct aml_tables *t, const struct aml_name *scope, struct aml_span code,
		     const u64 *arg0, unsigned depth, struct stored *s)
{
	while (code.left) {
		struct aml_span rest = code;
		bool ok;
		u16 op;

		if (!aml_take_op(&rest, &op))
			return false;
		if (op == AML_STORE || op == AML_IF)
			code = rest;
		if (op == AML_STORE)
			ok = run_store(&code, arg0, s);
		else if (op == AML_IF)
			ok = run_if(t, scope, &code, arg0, depth, s);
		else if (aml_at_name(&code))
			ok = run_call(t, scope, &code, arg0, depth, s);
		else
			ok = op == AML_NOOP && aml_take_op(&code, &op);
		if (!ok)
			return false;
	}
	return true;
}

/* What \_PIC (1) has left in a variable. */
static bool noted_by_pic(const struct aml_tables *t, struct stored *s)
{
	static const struct aml_name root = { .absolute = true };
	static const u64 apic = 1;
	struct aml_span code;
	u8 flags;
	u16 op;

	return !aml_find_in(t, &root, AML_SEG('_', 'P', 'I', 'C'), &op, &code) &&
	       op == AML_METHOD && aml_take(&code, &flags) &&
	       run_code(t, &root, code, &apic, BRANCHES, s) && s->known;
}

/* ---- from names to constants -------------------------------------------------------------- */

/*
 * Names in a method are looked for from the method on, those in a package from where it is
 * declared.
 */
bool aml_settle(const struct aml_tables *t, struct aml_name *path, u16 op, struct aml_span *value)
{
	for (unsigned i = 0; i < REFERENCES; i++) {
		struct aml_name name, found;
		u8 flags;

		if (op == AML_METHOD && (!aml_take(value, &flags) || !returned(t, *value, value)))
			return false;
		if (op == AML_NAME)
			path->n--;
		if (!aml_at_name(value))
			return true;
		if (!aml_take_name(value, &name) ||
		    !aml_search(t, path, &name, 0, &found, &op, value))
			return false;
		*path = found;
	}
	return false;
}

int aml_constant(const struct aml_tables *t, const struct aml_name *scope, u32 seg,
		 struct aml_span *value, struct aml_name *in)
{
	u16 op;
	int err = aml_find_in(t, scope, seg, &op, value);

	if (err)
		return err;
	*in = *scope;
	in->seg[in->n++] = seg;
	return aml_settle(t, in, op, value) ? 0 : -EINVAL;
}

int aml_integer(const struct aml_tables *t, const struct aml_name *scope, u32 seg, u64 *value)
{
	struct aml_name in;
	struct aml_span s;
	int err = aml_constant(t, scope, seg, &s, &in);

	if (err)
		return err;
	return aml_take_integer(&s, value) ? 0 : -EINVAL;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: see aml.h. Nothing is kept of the namespace: tables are at most
 * some hundred KiB and asked some dozen times, at boot. What is declared under
 * an If is shown as such. An operator that is not known ends the list of terms
 * that it stands in, whose length is known.
 */
#include "kernel/acpi/aml.h"

#include <margay/errno.h>
#include <margay/string.h>

#define WALK_DEPTH 12 /* scopes in scopes */
/* of a Processor, behind its name: its ID, and a register block's address and length */
#define PROCESSOR_BYTES 6

struct walk {
	aml_visit fn;
	void *ctx;
	bool done;
	bool cut;     /* a list was not read to its end */
	unsigned ifs; /* around what is read now */
};

/* What `name` declares or opens in `scope` (5.3: no search for these). */
static bool resolve(const struct aml_name *scope, const struct aml_name *name,
		    struct aml_name *path)
{
	unsigned keep = name->absolute ? 0 : scope->n;

	if (name->up > keep || keep - name->up + name->n > AML_NAME_MAX)
		return false;
	keep -= name->up;
	*path = (struct aml_name){ .absolute = true, .n = (u8)(keep + name->n) };
	memcpy(path->seg, scope->seg, keep * sizeof(u32));
	memcpy(path->seg + keep, name->seg, name->n * sizeof(u32));
	return true;
}

bool aml_same(const struct aml_name *a, const struct aml_name *b)
{
	return a->n == b->n && !memcmp(a->seg, b->seg, a->n * sizeof(u32));
}

static void walk_list(struct walk *w, struct aml_span s, const struct aml_name *scope,
		      unsigned depth);

static void visit(struct walk *w, const struct aml_name *scope, const struct aml_name *name, u16 op,
		  struct aml_span value)
{
	struct aml_name path;

	if (w->ifs)
		op = AML_IF;
	if (!resolve(scope, name, &path))
		w->cut = true;
	else if (!w->fn(w->ctx, &path, op, value))
		w->done = true;
}

/* Scope, device and their like: a package that begins with a name and `skipped` bytes. */
static bool enter(struct walk *w, struct aml_span *s, const struct aml_name *scope,
		  unsigned skipped, unsigned depth)
{
	struct aml_name name, path;
	struct aml_span inner;

	if (!aml_take_package(s, &inner))
		return false;
	if (aml_take_name(&inner, &name) && inner.left >= skipped && resolve(scope, &name, &path)) {
		if (IS_ENABLED(CONFIG_VM_CST) && skipped == PROCESSOR_BYTES)
			visit(w, scope, &name, AML_PROCESSOR, inner);
		aml_skip(&inner, skipped);
		walk_list(w, inner, &path, depth + 1);
	} else {
		w->cut = true;
	}
	return true;
}

/* If, Else and While: a package whose beginning, but for Else's, is a condition. */
static bool enter_if(struct walk *w, struct aml_span *s, u16 op, const struct aml_name *scope,
		     unsigned depth)
{
	struct aml_span inner;

	if (!aml_take_package(s, &inner))
		return false;
	if (op != AML_ELSE && !aml_skip_value(&inner)) {
		w->cut = true;
		return true;
	}
	w->ifs++;
	walk_list(w, inner, scope, depth + 1);
	w->ifs--;
	return true;
}

static bool visit_name(struct walk *w, struct aml_span *s, const struct aml_name *scope)
{
	struct aml_name name;

	if (!aml_take_name(s, &name))
		return false;
	visit(w, scope, &name, AML_NAME, *s);
	return aml_skip_value(s);
}

static bool visit_method(struct walk *w, struct aml_span *s, const struct aml_name *scope)
{
	struct aml_name name;
	struct aml_span inner;

	if (!aml_take_package(s, &inner))
		return false;
	if (aml_take_name(&inner, &name) && inner.left)
		visit(w, scope, &name, AML_METHOD, inner);
	else
		w->cut = true;
	return true;
}

/* What is no scope, Name or Method: a name, value, package or byte for each letter of `form`. */
static bool skip_form(struct aml_span *s, const char *form)
{
	struct aml_span inner;
	struct aml_name name;
	bool ok = true;

	for (; ok && *form; form++) {
		switch (*form) {
		case 'n': ok = aml_take_name(s, &name); break;
		case 'v': ok = aml_skip_value(s); break;
		case 'p': ok = aml_take_package(s, &inner); break;
		default: ok = aml_skip(s, 1);
		}
	}
	return ok;
}

/* clang-format off */
static const struct {
	u16 op;
	const char *form;
} skipped[] = {
	{ AML_ALIAS, "nn" },
	{ AML_EXTERNAL, "nbb" },
	{ AML_IF, "p" },
	{ AML_ELSE, "p" },
	{ AML_WHILE, "p" },
	{ AML_NOOP, "" },
	{ AML_CREATE_BIT, "vvn" },
	{ AML_CREATE_BYTE, "vvn" },
	{ AML_CREATE_WORD, "vvn" },
	{ AML_CREATE_DWORD, "vvn" },
	{ AML_CREATE_QWORD, "vvn" },
	{ AML_CREATE_FIELD, "vvvn" },
	{ AML_MUTEX, "nb" },
	{ AML_EVENT, "n" },
	{ AML_REGION, "nbvv" },
	{ AML_DATA_REGION, "nvvv" },
	{ AML_FIELD, "p" },
	{ AML_INDEX_FIELD, "p" },
	{ AML_BANK_FIELD, "p" },
	{ AML_STORE, "vv" },
	{ AML_COPY, "vv" },
	{ AML_NOTIFY, "vv" },
	{ AML_BREAK, "" },
};
/* clang-format on */

/*
 * What declares nothing. A call is a name here, and its arguments are terms of their own: values
 * that nothing is done with. So is an operand that an argument of a call before it has taken the
 * place of.
 */
static bool skip_term(struct aml_span *s)
{
	struct aml_span start = *s;
	u16 op;

	if (!aml_take_op(s, &op))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(skipped); i++)
		if (skipped[i].op == op)
			return skip_form(s, skipped[i].form);
	*s = start;
	return aml_skip_value(s);
}

static bool term(struct walk *w, struct aml_span *s, const struct aml_name *scope, unsigned depth)
{
	struct aml_span start = *s;
	u16 op;

	if (!aml_take_op(s, &op))
		return false;
	switch (op) {
	case AML_NAME: return visit_name(w, s, scope);
	case AML_METHOD: return visit_method(w, s, scope);
	case AML_SCOPE:
	case AML_DEVICE:
	case AML_THERMAL: return enter(w, s, scope, 0, depth);
	case AML_PROCESSOR: return enter(w, s, scope, PROCESSOR_BYTES, depth);
	case AML_POWER: return enter(w, s, scope, 3, depth);
	case AML_IF:
	case AML_ELSE:
	case AML_WHILE: return enter_if(w, s, op, scope, depth);
	default: *s = start; return skip_term(s);
	}
}

static void walk_list(struct walk *w, struct aml_span s, const struct aml_name *scope,
		      unsigned depth)
{
	while (!w->done && s.left) {
		if (depth == WALK_DEPTH || !term(w, &s, scope, depth)) {
			w->cut = true;
			return;
		}
	}
}

bool aml_walk(const struct aml_tables *t, aml_visit fn, void *ctx)
{
	static const struct aml_name root = { .absolute = true };
	struct walk w = { .fn = fn, .ctx = ctx };

	for (unsigned i = 0; i < t->count && !w.done; i++)
		walk_list(&w, t->table[i], &root, 0);
	return !w.cut;
}

struct find {
	const struct aml_name *path;
	u16 *op;
	struct aml_span *value;
	int err;
};

static bool find_one(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	struct find *f = ctx;

	if (!aml_same(path, f->path) || op == AML_PROCESSOR)
		return true;
	f->err = -EINVAL;
	if (op == AML_IF)
		return true;
	*f->op = op;
	*f->value = value;
	f->err = 0;
	return false;
}

int aml_find(const struct aml_tables *t, const struct aml_name *path, u16 *op,
	     struct aml_span *value)
{
	struct find f = { path, op, value, -ENODEV };
	bool whole = aml_walk(t, find_one, &f);

	return f.err == -ENODEV && !whole ? -ENOENT : f.err;
}

int aml_find_in(const struct aml_tables *t, const struct aml_name *scope, u32 seg, u16 *op,
		struct aml_span *value)
{
	const struct aml_name name = { .n = 1, .seg = { seg } };
	struct aml_name path;

	return resolve(scope, &name, &path) ? aml_find(t, &path, op, value) : -ENOENT;
}

bool aml_search(const struct aml_tables *t, const struct aml_name *scope,
		const struct aml_name *name, u32 seg, struct aml_name *path, u16 *op,
		struct aml_span *value)
{
	struct aml_name from = *scope;

	for (;;) {
		int err = -ENODEV;

		if (resolve(&from, name, path))
			err = seg ? aml_find_in(t, path, seg, op, value)
				  : aml_find(t, path, op, value);
		/*
		 * Only a single segment without a prefix is looked for further up, and not where it
		 * may be.
		 */
		if (!err || err == -EINVAL || name->absolute || name->up || name->n != 1 || !from.n)
			return !err;
		from.n--;
	}
}

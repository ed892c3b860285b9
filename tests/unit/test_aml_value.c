/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/aml.sources vmm/acpi/aml_build.c vmm/acpi/aml_encode.c lib/span.c */
/*
 * What code in AML comes to where a table says nothing plainly: a method that
 * looks whether the APIC is in use, what \_PIC stores, locals, names from where
 * they stand, and the terms that firmware has between its declarations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <margay/errno.h>

#include "aml_text.h"

/* A bus number that code finds out is not guessed; a domain that it returns plainly is one. */
static void test_methods(void **)
{
	struct aml *a = &out[0];

	begin_root(a, "PCI0", "PNP0A08");
	/* Method (_BBN) { Return (FOO (1)) } */
	RAW(a, 0x14, 0x0d, '_', 'B', 'B', 'N', 0x00, 0xa4, 'F', 'O', 'O', '_', 0x01, 0xa3);
	end_root(a);
	begin_root(a, "PCI1", "PNP0A08");
	aml_name_integer(a, "_BBN", 0x40);
	RAW(a, 0x14, 0x09, '_', 'P', 'X', 'M', 0x00, 0xa4, 0x0a, 0x07);
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(root[0].bus, 0x40);
	assert_true(root[0].has_proximity);
	assert_int_equal(root[0].proximity, 7);
}

/*
 * Method (_PRT) { If (condition) { Return (PRTP) } Else { Return (PRTA) } }: with the APIC it is
 * PRTA.
 */
static unsigned by_method(const u8 *condition, u8 n, bool flag, const char *first,
			  const char *second, bool has_else)
{
	static const char *const legacy[] = { "LNKA", "LNKA", "LNKA" }, *const apic[] = { "GSIA",
											  "GSIA",
											  "GSIA" };
	struct aml *a = &out[0];
	u8 body = (u8)(n + 7), rest = has_else ? 7 : 5;

	aml_init(a, text[0], ROOM);
	/* Method (_PIC, 1) { PICF = Arg0 } */
	if (flag)
		RAW(a, 0x14, 0x0c, '_', 'P', 'I', 'C', 0x01, 0x70, 0x68, 'P', 'I', 'C', 'F');
	links(a);
	begin_root(a, "PCI0", "PNP0A03");
	link_table(a, "PRTP", legacy);
	link_table(a, "PRTA", apic);
	RAW(a, 0x14, (u8)(6 + 1 + (body - 1) + rest), '_', 'P', 'R', 'T', 0x00, 0xa0,
	    (u8)(body - 1));
	raw(a, condition, n);
	RAW(a, 0xa4, (u8)first[0], (u8)first[1], (u8)first[2], (u8)first[3]);
	if (has_else)
		RAW(a, 0xa1, 0x06);
	RAW(a, 0xa4, (u8)second[0], (u8)second[1], (u8)second[2], (u8)second[3]);
	end_root(a);
	return read_all();
}

#define BY_METHOD(flag, first, second, has_else, ...) \
	by_method((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }), flag, first, \
		  second, has_else)

static void test_chosen_table(void **)
{
	u32 gsi;
	bool low;

	for (unsigned has_else = 0; has_else < 2; has_else++) {
		/* If (PICF == 0) { PRTP } else { PRTA } */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 0x93, 'P', 'I', 'C', 'F',
					   0x00),
				 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* If (PICF) { PRTA } else { PRTP } */
		assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", has_else, 'P', 'I', 'C', 'F'), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* If (!\PICF) { PRTP } else { PRTA } */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 0x92, 0x5c, 'P', 'I',
					   'C', 'F'),
				 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* The other way round it is the other table. */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 'P', 'I', 'C', 'F'), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), -ENOENT);
		assert_int_equal(route(6, 2, 11, &gsi, &low), 0);
		assert_int_equal(gsi, 11);
	}
	/* A variable that \_PIC does not set, and a condition that must be run. */
	assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", true, 'P', 'I', 'C', 'G'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	assert_int_equal(BY_METHOD(false, "PRTA", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", true, 0x94, 'P', 'I', 'C', 'F', 0x00), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	/* A name for itself. */
	assert_int_equal(BY_METHOD(true, "_PRT", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
}

/*
 * What \_PIC does, and methods that it calls, in the second table; the first asks for PICF. 16, 11
 * by the other table, or 0.
 */
static u32 by_pic(const u8 *code, u8 n)
{
	u32 gsi;
	bool low;

	aml_init(&out[1], text[1], ROOM);
	/* Method (NOTE, 1) { PICF = Arg0 }; Method (LOOP, 1) { LOOP (Arg0) } */
	RAW(&out[1], 0x14, 0x0c, 'N', 'O', 'T', 'E', 0x01, 0x70, 0x68, 'P', 'I', 'C', 'F');
	RAW(&out[1], 0x14, 0x0b, 'L', 'O', 'O', 'P', 0x01, 'L', 'O', 'O', 'P', 0x68);
	RAW(&out[1], 0x14, (u8)(n + 6), '_', 'P', 'I', 'C', 0x01);
	raw(&out[1], code, n);
	assert_int_equal(BY_METHOD(false, "PRTA", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	if (route(6, 2, 11, &gsi, &low))
		return 0;
	return gsi;
}

#define PIC(...) by_pic((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
#define TO(a, b, c, d, value) 0x70, value, a, b, c, d
#define PICF(value) TO('P', 'I', 'C', 'F', value)
#define DBG8(value) TO('D', 'B', 'G', '8', value)

static void test_pic(void **)
{
	assert_int_equal(PIC(PICF(0x68)), 16);
	/*
	 * Behind another store, to a port that shows how far firmware came; an Else may be there or
	 * not.
	 */
	assert_int_equal(PIC(DBG8(0x01), TO('G', 'P', 'I', 'C', 0x68), 0xa3, PICF(0x68)), 16);
	assert_int_equal(PIC(0xa0, 0x08, 0x68, DBG8(0x01), 0xa1, 0x07, DBG8(0x00), PICF(0x68)), 16);
	assert_int_equal(PIC(0xa0, 0x08, 0x68, DBG8(0x01), PICF(0x68)), 16);
	/* Debug = "x", Debug = Arg0 */
	assert_int_equal(PIC(0x70, 0x0d, 'x', 0x00, 0x5b, 0x31, 0x70, 0x68, 0x5b, 0x31, PICF(0x68)),
			 16);
	assert_int_equal(PIC(PICF(0x68), 0x70, 0x0d, 'x', 0x00, 'P', 'I', 'C', 'F'), 0);
	/* Under an If that Arg0 decides, and one that it does not. */
	assert_int_equal(PIC(0xa0, 0x08, 0x68, PICF(0x01), 0xa1, 0x07, PICF(0x00)), 16);
	assert_int_equal(PIC(0xa0, 0x0a, 0x93, 0x68, 0x00, PICF(0x00), 0xa1, 0x07, PICF(0x01)), 16);
	assert_int_equal(PIC(0xa0, 0x0a, 0x93, 0x68, 0x00, PICF(0x01)), 0);
	assert_int_equal(PIC(PICF(0x68), 0xa0, 0x0b, 'D', 'B', 'G', '8', PICF(0x00)), 0);
	assert_int_equal(PIC(PICF(0x68), 0xa0, 0x0b, 'D', 'B', 'G', '8', DBG8(0x00)), 16);
	/* By a method. */
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x68), 16);
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x68, PICF(0x00)), 11);
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x01), 0);
	assert_int_equal(PIC('L', 'O', 'O', 'P', 0x68, PICF(0x68)), 0);
	assert_int_equal(PIC('N', 'O', 'N', 'E', 0x68, PICF(0x68)), 0);
	/*
	 * What comes last holds, and what is no constant is unknown: PICF = Local0, PICF |= 2, a
	 * loop.
	 */
	assert_int_equal(PIC(PICF(0x68), PICF(0x00)), 11);
	assert_int_equal(PIC(PICF(0x68), PICF(0x60)), 0);
	assert_int_equal(PIC(PICF(0x68), 0x7d, 'P', 'I', 'C', 'F', 0x0a, 0x02, 'P', 'I', 'C', 'F'),
			 0);
	assert_int_equal(PIC(PICF(0x68), 0xa2, 0x08, 0x60, PICF(0x00)), 0);
}

/*
 * _PRT as a method of this code, in a root with the tables PRTP (by 11) and PRTA (16), and \_PIC.
 * 16, 11 or 0: unknown.
 */
static u32 by_code(const u8 *code, u8 n)
{
	static const char *const legacy[] = { "LNKA", "LNKA", "LNKA" }, *const apic[] = { "GSIA",
											  "GSIA",
											  "GSIA" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	aml_init(a, text[0], ROOM);
	RAW(a, 0x14, 0x0c, '_', 'P', 'I', 'C', 0x01, PICF(0x68));
	links(a);
	begin_root(a, "PCI0", "PNP0A03");
	link_table(a, "PRTP", legacy);
	link_table(a, "PRTA", apic);
	RAW(a, 0x14, (u8)(0x40 | ((n + 7) & 0xf)), (u8)((n + 7) >> 4), '_', 'P', 'R', 'T', 0x00);
	raw(a, code, n);
	end_root(a);
	assert_int_equal(read_all(), 1);
	return route(6, 1, 11, &gsi, &low) ? 0 : gsi;
}

#define CODE(...) by_code((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
#define STORE_IN_LOCAL0(a, b, c, d) 0x70, a, b, c, d, 0x60
#define IF_NOT_PICF(n) 0xa0, 6 + (n), 0x92, 'P', 'I', 'C', 'F'
#define RETURN_LOCAL0 0xa4, 0x60
/* Name (abcd, Package () { Package () { 0x6ffff, 1, efgh, 0 } }): 23 bytes */
#define DECLARE(a, b, c, d, e, f, g, h) \
	0x08, a, b, c, d, 0x12, 0x11, 0x01, 0x12, 0x0e, 0x04, 0x0c, 0xff, 0xff, 0x06, 0x00, 0x0a, \
		0x01, e, f, g, h, 0x00

static void test_locals(void **)
{
	/* Local0 = PRTA; If (!PICF) { Local0 = PRTP }; Return (Local0) */
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), IF_NOT_PICF(6),
			      STORE_IN_LOCAL0('P', 'R', 'T', 'P'), RETURN_LOCAL0),
			 16);
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'P'), IF_NOT_PICF(6),
			      STORE_IN_LOCAL0('P', 'R', 'T', 'A'), RETURN_LOCAL0),
			 11);
	/* Tables that are declared in the method, one for each case, and Local1 between. */
	assert_int_equal(CODE(IF_NOT_PICF(29), DECLARE('T', 'A', 'B', '1', 'L', 'N', 'K', 'A'),
			      STORE_IN_LOCAL0('T', 'A', 'B', '1'), 0xa1, 0x21,
			      DECLARE('T', 'A', 'B', '2', 'G', 'S', 'I', 'A'), 0x70, 'T', 'A', 'B',
			      '2', 0x61, 0x70, 0x61, 0x60, RETURN_LOCAL0),
			 16);
	assert_int_equal(CODE(DECLARE('P', 'R', 'T', 'P', 'G', 'S', 'I', 'A'), 0xa4, 'P', 'R', 'T',
			      'P'),
			 16);
	/* Local1 was given nothing; a value that is computed; a table that is changed. */
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), 0xa4, 0x61), 0);
	assert_int_equal(CODE(0x70, 0x72, 0x01, 0x01, 0x00, 0x60, RETURN_LOCAL0), 0);
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), 0x70, 0x01, 0x88, 0x60, 0x00,
			      0x00, RETURN_LOCAL0),
			 0);
}

static bool root_behind(const u8 *term, size_t n)
{
	aml_init(&out[0], text[0], ROOM);
	raw(&out[0], term, n);
	begin_root(&out[0], "PCI0", "PNP0A08");
	end_root(&out[0]);
	return read_all() == 1;
}

#define BEHIND(...) root_behind((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

/* What firmware has in its lists beside declarations. */
static void test_terms(void **)
{
	assert_true(
		BEHIND(0x08, 'A', 'B', 'C', 'D', 0x0a, 0x05, 0x0a, 0x06, 0x00, 0x0d, 'x', 0x00));
	assert_true(BEHIND(0x70, 0x0d, 'x', 0x00, 0x5b, 0x31, 0x70, 0x5b, 0x33, 0x5b, 0x31));
	assert_true(BEHIND(0x70, 0x01, 0x88, 'B', 'U', 'F', '_', 0x0a, 0x02, 0x00));
	/* OperationRegion (REG, SystemMemory, BASE (1, 2) + 4, 0x10) */
	assert_true(BEHIND(0x5b, 0x80, 'R', 'E', 'G', '_', 0x00, 0x72, 'B', 'A', 'S', 'E', 0x01,
			   0x0a, 0x02, 0x0a, 0x04, 0x00, 0x0a, 0x10));
	assert_true(BEHIND(0x5b, 0x80, 'R', 'E', 'G', '_', 0x00, 0x72, 'A', 'G', 'R', 'B', 0x7d,
			   0x79, 0x83, 0x88, 'A', 'D', 'A', 'T', 0x72, 0x01, 0x0a, 0x0d, 0x00, 0x00,
			   0x0a, 0x0f, 0x00, 0x01, 0x00, 0x00, 0x0b, 0x00, 0x10));
	assert_true(
		BEHIND('A', 'D', 'B', 'G', 0x0d, 'x', 0x00, 0x86, 'R', 'P', '0', '1', 0x0a, 0x02));
	assert_true(
		BEHIND(0xa0, 0x07, 'C', 'O', 'N', 'D', 0x00, 0xa5, 0x9d, 0x01, 'A', 'B', 'C', 'D'));
	/* Load, which nobody expects there. */
	assert_false(BEHIND(0x5b, 0x20, 'S', 'S', 'D', 'T', 'H', 'N', 'D', 'L'));
}

/* Method (_PRT) { Return (AR00 ()) }; Method (AR00) { Return (^^AR00) }, which is \_SB.AR00. */
static void test_names_in_methods(void **)
{
	static const char *const apic[] = { "GSIA", "GSIA", "GSIA" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	links(a);
	aml_scope(a, "\\_SB");
	link_table(a, "AR00", apic);
	aml_end(a);
	begin_root(a, "PCI0", "PNP0A03");
	RAW(a, 0x14, 0x0b, '_', 'P', 'R', 'T', 0x00, 0xa4, 'A', 'R', '0', '0');
	RAW(a, 0x14, 0x0d, 'A', 'R', '0', '0', 0x00, 0xa4, '^', '^', 'A', 'R', '0', '0');
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(6, 1, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 16);
}

/*
 * Name (_PRT, Package () { Package () { 0x6ffff, 1, ^GSIA, 0 } }): as from where _PRT is declared.
 */
static void test_names_in_packages(void **)
{
	u32 gsi;
	bool low;

	links(&out[0]);
	begin_root(&out[0], "PCI0", "PNP0A03");
	RAW(&out[0], 0x08, '_', 'P', 'R', 'T', 0x12, 0x12, 0x01, 0x12, 0x0f, 0x04, 0x0c, 0xff, 0xff,
	    0x06, 0x00, 0x0a, 0x01, '^', 'G', 'S', 'I', 'A', 0x00);
	end_root(&out[0]);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(6, 1, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_methods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chosen_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_terms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_methods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_packages, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

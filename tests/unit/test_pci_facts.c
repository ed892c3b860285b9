/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_facts.c lib/span.c */
/* Facts of a node type: all of the module is read, or nothing, and one line says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <margay/errno.h>
#include <margay/pci.h>

#include "kernel/pci/pci_facts.h"

#define HASH 0x0123456789abcdefu
#define TABLES "tables = 0123456789abcdef\n"

static struct pci_facts facts;
static struct pci_facts_error err;

static bool parse(const char *text)
{
	return pci_facts_parse(text, strlen(text), HASH, &facts, &err);
}

static void test_all_kinds(void **)
{
	assert_true(parse(
		"# node type c3\n\n" TABLES
		"route = 0000:00/1f D 19\nroute = 0001:e0/1c.0/01.7/0 A 65535\n"
		"window = 0000:00 mem 0xa0000-0xffffffffffffffff\nwindow = 0000:00 io 0x0-0xcf7\n"
		"proximity = 0000:80 4294967295\nend = 5\n# the last\n"));
	assert_int_equal(facts.count, 5);
	assert_int_equal(facts.fact[0].of.kind, PCI_FACT_ROUTE);
	assert_int_equal(facts.fact[0].line, 4);
	assert_int_equal(facts.fact[0].of.depth, 0);
	assert_int_equal(facts.fact[0].of.device, 0x1f);
	assert_int_equal(facts.fact[0].of.pin, 3);
	assert_int_equal(facts.fact[0].value, 19);
	assert_int_equal(facts.fact[1].of.segment, 1);
	assert_int_equal(facts.fact[1].of.bus, 0xe0);
	assert_int_equal(facts.fact[1].of.depth, 2);
	assert_int_equal(facts.fact[1].of.path[0], PCI_DEVFN(0x1c, 0));
	assert_int_equal(facts.fact[1].of.path[1], PCI_DEVFN(1, 7));
	assert_int_equal(facts.fact[1].value, 65535);
	assert_int_equal(facts.fact[2].window.type, AML_WINDOW_MEMORY);
	assert_int_equal(facts.fact[2].window.first, 0xa0000);
	assert_true(facts.fact[2].window.last == ~0ull);
	assert_int_equal(facts.fact[3].window.type, AML_WINDOW_IO);
	assert_int_equal(facts.fact[3].window.last, 0xcf7);
	assert_int_equal(facts.fact[4].of.kind, PCI_FACT_PROXIMITY);
	assert_int_equal(facts.fact[4].of.bus, 0x80);
	assert_int_equal(facts.fact[4].value, 0xffffffff);
}

/* here, expected: the two values that are named; both 0: none are. */
static void refused(const char *text, unsigned line, const char *what, u64 here, u64 expected)
{
	facts.count = 9;
	assert_false(parse(text));
	assert_int_equal(facts.count, 0);
	assert_string_equal(err.what, what);
	assert_int_equal(err.line, line);
	if (here == expected) {
		assert_true(err.here == err.expected);
		return;
	}
	assert_true(err.here == here);
	assert_true(err.expected == expected);
}

#define NO_TABLES "expected tables = and a hash"
#define NO_FACT "expected route, window, proximity or end, and its value"

static void test_of_another_machine(void **)
{
	refused("tables = 0123456789abcdee\nend = 0\n", 1,
		"not of this machine: the hash of its tables", HASH - 1, HASH);
	assert_true(parse(TABLES "end = 0"));
	refused("end = 0\n", 1, NO_TABLES, 0, 0);
	refused("route = 0000:00/1 A 16\n", 1, NO_TABLES, 0, 0);
	refused("tables = 0123456789abcdefg\n", 1, NO_TABLES, 0, 0);
	refused("tables = 10123456789abcdef\n", 1, NO_TABLES, 0, 0);
	refused(TABLES TABLES "end = 0\n", 2, NO_FACT, 0, 0);
}

/* Cut anywhere, but for the last line's end. */
static void test_cut_off(void **)
{
	static const char text[] = TABLES "route = 0000:00/1 A 16\nend = 1\n";

	for (size_t n = 0; n < sizeof(text) - 2; n++) {
		assert_false(pci_facts_parse(text, n, HASH, &facts, &err));
		assert_int_equal(facts.count, 0);
	}
	assert_true(pci_facts_parse(text, sizeof(text) - 2, HASH, &facts, &err));
	refused("", 0, "cut off: no end", 0, 0);
	refused(TABLES "route = 0000:00/1 A 16\n", 2, "cut off: no end", 0, 0);
	refused(TABLES "route = 0000:00/1 A 16\nend = 2\n", 3, "cut off: number of facts", 2, 1);
	refused(TABLES "end = 0\nend = 0\n", 3, "nothing may stand behind end", 0, 0);
}

static void test_contradicts_itself(void **)
{
	refused(TABLES "route = 0000:00/1 A 16\nroute = 0000:00/1 B 17\nroute = 0000:00/01 A 18\n",
		4, "given before", 18, 16);
	refused(TABLES "proximity = 0000:80 0\nproximity = 0000:80 1\n", 3, "given before", 1, 0);
	refused(TABLES "proximity = 0000:80 1\nproximity = 0000:80 1\n", 3, "given before", 1, 1);
	/* Others: a path, a bridge, a segment, a kind. */
	assert_true(parse(
		TABLES
		"route = 0000:00/1 A 16\nroute = 0000:00/2.1/1 A 18\n"
		"route = 0000:00/2.2/1 A 19\nroute = 0001:00/1 A 20\nroute = 0000:01/1 A 21\nroute = 0000:00/2 A 22\n"
		"proximity = 0000:00 1\nwindow = 0000:00 io 0x0-0x1\nwindow = 0000:00 io 0x2-0x3\nend = 9\n"));
	assert_ptr_equal(pci_facts_find(&facts, &facts.fact[2].of), &facts.fact[2]);
	assert_null(pci_facts_find(&facts, &(struct pci_fact_key){ .bus = 0, .device = 3 }));
}

static void test_bad_lines(void **)
{
	/* clang-format off */
	static const char *const bad[] = {
		"route = ", "route = 0000:00", "route = 0000:00/", "route = 0000:00/1",
		"route = 0000:00/1 A",
		"route = 0000:00/1 A ",
		"route = 0000:00/1 E 16", "route = 0000:00/1 9 16", "route = 0000:00/20 A 16",
		"route = 0000:00/1.8/0 A 16",
		"route = 0000:00/1.0 A 16", "route = 0000:00/1  A 16", "route = 0000:00/1 A 65536",
		"route = 0000:00/1 A 16 ,",
		"route = 10000:00/1 A 16", "route = 0000:100/1 A 16", "route = 000000/1 A 16",
		"route = 0000:00/1A 16",
		"route = 0000:00/1 A16", "route = 0000:00/1 A 0x10", "route = 0000:00/1 A 16\r",
		"route = 0000:00/1.0/1.0/1.0/1.0/1.0/1.0/1.0/1.0/0 A 16",
		"window = ", "window = 0000:00", "window = 0000:00 mem",
		"window = 0000:00 mem 0x1-", "window = 0000:00 mem 1-2",
		"window = 0000:00 mem 0x2-0x1", "window = 0000:00 bus 0x1-0x2",
		"window = 0000:00 mem 0x1-0x2 0",
		"window = 0000:00 mem 0x1-0x10000000000000000", "window = 0000:00mem 0x1-0x2",
		"proximity = ", "proximity = 0000:00", "proximity = 0000:00 ",
		"proximity = 0000:00 x",
		"proximity = 0000:00 4294967296", "proximity = 0000:00 1 1", "proximity = 0 1",
	};
	/* clang-format on */

	char text[256];

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), TABLES "%s\nend = 1\n", bad[i]);
		if (parse(text))
			fail_msg("taken: %s", text);
		assert_int_equal(err.line, 2);
		/* The example of its own key. */
		assert_memory_equal(err.what, bad[i], 6);
	}
	refused(TABLES "node = 1\n", 2, NO_FACT, 0, 0);
	refused(TABLES " proximity = 0000:00 1\n", 2, NO_FACT, 0, 0);
	refused(TABLES "route=0000:00/1 A 16\n", 2, NO_FACT, 0, 0);
	refused(TABLES "end = x\n", 2, NO_FACT, 0, 0);
}

static void test_full(void **)
{
	static char text[PCI_FACTS_MAX * 32 + 128];
	size_t n = 0;

	n += (size_t)snprintf(text, sizeof(text), TABLES);
	for (unsigned i = 0; i < PCI_FACTS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "window = 0000:00 io 0x0-0x%x\n",
				      i);
	snprintf(text + n, sizeof(text) - n, "end = %u\n", PCI_FACTS_MAX);
	assert_true(parse(text));
	assert_int_equal(facts.count, PCI_FACTS_MAX);
	snprintf(text + n, sizeof(text) - n, "proximity = 0000:00 1\n");
	refused(text, PCI_FACTS_MAX + 2, "more facts than fit", 0, 0);
}

/* Against FNV-1a's published values; in any order. */
static void test_hash(void **)
{
	struct aml_span body[] = { { (const u8 *)"a", 1 },
				   { (const u8 *)"foobar", 6 },
				   { NULL, 0 } };
	const struct aml_span turned[] = { body[1], body[0], body[2] };

	assert_true(pci_facts_hash(&(struct aml_tables){ body, 0 }) == 0);
	assert_true(pci_facts_hash(&(struct aml_tables){ body, 1 }) == 0xaf63dc4c8601ec8cu);
	assert_true(pci_facts_hash(&(struct aml_tables){ body + 1, 1 }) == 0x85944171f73967e8u);
	assert_true(pci_facts_hash(&(struct aml_tables){ body + 2, 1 }) == 0xcbf29ce484222325u);
	assert_true(pci_facts_hash(&(struct aml_tables){ body, 3 }) ==
		    pci_facts_hash(&(struct aml_tables){ turned, 3 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_kinds), cmocka_unit_test(test_of_another_machine),
		cmocka_unit_test(test_cut_off),   cmocka_unit_test(test_contradicts_itself),
		cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_full),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

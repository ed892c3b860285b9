/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_facts.c lib/span.c */
/* FUZZ: -max_len=600 -dict=tests/fuzz/facts.dict */
/*
 * Fuzzes the reader of modules of facts with any bytes. Checked beside memory
 * safety: an accepted module is within all limits, has nothing twice and is
 * refused when its end is cut off or the machine is another; a refused one has
 * a reason, and none of its facts is left.
 */
#include "kernel/pci/pci_facts.h"
#include "tests/fuzz/fuzz.h"

#define HASH 0x11u

static void check_fact(const struct pci_facts *facts, const struct pci_fact *f)
{
	CHECK(f->of.kind <= PCI_FACT_PROXIMITY && f->line > 1);
	CHECK(f->of.depth <= PCI_FACTS_DEPTH && f->of.device < 32 && f->of.pin < 4);
	if (f->of.kind == PCI_FACT_WINDOW)
		CHECK(f->window.first <= f->window.last && f->window.type != AML_WINDOW_BUS);
	else
		CHECK(pci_facts_find(facts, &f->of) == f);
	CHECK(f->of.kind != PCI_FACT_ROUTE || f->value <= 0xffff);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct pci_facts facts;
	struct pci_facts_error err;
	const char *text = (const char *)data;
	size_t end = size;

	facts.count = 1;
	if (!pci_facts_parse(text, size, HASH, &facts, &err)) {
		CHECK(!facts.count && err.what && *err.what);
		return 0;
	}
	CHECK(facts.count <= PCI_FACTS_MAX);
	for (unsigned i = 0; i < facts.count; i++)
		check_fact(&facts, &facts.fact[i]);
	CHECK(!pci_facts_parse(text, size, HASH + 1, &facts, &err) && err.here == HASH &&
	      err.expected == HASH + 1);
	/* Its last line that is no comment is the end. */
	for (;;) {
		size_t start = end;

		while (start && text[start - 1] != '\n')
			start--;
		if (start < end && text[start] != '#') {
			CHECK(!pci_facts_parse(text, start, HASH, &facts, &err) && !facts.count);
			return 0;
		}
		CHECK(start);
		end = start - 1;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: facts of a type of node that only an interpreter of AML knows,
 * as tools/margay-facts writes them and a boot module `facts:NAME` brings
 * them (docs/passthrough.md). All of the module is read, or nothing.
 */
#ifndef KERNEL_PCI_FACTS_H
#define KERNEL_PCI_FACTS_H

#include "kernel/acpi/aml_resource.h"

#define PCI_FACTS_MAX 1024
#define PCI_FACTS_DEPTH 7 /* bridges one behind another */

enum pci_fact_kind { PCI_FACT_ROUTE, PCI_FACT_WINDOW, PCI_FACT_PROXIMITY };

/* What a fact is of: no padding, so that two can be compared as bytes. */
struct pci_fact_key {
	u16 segment; /* the root's */
	u8 bus;
	u8 kind;
	/*
	 * A route's: devfn of the bridges below the root, then the device and its pin (0: INTA).
	 * Else 0.
	 */
	u8 depth;
	u8 path[PCI_FACTS_DEPTH];
	u8 device;
	u8 pin;
};
static_assert(sizeof(struct pci_fact_key) == 14);

struct pci_fact {
	struct pci_fact_key of;
	u16 line; /* of the module */
	u32 value; /* global system interrupt, or proximity domain */
	struct aml_window window;
};

struct pci_facts {
	unsigned count;
	struct pci_fact fact[PCI_FACTS_MAX];
};

/*
 * What is wrong, where. Where `here` and `expected` are not the same, they are two values that
 * should be.
 */
struct pci_facts_error {
	unsigned line; /* of the module */
	const char *what;
	u64 here;
	u64 expected;
};

/*
 * Names the machine: the sum, modulo 2^64, of the 64-bit FNV-1a of each table's body. Neither the
 * order of the tables counts, nor their headers. It keeps modules apart, and guards against nobody.
 */
u64 pci_facts_hash(const struct aml_tables *t);

/* Hash: this machine's. False: with the error, and out->count is 0. */
bool pci_facts_parse(const char *text, size_t size, u64 hash, struct pci_facts *out,
		     struct pci_facts_error *err);

#if IS_ENABLED(CONFIG_PCI_FACTS)
/* The first fact of that, or NULL. */
const struct pci_fact *pci_facts_find(const struct pci_facts *facts, const struct pci_fact_key *of);
#else
static inline const struct pci_fact *pci_facts_find(const struct pci_facts *,
						    const struct pci_fact_key *)
{
	return NULL;
}
#endif

#endif

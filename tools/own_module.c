/* SPDX-License-Identifier: GPL-2.0-only */
/* What may be wrong with a module of microcode or of facts, by the hypervisor's own judges. */
#include "tools/own_module.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <margay/has.h>

#include "arch/x86_64/cpu/microcode.h"
#include "kernel/pci/pci_facts.h"
#include "vmm/load/load_check.h"

/*
 * For a CPU of either vendor it must be a file of updates; which one the node will have nobody
 * knows here.
 */
static const char *check_microcode(const char *data, size_t size)
{
	const struct microcode_cpu intel = { .vendor = CPU_INTEL }, amd = { .vendor = CPU_AMD };
	struct microcode found;
	const char *why = microcode_find((const u8 *)data, size, &intel, &found);

	return why && microcode_find((const u8 *)data, size, &amd, &found)
		       ? "neither Intel's nor AMD's microcode: give a file as the vendor has it (intel-ucode/..., amd-ucode/...)"
		       : NULL;
}

/*
 * Facts of a type of node: all but whether the node will be of that type, which the hash in the
 * file says.
 */
static bool facts_right(const char *data, size_t size, struct pci_facts_error *err)
{
	static struct pci_facts facts;
	struct pci_facts_error of_hash;

	if (pci_facts_parse(data, size, 0, &facts, &of_hash))
		return true;
	if (pci_facts_parse(data, size, of_hash.here, &facts, err))
		return true;
	/* It was not the hash. */
	if (err->line <= of_hash.line)
		*err = of_hash;
	return false;
}

static bool facts_wrong(const char *name, const char *data, size_t size, char why[OWN_MODULE_TEXT])
{
	struct pci_facts_error err;

	if (facts_right(data, size, &err))
		return false;
	if (err.here != err.expected)
		snprintf(why, OWN_MODULE_TEXT,
			 "%s:%u: %s: %#" PRIx64 " here, %#" PRIx64 " expected", name, err.line,
			 err.what, err.here, err.expected);
	else
		snprintf(why, OWN_MODULE_TEXT, "%s:%u: %s", name, err.line, err.what);
	return true;
}

bool own_module_wrong(const char *name, const char *data, size_t size, char why[OWN_MODULE_TEXT])
{
	bool microcode = !strncmp(name, "microcode:", 10), facts = !strncmp(name, "facts:", 6);
	const char *text = microcode || facts ? load_hint(data, size) : NULL;

	if (microcode && !HAS(CONFIG_MICROCODE))
		text = "needs CONFIG_MICROCODE";
	else if (facts && !HAS(CONFIG_PCI_FACTS))
		text = "needs CONFIG_PCI_FACTS";
	else if (microcode && !text)
		text = check_microcode(data, size);
	else if (facts && !text)
		return facts_wrong(name, data, size, why);
	if (text)
		snprintf(why, OWN_MODULE_TEXT, "%s: %s", name, text);
	return text;
}

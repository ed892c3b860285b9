/* SPDX-License-Identifier: GPL-2.0-only */
/* For read_cpus.c: SVM's probe, which is included, over a CPU in memory. */
#include "tests/unit/fake_insn.h"

#include "tests/unit/read_cpus.h"

#include "vmm/svm/cpu.c"

void svm_vmsave(u64) { }

int read_svm(read_cpuid_fn read, struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f))
{
	int err;

	fake_cpu.cpuid = read;
	err = svm_probe(caps, tell);
	if (cpus)
		host_pages_free(cpus, 1);
	cpus = NULL;
	return err;
}

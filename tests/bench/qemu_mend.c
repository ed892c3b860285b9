/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that mends an error of QEMU 10's own, for guests of KVM in it.
 *
 *   -plugin qemu_mend.so,entry=ADDR[,entry=ADDR]...
 *
 * VMRUN leaves the CPU's `exception_index` set when it injects an external interrupt as an event,
 * as KVM does. If QEMU leaves the guest for a reason of its own, the end of a time slice say,
 * before the guest's next exit or exception, the interrupt comes a second time, whether the guest
 * takes interrupts or not: two Linux guests stood still in a sequence lock by that, each time, as
 * two CPUs have slices of half the length. `entry` is where a guest's kernel is entered for an
 * interrupt: there `exception_index` is set to what it is in QEMU's other ways to there. No
 * instruction of the machine's is counted or changed by that.
 */
#include <stdlib.h>

#include "../qemu_plugin.h"

#define MAX_ENTRIES 64
#define LOOK_AT 32 /* bytes of cpu_loop_exit_noexc() */

/*
 * Of QEMU, which exports them for its modules. The code of the latter begins by setting the member
 * that is wanted.
 */
extern __thread char *current_cpu;
extern void cpu_loop_exit_noexc(void *cpu);

static uint64_t entry[MAX_ENTRIES];
static unsigned nr_entries;
static uint32_t exception_index; /* where it is in the CPU's state */

static void entered(unsigned vcpu, void *data)
{
	int none = -1;

	/* Which is another one's where code is translated for several CPUs that run in turns. */
	(void)vcpu;
	(void)data;
	memcpy(current_cpu + exception_index, &none, sizeof(none));
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		for (unsigned e = 0; e < nr_entries; e++)
			if (entry[e] == qemu_plugin_insn_vaddr(insn))
				qemu_plugin_register_vcpu_insn_exec_cb(insn, entered, FLAGS_NO_REGS,
								       NULL);
	}
}

/* By `movl $-1, OFFSET(%rdi)`, rdi being the CPU. */
static bool find_exception_index(const uint8_t *code)
{
	for (unsigned i = 0; i + 10 <= LOOK_AT; i++)
		if (code[i] == 0xc7 && code[i + 1] == 0x87 &&
		    !memcmp(code + i + 6, "\xff\xff\xff\xff", 4)) {
			memcpy(&exception_index, code + i + 2, sizeof(exception_index));
			return true;
		}
	return false;
}

static int argument(const char *name, const char *value)
{
	if (strcmp(name, "entry") || nr_entries == MAX_ENTRIES)
		return -1;
	entry[nr_entries++] = strtoull(value, NULL, 0);
	return 0;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_arguments(argc, argv, argument))
		return -1;
	if (!find_exception_index((const uint8_t *)cpu_loop_exit_noexc)) {
		fprintf(stderr, "qemu_mend: QEMU's code is not as expected\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}

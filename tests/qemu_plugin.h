/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our plugins for QEMU's TCG share: the part of its plugin interface
 * (docs/devel/tcg-plugins) that all of them use, declared here as Debian has no
 * package with its header, the plugin's arguments, and counters in a file.
 */
#ifndef TESTS_QEMU_PLUGIN_H
#define TESTS_QEMU_PLUGIN_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { FLAGS_NO_REGS = 0 }; /* QEMU_PLUGIN_CB_NO_REGS */

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 4;

/* Gives each NAME=VALUE to take(), which returns 0 for one that is right. -1 and a line for the first that is not. */
static inline int plugin_arguments(int argc, char **argv, int (*take)(const char *name, const char *value))
{
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value = '\0';
		if (!value || take(argv[i], value + 1)) {
			fprintf(stderr, "plugin: bad argument %s%s%s\n", argv[i], value ? "=" : "", value ? value + 1 : "");
			return -1;
		}
	}
	return 0;
}

/* Counters that others can read at any time: a new file of zeros, mapped. NULL and a line where that fails. */
static inline void *plugin_counters(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	void *counters = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		perror(path);
	if (fd >= 0)
		close(fd);
	return counters == MAP_FAILED ? NULL : counters;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our plugins for QEMU's TCG share: the part of its plugin interface
 * (docs/devel/tcg-plugins) that several use, declared here as Debian has no
 * package with its header, the plugin's arguments, counters in a file, and the
 * instructions that they look for.
 */
#ifndef TESTS_QEMU_PLUGIN_H
#define TESTS_QEMU_PLUGIN_H

#include <fcntl.h>
#include <stdbool.h>
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

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
						  void (*cb)(uint64_t id,
							     struct qemu_plugin_tb *tb));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						   void (*cb)(unsigned vcpu, void *data), int flags,
						   void *data);
extern void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t id, void *data),
					   void *data);

/* GLib's GByteArray */
struct byte_array {
	uint8_t *data;
	unsigned len;
};
extern struct byte_array *g_byte_array_new(void);

EXPORT int qemu_plugin_version = 4;

enum { VMRUN_LENGTH = 3, INSTRUCTION_BYTES = 7 }; /* the latter: what the four below look at */

static inline bool is_vmrun(const uint8_t *byte)
{
	static const uint8_t vmrun[VMRUN_LENGTH] = { 0x0f, 0x01, 0xd8 };

	return !memcmp(byte, vmrun, sizeof(vmrun));
}

static inline bool is_rdmsr(const uint8_t *byte)
{
	return byte[0] == 0x0f && byte[1] == 0x32;
}

static inline bool is_wrmsr(const uint8_t *byte)
{
	return byte[0] == 0x0f && byte[1] == 0x30;
}

/* MOVS, CMPS, STOS, LODS or SCAS by F2 or F3, with a REX or an operand-size prefix or without. */
static inline bool is_rep_string(const uint8_t *byte)
{
	byte += *byte == 0x66;
	if (*byte != 0xf2 && *byte != 0xf3)
		return false;
	byte += byte[1] == 0x66 || (byte[1] & 0xf0) == 0x40 ? 2 : 1;
	return (*byte >= 0xa4 && *byte <= 0xa7) || (*byte >= 0xaa && *byte <= 0xaf);
}

/* Of tests/bench/marker.h: its number is byte 3. */
static inline bool is_marker(const uint8_t *byte)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x80 };

	return !memcmp(byte, nop, sizeof(nop)) && !memcmp(byte + 4, "MGY", 3);
}

/*
 * Gives each NAME=VALUE to take(), which returns 0 for one that is right. -1 and a line for the
 * first that is not.
 */
static inline int plugin_arguments(int argc, char **argv,
				   int (*take)(const char *name, const char *value))
{
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value = '\0';
		if (!value || take(argv[i], value + 1)) {
			fprintf(stderr, "plugin: bad argument %s%s%s\n", argv[i], value ? "=" : "",
				value ? value + 1 : "");
			return -1;
		}
	}
	return 0;
}

/*
 * Counters that others can read at any time: a new file of zeros, mapped. NULL and a line where
 * that fails.
 */
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

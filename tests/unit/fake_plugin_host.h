/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a QEMU of a few lines that the tests of our plugins share: blocks
 * of instructions, and who wants to hear of them. To be included behind a
 * test's own struct qemu_plugin_insn, which has `address` and `byte`.
 */
#ifndef TESTS_FAKE_PLUGIN_HOST_H
#define TESTS_FAKE_PLUGIN_HOST_H

struct qemu_plugin_tb {
	struct qemu_plugin_insn *insn;
	size_t count;
};
struct bytes {
	uint8_t *data;
	unsigned len;
};
typedef void (*translate)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*at_exit)(uint64_t id, void *data);

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translate cb);
void qemu_plugin_register_atexit_cb(uint64_t id, at_exit cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);

static translate translated;
static at_exit ended;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, translate cb)
{
	translated = cb;
}

void qemu_plugin_register_atexit_cb(uint64_t, at_exit cb, void *)
{
	ended = cb;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	return tb->count;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i)
{
	return &tb->insn[i];
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->address;
}

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len)
{
	memcpy(dest, insn->byte, len);
	return len;
}

#endif

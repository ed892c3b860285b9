/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/io.c vmm/emulate/strings.c @tests/unit/decode.sources */
/*
 * INS and OUTS are fetched again behind their exit. The CPU has checked the ports of the one that
 * stood there (SDM vol. 1, 19.5.2): one with another size or direction, which another vCPU has put
 * there since, is not carried out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/emulate/emulate.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm_parts.h"

#define RIP 0x1000
#define PORT 0x1234

static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm };
static const char *there;
static unsigned reads, writes, agains, tries, given_up;
static u64 memory;

static u32 port_read(void *, struct vcpu *, u16, unsigned)
{
	reads++;
	return 0xaabbccdd;
}

static void port_write(void *, struct vcpu *, u16, unsigned, u32)
{
	writes++;
}

static const struct pio_ops port_ops = { 1 | 2 | 4, port_read, port_write };

int emulate_fetch(struct vcpu *, const struct insn **out)
{
	static struct insn insn;
	u8 bytes[INSN_MAX] = { 0 };

	*out = &insn;
	memcpy(bytes, there, strlen(there));
	return insn_decode(bytes, sizeof(bytes), MODE_64, &insn);
}

bool emulate_again(struct vcpu *)
{
	agains++;
	return tries-- > 0;
}

void emulate_refuse(struct vcpu *, const char *)
{
	given_up++;
}

int emulate_mem_read(struct vcpu *, u64, unsigned, u64 *value)
{
	*value = memory;
	return 0;
}

int emulate_mem_write(struct vcpu *, u64, unsigned size, u64 value)
{
	memory = insn_truncate(value, size);
	return 0;
}

int emulate_mem_writable(struct vcpu *, u64, unsigned)
{
	return 0;
}

u64 emulate_linear(struct vcpu *, const struct insn *, enum seg, u64 offset)
{
	return offset;
}

u64 emulate_get_gpr(const struct vcpu *v, u8 gpr, unsigned size, bool)
{
	return insn_truncate(v->regs.gpr[gpr], size);
}

void emulate_set_gpr(struct vcpu *v, u8 gpr, unsigned, bool, u64 value)
{
	v->regs.gpr[gpr] = value;
}

static u64 get(struct vcpu *, enum hvm_reg)
{
	return 0;
}

static const struct hvm_ops ops = { .get = get };
const struct hvm_ops *hvm = &ops;

/* Nobody calls these. */
void emulate_retire(struct vcpu *)
{
	fail();
}
void emulate_skip_slowly(struct vcpu *, u64)
{
	fail();
}
void emulate_skip_unknown(struct vcpu *)
{
	fail();
}
void emulate_watch_armed(struct vcpu *, u64, unsigned, unsigned)
{
	fail();
}

static void begin(const char *bytes)
{
	there = bytes;
	vcpu.regs = (struct guest_regs){
		.rip = RIP,
		.gpr = { [GPR_RCX] = 3, [GPR_RDX] = PORT, [GPR_RSI] = 0x2000, [GPR_RDI] = 0x3000 }
	};
	reads = writes = agains = given_up = 0;
	tries = 1;
	memory = 0x1122334455667788;
}

static const struct {
	const char *bytes;
	unsigned size;
	bool in;
} strings[] = {
	{ "\x6c", 1, true },     { "\x66\x6d", 2, true },  { "\x6d", 4, true },
	{ "\x48\x6d", 4, true }, { "\x6e", 1, false },     { "\x66\x6f", 2, false },
	{ "\x6f", 4, false },    { "\x48\x6f", 4, false },
};

/* Each exit with each instruction: that of the exit is done, any other runs in the guest. */
static void test_pairs(void **)
{
	for (unsigned n = 0; n < 6; n++)
		for (unsigned i = 0; i < ARRAY_SIZE(strings); i++) {
			const unsigned size = 1u << n % 3;
			const bool in = n < 3,
				   same = size == strings[i].size && in == strings[i].in;
			const struct vmexit exit = {
				.reason = VMEXIT_IO,
				.io = { .port = PORT, .size = (u8)size, .in = in, .string = true }
			};

			begin(strings[i].bytes);
			emulate_io(&vcpu, &exit);
			assert_int_equal(reads, same && in);
			assert_int_equal(writes, same && !in);
			assert_int_equal(agains, !same);
			assert_int_equal(vcpu.regs.rip,
					 RIP + (same ? strlen(strings[i].bytes) : 0));
			assert_int_equal(vcpu.regs.gpr[GPR_RDI], 0x3000 + (same && in ? size : 0));
			assert_int_equal(vcpu.regs.gpr[GPR_RSI], 0x2000 + (same && !in ? size : 0));
			assert_int_equal(memory, same && in ? insn_truncate(0xaabbccdd, size)
							    : 0x1122334455667788);
			assert_int_equal(given_up, 0);
		}
}

/*
 * With REP it is as many of the same port, which the CPU allows each. What is no string instruction
 * is none of the exit's.
 */
static void test_others(void **)
{
	const struct vmexit exit = {
		.reason = VMEXIT_IO, .io = { .port = PORT, .size = 1, .in = true, .string = true }
	};

	begin("\xf3\x6c");
	emulate_io(&vcpu, &exit);
	assert_true(reads == 3 && !agains && vcpu.regs.gpr[GPR_RCX] == 0 &&
		    vcpu.regs.rip == RIP + 2);
	begin("\xa4");
	emulate_io(&vcpu, &exit);
	assert_true(!reads && agains == 1 && !given_up && vcpu.regs.rip == RIP);
	begin("\x6d");
	tries = 0;
	emulate_io(&vcpu, &exit);
	assert_true(!reads && given_up == 1 && vcpu.regs.rip == RIP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_others),
	};

	parts.ranges.pio[0] = (struct pio_range){ .base = PORT, .count = 4, .ops = &port_ops };
	parts.ranges.nr_pio = 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

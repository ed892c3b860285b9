/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/io.c @tests/unit/emulate.sources */
/*
 * What is not emulated, met by a program and by the guest's kernel: the program gets #UD, as from
 * an instruction that the CPU has not (SDM vol. 3, 6.15, vector 6), and its VM lives on; the
 * kernel's VM ends, with a line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/emulate/emulate.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm_parts.h"

#define RIP 0x1000

static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm };
static u8 cpl;
static u8 code[INSN_MAX + 1];
static unsigned undefined, ended, lines;

static void get_context(struct vcpu *, struct hvm_context *out)
{
	*out = (struct hvm_context){ .efer = EFER_LMA, .cs_attr = SEG_ATTR_L, .cpl = cpl };
}

static void get_segment(struct vcpu *, enum seg, struct segment *out)
{
	*out = (struct segment){ 0 };
}

static const struct hvm_ops ops = { .get_context = get_context, .get_segment = get_segment };
const struct hvm_ops *hvm = &ops;

int guest_fetch(struct vcpu *, const struct hvm_context *, u64, const u8 **out,
		struct guest_fault *)
{
	*out = code;
	return 0;
}

const u8 *guest_fetched(const struct vcpu *, const struct hvm_context *, u64)
{
	return code;
}

void vcpu_raise(struct vcpu *, u8 vector)
{
	assert_int_equal(vector, VEC_UD);
	undefined++;
}

bool vm_end(struct vm *, enum vm_end why)
{
	assert_int_equal(why, VM_END_CRASH);
	ended++;
	return true;
}

void host_log(const char *, ...)
{
	lines++;
}

int guest_read_virt(struct vcpu *, u64, enum guest_access, void *buf, unsigned size,
		    struct guest_fault *)
{
	memset(buf, 0, size);
	return 0;
}

bool vm_execute(struct vcpu *, gpa_t)
{
	return false;
}

bool guest_is_lost(struct vm *, gpa_t)
{
	return false;
}

/* Nobody calls these. */
int guest_lost(struct vm *)
{
	fail();
	return 0;
}
void vcpu_lost_access(struct vcpu *, gpa_t)
{
	fail();
}
int emulate_mem_read(struct vcpu *, u64, unsigned, u64 *)
{
	fail();
	return 0;
}
int emulate_mem_write(struct vcpu *, u64, unsigned, u64)
{
	fail();
	return 0;
}
int emulate_mem_writable(struct vcpu *, u64, unsigned)
{
	fail();
	return 0;
}
int emulate_mem_read_bytes(struct vcpu *, u64, unsigned, void *)
{
	fail();
	return 0;
}
int emulate_mem_write_bytes(struct vcpu *, u64, unsigned, const void *)
{
	fail();
	return 0;
}
void vcpu_raise_page_fault(struct vcpu *, u64, u32)
{
	fail();
}
void host_vector_read(unsigned, unsigned, void *)
{
	fail();
}
void host_vector_write(unsigned, unsigned, bool, const void *)
{
	fail();
}
void host_vector_read_zmm(unsigned, void *)
{
	fail();
}
void host_vector_write_zmm(unsigned, const void *)
{
	fail();
}

/* The same exit until something comes of it: how often. */
static unsigned leave(unsigned ring, const struct vmexit *exit, const char *bytes, size_t n)
{
	unsigned tries = 0;

	cpl = (u8)ring;
	memset(code, 0, sizeof(code));
	memcpy(code, bytes, n);
	undefined = ended = lines = 0;
	vcpu.died = false;
	vcpu.retries = 0;
	vcpu.regs.rip = RIP;
	for (; tries < 5000 && !undefined && !ended; tries++) {
		if (exit->reason == VMEXIT_IO)
			emulate_io(&vcpu, exit);
		else if (exit->reason == VMEXIT_STAGE2)
			emulate_mmio(&vcpu, exit);
		else
			emulate_skip_unknown(&vcpu);
	}
	assert_int_equal(vcpu.regs.rip, RIP);
	return tries;
}

#define BYTES(text) text, sizeof(text) - 1

static void judge(unsigned ring, unsigned tries, unsigned most)
{
	assert_true(tries <= most);
	assert_int_equal(undefined, ring == 3);
	assert_int_equal(ended, ring < 3);
	assert_int_equal(vcpu.died, ring < 3);
	assert_int_equal(lines > 0, ring < 3);
	/* The next instruction has all its tries. */
	assert_true(ring < 3 || !vcpu.retries);
}

static void test_refused(void **)
{
	const struct vmexit load = { .reason = VMEXIT_STAGE2 };
	const struct vmexit fetch = { .reason = VMEXIT_STAGE2, .stage2 = { .exec = true } };
	const struct vmexit string = { .reason = VMEXIT_IO,
				       .io = { .size = 1, .in = true, .string = true } };
	const struct vmexit other = { .reason = VMEXIT_HLT };

	for (unsigned ring = 0; ring < 4; ring++) {
		/* imul (%rdi), %eax */
		judge(ring, leave(ring, &load, BYTES("\x0f\xaf\x07")), 1000);
		/* none that there is */
		judge(ring, leave(ring, &load, BYTES("\x0f\x04")), 1000);
		/* ud2: no operand in memory */
		judge(ring, leave(ring, &load, BYTES("\x0f\x0b")), 1000);
		judge(ring, leave(ring, &string, BYTES("\x90")), 1000);
		judge(ring, leave(ring, &other, BYTES("\x0f\x04")), 1000);
		/* A jump into a device's page. */
		judge(ring, leave(ring, &fetch, BYTES("")), 1);
	}
}

/* Page tables, and what is delivered, are the kernel's wherever the program is. */
static void test_kernels(void **)
{
	const struct vmexit walk = { .reason = VMEXIT_STAGE2, .stage2 = { .walk = true } };
	const struct vmexit both = { .reason = VMEXIT_STAGE2,
				     .stage2 = { .walk = true, .exec = true } };
	const struct vmexit load = { .reason = VMEXIT_STAGE2 };

	leave(3, &walk, BYTES("\x8b\x07"));
	assert_true(ended && !undefined);
	leave(3, &both, BYTES("\x8b\x07"));
	assert_true(ended && !undefined);
	vcpu.event.type = HVM_EVENT_INTR;
	leave(3, &load, BYTES("\x8b\x07"));
	assert_true(ended && !undefined);
	vcpu.event.type = HVM_EVENT_NONE;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/guest_walk.c */
/*
 * The path to the page of code that a vCPU remembers: it holds as long as no entry on it has
 * changed, in any byte, and then there is no walk. The three kinds of page tables, and the bits
 * that their entries must not have.
 */
#include "tests/unit/fake_walk.h"

#define CODE 0x6000u
#define GVA 0x345123u /* of the code, in every mode */

/* What a fetch says: 0 and the right byte, or its error; whether it had to walk. */
static int fetch(bool *walked)
{
	struct guest_fault fault;
	const u8 *code;
	int err;

	lookups = 0;
	err = guest_fetch(&vcpu, &c, GVA, &code, &fault);
	if (!err)
		assert_ptr_equal(code, ram + CODE + (GVA & 0xfff));
	if (err == -EFAULT)
		assert_int_equal(fault.cr2, GVA);
	*walked = lookups;
	return err;
}

static void holds(void)
{
	bool walked;

	assert_int_equal(fetch(&walked), 0);
	assert_int_equal(fetch(&walked), 0);
	assert_false(walked);
}

/* A changed entry is seen at once, and when it is as before all is well again. */
static void change(u32 at, unsigned size, u64 bits, int expected)
{
	u64 before = 0;
	bool walked;

	holds();
	memcpy(&before, ram + at, size);
	put(at, before ^ bits, size);
	assert_int_equal(fetch(&walked), expected);
	assert_true(walked);
	put(at, before, size);
	holds();
}

static void test_four_levels(void **)
{
	begin(CR4_PAE, EFER_LME | EFER_LMA | EFER_NXE);
	put(0x1000, 0x2000 | PTE_P, 8);
	put(0x2000, 0x3000 | PTE_P, 8);
	put(0x3000 + (GVA >> 21) * 8, 0x4000 | PTE_P, 8);
	put(0x4000 + (GVA >> 12 & 511) * 8, CODE | PTE_P, 8);
	change(0x1000, 8, PTE_P, -EFAULT);
	change(0x2000, 8, PTE_P, -EFAULT);
	change(0x3000 + (GVA >> 21) * 8, 8, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, PTE_W, 0);
	/* In the upper half: NX, and 4 GiB further, where there is no RAM. */
	change(0x1000, 8, PTE_NX, -EFAULT);
	change(0x2000, 8, PTE_NX, -EFAULT);
	change(0x3000 + (GVA >> 21) * 8, 8, PTE_NX, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, PTE_NX, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, BIT(32), -EIO);
}

static void test_pae(void **)
{
	begin(CR4_PAE, 0);
	put(0x3000 + (GVA >> 21) * 8, 0x4000 | PTE_P, 8);
	put(0x1000, 0x3000 | PTE_P, 8);
	put(0x4000 + (GVA >> 12 & 511) * 8, CODE | PTE_P, 8);
	change(0x3000 + (GVA >> 21) * 8, 8, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 511) * 8, 8, BIT(32), -EIO);
}

static void test_two_levels(void **)
{
	begin(0, 0);
	put(0x1000 + (GVA >> 22) * 4, 0x4000 | PTE_P, 4);
	put(0x4000 + (GVA >> 12 & 1023) * 4, CODE | PTE_P, 4);
	/* What stands beside an entry does not matter. */
	put(0x1000 + (GVA >> 22) * 4 + 4, ~0u, 4);
	put(0x4000 + (GVA >> 12 & 1023) * 4 + 4, ~0u, 4);
	change(0x1000 + (GVA >> 22) * 4, 4, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 1023) * 4, 4, PTE_P, -EFAULT);
	change(0x4000 + (GVA >> 12 & 1023) * 4, 4, BIT(31), -EIO);
}

/* Another context is another path. */
static void test_context(void **)
{
	bool walked;

	test_two_levels(NULL);
	holds();
	c.cpl = 3;
	assert_int_equal(fetch(&walked), -EFAULT);
	c.cpl = 0;
	holds();
	c.cr3 = 0x5000;
	assert_int_equal(fetch(&walked), -EFAULT);
	assert_true(walked);
}

/* The error code is the reserved bit's, with one bit of an entry, or 0: the access is one. */
static void expect(u32 at, unsigned size, unsigned bit, u32 error)
{
	struct guest_fault fault = { 0 };
	u64 before = 0;
	gpa_t to;

	memcpy(&before, ram + at, size);
	put(at, before ^ BIT(bit), size);
	assert_int_equal(guest_translate(&vcpu, GVA, ACCESS_DEBUG, &to, &fault),
			 error ? -EFAULT : 0);
	assert_int_equal(fault.error, error);
	put(at, before, size);
}

#define RESERVED 9 /* P, RSVD */

static void test_reserved(void **)
{
	u32 directory = 0x3000 + (GVA >> 21) * 8, leaf = 0x4000 + (GVA >> 12 & 511) * 8;

	test_four_levels(NULL);
	for (unsigned bit = 40; bit < 52; bit++) {
		expect(0x1000, 8, bit, RESERVED);
		expect(0x2000, 8, bit, RESERVED);
		expect(directory, 8, bit, RESERVED);
		expect(leaf, 8, bit, RESERVED);
	}
	for (unsigned bit = 52; bit < 64; bit++)
		expect(leaf, 8, bit, 0);
	expect(leaf, 8, 39, 0);
	expect(leaf, 8, 7, 0);
	/* PS: never in the first table; of a page of 2 MiB and of 1 GiB the low bits. */
	expect(0x1000, 8, 7, RESERVED);
	put(0x3000 + (GVA >> 21) * 8, BIT(30) | PTE_P | PTE_PS, 8);
	for (unsigned bit = 12; bit < 22; bit++)
		expect(directory, 8, bit, bit > 12 && bit < 21 ? RESERVED : 0);
	put(0x2000, BIT(30) | PTE_P | PTE_PS, 8);
	for (unsigned bit = 12; bit < 31; bit++)
		expect(0x2000, 8, bit, bit > 12 && bit < 30 ? RESERVED : 0);
	c.efer = EFER_LME | EFER_LMA;
	expect(0x2000, 8, 63, RESERVED);
	expect(0x1000, 8, 63, RESERVED);
	test_pae(NULL);
	for (unsigned bit = 40; bit < 64; bit++)
		expect(leaf, 8, bit, RESERVED);
	/* Of these it has read all four when CR3 was set. */
	expect(0x1000, 8, 63, 0);
	c.efer = EFER_NXE;
	expect(leaf, 8, 63, 0);
	expect(leaf, 8, 62, RESERVED);
}

static void test_reserved_32(void **)
{
	u32 directory = 0x1000 + (GVA >> 22) * 4;

	test_two_levels(NULL);
	c.cr4 = CR4_PSE;
	put(directory, BIT(30) | PTE_P | PTE_PS, 4);
	for (unsigned bit = 12; bit < 23; bit++)
		expect(directory, 4, bit, bit == 21 ? RESERVED : 0);
	parts.cpuid.phys_bits = 36;
	for (unsigned bit = 12; bit < 23; bit++)
		expect(directory, 4, bit, bit >= 17 && bit <= 21 ? RESERVED : 0);
	parts.cpuid.phys_bits = 52;
	expect(directory, 4, 20, 0);
	expect(directory, 4, 21, RESERVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_four_levels), cmocka_unit_test(test_pae),
		cmocka_unit_test(test_two_levels),  cmocka_unit_test(test_context),
		cmocka_unit_test(test_reserved),    cmocka_unit_test(test_reserved_32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

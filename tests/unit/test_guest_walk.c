/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/guest_walk.c */
/*
 * Where the guest's page tables lead, who may go there, and what is set on the way: SDM vol. 3, 4.3
 * to 4.8. All rights of all entries of a way, against the manual's words.
 */
#include "tests/unit/fake_walk.h"

#define GVA 0x40201123u /* by the second entry of each table of four levels but the first */
#define PAGE 0x6000u
#define LEVELS 4u

static const struct hvm_context long_mode = {
	.cr0 = CR0_PG | CR0_PE, .cr3 = 0x1000, .cr4 = CR4_PAE, .efer = EFER_LME | EFER_LMA
};
static const u32 entry[LEVELS] = { 0x1000, 0x2008, 0x3008, 0x4008 };
static struct guest_fault fault;
static gpa_t to;

static int go(enum guest_access access)
{
	fault = (struct guest_fault){ 0 };
	to = gpa(0);
	return guest_translate(&vcpu, GVA, access, &to, &fault);
}

static u64 get(u32 at, unsigned size)
{
	u64 value = 0;

	memcpy(&value, ram + at, size);
	return value;
}

/* ---- rights ------------------------------------------------------------------------------- */

/* Of one entry of a way, by three bits of a number. */
static u64 rights_of(unsigned ways, unsigned level)
{
	unsigned bits = ways >> 3 * level;

	return (bits & 1 ? PTE_U : 0) | (bits & 2 ? PTE_W : 0) | (bits & 4 ? PTE_NX : 0);
}

static void put_way(unsigned ways)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		u64 next = i + 1 < LEVELS ? entry[i + 1] & ~0xfffu : PAGE;

		put(entry[i], next | PTE_P | rights_of(ways, i), 8);
	}
}

/* Table 4-12 and section 4.6.1: does the way forbid it? */
static bool is_forbidden(unsigned ways, enum guest_access access)
{
	bool user_page = true, writable = true, never = false;

	for (unsigned i = 0; i < LEVELS; i++) {
		user_page &= ways >> 3 * i & 1;
		writable &= ways >> (3 * i + 1) & 1;
		never |= ways >> (3 * i + 2) & 1;
	}
	if (c.cpl == 3) {
		if (!user_page)
			return true;
		return access == ACCESS_WRITE ? !writable : access == ACCESS_FETCH && never;
	}
	if (access == ACCESS_FETCH)
		return never || (user_page && c.cr4 & CR4_SMEP);
	if (user_page && c.cr4 & CR4_SMAP && !(vcpu.regs.rflags & RFLAGS_AC))
		return true;
	return access == ACCESS_WRITE && c.cr0 & CR0_WP && !writable;
}

static u32 error_of(enum guest_access access, u32 why)
{
	u32 error = why;

	if (access == ACCESS_WRITE)
		error |= PFERR_W;
	if (c.cpl == 3)
		error |= PFERR_U;
	if (access == ACCESS_FETCH && (c.efer & EFER_NXE || c.cr4 & CR4_SMEP))
		error |= PFERR_I;
	return error;
}

static void check_way(unsigned ways, enum guest_access access)
{
	bool reserved = !(c.efer & EFER_NXE) && ways & 04444;
	int err;

	put_way(ways);
	err = go(access);
	if (reserved || is_forbidden(ways, access)) {
		assert_int_equal(err, -EFAULT);
		assert_int_equal(fault.cr2, GVA);
		assert_int_equal(fault.error,
				 error_of(access, PFERR_P | (reserved ? PFERR_RSVD : 0)));
		assert_false(get(entry[LEVELS - 1], 8) & (PTE_A | PTE_D));
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(to.v, PAGE | (GVA & 0xfff));
	for (unsigned i = 0; i < LEVELS; i++) {
		u64 set = get(entry[i], 8) & (PTE_A | PTE_D);
		bool dirty = access == ACCESS_WRITE && i == LEVELS - 1;

		assert_int_equal(set, PTE_A | (dirty ? PTE_D : 0));
	}
}

/* What a context has besides, by the bits of a number. */
static void set_context(unsigned bits)
{
	c = long_mode;
	c.cpl = bits & 1 ? 3 : 0;
	c.cr0 |= bits & 2 ? CR0_WP : 0;
	c.cr4 |= bits & 4 ? CR4_SMEP : 0;
	c.cr4 |= bits & 8 ? CR4_SMAP : 0;
	vcpu.regs.rflags = bits & 16 ? RFLAGS_AC : 0;
	c.efer |= bits & 32 ? EFER_NXE : 0;
}

static void test_rights(void **)
{
	begin(0, 0);
	for (unsigned bits = 0; bits < 64; bits++) {
		set_context(bits);
		for (unsigned ways = 0; ways < 1u << 3 * LEVELS; ways++) {
			check_way(ways, ACCESS_READ);
			check_way(ways, ACCESS_WRITE);
			check_way(ways, ACCESS_FETCH);
		}
	}
}

/* It sees what is there, whoever may, and leaves no trace. */
static void test_debug(void **)
{
	u8 before[sizeof(ram)];

	begin(0, 0);
	set_context(63);
	put_way(04000);
	memcpy(before, ram, sizeof(ram));
	assert_int_equal(go(ACCESS_DEBUG), 0);
	assert_int_equal(to.v, PAGE | (GVA & 0xfff));
	assert_memory_equal(before, ram, sizeof(ram));
	put(entry[2], 0, 8);
	assert_int_equal(go(ACCESS_DEBUG), -EFAULT);
}

static void test_absent(void **)
{
	begin(0, 0);
	set_context(0);
	for (unsigned i = 0; i < LEVELS; i++) {
		put_way(03333);
		put(entry[i], get(entry[i], 8) & ~PTE_P, 8);
		assert_int_equal(go(ACCESS_WRITE), -EFAULT);
		assert_int_equal(fault.error, PFERR_W);
		assert_false(get(entry[i], 8) & (PTE_A | PTE_D));
	}
	/* Tables where there is no RAM. */
	put(entry[1], 0x100000 | PTE_P, 8);
	assert_int_equal(go(ACCESS_READ), -EFAULT);
	assert_int_equal(fault.error, 0);
}

/* ---- sizes and modes ------------------------------------------------------------------------- */

static void test_large(void **)
{
	begin(0, 0);
	set_context(0);
	put_way(03333);
	put(entry[2], 0x7fe00000 | PTE_P | PTE_W | PTE_PS, 8);
	assert_int_equal(go(ACCESS_WRITE), 0);
	assert_int_equal(to.v, 0x7fe00000 | (GVA & 0x1fffff));
	assert_int_equal(get(entry[2], 8) & (PTE_A | PTE_D), PTE_A | PTE_D);
	put(entry[1], 0x3c0000000 | PTE_P | PTE_PS, 8);
	assert_int_equal(go(ACCESS_READ), 0);
	assert_int_equal(to.v, 0x3c0000000 | (GVA & 0x3fffffff));
	assert_int_equal(get(entry[1], 8) & (PTE_A | PTE_D), PTE_A);
}

/* The four pointers carry no rights, and nothing is set in them. */
static void test_pae(void **)
{
	begin(CR4_PAE, 0);
	c.cpl = 3;
	put(0x1008, 0x2000 | PTE_P, 8);
	put(0x2008, 0x3000 | PTE_P | PTE_U | PTE_W, 8);
	put(0x3008, PAGE | PTE_P | PTE_U | PTE_W, 8);
	assert_int_equal(go(ACCESS_WRITE), 0);
	assert_int_equal(to.v, PAGE | (GVA & 0xfff));
	assert_int_equal(get(0x1008, 8), 0x2000 | PTE_P);
	assert_int_equal(get(0x2008, 8) & (PTE_A | PTE_D), PTE_A);
	put(0x2008, get(0x2008, 8) & ~PTE_U, 8);
	assert_int_equal(go(ACCESS_WRITE), -EFAULT);
	assert_int_equal(fault.error, PFERR_P | PFERR_W | PFERR_U);
	/* CR3 has 27 bits of their address. */
	c.cr3 = 0x1020;
	put(0x1028, get(0x1008, 8), 8);
	put(0x1008, 0, 8);
	put(0x2008, get(0x2008, 8) | PTE_U, 8);
	assert_int_equal(go(ACCESS_WRITE), 0);
}

/* Entries of 32 bits; 4 MiB only with CR4.PSE, and then with eight more bits of an address. */
static void test_two_levels(void **)
{
	u32 directory = 0x1000 + (GVA >> 22) * 4, leaf = 0x4000 + (GVA >> 12 & 1023) * 4;

	begin(0, 0);
	put(directory, 0x4000 | PTE_P | PTE_W | PTE_PS, 4);
	put(leaf, PAGE | PTE_P | PTE_W, 4);
	assert_int_equal(go(ACCESS_WRITE), 0);
	assert_int_equal(to.v, PAGE | (GVA & 0xfff));
	assert_int_equal(get(directory, 4) & (PTE_A | PTE_D), PTE_A);
	assert_int_equal(get(leaf, 4) & (PTE_A | PTE_D), PTE_A | PTE_D);
	put(leaf, PAGE | PTE_P, 4);
	assert_int_equal(go(ACCESS_WRITE), -EFAULT);
	c.cr4 = CR4_PSE;
	put(directory, 0x12400000 | 0xdau << 13 | PTE_P | PTE_W | PTE_PS, 4);
	assert_int_equal(go(ACCESS_WRITE), 0);
	assert_int_equal(to.v, 0xda12400000 | (GVA & 0x3fffff));
	assert_int_equal(get(directory, 4) & (PTE_A | PTE_D), PTE_A | PTE_D);
	c.cr0 &= ~CR0_PG;
	assert_int_equal(go(ACCESS_WRITE), 0);
	assert_int_equal(to.v, GVA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights), cmocka_unit_test(test_debug),
		cmocka_unit_test(test_absent), cmocka_unit_test(test_large),
		cmocka_unit_test(test_pae),    cmocka_unit_test(test_two_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Every MSR number of the architectural ranges, and some beyond: each is read
 * and written with 0 and with ones. It answers or raises #GP(0), never anything
 * else; what #GP refuses changes no register; what was there is put back.
 */
#include "apic.h"
#include "tiny.h"

#define MSR_GS_BASE 0xc0000101 /* the runtime's own */

/* clang-format off */
static const struct {
	u32 first;
	u32 last;
} ranges[] = {
	{ 0, 0x1fff },           { 0xc0000000, 0xc0001fff }, { 0xc0010000, 0xc0011fff },
	{ 0x40000000, 0x400000ff },
	{ 0x4b564cf0, 0x4b564d0f }, { 0x2000, 0x200f },      { 0xc0002000, 0xc000200f },
	{ 0xbffffff0, 0xbfffffff },
	{ 0xc0012000, 0xc001200f }, { 0x7ffffff0, 0x8000000f }, { 0xfffffff0, 0xffffffff },
};
/* clang-format on */

/* Present on every x86-64 CPU, whoever made it. */
static const u32 must[] = { 0x10,       0x1b,       0xfe,       0x174,      0x175,      0x176,
			    0x277,      0x2ff,      0xc0000080, 0xc0000081, 0xc0000082, 0xc0000083,
			    0xc0000084, 0xc0000100, 0xc0000101, 0xc0000102 };

/*
 * Of features that no guest is shown: x2APIC while the APIC is in xAPIC mode, VMX, SVM, Hyper-V,
 * power limits, counters.
 */
static const struct {
	u32 first;
	u32 last;
} must_not[] = {
	{ 0x800, 0x8ff },           { 0x480, 0x4ff }, { 0xc0010114, 0xc001011b },
	{ 0x40000000, 0x400000ff }, { 0x606, 0x6df }, { 0xc1, 0xc8 },
	{ 0x186, 0x18d },           { 0x38d, 0x390 }, { 0xc0010200, 0xc001020b },
	{ 0x2000, 0x200f },
};

/* AMD's performance counters, which no CPUID bit announces: there, but they count nothing. */
#define AMD_COUNTERS 0xc0010000u

static bool plausible(int trap)
{
	return trap == NO_TRAP || (trap == VEC_GP && this_cpu()->trap_error == 0);
}

static unsigned answered, refused;

/* RDX:RAX stay as they were when the read is refused. */
static int read(u32 msr, u64 *value)
{
	u32 lo = 0x5a5a1234, hi = 0xa5a54321;
	int trap = TRY("rdmsr", O("+a"(lo), "+d"(hi)), O("c"(msr)));

	if (!plausible(trap) || (trap != NO_TRAP && (lo != 0x5a5a1234 || hi != 0xa5a54321)))
		check(false, "RDMSR %#x: vector %d, error %#lx, EAX %#x, EDX %#x", msr, trap,
		      (u64)this_cpu()->trap_error, lo, hi);
	*value = (u64)hi << 32 | lo;
	return trap;
}

static void write(u32 msr, u64 value)
{
	int trap = try_wrmsr(msr, value);

	if (!plausible(trap))
		check(false, "WRMSR %#x with %#lx: vector %d", msr, value, trap);
}

static void one(u32 msr)
{
	u64 old, now;
	bool readable = read(msr, &old) == NO_TRAP;

	answered += readable;
	refused += !readable;
	if (msr == MSR_GS_BASE)
		return;
	write(msr, ~0ull);
	write(msr, 0);
	if (!readable)
		return;
	write(msr, old);
	/* Still there, and the same but for the clock. */
	if (read(msr, &now) != NO_TRAP || (now != old && msr != 0x10))
		check(false, "MSR %#x was %#lx, is %#lx", msr, old, now);
}

/*
 * IA32_SPEC_CTRL, which exits may switch: IBRS, STIBP, both, and none, across exits of several
 * kinds.
 */
static void test_spec_ctrl(void)
{
	u64 value;

	if (read(0x48, &value) != NO_TRAP)
		return;
	check(!value, "IA32_SPEC_CTRL begins with 0, not %#lx", value);
	for (u64 bits = 4; bits--;) {
		check(try_wrmsr(0x48, bits) == NO_TRAP, "IA32_SPEC_CTRL takes %#lx", bits);
		for (unsigned i = 0; i < 300; i++) {
			(void)cpuid(0, 0);
			(void)inb(0x4d0);
			if (read(0x48, &value) != NO_TRAP || value != bits) {
				check(false, "IA32_SPEC_CTRL was %#lx, is %#lx after exit %u", bits,
				      value, i);
				return;
			}
		}
	}
	print("tiny: msr: IA32_SPEC_CTRL");
}

void test_main(void)
{
	u64 value;

	test_spec_ctrl();
	for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++)
		for (u32 msr = ranges[i].first;; msr++) {
			one(msr);
			if (msr == ranges[i].last)
				break;
		}
	print("tiny: msr: %u answered, %u refused", answered, refused);
	check(answered > 20 && refused > 20000, "%u answered, %u refused", answered, refused);
	for (unsigned i = 0; i < ARRAY_SIZE(must); i++)
		check(read(must[i], &value) == NO_TRAP, "MSR %#x exists", must[i]);
	for (u32 msr = AMD_COUNTERS; msr < AMD_COUNTERS + 8; msr++) {
		int trap = try_wrmsr(msr, 0x530076), want = is_amd() ? NO_TRAP : VEC_GP;

		check(trap == want && read(msr, &value) == want && (want == VEC_GP || !value),
		      "MSR %#x: vector %d, %#lx", msr, trap, value);
	}
	/* The first are x2APIC mode's. */
	for (unsigned i = x2apic_on(); i < ARRAY_SIZE(must_not); i++)
		for (u32 msr = must_not[i].first; msr <= must_not[i].last; msr++)
			check(read(msr, &value) == VEC_GP,
			      "MSR %#x does not exist, but reads as %#lx", msr, value);
}

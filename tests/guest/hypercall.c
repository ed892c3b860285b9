/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * VMCALL and VMMCALL with whatever in the registers: the host's own one is
 * answered with an error and changes RAX alone, from ring 3 with another one;
 * the other vendor's is undefined.
 */
#include "random.h"
#include "tiny.h"

#define ENOSYS_ 1000 /* include/margay/abi.h */
#define EPERM_ 1

struct regs {
	u64 a;
	u64 b;
	u64 c;
	u64 d;
	u64 si;
	u64 di;
	u64 r8;
};

static int call(bool amd, struct regs *r)
{
	register u64 r8 asm("r8") = r->r8;
	int trap;

	if (amd)
		trap = TRY("vmmcall",
			   O("+a"(r->a), "+b"(r->b), "+c"(r->c), "+d"(r->d), "+S"(r->si),
			     "+D"(r->di), "+r"(r8)), );
	else
		trap = TRY("vmcall",
			   O("+a"(r->a), "+b"(r->b), "+c"(r->c), "+d"(r->d), "+S"(r->si),
			     "+D"(r->di), "+r"(r8)), );
	r->r8 = r8;
	return trap;
}

static u64 seed = 0x9e3779b97f4a7c15;

static u64 any(void)
{
	return random64(&seed);
}

static void garbage(void *ring3)
{
	s64 want = ring3 ? -EPERM_ : -ENOSYS_;

	for (unsigned i = 0; i < 300; i++) {
		struct regs in = { i < 100 ? i : any(), any(), any(), any(), any(), any(), any() },
			    r = in;
		int trap = call(is_amd(), &r);

		check(trap == NO_TRAP && (s64)r.a == want, "call %#lx: vector %d, RAX %ld", in.a,
		      trap, (s64)r.a);
		check(r.b == in.b && r.c == in.c && r.d == in.d && r.si == in.si && r.di == in.di &&
			      r.r8 == in.r8,
		      "call %#lx changed another register", in.a);
	}
}

void test_main(void)
{
	struct regs r = { 0 };

	/*
	 * On SVM KVM, which takes each #UD of its guests' guests, makes it the host's own one
	 * there, in memory.
	 */
	if (!on_kvm() || !is_amd())
		check(call(!is_amd(), &r) == VEC_UD, "the other vendor's call is undefined");
	garbage(NULL);
	check(user_run(garbage, &r) == NO_TRAP, "ring 3 came to its end");
}

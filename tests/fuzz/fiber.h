/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks of their own on one thread, switched by hand: what lets several
 * CPUs' work run interleaved, the same way every time. Tells ASan about it.
 */
#ifndef TESTS_FIBER_H
#define TESTS_FIBER_H

#include <margay/types.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define FIBER_STACK KIB(256)

struct fiber {
	void *sp;
	const void *bottom; /* of its stack; the thread's own is learnt at the first switch */
	size_t size;
	void *asan;         /* ASan's fake stack while it is switched away */
};

/* Saves the callee-saved registers (System V ABI) on this stack and takes them from the other. */
void fiber_swap(void **save, void *load);
asm(".text\n"
    "fiber_swap:\n"
    "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	mov %rsp, (%rdi)\n"
    "	mov %rsi, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
    "	ret\n");

/* The fiber that was left last; only valid right after a switch. */
static struct fiber *fiber_left;

static inline void fiber_arrived(struct fiber *self)
{
#ifdef FIBER_ASAN
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(self->asan, &bottom, &size);
	if (!fiber_left->bottom) {
		fiber_left->bottom = bottom;
		fiber_left->size = size;
	}
#else
	(void)self;
#endif
}

/* Back when somebody switches to `from` again. last: nobody will, its stack is given up. */
static inline void fiber_switch(struct fiber *from, struct fiber *to, bool last)
{
	fiber_left = from;
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(last ? NULL : &from->asan, to->bottom, to->size);
#else
	(void)last;
#endif
	fiber_swap(&from->sp, to->sp);
	fiber_arrived(from);
}

/* Starts at entry(), which calls fiber_arrived() first and never returns. */
static inline void fiber_make(struct fiber *f, u8 *stack, void (*entry)(void))
{
	u64 *sp = (u64 *)(stack + FIBER_STACK);

#ifdef FIBER_ASAN
	/*
	 * A fiber that was given up left its frames' red zones here, and ASan takes unused stack
	 * for clean.
	 */
	__asan_unpoison_memory_region(stack, FIBER_STACK);
#endif
	*--sp = 0; /* entry() finds the stack as after a call */
	*--sp = (u64)entry;
	sp -= 6; /* registers */
	__builtin_memset(sp, 0, 6 * sizeof(*sp));
	*f = (struct fiber){ .sp = sp, .bottom = stack, .size = FIBER_STACK };
}

#endif

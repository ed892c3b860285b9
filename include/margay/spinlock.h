/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ticket lock: whoever waits gets it in the order of arrival, so that no CPU of
 * a far socket starves. Root mode runs with interrupts off wherever a lock is
 * held, so there is no irqsave variant. A lock's declaration names what it
 * guards.
 */
#ifndef MARGAY_SPINLOCK_H
#define MARGAY_SPINLOCK_H

#include <margay/types.h>

struct spinlock {
	union {
		struct {
			u16 next;  /* ticket that the next one who comes draws */
			/* ticket whose turn it is; the same as next: nobody has the lock */
			u16 owner;
		};
		u32 both;
	};
};

/* lib/spinlock.c, for the image: the same, not inline. */
void spin_lock_call(struct spinlock *l);

static inline void spin_lock_inline(struct spinlock *l)
{
	u16 ticket = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);

	while (__atomic_load_n(&l->owner, __ATOMIC_ACQUIRE) != ticket)
		__builtin_ia32_pause();
}

static inline void spin_lock(struct spinlock *l)
{
	if (__STDC_HOSTED__)
		spin_lock_inline(l);
	else
		spin_lock_call(l);
}

/* Takes the lock where nobody has it and nobody waits for it. */
static inline bool spin_trylock(struct spinlock *l)
{
	struct spinlock seen = { .both = __atomic_load_n(&l->both, __ATOMIC_RELAXED) },
			taken = seen;

	taken.next++;
	if (seen.next != seen.owner ||
	    !__atomic_compare_exchange_n(&l->both, &seen.both, taken.both, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
#ifdef __SANITIZE_THREAD__
	/* To it this is a place of its own, to which nobody has written. */
	__atomic_load_n(&l->owner, __ATOMIC_ACQUIRE);
#endif
	return true;
}

static inline void spin_unlock(struct spinlock *l)
{
#ifdef __SANITIZE_THREAD__
	/* It does not see into what stands below. */
	__atomic_fetch_add(&l->owner, 1, __ATOMIC_RELEASE);
#else
	/* Only the holder writes it: one instruction, and the CPU's stores are seen in order. */
	asm volatile("incw %0" : "+m"(l->owner) : : "memory");
#endif
}

#endif

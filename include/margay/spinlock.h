/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ticketless test-and-set spinlock. Root mode runs with interrupts off
 * wherever a lock is held, so there is no irqsave variant. A lock's
 * declaration names what it guards.
 */
#ifndef MARGAY_SPINLOCK_H
#define MARGAY_SPINLOCK_H

#include <margay/types.h>

struct spinlock {
	u32 locked;
};

/* kernel/spinlock.c: the same, not inline. */
void spin_lock_call(struct spinlock *l);

static inline void spin_lock_inline(struct spinlock *l)
{
	while (__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&l->locked, __ATOMIC_RELAXED))
			__builtin_ia32_pause();
}

static inline void spin_lock(struct spinlock *l)
{
	if (IS_ENABLED(CONFIG_OPTIMIZE_SIZE))
		spin_lock_call(l);
	else
		spin_lock_inline(l);
}

static inline bool spin_trylock(struct spinlock *l)
{
	return !__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_unlock(struct spinlock *l)
{
	__atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
}

#endif

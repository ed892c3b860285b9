/* SPDX-License-Identifier: GPL-2.0-only */
/* A call takes less room than the lock's code at each place. */
#include <margay/spinlock.h>

void spin_lock_call(struct spinlock *l)
{
	spin_lock_inline(l);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/* The lock by threads: nobody is in with another, and who came first is served first. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <margay/spinlock.h>

#define THREADS 4
#define COUNTERS 2 /* as many as run at once: a ticket may wait for a thread that does not */
#define ROUNDS 1000000

static struct {
	struct spinlock lock;
	u32 behind;
} both;
#define lock both.lock
static pthread_barrier_t start_line;
static unsigned inside, total, order[THREADS], arrived; /* under the lock */

static void *count(void *)
{
	pthread_barrier_wait(&start_line);
	for (unsigned i = 0; i < ROUNDS; i++) {
		while (i % 3 == 2 && !spin_trylock(&lock))
			sched_yield();
		if (i % 3 != 2)
			spin_lock(&lock);
		total += ++inside;
		inside--;
		spin_unlock(&lock);
	}
	return NULL;
}

/* Two at once would lose a count, or find the other inside. */
static void test_exclusion(void **)
{
	pthread_t thread[COUNTERS];

	assert_int_equal(pthread_barrier_init(&start_line, NULL, COUNTERS), 0);
	for (unsigned i = 0; i < COUNTERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
	for (unsigned i = 0; i < COUNTERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(total, COUNTERS * ROUNDS);
	assert_int_equal(lock.next, lock.owner);
}

static void *wait_once(void *arg)
{
	spin_lock(&lock);
	order[arrived++] = (unsigned)(uintptr_t)arg;
	spin_unlock(&lock);
	return NULL;
}

/*
 * Each comes when the one before waits already; all wait while the lock is held. At all places
 * where tickets begin anew.
 */
static void test_order(void **)
{
	pthread_t thread[THREADS];

	for (unsigned start = 65530; start <= 65536; start++) {
		arrived = 0;
		lock = (struct spinlock){ .next = (u16)start, .owner = (u16)start };
		spin_lock(&lock);
		for (unsigned i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_create(&thread[i], NULL, wait_once,
							(void *)(uintptr_t)i),
					 0);
			while (__atomic_load_n(&lock.next, __ATOMIC_RELAXED) !=
			       (u16)(start + 2 + i))
				sched_yield();
		}
		/* Neither holder nor queue is passed by. */
		assert_false(spin_trylock(&lock));
		spin_unlock(&lock);
		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(thread[i], NULL), 0);
		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(order[i], i);
		assert_true(spin_trylock(&lock));
		assert_false(spin_trylock(&lock));
		spin_unlock(&lock);
		assert_int_equal(lock.next, lock.owner);
		assert_int_equal(both.behind, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

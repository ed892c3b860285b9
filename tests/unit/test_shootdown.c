/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/shootdown.c vmm/memory/vm_domain.c arch/x86_64/stage2/find.c arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c */
/*
 * vCPUs as threads with a TLB each, which "the hardware" fills by walking the
 * tables and only flush_stage2() empties. They take pages away from each other
 * all the time; no access may reach a page after its vm_unmap() has returned.
 * The same without the flush must be seen to fail. Threads may miss a waiter
 * that does not wait: the tests with one late vCPU do not.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "tests/unit/stage2_walk.h"
#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/vm_parts.h"

#define VCPUS 3
#define PAGES 16 /* guest pages, one per table, so that tables come and go too */
#define FRAMES 32 /* what they are mapped to */
#define CHANGES 150
#define STRIDE MIB(2)

static struct vm_parts parts;
static struct vcpu vcpus[VCPUS], *by_id[VCPUS];
static u64 tlb[VCPUS][PAGES]; /* frame + 1; 0: not cached */
static u32 kicked[VCPUS];
static unsigned owner[FRAMES]; /* the page that it may be reached by, + 1; 0: free; atomic */
/* accesses to a frame by a page that it no longer belongs to; atomic */
static unsigned stale;
static bool leave_out_flush;
static pthread_barrier_t all_joined;

static void flush(struct vcpu *vcpu)
{
	if (!leave_out_flush)
		memset(tlb[vcpu->id], 0, sizeof(tlb[vcpu->id]));
}

static const struct hvm_ops ops = { .flush_stage2 = flush };
const struct hvm_ops *hvm = &ops;

void vcpu_kick(struct vcpu *vcpu)
{
	__atomic_store_n(&kicked[vcpu->id], 1, __ATOMIC_SEQ_CST);
}

/* for tests of one thread: what the others do; NULL: they are threads */
static void (*while_waiting)(void);
static u64 now; /* TSC of these tests */

u64 host_tsc(void)
{
	if (!while_waiting)
		return __builtin_ia32_rdtsc();
	while_waiting();
	return now += 1000000;
}

u64 host_tsc_khz(void)
{
	return 2000000;
}

void host_panic(const char *, ...)
{
	abort();
}

void host_log(const char *, ...) { }

bool vm_end(struct vm *vm, enum vm_end why)
{
	if (!while_waiting)
		abort();
	vm->end = why;
	return true;
}

static void *page_alloc(int)
{
	return memset(aligned_alloc(4096, 4096), 0, 4096);
}

static u64 to_hpa(const void *page)
{
	return (u64)(uintptr_t)page;
}

static void *to_virt(u64 pa)
{
	return (void *)(uintptr_t)pa;
}

static const struct stage2_mem mem = { page_alloc, free, to_hpa, to_virt };

/* Guest mode: accesses until somebody kicks, or for a while. */
static void enter(struct vcpu *vcpu, unsigned *seed)
{
	u64 *cached = tlb[vcpu->id];

	for (unsigned i = 0; i < 200 && !__atomic_load_n(&kicked[vcpu->id], __ATOMIC_SEQ_CST);
	     i++) {
		unsigned page = (unsigned)rand_r(seed) % PAGES;
		struct stage2_mapping m;

		if (!cached[page] && stage2_lookup(&parts.stage2, page * STRIDE, &m) == 0)
			cached[page] = m.hpa / PAGE_SIZE + 1;
		if (cached[page] &&
		    __atomic_load_n(&owner[cached[page] - 1], __ATOMIC_SEQ_CST) != page + 1)
			__atomic_add_fetch(&stale, 1, __ATOMIC_RELAXED);
	}
}

/* An exit that moves a page to another frame. */
static void move_page(struct vcpu *vcpu, unsigned *seed)
{
	unsigned page = (unsigned)rand_r(seed) % PAGES, frame = (unsigned)rand_r(seed) % FRAMES;
	struct stage2_mapping m;

	vm_stage2_lock(vcpu);
	if (stage2_lookup(&parts.stage2, page * STRIDE, &m) == 0) {
		assert_int_equal(vm_unmap(vcpu, gpa(page * STRIDE), PAGE_SIZE), 0);
		__atomic_store_n(&owner[m.hpa / PAGE_SIZE], 0, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&owner[frame], __ATOMIC_SEQ_CST))
		frame = (frame + 1) % FRAMES;
	__atomic_store_n(&owner[frame], page + 1, __ATOMIC_SEQ_CST);
	assert_int_equal(vm_map(&parts.vm, gpa(page * STRIDE), hpa(frame * PAGE_SIZE), PAGE_SIZE,
				STAGE2_RWX, MEMTYPE_WB),
			 0);
	vm_stage2_unlock(&parts.vm);
}

static void *run(void *arg)
{
	struct vcpu *vcpu = arg;
	unsigned seed = 20261121 + vcpu->id;

	shootdown_join(vcpu);
	pthread_barrier_wait(&all_joined);
	for (unsigned changes = 0; changes < CHANGES; changes++) {
		/*
		 * Absent for a moment: nobody waits for it, and it comes back with nothing cached.
		 */
		if (changes % 16 == 0) {
			shootdown_leave(vcpu);
			flush(vcpu);
			shootdown_join(vcpu);
		}
		for (unsigned entries = 0; entries < 4; entries++) {
			__atomic_exchange_n(&kicked[vcpu->id], 0, __ATOMIC_SEQ_CST);
			shootdown_note(vcpu);
			enter(vcpu, &seed);
		}
		move_page(vcpu, &seed);
	}
	shootdown_leave(vcpu);
	return NULL;
}

static unsigned stale_accesses(bool without_flush)
{
	pthread_t thread[VCPUS];

	memset(&parts, 0, sizeof(parts));
	memset(vcpus, 0, sizeof(vcpus));
	memset(tlb, 0, sizeof(tlb));
	memset(owner, 0, sizeof(owner));
	stale = 0;
	leave_out_flush = without_flush;
	parts.vm.nr_vcpus = VCPUS;
	parts.vm.vcpus = by_id;
	assert_int_equal(pthread_barrier_init(&all_joined, NULL, VCPUS), 0);
	for (unsigned i = 0; i < VCPUS; i++) {
		by_id[i] = &vcpus[i];
		vcpus[i].vm = &parts.vm;
		vcpus[i].id = i;
		vcpus[i].stage2_seen = STAGE2_ABSENT;
	}
	assert_int_equal(stage2_init(&parts.stage2, &ept_format, &mem, LEAF_2M, -1), 0);
	for (unsigned i = 0; i < VCPUS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, &vcpus[i]), 0);
	for (unsigned i = 0; i < VCPUS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&all_joined);
	assert_true(parts.vm.stage2_count > CHANGES);
	assert_null(parts.stage2.retired);
	stage2_destroy(&parts.stage2);
	return stale;
}

/* ---- in one thread, so that nothing depends on who is faster ---- */

#define POLLS 100 /* that the late one lets pass */

static unsigned late; /* vCPU */
static unsigned polls;
static unsigned end_at; /* of these, when another ends the VM; 0: nobody */
static bool never;

/* All have joined; a page of each table is mapped. */
static void setup_joined(void)
{
	memset(&parts, 0, sizeof(parts));
	memset(vcpus, 0, sizeof(vcpus));
	memset(kicked, 0, sizeof(kicked));
	leave_out_flush = false;
	parts.vm.nr_vcpus = VCPUS;
	parts.vm.vcpus = by_id;
	for (unsigned i = 0; i < VCPUS; i++) {
		by_id[i] = &vcpus[i];
		vcpus[i] = (struct vcpu){ .vm = &parts.vm, .id = i, .stage2_seen = STAGE2_ABSENT };
		shootdown_join(&vcpus[i]);
	}
	assert_int_equal(stage2_init(&parts.stage2, &ept_format, &mem, LEAF_2M, -1), 0);
	for (u64 page = 0; page < PAGES; page++)
		assert_int_equal(vm_map(&parts.vm, gpa(page * STRIDE), hpa(page * PAGE_SIZE),
					PAGE_SIZE, STAGE2_RWX, MEMTYPE_WB),
				 0);
	polls = 0;
	now = 0;
}

/* Whoever was kicked answers at once, but for the late one; meanwhile nothing may be freed. */
static void others_answer(void)
{
	polls++;
	if (polls == end_at)
		parts.vm.end = VM_END_STOPPED;
	assert_non_null(parts.stage2.retired);
	for (unsigned i = 1; i < VCPUS; i++)
		if (kicked[i] && (i != late || (!never && polls > POLLS)))
			shootdown_note(&vcpus[i]);
}

/* vm_unmap() by vCPU 0 of a page with a table of its own. False: its VM has ended instead. */
static bool unmap_ends(u64 page)
{
	while_waiting = others_answer;
	vm_stage2_lock(&vcpus[0]);
	assert_int_equal(vm_unmap(&vcpus[0], gpa(page * STRIDE), PAGE_SIZE), 0);
	while_waiting = NULL;
	vm_stage2_unlock(&parts.vm);
	return parts.vm.end == VM_RUNNING;
}

static void each_is_waited_for(void **)
{
	never = false;
	for (late = 1; late < VCPUS; late++) {
		setup_joined();
		/* Twice: the note of an earlier change is no answer. */
		for (u64 page = 0; page < 2; page++, polls = 0) {
			assert_true(unmap_ends(page));
			assert_true(polls > POLLS);
			assert_int_equal(vcpus[late].stage2_seen, page + 1);
			assert_null(parts.stage2.retired);
		}
		stage2_destroy(&parts.stage2);
	}
}

/* It ends the VM at last, or another does before; nothing is given back then either. */
static void one_never_answers(void **)
{
	never = true;
	for (late = 1; late < VCPUS; late++) {
		setup_joined();
		end_at = late == 1 ? POLLS : 0;
		assert_false(unmap_ends(0));
		assert_int_equal(parts.vm.end, end_at ? VM_END_STOPPED : VM_END_CRASH);
		assert_int_equal(now >= VM_ANSWER_SECONDS * 2000000ull * 1000, !end_at);
		assert_int_equal(vcpus[late].stage2_seen, 0);
		assert_non_null(parts.stage2.retired);
		for (unsigned i = 1; i < VCPUS; i++)
			assert_int_equal(kicked[i], 1);
		stage2_destroy(&parts.stage2);
	}
}

/* ---- a VM whose PCI functions reach its memory ---- */

static char domain_log[400];
static int domain_says;
static u64 forbidden; /* host-physical page that no VM may have; 0: none */
static bool asked_for_ram;

bool host_may_map(hpa_t pa, u64 size, bool ram)
{
	asked_for_ram = ram;
	return !forbidden || pa.v + size <= forbidden || pa.v > forbidden;
}

static bool stage2_first; /* its second-level mapping was gone by then */

int host_iommu_map(struct host_iommu *d, u64 at, hpa_t pa, u64 size)
{
	size_t used = strlen(domain_log);

	assert_ptr_equal(d, &domain_log);
	snprintf(domain_log + used, sizeof(domain_log) - used, "%#llx is %#llx+%#llx; ",
		 (unsigned long long)at, (unsigned long long)pa.v, (unsigned long long)size);
	return domain_says;
}

int host_iommu_unmap(struct host_iommu *d, u64 at, u64 size)
{
	size_t used = strlen(domain_log);
	struct stage2_mapping m;

	assert_ptr_equal(d, &domain_log);
	stage2_first = stage2_first || stage2_lookup(&parts.stage2, MIB(4), &m);
	snprintf(domain_log + used, sizeof(domain_log) - used, "not %#llx+%#llx; ",
		 (unsigned long long)at, (unsigned long long)size);
	return domain_says;
}

static void expect_domain(const char *text)
{
	assert_string_equal(domain_log, text);
	domain_log[0] = '\0';
}

/*
 * What is taken from its CPUs is taken from them, and what is given is given, by the addresses of
 * their mode; no registers are.
 */
static void functions_reach_the_same(void **)
{
	static const struct {
		enum vm_dma dma;
		const char *given;
		const char *taken;
	} modes[] = {
		{ VM_DMA_IOMMU, "0x400000 is 0x80000000+0x400000; 0x800000 is 0x90001000+0x1000; ",
		  "not 0x400000+0x400000; not 0x800000+0x1000; " },
		{ VM_DMA_IDENTITY,
		  "0x400000 is 0x80000000+0x400000; 0x800000 is 0x90001000+0x1000; ",
		  "not 0x400000+0x400000; not 0x800000+0x1000; " },
		{ VM_DMA_WINDOW,
		  "0x80000000 is 0x80000000+0x400000; 0x90001000 is 0x90001000+0x1000; ",
		  "not 0x80000000+0x400000; not 0x90001000+0x1000; " },
	};
	struct vm_config config = { .dma = VM_DMA_IOMMU };
	struct stage2_mapping m;

	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		setup_joined();
		assert_int_equal(stage2_unmap(&parts.stage2, 0, GIB(1)), 0);
		for (unsigned v = 0; v < VCPUS; v++)
			shootdown_leave(&vcpus[v]);
		parts.vm.config = &config;
		parts.domain = (struct host_iommu *)&domain_log;
		config.dma = modes[i].dma;
		stage2_first = false;
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(4)), hpa(GIB(2)), MIB(4), STAGE2_RWX,
					MEMTYPE_WB),
				 0);
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(8)), hpa(0x90001000), PAGE_SIZE,
					STAGE2_RWX, MEMTYPE_WB),
				 0);
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(8) + PAGE_SIZE), hpa(0x90002000),
					PAGE_SIZE, STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS),
				 0);
		expect_domain(modes[i].given);
		/* One that is mapped already is no function's either. */
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(8)), hpa(0), PAGE_SIZE, STAGE2_RWX,
					MEMTYPE_WB),
				 -EEXIST);
		expect_domain("");
		assert_int_equal(vm_unmap(&vcpus[0], gpa(MIB(2)), MIB(16)), 0);
		expect_domain(modes[i].taken);
		assert_false(stage2_first);
		assert_int_equal(stage2_lookup(&parts.stage2, MIB(4), &m), -ENOENT);
		assert_int_equal(parts.stage2.leaves[LEAF_4K] + parts.stage2.leaves[LEAF_2M], 0);
		/* Only so much as is asked for, also of a large leaf. */
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(4)), hpa(GIB(2)), MIB(4), STAGE2_RWX,
					MEMTYPE_WB),
				 0);
		domain_log[0] = '\0';
		assert_int_equal(vm_unmap(&vcpus[0], gpa(MIB(4) + PAGE_SIZE), MIB(2)), 0);
		expect_domain(modes[i].dma == VM_DMA_WINDOW ? "not 0x80001000+0x200000; "
							    : "not 0x401000+0x200000; ");
		/* What only the CPUs shall lose. */
		domain_log[0] = '\0';
		assert_int_equal(vm_unmap_for_cpus(&vcpus[0], gpa(MIB(7) + PAGE_SIZE), PAGE_SIZE),
				 0);
		expect_domain("");
		assert_int_equal(stage2_lookup(&parts.stage2, MIB(7) + PAGE_SIZE, &m), -ENOENT);
		/*
		 * An IOMMU that does not answer: the CPUs have lost it, and the caller hears that
		 * functions may not have.
		 */
		domain_says = -EIO;
		assert_int_equal(vm_unmap(&vcpus[0], gpa(MIB(7)), PAGE_SIZE), -EIO);
		assert_int_equal(stage2_lookup(&parts.stage2, MIB(7), &m), -ENOENT);
		assert_int_equal(vm_map(&parts.vm, gpa(MIB(32)), hpa(GIB(3)), PAGE_SIZE, STAGE2_RWX,
					MEMTYPE_WB),
				 -EIO);
		domain_says = 0;
		domain_log[0] = '\0';
		/* Without a domain nobody is asked. */
		parts.domain = NULL;
		assert_int_equal(vm_unmap(&vcpus[0], gpa(MIB(4)), MIB(4)), 0);
		expect_domain("");
		stage2_destroy(&parts.stage2);
	}
}

/* What a VM may not have is in none of its tables, whatever it is said to be. */
static void not_to_be_had(void **)
{
	struct vm_config config = { .dma = VM_DMA_IOMMU };
	struct stage2_mapping m;

	setup_joined();
	assert_int_equal(stage2_unmap(&parts.stage2, 0, GIB(1)), 0);
	parts.vm.config = &config;
	parts.domain = (struct host_iommu *)&domain_log;
	forbidden = 0xffc01000;
	assert_int_equal(vm_map(&parts.vm, gpa(MIB(4)), hpa(0xffc00000), MIB(4),
				STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS),
			 -EPERM);
	assert_false(asked_for_ram);
	assert_int_equal(vm_map(&parts.vm, gpa(MIB(4)), hpa(0xffc00000), MIB(4), STAGE2_RWX,
				MEMTYPE_WB),
			 -EPERM);
	assert_true(asked_for_ram);
	assert_int_equal(vm_map_host(&parts.vm, gpa(MIB(4)), hpa(0xffc01000), PAGE_SIZE, STAGE2_RWX,
				     MEMTYPE_WB),
			 -EPERM);
	expect_domain("");
	assert_int_equal(stage2_lookup(&parts.stage2, MIB(4), &m), -ENOENT);
	assert_int_equal(vm_map(&parts.vm, gpa(MIB(4)), hpa(0xffc00000), PAGE_SIZE,
				STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS),
			 0);
	assert_int_equal(stage2_lookup(&parts.stage2, MIB(4), &m), 0);
	forbidden = 0;
	parts.domain = NULL;
	for (unsigned v = 0; v < VCPUS; v++)
		shootdown_leave(&vcpus[v]);
	stage2_destroy(&parts.stage2);
}

/* ---- as threads ---- */

static void no_stale_access(void **)
{
	assert_int_equal(stale_accesses(false), 0);
}

static void without_flush_it_fails(void **)
{
	assert_int_not_equal(stale_accesses(true), 0);
}

/* The waiter is alone: nobody else has joined, or everybody has left. */
static void absent_are_not_waited_for(void **)
{
	memset(&parts, 0, sizeof(parts));
	memset(vcpus, 0, sizeof(vcpus));
	memset(kicked, 0, sizeof(kicked));
	parts.vm.nr_vcpus = 2;
	parts.vm.vcpus = by_id;
	for (unsigned i = 0; i < 2; i++) {
		by_id[i] = &vcpus[i];
		vcpus[i] = (struct vcpu){ .vm = &parts.vm, .id = i, .stage2_seen = STAGE2_ABSENT };
	}
	assert_int_equal(stage2_init(&parts.stage2, &npt_format, &mem, LEAF_2M, -1), 0);
	shootdown_join(&vcpus[0]);
	vm_stage2_lock(&vcpus[0]);
	assert_int_equal(vm_unmap(&vcpus[0], gpa(0), PAGE_SIZE), 0);
	assert_int_equal(vm_unmap(&vcpus[0], gpa(1), PAGE_SIZE), -EINVAL);
	vm_stage2_unlock(&parts.vm);
	assert_int_equal(kicked[1], 0);
	/* One that is absent itself, as it serves a call, stays so. */
	shootdown_leave(&vcpus[0]);
	vm_stage2_lock(&vcpus[0]);
	assert_int_equal(vm_unmap(&vcpus[0], gpa(0), PAGE_SIZE), 0);
	vm_stage2_unlock(&parts.vm);
	assert_true(vcpus[0].stage2_seen == STAGE2_ABSENT);
	stage2_destroy(&parts.stage2);
}

static void *take_lock(void *vcpu)
{
	vm_stage2_lock(vcpu);
	vm_stage2_unlock(&parts.vm);
	return NULL;
}

static u64 cpu_ns(clockid_t clock)
{
	struct timespec t;

	assert_int_equal(clock_gettime(clock, &t), 0);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/*
 * Who has left stays absent, however long it had to wait for the lock while others took mappings
 * away.
 */
static void absent_waits_for_the_lock(void **)
{
	pthread_t thread;
	clockid_t clock;

	never = true;
	late = 1;
	setup_joined();
	shootdown_leave(&vcpus[1]);
	vm_stage2_lock(&vcpus[0]);
	while_waiting = others_answer;
	assert_int_equal(vm_unmap(&vcpus[0], gpa(0), PAGE_SIZE), 0);
	assert_int_equal(pthread_create(&thread, NULL, take_lock, &vcpus[1]), 0);
	/* It does nothing but to wait for the lock: of that it has done its share by then. */
	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	while (cpu_ns(clock) < 5000000)
		sched_yield();
	vm_stage2_unlock(&parts.vm);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(vcpus[1].stage2_seen == STAGE2_ABSENT);
	polls = 0;
	assert_true(unmap_ends(1));
	stage2_destroy(&parts.stage2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_waited_for),
		cmocka_unit_test(one_never_answers),
		cmocka_unit_test(functions_reach_the_same),
		cmocka_unit_test(not_to_be_had),
		cmocka_unit_test(no_stale_access),
		cmocka_unit_test(without_flush_it_fails),
		cmocka_unit_test(absent_are_not_waited_for),
		cmocka_unit_test(absent_waits_for_the_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

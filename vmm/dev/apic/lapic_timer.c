/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC timer (SDM vol. 3, 11.5.4): one-shot, periodic, TSC-deadline,
 * over one host timer per vCPU. The count is computed from the TSC when read;
 * a late period is skipped, never made up for.
 */
#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"

/* LVT timer mode, bits 18:17. */
enum { TIMER_ONE_SHOT = 0, TIMER_PERIODIC = 1, TIMER_DEADLINE = 2 };

/* Periods shorter than this would leave the guest no time between two of them. */
#define TIMER_MIN_PERIOD_US 20

static unsigned timer_mode(const struct lapic *l)
{
	return l->lvt[LAPIC_LVT(LAPIC_LVT_TIMER)] >> 17 & 3;
}

/* Divide configuration register: bits 3, 1, 0 (figure 11-10). */
static unsigned divide_shift(const struct lapic *l)
{
	return (((l->divide & 3) | (l->divide >> 1 & 4)) + 1) & 7;
}

/*
 * Neither product overflows: 2^32 counts, divided by at most 2^7, at a TSC
 * below 2^24 kHz (16 GHz), make less than 2^63; the clock is at least 1 kHz.
 */
static u64 count_to_tsc(const struct lapic *l, u32 count)
{
	return ((u64)count << divide_shift(l)) * host_tsc_khz() / (LAPIC_TIMER_HZ / 1000);
}

static u32 tsc_to_count(const struct lapic *l, u64 cycles)
{
	u64 count = cycles * (LAPIC_TIMER_HZ / 1000) / host_tsc_khz() >> divide_shift(l);

	return (u32)MAX(MIN(count, (u64)~0u), 1u);
}

static void start_count(struct lapic *l, u32 count)
{
	l->timer_start = host_tsc();
	l->timer_period = count_to_tsc(l, count);
	if (l->timer_period)
		host_timer_arm(&l->timer, l->timer_start + l->timer_period);
	else
		host_timer_cancel(&l->timer);
}

/* Inlined it costs the other modes registers; as a call it costs the smallest image bytes. */
#if IS_ENABLED(CONFIG_OPTIMIZE_SIZE)
#define NEXT_PERIOD static inline
#else
#define NEXT_PERIOD static noinline
#endif

/* Those that are over in the meantime are left out. */
NEXT_PERIOD void next_period(struct lapic *l)
{
	u64 due = l->timer_start + l->timer_period;
	u64 late = host_tsc() - due;

	l->timer_period = MAX(l->timer_period, host_tsc_khz() * TIMER_MIN_PERIOD_US / 1000);
	l->timer_start = due + late / l->timer_period * l->timer_period;
	host_timer_arm(&l->timer, l->timer_start + l->timer_period);
}

static void timer_fired(struct host_timer *timer)
{
	struct lapic *l = container_of(timer, struct lapic, timer);

	switch (timer_mode(l)) {
	case TIMER_PERIODIC: next_period(l); break;
	case TIMER_ONE_SHOT: l->timer_period = 0; break;
	default: l->deadline = 0; break;
	}
	lapic_lvt_deliver(l, LAPIC_LVT_TIMER);
}

void lapic_timer_init(struct lapic *l)
{
	l->timer.fn = timer_fired;
}

void lapic_timer_stop(struct lapic *l)
{
	host_timer_cancel(&l->timer);
	l->timer_period = 0;
	l->deadline = 0;
}

void lapic_timer_set_initial(struct lapic *l, u32 count)
{
	if (timer_mode(l) == TIMER_DEADLINE)
		return;
	l->initial_count = count;
	start_count(l, count);
}

void lapic_timer_set_divide(struct lapic *l, u32 divide)
{
	u32 rest = lapic_timer_current(l);

	l->divide = divide;
	/*
	 * Nothing left of a count that still runs: it is over, and its interrupt comes with the
	 * next window.
	 */
	if (!l->timer_period || !rest)
		return;
	start_count(l, rest);
	/*
	 * A running period goes on with its rest; the next ones have the full count at the new
	 * rate.
	 */
	if (timer_mode(l) == TIMER_PERIODIC) {
		u64 end = l->timer_start + l->timer_period;

		l->timer_period = MAX(count_to_tsc(l, l->initial_count), l->timer_period);
		l->timer_start = end - l->timer_period;
	}
}

void lapic_timer_set_lvt(struct lapic *l, u32 lvt)
{
	u32 *entry = &l->lvt[LAPIC_LVT(LAPIC_LVT_TIMER)];
	bool was_deadline = timer_mode(l) == TIMER_DEADLINE;

	__atomic_store_n(entry, lvt, __ATOMIC_RELAXED);
	/* Entering or leaving deadline mode disarms (11.5.4.1). */
	if (was_deadline != (timer_mode(l) == TIMER_DEADLINE)) {
		lapic_timer_stop(l);
		l->initial_count = 0;
	}
}

u32 lapic_timer_current(const struct lapic *l)
{
	u64 elapsed;

	if (!l->timer_period)
		return 0;
	elapsed = host_tsc() - l->timer_start;
	if (elapsed >= l->timer_period) {
		/* Over, but its host timer has not been taken yet. */
		if (timer_mode(l) != TIMER_PERIODIC)
			return 0;
		elapsed %= l->timer_period;
	}
	return tsc_to_count(l, l->timer_period - elapsed);
}

void lapic_timer_pause(struct vcpu *vcpu, void *, bool paused)
{
	struct lapic *l = vcpu->lapic;
	u64 stood = (u64)(vcpu->tsc_offset - vcpu->vm->tsc_offset);

	if (vcpu->vm->config->clock != VM_CLOCK_FREEZE)
		return;
	if (paused) {
		l->timer_frozen = l->timer.armed;
		host_timer_cancel(&l->timer);
		return;
	}
	l->timer_start += stood;
	/* A deadline beyond the end of time stays there. */
	if (l->timer_frozen)
		host_timer_arm(&l->timer,
			       l->timer.deadline + MIN(stood, ~0ull - l->timer.deadline));
}

static int deadline_read(void *, struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->lapic->deadline;
	return 0;
}

static int deadline_write(void *, struct vcpu *vcpu, u32, u64 value)
{
	struct lapic *l = vcpu->lapic;
	u64 now, guest_now;

	if (!lapic_enabled(l) || timer_mode(l) != TIMER_DEADLINE)
		return 0; /* ignored in the other modes (11.5.4.1) */
	l->deadline = value;
	if (!value) {
		host_timer_cancel(&l->timer);
		return 0;
	}
	now = host_tsc();
	guest_now = vm_guest_tsc(vcpu->vm, now);
	if (value <= guest_now) {
		host_timer_cancel(&l->timer);
		timer_fired(&l->timer);
	} else {
		u64 wait = value - guest_now;

		host_timer_arm(&l->timer, wait > ~0ull - now ? ~0ull : now + wait);
	}
	return 0;
}

const struct msr_ops lapic_deadline_ops = { .read = deadline_read, .write = deadline_write };

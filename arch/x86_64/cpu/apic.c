/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's local APIC and the masked 8259s. SDM vol. 3, chapter 11; Intel 8259A data sheet. */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/trap.h"
#include "arch/x86_64/cpu/upcall.h"

/*
 * Register offsets of the xAPIC page; the x2APIC MSR is 0x800 + offset / 16 (SDM vol. 3, table
 * 11-6).
 */
enum apic_reg {
	APIC_ID = 0x20,
	APIC_VERSION = 0x30,
	APIC_TPR = 0x80,
	APIC_EOI = 0xb0,
	APIC_SVR = 0xf0,
	APIC_ICR_LOW = 0x300,
	APIC_ICR_HIGH = 0x310,
	APIC_LVT_TIMER = 0x320,
	APIC_LVT_THERMAL = 0x330,
	APIC_LVT_PMC = 0x340,
	APIC_LVT_LINT0 = 0x350,
	APIC_LVT_LINT1 = 0x360,
	APIC_LVT_ERROR = 0x370,
	APIC_TIMER_INITIAL = 0x380,
	APIC_TIMER_CURRENT = 0x390,
	APIC_TIMER_DIVIDE = 0x3e0,
};
#define SVR_ENABLE BIT(8)
#define LVT_MASKED (1u << 16)
#define LVT_MODE (7u << 8)
#define LVT_SMI (2u << 8)
#define LVT_NMI (4u << 8)
#define LVT_ACTIVE_LOW (1u << 13)
#define LVT_TIMER_DEADLINE (2u << 17)
#define DIVIDE_BY_1 0xb
#define ICR_NMI (4u << 8)
#define ICR_INIT (5u << 8)
#define ICR_STARTUP (6u << 8)
#define ICR_ASSERT (1u << 14)
#define ICR_PENDING (1u << 12)

#define XAPIC_BROADCAST 0xff
#define CALIBRATION_MS 10
#define CALIBRATION_SAMPLES 8

u32 apic_thermal;
static bool all_x2apic;
/* Of the calling CPU. */
#define in_x2apic (all_x2apic || (apic_mixed && rdmsr(MSR_APIC_BASE) & APIC_BASE_EXTD))
static volatile u8 *page; /* xAPIC registers */
static bool use_deadline;
u64 apic_tsc_khz;
static u64 count_rate_khz; /* one-shot mode */

static u32 reg_read(enum apic_reg reg)
{
	return in_x2apic ? (u32)rdmsr(MSR_X2APIC_FIRST + reg / 16) : mmio_read32(page + reg);
}

static void reg_write(enum apic_reg reg, u32 value)
{
	if (in_x2apic)
		wrmsr(MSR_X2APIC_FIRST + reg / 16, value);
	else
		mmio_write32(page + reg, value);
}

/* Moves the 8259s' vectors away from the exceptions, for spurious ones, and masks every input. */
static void mask_8259(void)
{
	static const u8 words[][2] = {
		{ 0x20, 0x11 },          { 0xa0, 0x11 },
		{ 0x21, VECTOR_LEGACY }, { 0xa1, VECTOR_LEGACY + 8 },
		{ 0x21, 0x04 },          { 0xa1, 0x02 },
		{ 0x21, 0x01 },          { 0xa1, 0x01 },
		{ 0x21, 0xff },          { 0xa1, 0xff },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		outb(words[i][0], words[i][1]);
}

void apic_init_cpu(void)
{
	u64 base = rdmsr(MSR_APIC_BASE) | APIC_BASE_EN;
	u32 max_lvt;

	/* From disabled to x2APIC only by way of xAPIC (SDM vol. 3, 11.12.5). */
	wrmsr(MSR_APIC_BASE, base);
	if (all_x2apic)
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_EXTD);
	max_lvt = reg_read(APIC_VERSION) >> 16 & 0xff;
	reg_write(APIC_LVT_TIMER, LVT_MASKED | VECTOR_TIMER);
	reg_write(APIC_LVT_LINT0, LVT_MASKED);
	if (max_lvt >= 3)
		reg_write(APIC_LVT_ERROR, LVT_MASKED | VECTOR_SPURIOUS);
	if (max_lvt >= 4)
		reg_write(APIC_LVT_PMC, LVT_MASKED);
	/*
	 * Where firmware looks after the heat by SMIs it goes on, on all CPUs: INIT has masked the
	 * others' entries.
	 */
	if (max_lvt >= 5 && !apic_thermal)
		apic_thermal = (reg_read(APIC_LVT_THERMAL) & (LVT_MODE | LVT_MASKED)) == LVT_SMI
				       ? LVT_SMI
				       : LVT_MASKED;
	reg_write(APIC_TPR, 0);
	reg_write(APIC_SVR, SVR_ENABLE | VECTOR_SPURIOUS);
	/*
	 * While the APIC is off, as after INIT, its entries stay masked whatever is written
	 * (11.4.7.2).
	 */
	if (max_lvt >= 5)
		reg_write(APIC_LVT_THERMAL, apic_thermal);
	/* What firmware left in service would block its priority class for ever. */
	for (unsigned i = 0; i < 8; i++)
		apic_eoi();
	upcall_local_nmis();
}

int apic_init(u32 highest_id, bool x2apic)
{
	u64 base = rdmsr(MSR_APIC_BASE);

	mask_8259();
	/*
	 * What firmware switched on stays on, and an ID that xAPIC mode cannot name has no other
	 * way.
	 */
	all_x2apic = cpu_features.x2apic &&
		     (x2apic || base & APIC_BASE_EXTD || highest_id >= XAPIC_BROADCAST);
	if (!all_x2apic) {
		page = mmio_map(base & PTE_ADDR, PAGE_SIZE);
		if (!page)
			return -ENODEV;
	}
	apic_init_cpu();
	return 0;
}

void apic_local_nmi(unsigned lint, bool active_low)
{
	reg_write(lint ? APIC_LVT_LINT1 : APIC_LVT_LINT0,
		  LVT_NMI | (active_low ? LVT_ACTIVE_LOW : 0));
}

void apic_lead(u32 lvt, u8 vector)
{
	reg_write(lvt, vector ? vector : LVT_MASKED);
}

bool host_is_x2apic(void)
{
	return all_x2apic;
}

void host_counter_interrupt(u8 vector)
{
	reg_write(APIC_LVT_PMC, vector ? vector : LVT_MASKED);
}

u32 apic_id(void)
{
	u32 id = reg_read(APIC_ID);

	return in_x2apic ? id : id >> 24;
}

void apic_eoi(void)
{
	reg_write(APIC_EOI, 0);
}

void apic_send(u32 dest, u32 command)
{
	if (in_x2apic) {
		/*
		 * An x2APIC write orders nothing by itself (SDM vol. 3, 11.12.3): what the target
		 * shall find comes first.
		 */
		asm volatile("mfence; lfence" : : : "memory");
		wrmsr(MSR_X2APIC_FIRST + APIC_ICR_LOW / 16, (u64)dest << 32 | command);
		return;
	}
	while (reg_read(APIC_ICR_LOW) & ICR_PENDING)
		cpu_pause();
	reg_write(APIC_ICR_HIGH, dest << 24);
	reg_write(APIC_ICR_LOW, command);
}

void apic_send_nmi(u32 dest)
{
	apic_send(dest, ICR_ASSERT | ICR_NMI);
}

bool apic_can_reach(u32 dest)
{
	return in_x2apic || dest < XAPIC_BROADCAST;
}

void apic_send_init(u32 dest)
{
	apic_send(dest, ICR_ASSERT | ICR_INIT);
}

void apic_send_startup(u32 dest, u8 page_number)
{
	apic_send(dest, ICR_ASSERT | ICR_STARTUP | page_number);
}

/*
 * The counter and the TSC at one moment: the tightest of a few readings, so that an SMI spoils
 * none.
 */
static u32 sample_count(u64 *tsc)
{
	u64 best = ~0ull;
	u32 count = 0;

	for (unsigned i = 0; i < CALIBRATION_SAMPLES; i++) {
		u64 before = rdtsc_ordered();
		u32 now = reg_read(APIC_TIMER_CURRENT);
		u64 took = rdtsc_ordered() - before;

		if (took < best) {
			best = took;
			count = now;
			*tsc = before + took / 2;
		}
	}
	return count;
}

static void measure_count_rate(void)
{
	u64 start, end;
	u32 first, last;

	reg_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
	reg_write(APIC_TIMER_INITIAL, 0xffffffff);
	first = sample_count(&start);
	while (rdtsc() - start < apic_tsc_khz * CALIBRATION_MS)
		cpu_pause();
	last = sample_count(&end);
	reg_write(APIC_TIMER_INITIAL, 0);
	count_rate_khz = (u64)(first - last) * apic_tsc_khz / (end - start);
	if (!count_rate_khz)
		upcall_panic("local APIC: the timer does not count");
}

void apic_timer_init(u64 tsc_khz)
{
	apic_tsc_khz = tsc_khz;
	use_deadline = cpu_features.tsc_deadline;
	if (!use_deadline)
		measure_count_rate();
}

void apic_timer_init_cpu(void)
{
	if (use_deadline) {
		reg_write(APIC_LVT_TIMER, LVT_TIMER_DEADLINE | VECTOR_TIMER);
		/* Orders the LVT write before the first deadline (SDM vol. 3, 11.5.4.1). */
		asm volatile("mfence" : : : "memory");
		return;
	}
	reg_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
	reg_write(APIC_LVT_TIMER, VECTOR_TIMER);
}

void apic_timer_arm(u64 deadline)
{
	u64 now, delta, longest;

	if (use_deadline) {
		wrmsr(MSR_TSC_DEADLINE, deadline ? deadline : 1);
		return;
	}
	now = rdtsc();
	delta = deadline > now ? deadline - now : 0;
	longest = 0xffffffffull * apic_tsc_khz / count_rate_khz;
	delta = MIN(delta, MIN(longest, ~0ull / count_rate_khz - 1));
	reg_write(APIC_TIMER_INITIAL,
		  (u32)MIN(delta * count_rate_khz / apic_tsc_khz + 1, 0xffffffffull));
}

void apic_timer_stop(void)
{
	if (use_deadline)
		wrmsr(MSR_TSC_DEADLINE, 0);
	else
		reg_write(APIC_TIMER_INITIAL, 0);
}

const char *apic_timer_mode(void)
{
	return use_deadline ? "TSC deadline" : "one-shot";
}

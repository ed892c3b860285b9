/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's CMOS clock (Motorola MC146818A data sheet): the node's wall clock, moved by what this
 * guest has written, which nobody else sees and which its restarts leave alone, as a battery would.
 * It has no interrupt: the alarm's registers are memory, the interrupts' enable bits stay 0, and so
 * does register C.
 */
#include <margay/errno.h>
#include <margay/rtc.h>

#include "vmm/guest_platform.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define NS 1000000000ull
/* so long before an update the flag is set (table 6 of the data sheet) */
#define UIP_NS 244000u
#define FIRST_UPDATE (NS / 2) /* after its divider was released ("Divider control bits") */
#define STATUS_A_DIVIDER 0x70
#define DIVIDER_RUNS 0x20    /* for a crystal of 32,768 Hz */
#define RATE_1024_HZ 0x06
#define REGISTERS 128

/* ns by which a VM's CMOS clock is ahead of the node's wall clock. */
SLOT_OWN(u64, clock_moved);

struct rtc {
	struct spinlock lock; /* guards all below, and its VM's clock_moved */
	unsigned id;          /* the VM's */
	u8 index;
	u8 reg[REGISTERS];    /* those of the time only while it stands still */
};

static u64 time_now(const struct rtc *r)
{
	u64 tsc;

	return host_wall_clock(&tsc) + clock_moved[r->id];
}

static bool stands_still(const struct rtc *r)
{
	return r->reg[CMOS_STATUS_B] & STATUS_B_SET ||
	       (r->reg[CMOS_STATUS_A] & STATUS_A_DIVIDER) != DIVIDER_RUNS;
}

static bool is_time(u8 reg)
{
	return reg == GUEST_RTC_CENTURY ||
	       (reg < CMOS_STATUS_A && (reg >= CMOS_WEEKDAY || !(reg & 1)));
}

static u8 encode(const struct rtc *r, u64 value)
{
	return (u8)(r->reg[CMOS_STATUS_B] & STATUS_B_BINARY ? value : value / 10 << 4 | value % 10);
}

/* Seconds since 1970 as registers. */
static void put_time(struct rtc *r, u64 seconds)
{
	u64 days = seconds / 86400, hour = seconds / 3600 % 24;
	struct rtc_date date = rtc_date(days);
	bool half = !(r->reg[CMOS_STATUS_B] & STATUS_B_24H);

	r->reg[CMOS_SECOND] = encode(r, seconds % 60);
	r->reg[CMOS_MINUTE] = encode(r, seconds / 60 % 60);
	r->reg[CMOS_HOUR] =
		encode(r, half ? (hour + 11) % 12 + 1 : hour) | (half && hour >= 12 ? HOUR_PM : 0);
	r->reg[CMOS_WEEKDAY] = encode(r, (days + 4) % 7 + 1); /* Sunday is 1 */
	r->reg[CMOS_DAY] = encode(r, date.day);
	r->reg[CMOS_MONTH] = encode(r, date.month);
	r->reg[CMOS_YEAR] = encode(r, date.year % 100);
	r->reg[GUEST_RTC_CENTURY] = encode(r, date.year / 100);
}

/*
 * The clock goes on from what the registers say; where that is no date it goes on as if nothing had
 * been written.
 */
static void set_time(struct rtc *r, u64 fraction)
{
	const u8 *reg = r->reg;
	const struct rtc_registers date = {
		reg[CMOS_SECOND],       reg[CMOS_MINUTE],   reg[CMOS_HOUR],
		reg[CMOS_DAY],          reg[CMOS_MONTH],    reg[CMOS_YEAR],
		reg[GUEST_RTC_CENTURY], reg[CMOS_STATUS_B], true,
	};
	u64 seconds;

	if (!rtc_to_seconds(&date, &seconds) && seconds < ~0ull / NS)
		clock_moved[r->id] += seconds * NS + fraction - time_now(r);
}

static u8 read_reg(struct rtc *r, u8 reg)
{
	u64 now = time_now(r);

	if (stands_still(r))
		return r->reg[reg];
	if (is_time(reg))
		put_time(r, now / NS);
	return r->reg[reg] | (reg == CMOS_STATUS_A && now % NS >= NS - UIP_NS ? STATUS_A_UIP : 0);
}

static void write_reg(struct rtc *r, u8 reg, u8 value)
{
	bool stood = stands_still(r);
	u64 fraction = time_now(r) % NS;

	if (reg == CMOS_STATUS_C || reg == CMOS_STATUS_D)
		return;
	if (!stood && (is_time(reg) || reg == CMOS_STATUS_A || reg == CMOS_STATUS_B))
		put_time(r, time_now(r) / NS);
	if (reg == CMOS_STATUS_A) {
		value &= (u8)~STATUS_A_UIP;
		/* counts where this sets the clock going: the divider was held */
		fraction = FIRST_UPDATE;
	} else if (reg == CMOS_STATUS_B) {
		value &= STATUS_B_SET | STATUS_B_BINARY | STATUS_B_24H;
	}
	r->reg[reg] = value;
	if (!stands_still(r) && (stood || is_time(reg)))
		set_time(r, fraction);
}

static u32 rtc_read(void *dev, struct vcpu *, u16 offset, unsigned)
{
	struct rtc *r = dev;
	u8 value;

	if (offset == 0)
		return 0xff; /* the index can only be written */
	spin_lock(&r->lock);
	value = read_reg(r, r->index);
	spin_unlock(&r->lock);
	return value;
}

static void rtc_write(void *dev, struct vcpu *, u16 offset, unsigned, u32 value)
{
	struct rtc *r = dev;

	spin_lock(&r->lock);
	if (offset == 0)
		r->index = value % REGISTERS;
	else
		write_reg(r, r->index, (u8)value);
	spin_unlock(&r->lock);
}

static const struct pio_ops rtc_ops = { .sizes = 1, .read = rtc_read, .write = rtc_write };

static_assert(sizeof(struct rtc) <= PAGE_SIZE, "one page");
static_assert(CMOS_DATA == CMOS_INDEX + 1, "one range");

static int rtc_create(struct vm *vm, void **instance)
{
	struct rtc *r = *instance = host_pages_alloc(1, -1);

	if (!r)
		return host_no_memory(vm->name);
	r->id = vm->id;
	r->reg[CMOS_STATUS_A] = DIVIDER_RUNS | RATE_1024_HZ;
	r->reg[CMOS_STATUS_B] = STATUS_B_24H;
	r->reg[CMOS_STATUS_D] = 0x80; /* the battery is good */
	return vm_register_pio(vm, CMOS_INDEX, 2, &rtc_ops, r);
}

static const struct vdev rtc_vdev = { .create = rtc_create };
VDEV(rtc_vdev);

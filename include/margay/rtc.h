/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CMOS clock's ports and registers (Motorola MC146818A data sheet), and what they mean.
 * lib/rtc_time.c, pure
 */
#ifndef MARGAY_RTC_H
#define MARGAY_RTC_H

#include <margay/types.h>

/* The ports; bit 7 of the index masks NMI on old chipsets. */
enum { CMOS_INDEX = 0x70, CMOS_DATA = 0x71 };

enum cmos_reg {
	CMOS_SECOND = 0,
	CMOS_MINUTE = 2,
	CMOS_HOUR = 4,
	CMOS_WEEKDAY = 6,
	CMOS_DAY = 7,
	CMOS_MONTH = 8,
	CMOS_YEAR = 9,
	CMOS_STATUS_A = 10,
	CMOS_STATUS_B = 11,
	CMOS_STATUS_C = 12,
	CMOS_STATUS_D = 13
};
#define STATUS_A_UIP BIT(7)
#define STATUS_B_24H BIT(1)
#define STATUS_B_BINARY BIT(2)
#define STATUS_B_SET BIT(7)
#define HOUR_PM BIT(7)

struct rtc_registers {
	u8 second;
	u8 minute;
	u8 hour;
	u8 day;
	u8 month;
	u8 year;
	u8 century; /* only with has_century */
	u8 status_b; /* bit 1: 24 hours, bit 2: binary */
	bool has_century;
};

/*
 * Seconds since 1970-01-01 UTC; the clock is taken to run in UTC. 0, or
 * -EINVAL: not a date. Without a century register years 70-99 are 19xx.
 */
int rtc_to_seconds(const struct rtc_registers *r, u64 *seconds);

struct rtc_date {
	unsigned year;
	unsigned month;
	unsigned day;
};

/* Of the Gregorian calendar, so many days behind 1970-01-01. */
struct rtc_date rtc_date(u64 days);

#endif

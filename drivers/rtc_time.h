/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the meaning of the CMOS clock's registers (Motorola MC146818A data sheet). */
#ifndef DRIVERS_RTC_TIME_H
#define DRIVERS_RTC_TIME_H

#include <margay/types.h>

struct rtc_registers {
	u8 second, minute, hour, day, month, year;
	u8 century;  /* only with has_century */
	u8 status_b; /* bit 1: 24 hours, bit 2: binary */
	bool has_century;
};

/*
 * Seconds since 1970-01-01 UTC; the clock is taken to run in UTC. 0, or
 * -EINVAL: not a date. Without a century register years 70-99 are 19xx.
 */
int rtc_to_seconds(const struct rtc_registers *r, u64 *seconds);

#endif

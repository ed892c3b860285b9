/* SPDX-License-Identifier: GPL-2.0-only */
/* The CMOS wall clock, ports 0x70 and 0x71 (Motorola MC146818A data sheet). Read at boot only. */
#ifndef DRIVERS_RTC_H
#define DRIVERS_RTC_H

#include <margay/types.h>

/*
 * Seconds since 1970-01-01 UTC. century: the CMOS index of the century that
 * the FADT names, or 0. 0, or -ENODEV (logged): no clock, or it never settles
 * or shows no date.
 */
int rtc_read(u8 century, u64 *seconds);

#endif

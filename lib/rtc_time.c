/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: from the CMOS clock's registers to a time, and a day's date (MC146818A data sheet,
 * "Time, calendar, and alarm").
 */
#include <margay/rtc.h>

#include <margay/errno.h>

/* False when it is no BCD. */
static bool decode(u8 raw, bool binary, unsigned *out)
{
	if (!binary && ((raw & 0xf) > 9 || (raw >> 4) > 9))
		return false;
	*out = binary ? raw : (raw >> 4) * 10u + (raw & 0xf);
	return true;
}

/*
 * Days from 1970-01-01 to a date of the Gregorian calendar, with the year taken to begin in March:
 * leap days come last. Month 13 is the next January.
 */
static u64 days_to(unsigned year, unsigned month, unsigned day)
{
	unsigned y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;

	return y * 365ull + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 719469;
}

struct rtc_date rtc_date(u64 days)
{
	unsigned year = 1970 + (unsigned)(days / 366), month = 1;

	while (days_to(year + 1, 1, 1) <= days)
		year++;
	while (days_to(year, month + 1, 1) <= days)
		month++;
	return (struct rtc_date){ year, month, (unsigned)(days - days_to(year, month, 1)) + 1 };
}

int rtc_to_seconds(const struct rtc_registers *r, u64 *seconds)
{
	bool binary = r->status_b & STATUS_B_BINARY, half_day = !(r->status_b & STATUS_B_24H);
	unsigned s, min, h, d, mon, y, century;
	bool pm = half_day && (r->hour & HOUR_PM);
	u8 hour = half_day ? r->hour & (u8)~HOUR_PM : r->hour;
	u64 days;

	if (!decode(r->second, binary, &s) || !decode(r->minute, binary, &min) ||
	    !decode(r->day, binary, &d) || !decode(r->month, binary, &mon) ||
	    !decode(r->year, binary, &y) || !decode(hour, binary, &h))
		return -EINVAL;
	if (half_day) {
		if (h < 1 || h > 12)
			return -EINVAL;
		h = h % 12 + (pm ? 12 : 0);
	}
	if (y > 99)
		return -EINVAL;
	/* A century register that holds nonsense is as good as none. */
	if (r->has_century && decode(r->century, binary, &century) && century >= 19 &&
	    century <= 29)
		y += century * 100;
	else
		y += y < 70 ? 2000 : 1900;
	if (s > 59 || min > 59 || h > 23 || mon < 1 || mon > 12 || y < 1970 || d < 1)
		return -EINVAL;
	days = days_to(y, mon, d);
	if (days >= days_to(y, mon + 1, 1))
		return -EINVAL;
	*seconds = ((days * 24 + h) * 60 + min) * 60 + s;
	return 0;
}

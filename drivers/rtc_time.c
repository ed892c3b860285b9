/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: from the CMOS clock's registers to a time (MC146818A data sheet, "Time, calendar, and alarm"). */
#include "drivers/rtc_time.h"

#include <margay/errno.h>

#define STATUS_B_24H BIT(1)
#define STATUS_B_BINARY BIT(2)
#define HOUR_PM BIT(7)

/* False when it is no BCD. */
static bool decode(u8 raw, bool binary, unsigned *out)
{
	if (!binary && ((raw & 0xf) > 9 || (raw >> 4) > 9))
		return false;
	*out = binary ? raw : (raw >> 4) * 10u + (raw & 0xf);
	return true;
}

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days before the year, counted from 1970. */
static u64 days_before(unsigned year)
{
	unsigned y = year - 1;

	return (year - 1970) * 365ull + (y / 4 - 1969 / 4) - (y / 100 - 1969 / 100) + (y / 400 - 1969 / 400);
}

int rtc_to_seconds(const struct rtc_registers *r, u64 *seconds)
{
	static const u8 month_days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool binary = r->status_b & STATUS_B_BINARY, half_day = !(r->status_b & STATUS_B_24H);
	unsigned s, min, h, d, mon, y, century, days;
	bool pm = half_day && (r->hour & HOUR_PM);
	u64 total;

	if (!decode(r->second, binary, &s) || !decode(r->minute, binary, &min) || !decode(r->day, binary, &d) ||
	    !decode(r->month, binary, &mon) || !decode(r->year, binary, &y) ||
	    !decode(half_day ? r->hour & ~HOUR_PM : r->hour, binary, &h))
		return -EINVAL;
	if (half_day) {
		if (h < 1 || h > 12)
			return -EINVAL;
		h = h % 12 + (pm ? 12 : 0);
	}
	if (y > 99)
		return -EINVAL;
	/* A century register that holds nonsense is as good as none. */
	if (r->has_century && decode(r->century, binary, &century) && century >= 19 && century <= 29)
		y += century * 100;
	else
		y += y < 70 ? 2000 : 1900;
	if (s > 59 || min > 59 || h > 23 || mon < 1 || mon > 12 || y < 1970)
		return -EINVAL;
	days = month_days[mon - 1] + (mon == 2 && is_leap(y));
	if (d < 1 || d > days)
		return -EINVAL;

	total = days_before(y) + d - 1;
	for (unsigned i = 0; i + 1 < mon; i++)
		total += month_days[i] + (i == 1 && is_leap(y));
	*seconds = ((total * 24 + h) * 60 + min) * 60 + s;
	return 0;
}

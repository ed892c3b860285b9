/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the CMOS clock consistently (MC146818A data sheet, "Update cycle"). */
#include "drivers/rtc.h"

#include <margay/errno.h>
#include <margay/rtc.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/log/printk.h"

#define TRIES 10
/* An update takes 2 ms at most; a port access about 1 us, much less on an emulator. */
#define UIP_POLLS 100000

/* NMIs stay on: bit 7 of the index is 0. */
static u8 cmos_read(u8 reg)
{
	outb(CMOS_INDEX, reg & 0x7f);
	return inb(CMOS_DATA);
}

static bool wait_no_update(void)
{
	for (unsigned i = 0; i < UIP_POLLS; i++)
		if (!(cmos_read(CMOS_STATUS_A) & STATUS_A_UIP))
			return true;
	return false;
}

static void read_all(u8 century, struct rtc_registers *r)
{
	memset(r, 0, sizeof(*r));
	r->second = cmos_read(CMOS_SECOND);
	r->minute = cmos_read(CMOS_MINUTE);
	r->hour = cmos_read(CMOS_HOUR);
	r->day = cmos_read(CMOS_DAY);
	r->month = cmos_read(CMOS_MONTH);
	r->year = cmos_read(CMOS_YEAR);
	r->status_b = cmos_read(CMOS_STATUS_B);
	r->has_century = century != 0;
	if (r->has_century)
		r->century = cmos_read(century);
}

int rtc_read(u8 century, u64 *seconds)
{
	struct rtc_registers a, b;

	/*
	 * An update may begin between the check and the last register: only two equal readings
	 * count.
	 */
	for (unsigned i = 0; i < TRIES; i++) {
		if (!wait_no_update())
			break;
		read_all(century, &a);
		if (!wait_no_update())
			break;
		read_all(century, &b);
		if (memcmp(&a, &b, sizeof(a)))
			continue;
		if (!rtc_to_seconds(&a, seconds))
			return 0;
		break;
	}
	printk_error("rtc: no valid time in the CMOS clock: 1970-01-01 is taken");
	return -ENODEV;
}

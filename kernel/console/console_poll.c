/* SPDX-License-Identifier: GPL-2.0-only */
/* What is typed on a line that does not interrupt, and what is typed faster than it is taken. */
#include "kernel/console/console.h"
#include "kernel/console/console_callbacks.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

void console_report_overrun(bool overrun)
{
	static bool reported;

	if (overrun && !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED))
		printk_error("console: input came faster than it was taken: some is lost");
}

void console_poll(void)
{
	static u8 busy;
	bool overrun = false, locked;
	u16 buf[RX_BATCH];
	unsigned n = 0;

	/* Users' callbacks are for one CPU at a time. */
	if (serial_mode() != SERIAL_POLLED || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	locked = serial_lock();
	if (locked)
		n = serial_receive(buf, RX_BATCH, &overrun);
	serial_unlock(locked);
	console_hand_on(buf, n);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	console_report_overrun(overrun);
}

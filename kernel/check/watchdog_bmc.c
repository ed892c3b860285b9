/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BMC's watchdog, for the hardware check: Get Watchdog Timer (IPMI 2.0, 27.7) by KCS (chapter
 * 9), where SMBIOS (DSP0134 3.6, 7.39) or the table SPMI (IPMI 2.0, C3) has its ports. The
 * question changes nothing, and nobody else uses the interface while the check runs.
 */
#include <margay/acpi.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/insn.h"
#include "kernel/acpi/acpi.h"
#include "kernel/check/watchdogs.h"

#define WAIT_MS 1000 /* for the whole of it; a BMC takes some milliseconds */
#define ABORT_MS 100 /* and for taking it back */

/* ---- where it is --------------------------------------------------------------- */

struct kcs {
	u16 data;
	u16 status; /* written: commands */
	u64 end;    /* TSC */
};

#define SMBIOS_IPMI 38
#define SMBIOS_IPMI_SIZE 0x10 /* without what only some have: the modifier */
#define INTERFACE_KCS 1

/* False: none. k->data 0: none that can be asked. */
static bool by_smbios(struct kcs *k)
{
	static const u8 spacing[] = { 1, 4, 16, 0 };
	const u8 *table, *p, *end;
	u8 modifier;
	u64 base;
	u32 size;

	if (!IS_ENABLED(CONFIG_SMBIOS))
		return false;
	table = host_smbios(&size);
	p = smbios_find(table, size, SMBIOS_IPMI, 0, &end);
	if (!p || p[1] < SMBIOS_IPMI_SIZE)
		return false;
	memcpy(&base, p + 8, sizeof(base));
	modifier = p[1] > 0x10 ? p[0x10] : 0;
	/* Bit 0: ports; the address' own stands in the modifier. */
	if (p[4] == INTERFACE_KCS && base & 1 && base < 0xfff0 && spacing[modifier >> 6]) {
		k->data = (u16)((base & ~1ull) | (modifier >> 4 & 1));
		k->status = k->data + spacing[modifier >> 6];
	}
	return true;
}

static bool by_spmi(struct kcs *k)
{
	struct {
		struct acpi_sdt header;
		u8 interface;
		u8 unused[11];
		struct acpi_gas base;
	} __packed spmi;
	const struct acpi_sdt *table = acpi_table("SPMI", 0);

	static_assert(offsetof(typeof(spmi), base) == 48, "IPMI 2.0, C3");
	if (!table || acpi_read_fixed(table, table->length, "SPMI", &spmi, sizeof(spmi)))
		return false;
	if (spmi.interface == INTERFACE_KCS && spmi.base.space_id == ACPI_SPACE_IO &&
	    spmi.base.address && spmi.base.address < 0xfff0) {
		/* As wide as the registers lie apart. */
		k->data = (u16)spmi.base.address;
		k->status = (u16)(k->data + MAX(spmi.base.bit_width / 8, 1));
	}
	return true;
}

/* ---- KCS: IPMI 2.0, chapter 9 --------------------------------------------------------- */

#define STATUS_OBF BIT(0)
#define STATUS_IBF BIT(1)
enum { IDLE_STATE, READ_STATE, WRITE_STATE, ERROR_STATE };
#define GET_STATUS_ABORT 0x60
#define WRITE_START 0x61
#define WRITE_END 0x62
#define READ_BYTE 0x68

static bool wait(const struct kcs *k, u8 mask, u8 value)
{
	while ((inb(k->status) & mask) != value) {
		if (host_tsc() > k->end)
			return false;
		cpu_pause();
	}
	return true;
}

static bool comes_to(const struct kcs *k, unsigned state)
{
	if (!wait(k, STATUS_IBF, 0) || inb(k->status) >> 6 != state)
		return false;
	if (state == WRITE_STATE && inb(k->status) & STATUS_OBF)
		(void)inb(k->data);
	return true;
}

static bool send(const struct kcs *k, const u8 *bytes, unsigned n)
{
	outb(k->status, WRITE_START);
	for (unsigned i = 0; i < n; i++) {
		if (!comes_to(k, WRITE_STATE))
			return false;
		if (i == n - 1) {
			outb(k->status, WRITE_END);
			if (!comes_to(k, WRITE_STATE))
				return false;
		}
		outb(k->data, bytes[i]);
	}
	return true;
}

/* How many bytes have come; 0: it does not go as it should. */
static unsigned receive(const struct kcs *k, u8 *bytes, unsigned max)
{
	for (unsigned n = 0; wait(k, STATUS_IBF, 0);) {
		unsigned state = inb(k->status) >> 6;

		if (state != READ_STATE && state != IDLE_STATE)
			return 0;
		if (!wait(k, STATUS_OBF, STATUS_OBF))
			return state == IDLE_STATE ? n : 0;
		if (state == IDLE_STATE) {
			(void)inb(k->data);
			return n;
		}
		if (n == max)
			return 0;
		bytes[n++] = inb(k->data);
		outb(k->data, READ_BYTE);
	}
	return 0;
}

/*
 * A question that did not end well is taken back (figure 9-7), so that who asks next, an operating
 * system's driver, finds the interface idle. A BMC that is silent is left alone.
 */
static void take_back(struct kcs *k)
{
	k->end = host_tsc() + ABORT_MS * host_tsc_khz();
	if (!wait(k, STATUS_IBF, 0) || inb(k->status) >> 6 == IDLE_STATE)
		return;
	outb(k->status, GET_STATUS_ABORT);
	if (!wait(k, STATUS_IBF, 0))
		return;
	if (inb(k->status) & STATUS_OBF)
		(void)inb(k->data);
	outb(k->data, 0);
	if (!comes_to(k, READ_STATE) || !wait(k, STATUS_OBF, STATUS_OBF))
		return;
	(void)inb(k->data); /* why it failed */
	outb(k->data, READ_BYTE);
	if (comes_to(k, IDLE_STATE) && wait(k, STATUS_OBF, STATUS_OBF))
		(void)inb(k->data);
}

/* ---- what it says ---------------------------------------------------------------- */

/* Network function and LUN, command; of the answer these two, then its status. */
enum { APP = 0x06 << 2, APP_ANSWER = 0x07 << 2, GET_WATCHDOG = 0x25 };
enum { USE = 3, ACTIONS, PRETIMEOUT, EXPIRED, INITIAL, LEFT = 9, ANSWER = 11 };
#define USE_RUNS BIT(6)

static void read_answer(const u8 *a, unsigned n, struct host_watchdog *w)
{
	static const char *const then[] = { "it does nothing when it runs out",
					    "the machine is reset", "the machine goes off",
					    "the machine goes off and on again" };
	unsigned action;

	if (n < ANSWER || a[0] != APP_ANSWER || a[1] != GET_WATCHDOG || a[2]) {
		w->what = "the BMC does not say";
		return;
	}
	if (!(a[USE] & USE_RUNS)) {
		w->state = HOST_WATCHDOG_OFF;
		return;
	}
	action = a[ACTIONS] & 7;
	w->state = action ? HOST_WATCHDOG_RUNS : HOST_WATCHDOG_HARMLESS;
	w->what = action < ARRAY_SIZE(then) ? then[action] : "the machine restarts";
	w->timed = true;
	w->seconds = (a[LEFT] | (u32)a[LEFT + 1] << 8) / 10;
}

bool watchdog_bmc(struct host_watchdog *w)
{
	static const u8 question[] = { APP, GET_WATCHDOG };
	struct kcs k = { 0 };
	u8 answer[16];
	unsigned n = 0;
	bool sent;

	if (!by_smbios(&k) && !by_spmi(&k))
		return false;
	*w = (struct host_watchdog){ "BMC", HOST_WATCHDOG_UNKNOWN, false, 0,
				     "the check cannot ask by its interface" };
	if (!k.data)
		return true;
	k.end = host_tsc() + WAIT_MS * host_tsc_khz();
	/* All ones, where nothing is, is no such state. */
	if (inb(k.status) >> 6 != IDLE_STATE) {
		w->what = "its interface does not answer, or is in use";
		return true;
	}
	sent = send(&k, question, sizeof(question));
	if (sent)
		n = receive(&k, answer, sizeof(answer));
	if (!n)
		take_back(&k);
	if (sent)
		read_answer(answer, n, w);
	else
		w->what = "it does not answer";
	return true;
}

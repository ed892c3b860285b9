/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/smbios.c kernel/acpi/rsdp.c */
/*
 * The BMC's watchdog is asked for by the machine's half of KCS (IPMI 2.0, chapter 9); the
 * BMC's half is here, takes some looks for each byte, and may refuse, be silent or say too much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/acpi_table.h"

#define KHZ 1000u

/* ---- the BMC --------------------------------------------------------------------- */

enum { IDLE, READING, WRITING, FAILED };

static struct {
	u16 data;
	u16 status;
	u8 state;
	bool full; /* it has a byte for the machine */
	bool busy; /* it works at one of the machine's */
	bool last; /* the next byte is the request's last */
	u8 out;
	u8 request[16];
	u8 answer[24];
	/* bytes */
	unsigned asked;
	unsigned sent;
	unsigned length;
	unsigned looks; /* until it has done what it works at */
	unsigned fails_at; /* the write at which it is in its error state */
	unsigned silent_from; /* the write from which on it does nothing */
	unsigned writes;
	unsigned stuck; /* so many writes behind fails_at it is silent */
	bool no_dummy; /* nothing stands in its register behind the answer */
	bool stays;    /* READING, as if more were to come */
	bool aborted;  /* the next byte is the abort's; then its status is read */
	unsigned aborts;
} bmc;
static u64 tsc;

static void give(void)
{
	if (bmc.sent < bmc.length) {
		bmc.state = READING;
		bmc.out = bmc.answer[bmc.sent++];
		bmc.full = true;
	} else {
		bmc.state = bmc.stays ? READING : IDLE;
		bmc.full = !bmc.no_dummy;
	}
}

static u8 bmc_read(unsigned port)
{
	tsc += 10;
	if (port == bmc.data) {
		assert_false(bmc.busy);
		bmc.full = false;
		return bmc.out;
	}
	assert_int_equal(port, bmc.status);
	if (bmc.busy && bmc.writes < bmc.silent_from && !bmc.looks--)
		bmc.busy = false;
	return (u8)(bmc.state << 6 | bmc.busy << 1 | (bmc.full && !bmc.busy));
}

/* It is taken at once, but shows so only after some looks. */
static void bmc_write(unsigned port, u8 value)
{
	assert_false(bmc.busy);
	bmc.busy = true;
	bmc.looks = 2;
	if (++bmc.writes >= bmc.silent_from)
		return;
	if (bmc.stuck && bmc.writes == bmc.fails_at + bmc.stuck) {
		bmc.silent_from = bmc.writes;
		return;
	}
	if (port == bmc.status && value == 0x60) {
		bmc.aborted = true;
		bmc.aborts++;
		bmc.stays = bmc.no_dummy = false;
		bmc.state = WRITING;
		bmc.full = true;
		return;
	}
	if (bmc.writes == bmc.fails_at) {
		bmc.state = FAILED;
		return;
	}
	if (port == bmc.status) {
		assert_true(value == 0x61 || value == 0x62);
		bmc.last = value == 0x62;
		bmc.state = WRITING;
		bmc.full = true; /* whatever was there: to be read and thrown away */
		if (value == 0x61)
			bmc.asked = 0;
		return;
	}
	assert_int_equal(port, bmc.data);
	assert_false(bmc.full);
	if (bmc.state == READING) {
		assert_int_equal(value, 0x68);
		give();
		return;
	}
	assert_int_equal(bmc.state, WRITING);
	if (bmc.aborted) {
		assert_int_equal(value, 0);
		bmc.aborted = false;
		bmc.sent = bmc.length - 1; /* a byte, its status, and the end */
		give();
		return;
	}
	bmc.request[bmc.asked++] = value;
	if (bmc.last)
		give();
	else
		bmc.full = true;
}

#define inb(port) bmc_read(port)
#define outb(port, value) bmc_write(port, value)
#include "kernel/check/watchdog_bmc.c"

u64 host_tsc(void)
{
	return tsc;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

/* ---- the tables ------------------------------------------------------------------ */

static u8 smbios[64];
static u32 smbios_size;
static bool has_spmi;

const void *host_smbios(u32 *size)
{
	*size = smbios_size;
	return smbios_size ? smbios : NULL;
}

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	assert_true(!memcmp(signature, "SPMI", 4) && !instance);
	return has_spmi ? (const struct acpi_sdt *)buf : NULL;
}

/* Type 38; size 0x10: one of before there was the modifier. */
static void type_38(u8 interface, u64 base, u8 modifier, u8 size)
{
	u8 p[0x14] = { 38, size, 1, 0, interface, 0x20, 0x20, 0xff };

	memcpy(p + 8, &base, 8);
	p[0x10] = modifier;
	memset(smbios, 0, sizeof(smbios));
	memcpy(smbios, p, size);
	smbios[size] = '@'; /* a string */
	smbios[size + 3] = 127;
	smbios[size + 4] = 4;
	smbios_size = size + 3 + 6;
}

static void spmi(u8 interface, u8 space, u8 width, u64 base)
{
	has_spmi = true;
	begin("SPMI", 5);
	put8(interface);
	put8(1);
	put(0x200, 2);
	zeros(8);
	put8(space);
	put8(width);
	put(0, 2);
	put(base, 8);
	zeros(5);
	finish();
}

static void says(u8 use, u8 action, u16 left)
{
	const u8 answer[] = {
		0x1c, 0x25, 0, use, action, 0, 0, 0x58, 2, (u8)left, (u8)(left >> 8)
	};

	memcpy(bmc.answer, answer, sizeof(answer));
	bmc.length = sizeof(answer);
}

static void at(u16 data, u16 status)
{
	bmc.data = data;
	bmc.status = status;
}

static int reset(void **)
{
	memset(&bmc, 0, sizeof(bmc));
	bmc.silent_from = ~0u;
	at(0xca2, 0xca3);
	type_38(1, 0xca3, 0, 0x12);
	has_spmi = false;
	says(0x44, 1, 3000);
	return 0;
}

static struct host_watchdog w;

static void expect(enum host_watchdog_state state, const char *what)
{
	bmc.sent = bmc.writes = 0;
	assert_true(watchdog_bmc(&w));
	assert_string_equal(w.name, "BMC");
	assert_int_equal(w.state, state);
	if (what)
		assert_string_equal(w.what, what);
	/* Whoever asks next finds it idle, and nothing in its register. */
	if (bmc.silent_from == ~0u && !bmc.stuck && bmc.writes)
		assert_true(bmc.state == IDLE && !bmc.full && !bmc.busy);
}

/* ---- the tests ------------------------------------------------------------------- */

static void test_it_says(void **)
{
	static const char *const then[] = { "the machine is reset", "the machine goes off",
					    "the machine goes off and on again",
					    "the machine restarts" };

	for (u8 action = 1; action <= 4; action++) {
		/* With an interrupt before it, which is in the upper half. */
		says(0x43, action | 0x20, 3005);
		expect(HOST_WATCHDOG_RUNS, then[action - 1]);
		assert_true(w.timed && w.seconds == 300);
		assert_int_equal(bmc.asked, 2);
		assert_true(bmc.request[0] == 0x18 && bmc.request[1] == 0x25);
	}
	says(0x44, 0, 10);
	expect(HOST_WATCHDOG_HARMLESS, "it does nothing when it runs out");
	says(0x84, 1, 10);
	expect(HOST_WATCHDOG_OFF, NULL);
	assert_false(w.timed);
	/* Nothing behind the answer: what has come counts, after the wait. */
	bmc.no_dummy = true;
	says(0x44, 1, 0xffff);
	expect(HOST_WATCHDOG_RUNS, NULL);
	assert_int_equal(w.seconds, 6553);
}

static void test_other_answers(void **)
{
	for (unsigned i = 0; i < 4; i++) {
		reset(NULL);
		if (i < 3)
			bmc.answer[i] ^= 0xc1;
		else
			bmc.length--;
		expect(HOST_WATCHDOG_UNKNOWN, "the BMC does not say");
	}
	reset(NULL);
	bmc.length = 17;
	expect(HOST_WATCHDOG_UNKNOWN, "the BMC does not say");
	reset(NULL);
	bmc.length = 0;
	expect(HOST_WATCHDOG_UNKNOWN, "the BMC does not say");
	/* All of it, and no end. */
	reset(NULL);
	bmc.no_dummy = bmc.stays = true;
	expect(HOST_WATCHDOG_UNKNOWN, "the BMC does not say");
}

/* It stops anywhere: a second is all that is waited, and a tenth to take the question back. */
static void test_silent(void **)
{
	for (unsigned from = 1; from < 16; from++) {
		u64 begun = tsc;

		reset(NULL);
		bmc.silent_from = from;
		expect(HOST_WATCHDOG_UNKNOWN,
		       from < 4 ? "it does not answer" : "the BMC does not say");
		assert_in_range(tsc - begun, 1000 * KHZ, 1101 * KHZ);
	}
}

/* It says that it has failed: the question is taken back. */
static void test_error(void **)
{
	for (unsigned at = 1; at < 16; at++) {
		u64 begun = tsc;

		reset(NULL);
		bmc.fails_at = at;
		expect(HOST_WATCHDOG_UNKNOWN, NULL);
		assert_int_equal(bmc.writes, at + 3);
		assert_int_equal(bmc.aborts, 1);
		assert_in_range(tsc - begun, 1, 100 * KHZ);
	}
}

/* What takes the question back fails, or is not answered: tried once, and that is all. */
static void test_not_taken_back(void **)
{
	for (unsigned at = 1; at < 4; at++) {
		u64 begun = tsc;

		reset(NULL);
		bmc.fails_at = 4;
		bmc.stuck = at;
		expect(HOST_WATCHDOG_UNKNOWN, NULL);
		assert_in_range(tsc - begun, 100 * KHZ, 110 * KHZ);
		assert_int_equal(bmc.writes, 4 + at);
	}
}

static void test_not_idle(void **)
{
	for (u8 state = READING; state <= FAILED; state++) {
		bmc.state = state;
		expect(HOST_WATCHDOG_UNKNOWN, "its interface does not answer, or is in use");
		assert_int_equal(bmc.writes, 0);
	}
}

static void test_places(void **)
{
	static const struct {
		u64 base;
		u8 modifier;
		u8 size;
		u16 data;
		u16 status;
	} places[] = {
		{ 0xca3, 0x10, 0x12, 0xca3, 0xca4 },
		{ 0xca9, 0x40, 0x12, 0xca8, 0xcac },
		{ 0xca3, 0x80, 0x12, 0xca2, 0xcb2 },
		{ 0xca3, 0x40, 0x10, 0xca2, 0xca3 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		type_38(1, places[i].base, places[i].modifier, places[i].size);
		at(places[i].data, places[i].status);
		expect(HOST_WATCHDOG_RUNS, NULL);
	}
	/* SPMI where there is no SMBIOS; the first one wins. */
	spmi(1, 1, 32, 0xca8);
	expect(HOST_WATCHDOG_RUNS, NULL);
	smbios_size = 0;
	at(0xca8, 0xcac);
	expect(HOST_WATCHDOG_RUNS, NULL);
	spmi(1, 1, 0, 0xca2);
	at(0xca2, 0xca3);
	expect(HOST_WATCHDOG_RUNS, NULL);
}

/* By SSIF, in memory, nowhere: nothing is touched. */
static void test_no_ports(void **)
{
	static const char no[] = "the check cannot ask by its interface";

	at(0, 0);
	type_38(4, 0x21, 0, 0x12);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	type_38(1, 0xfed00000, 0, 0x12);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	type_38(1, 0xca2, 0, 0x12);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	type_38(1, 0xfff1, 0, 0x12);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	type_38(1, 0xca3, 0xc0, 0x12);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	smbios_size = 0;
	spmi(4, 1, 8, 0xca2);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	spmi(1, 0, 8, 0xca2);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	spmi(1, 1, 8, 0xfff0);
	expect(HOST_WATCHDOG_UNKNOWN, no);
	/* One that is too short is none, in either. */
	type_38(1, 0xca3, 0, 0x0f);
	buf[9]++;
	assert_false(watchdog_bmc(&w));
	has_spmi = false;
	smbios_size = 0;
	assert_false(watchdog_bmc(&w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_it_says, reset),
		cmocka_unit_test_setup(test_other_answers, reset),
		cmocka_unit_test_setup(test_silent, reset),
		cmocka_unit_test_setup(test_error, reset),
		cmocka_unit_test_setup(test_not_taken_back, reset),
		cmocka_unit_test_setup(test_not_idle, reset),
		cmocka_unit_test_setup(test_places, reset),
		cmocka_unit_test_setup(test_no_ports, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

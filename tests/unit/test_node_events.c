/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_management.sources */
/*
 * What the node says of what has happened, and who has commanded it, to the management VM; and
 * its log from any place on. docs/management-vm.md
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/fake_management.h"
#include "vmm/management/private.h"
#include "vmm/slots/node_events.h"
#include "vmm/node/outcome.h"

#define ALL "create, destroy, console, boot, cpus:1-2, memory:256M"
#define A 1u /* the slot of a VM a */
#define B 2u

static struct vm_config configs[] = { { .name = "a" }, { .name = "b" } };

static const char *text(void)
{
	static char copy[MANAGEMENT_MAX];

	snprintf(copy, sizeof(copy), "%.*s", (int)(answer.size - sizeof(struct management_message)),
		 (const char *)answer.data + sizeof(struct management_message));
	return copy;
}

static u16 ask(unsigned session, unsigned what, const char *request)
{
	return management_request(session, what, request, (u32)strlen(request));
}

/* Where those of a test begin. */
static u64 first;

static u64 next(void)
{
	char request[24];
	u64 at = first, was;

	do {
		was = at;
		snprintf(request, sizeof(request), "%lu", at);
		assert_int_equal(ask(3, MANAGEMENT_EVENTS, request), 0);
		assert_int_equal(sscanf(text(), "next=%lu\tboot=", &at), 1);
	} while (at != was);
	return at;
}

static void begin(const char *rights)
{
	management_begin(rights);
	fake_host.wall_ns = 1700000000050000000;
	fake_host.tsc = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(configs); i++) {
		monitor_slots[A + i] =
			(struct slot){ .config = &configs[i], .created = true, .state = OVER };
		outcome_forget(&monitor_slots[A + i]);
	}
	monitor_nr_slots = 1 + ARRAY_SIZE(configs);
	for (unsigned i = 0; i < MANAGEMENT_PORTS; i++)
		management_close(i);
	first = 1;
	first = next();
}

/* All since the test's beginning, without number and time. */
static const char *said(void)
{
	static char all[MANAGEMENT_MAX];
	char request[24];
	const char *line;

	snprintf(request, sizeof(request), "%lu", first);
	assert_int_equal(ask(3, MANAGEMENT_EVENTS, request), 0);
	all[0] = 0;
	for (line = strchr(text(), '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		const char *event = strstr(line, "event=");

		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%.*s",
			 (int)(strchr(event, '\n') + 1 - event), event);
	}
	return all;
}

#define LINE(what, vm, image, end, status, by, user, words) \
	"event=" what "\tvm=" vm "\timage=" image "\tend=" end "\tstatus=" status "\tby=" by \
	"\tuser=" user "\ttext=" words "\n"

/* All since the test's beginning is these lines. */
static void expect(const char *const *lines)
{
	char all[MANAGEMENT_MAX] = "";

	for (; *lines; lines++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s", *lines);
	assert_string_equal(said(), all);
}
#define EXPECT(...) expect((const char *const[]){ __VA_ARGS__, NULL })

static void run(unsigned slot)
{
	monitor_slots[slot].starts++;
	monitor_slots[slot].state = STARTED;
	stages_slot(&monitor_slots[slot], SLOT_STARTS, NULL);
}

static void end(unsigned slot, enum vm_end why)
{
	monitor_slots[slot].last_end = why;
	monitor_slots[slot].last_status = 3;
	monitor_slots[slot].state = OVER;
	stages_slot(&monitor_slots[slot], SLOT_ENDED, NULL);
}

extern void (*const __start_monitor_services[])(void), (*const __stop_monitor_services[])(void);

/* Nothing is kept before the VM files have been read, and all goes on. */
static void test_before(void **)
{
	management_begin(ALL);
	assert_int_equal(ask(0, MANAGEMENT_EVENTS, "0"), 0);
	assert_string_equal(text(), "next=0\tboot=0\n");
	monitor_slots[A] = (struct slot){ .config = &configs[0], .created = true, .state = OVER };
	monitor_nr_slots = 2;
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), 0);
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), EBUSY);
	event_vm(A, "fault", "x");
	event_often(A, "fault", "x");
	event_image("image-gone", "x", NULL);
	assert_int_equal(ask(0, MANAGEMENT_EVENTS, "0"), 0);
	assert_string_equal(text(), "next=0\tboot=0\n");
	/* Nor where nobody is who would ask. */
	management_config.control.commands = false;
	events_start();
	event_vm(A, "fault", "x");
	assert_int_equal(events_boot(), 0);
	management_config.control.commands = true;
	fake_host.wall_ns = 1700000000001000000;
	fake_host.tsc = 0;
	for (void (*const *s)(void) = __start_monitor_services; s < __stop_monitor_services; s++)
		(*s)();
	assert_int_equal(events_boot(), 1700000000001);
	event_vm(A, "fault", "a\tb\nc");
	assert_int_equal(ask(0, MANAGEMENT_EVENTS, "0"), 0);
	assert_string_equal(text(),
			    "next=2\tboot=1700000000001\nnumber=1\ttime=1700000000.001\t" LINE(
				    "fault", "a", "", "", "", "", "", "a b c"));
}

/* An effect is his who has asked for it, and nobody's whose cause it is not. */
static void test_who(void **)
{
	begin(ALL);
	ask(0, MANAGEMENT_HELLO, "user=alice");
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), 0);
	run(A);
	/* By its file. */
	end(A, VM_END_EXIT);
	run(A);
	assert_int_equal(ask(1, MANAGEMENT_STOP, "a"), 0);
	end(A, VM_END_STOPPED);
	EXPECT(LINE("start", "a", "", "", "", "management", "alice", ""),
	       LINE("started", "a", "", "", "", "management", "alice", ""),
	       LINE("ended", "a", "", "exit", "3", "", "", ""),
	       LINE("restarted", "a", "", "", "", "", "", ""),
	       LINE("kill", "a", "", "", "", "management", "", ""),
	       LINE("ended", "a", "", "stopped", "", "management", "", ""));
}

static void test_restart(void **)
{
	begin(ALL);
	ask(0, MANAGEMENT_HELLO, "user=bob");
	management_there(true);
	assert_int_equal(ask(0, MANAGEMENT_RESTART, "t"), 0);
	end(A, VM_END_STOPPED);
	run(A);
	/* A press that its guest does not heed is no cause of what comes later. */
	assert_int_equal(ask(0, MANAGEMENT_PRESS, "t"), 0);
	end(A, VM_END_PANICKED);
	run(A);
	end(A, VM_END_STOPPED);
	EXPECT(LINE("restart", "t", "", "", "", "management", "bob", ""),
	       LINE("ended", "t", "", "stopped", "", "management", "bob", ""),
	       LINE("started", "t", "", "", "", "management", "bob", ""),
	       LINE("press", "t", "", "", "", "management", "bob", ""),
	       LINE("ended", "t", "", "panicked", "", "", "", ""),
	       LINE("restarted", "t", "", "", "", "", "", ""),
	       LINE("ended", "t", "", "stopped", "", "", "", ""));
}

/* What the node does not do it says, too, and nothing is thought to come of it. */
static void test_refused(void **)
{
	begin("create, boot");
	ask(0, MANAGEMENT_HELLO, "user=eve");
	assert_int_equal(ask(0, MANAGEMENT_STOP, "a"), EPERM);
	assert_int_equal(ask(0, MANAGEMENT_START, "nobody"), ENOENT);
	monitor_slots[A].state = STARTED;
	monitor_slots[A].starts = 1;
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), EBUSY);
	end(A, VM_END_STOPPED);
	run(A);
	EXPECT(LINE("kill", "a", "", "", "", "management", "eve",
		    "refused: control_may of management does not have it"),
	       LINE("start", "nobody", "", "", "", "management", "eve",
		    "refused: nobody: there is no such VM"),
	       LINE("start", "a", "", "", "", "management", "eve", "refused: a runs or starts"),
	       LINE("ended", "a", "", "stopped", "", "", "", ""),
	       LINE("restarted", "a", "", "", "", "", "", ""));
}

static void test_not_started(void **)
{
	begin(ALL);
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), 0);
	stages_slot(&monitor_slots[A], SLOT_NOT_STARTED, "no CPU is free");
	stages_slot(&monitor_slots[A], SLOT_NOT_STARTED, "no CPU is free");
	EXPECT(LINE("start", "a", "", "", "", "management", "", ""),
	       LINE("not-started", "a", "", "", "", "management", "", "no CPU is free"),
	       LINE("not-started", "a", "", "", "", "", "", "no CPU is free"));
}

/* A session's, until it ends; printable and bounded. */
static void test_user(void **)
{
	begin(ALL);
	ask(0, MANAGEMENT_HELLO, "user=a\tvery long\nname of somebody who has no shorter one");
	ask(1, MANAGEMENT_HELLO, "user=bob");
	ask(2, MANAGEMENT_HELLO, "use=bob");
	ask(0, MANAGEMENT_PAUSE, "nobody");
	ask(1, MANAGEMENT_HELLO, "");
	ask(1, MANAGEMENT_PAUSE, "nobody");
	management_close(1);
	ask(1, MANAGEMENT_RESUME, "nobody");
	ask(2, MANAGEMENT_NMI, "nobody");
	EXPECT(LINE("pause", "nobody", "", "", "", "management", "a?very?long?name?of?somebody?who",
		    "refused: nobody: there is no such VM"),
	       LINE("pause", "nobody", "", "", "", "management", "bob",
		    "refused: nobody: there is no such VM"),
	       LINE("resume", "nobody", "", "", "", "management", "",
		    "refused: nobody: there is no such VM"),
	       LINE("nmi", "nobody", "", "", "", "management", "",
		    "refused: nobody: there is no such VM"));
}

static u16 put(const char *name, const char *how)
{
	char line[200];
	u16 err;

	/* of "abc" */
	snprintf(line, sizeof(line),
		 "%s 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad%s", name,
		 how);
	err = ask(0, MANAGEMENT_IMAGE, line);
	if (err || !strncmp(text(), "have=yes", 8))
		return err;
	err = ask(0, MANAGEMENT_DATA, "abc");
	return err ? err : ask(0, MANAGEMENT_IMAGE_END, "");
}

static void test_made_and_forgotten(void **)
{
	begin(ALL);
	ask(0, MANAGEMENT_HELLO, "user=alice");
	assert_int_equal(put("image", ""), 0);
	assert_int_equal(put("image", ""), 0);
	assert_int_equal(
		ask(0, MANAGEMENT_CREATE, "c.conf\nname = c\nkernel = image\nmemory = 64M\n"), 0);
	assert_int_equal(ask(0, MANAGEMENT_IMAGE_REMOVE, "image"), EBUSY);
	assert_int_equal(ask(0, MANAGEMENT_DESTROY, "c"), 0);
	assert_int_equal(put("other", ""), 0);
	assert_int_equal(ask(0, MANAGEMENT_IMAGE_REMOVE, "image"), 0);
	assert_true(images_evict());
	EXPECT(LINE("image-put", "", "image", "", "", "management", "alice", ""),
	       LINE("create", "c", "", "", "", "management", "alice", ""),
	       LINE("destroy", "c", "", "", "", "management", "alice", ""),
	       LINE("image-put", "", "other", "", "", "management", "alice", ""),
	       LINE("image-remove", "", "image", "", "", "management", "alice", ""),
	       LINE("image-gone", "", "other", "", "", "", "", ""));
}

/* A VM that is forgotten leaves the next of its slot no word. */
static void test_forgotten_words(void **)
{
	begin(ALL);
	assert_int_equal(ask(0, MANAGEMENT_START, "a"), 0);
	outcome_forget(&monitor_slots[A]);
	monitor_slots[A].starts = 1;
	run(A);
	EXPECT(LINE("start", "a", "", "", "", "management", "", ""),
	       LINE("restarted", "a", "", "", "", "", "", ""));
}

/* Nor does it take what the next one may say, or has that told of its own. */
static void test_forgotten_limit(void **)
{
	begin(ALL);
	for (unsigned i = 0; i < 1000; i++)
		event_often(B, "fault", "%u", i);
	outcome_forget(&monitor_slots[B]);
	first = next();
	event_often(B, "fault", "the next one's");
	EXPECT(LINE("fault", "b", "", "", "", "", "", "the next one's"));
}

/* How many of a VM's there are; all that there is comes in order, in answers that fit. */
static unsigned count_of(const char *vm, u64 *newest)
{
	char request[24], mark[50];
	u64 at = 0, was, number, before = 0;
	unsigned n = 0;

	snprintf(mark, sizeof(mark), "\tvm=%s\t", vm);
	do {
		was = at;
		snprintf(request, sizeof(request), "%lu", at);
		assert_int_equal(ask(0, MANAGEMENT_EVENTS, request), 0);
		assert_null(strstr(text(), "truncated"));
		assert_int_equal(sscanf(text(), "next=%lu\t", &at), 1);
		for (const char *p = strchr(text(), '\n') + 1; *p; p = strchr(p, '\n') + 1) {
			const char *found = strstr(p, mark);

			assert_int_equal(sscanf(p, "number=%lu\t", &number), 1);
			assert_true(number > before && number >= was && number < at);
			before = number;
			if (!found || found > strchr(p, '\n'))
				continue;
			*newest = number;
			n++;
		}
	} while (at != was);
	return n;
}

/* Whatever one VM does, others' are kept. */
static void test_room(void **)
{
	char longest[400];
	u64 newest;

	begin(ALL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	for (unsigned i = 0; i < 40; i++)
		event_vm(B, "fault", "%u", i);
	for (unsigned i = 0; i < 5000; i++)
		event_vm(A, "memory-lost", "%s", longest);
	event_image("image-gone", "x", NULL);
	assert_in_range(count_of("b", &newest), 40, 70);
	assert_int_equal(newest, first + 39);
	assert_in_range(count_of("a", &newest), 400, 472);
	assert_int_equal(newest, first + 5039);
	count_of("", &newest);
	assert_int_equal(newest, first + 5040);
	/* Who has most may become another. */
	for (unsigned i = 0; i < 5000; i++)
		event_vm(B, "fault", "%u", i);
	assert_in_range(count_of("a", &newest), 200, 256);
	assert_in_range(count_of("b", &newest), 200, 256);
	assert_int_equal(newest, first + 10040);
}

/* The longest there are. */
static void test_long(void **)
{
	static char name[VM_NAME_MAX + 1], user[EVENT_USER_MAX + 1], why[200];
	const struct event_command command = { "restart", BY_MANAGEMENT, user, true, true };
	u64 newest;

	begin(ALL);
	memset(name, 'n', sizeof(name) - 1);
	memset(user, 'u', sizeof(user) - 1);
	memset(why, 'w', sizeof(why) - 1);
	for (unsigned i = 0; i < 1000; i++)
		event_refused(event_command(EVENT_NODE, name, &command), why);
	assert_true(count_of(name, &newest) > 150);
}

/* What a guest can cause again and again is 16, and then one in ten seconds. */
static void test_often(void **)
{
	begin(ALL);
	for (unsigned i = 0; i < 1000; i++)
		event_often(B, "fault", "%u", i);
	assert_int_equal(next(), first + 16);
	fake_host.tsc += 10001 * fake_host.tsc_khz;
	event_often(B, "fault", "again");
	assert_non_null(strstr(said(), "text=again, 984 more since the last one\n"));
	/* Another's are its own. */
	for (unsigned i = 0; i < 1000; i++)
		event_often(A, "fault", "%u", i);
	assert_int_equal(next(), first + 33);
}

static void test_requests(void **)
{
	static const char *const wrong[] = { "", "x", "-1", "1 ", "1\n", NULL };

	begin("");
	for (const char *const *p = wrong; *p; p++) {
		assert_int_equal(ask(0, MANAGEMENT_EVENTS, *p), EINVAL);
		assert_int_equal(ask(0, MANAGEMENT_LOG_FROM, *p), EINVAL);
	}
	assert_int_equal(ask(0, MANAGEMENT_EVENTS, "18446744073709551615"), 0);
	assert_string_equal(text(), "next=18446744073709551615\tboot=1700000000001\n");
}

/* From the oldest on, in answers of whole lines. */
static void test_log(void **)
{
	char request[24];
	u64 from, to, at = 0;
	const char *lines;

	begin("");
	for (;;) {
		snprintf(request, sizeof(request), "%lu", at);
		assert_int_equal(ask(0, MANAGEMENT_LOG_FROM, request), 0);
		assert_int_equal(
			sscanf(text(),
			       "offset=%lu\tnext=%lu\tbegan=1700000000.007\tboot=1700000000001\n",
			       &from, &to),
			2);
		assert_int_equal(from, at ? at : 100000);
		lines = strchr(text(), '\n') + 1;
		assert_int_equal(strlen(lines), to - from);
		if (to == from)
			break;
		assert_int_equal(lines[0], '0');
		assert_int_equal(lines[1], 'a' + from / 100 % 26);
		assert_int_equal(lines[to - from - 1], '\n');
		at = to;
	}
	assert_int_equal(at, fake_log_end);
	/* Of another boot. */
	assert_int_equal(ask(0, MANAGEMENT_LOG_FROM, "18446744073709551615"), 0);
	assert_int_equal(strncmp(text(), "offset=100000\t", 14), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_made_and_forgotten),
		cmocka_unit_test(test_forgotten_words),
		cmocka_unit_test(test_forgotten_limit),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_often),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/virtio.c vmm/dev/virtio/virtio_management.c vmm/dev/virtio/virtqueue.c vmm/dev/virtio/pieces.c vmm/pci/pci_virtual.c vmm/memory/guest_mem.c @tests/unit/fake_vm.sources */
/*
 * The ports of the management VM, against a driver as virtio 1.2, 5.3 has it, and one that errs.
 * What is asked is answered by this file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/virtio_guest.h"
#include "vmm/management/management.h"

enum { CONTROL_IN = 2, CONTROL_OUT = 3 };
enum { WRITE = 2 };
#define DATA(queue) (0x200000u + (queue) * 0x20000u) /* what is offered, 0x1000 each */
#define QUEUES_ALL 10u
#define MULTIPORT 2u

static struct {
	unsigned calls;
	unsigned session;
	u32 size;
	u8 first;
	unsigned closed[MANAGEMENT_PORTS];
} asked;
static u32 answer_size;
/* Where the data of requests go, if they shall go anywhere; whose it was asked for. */
static struct {
	u8 *to;
	unsigned session;
	struct management_message head;
	u32 size;
	unsigned calls;
	const u8 *served;
} place;

u8 *management_place(unsigned session, const struct management_message *head, u32 size)
{
	place.calls++;
	place.session = session;
	place.head = *head;
	place.size = size;
	return place.to;
}

/* Of as many bytes as the test wants: the session, then the request's first byte. */
void management_serve(struct vm *, unsigned session, const u8 *request, const u8 *data, u32 size,
		      struct management_answer *out)
{
	place.served = data;
	asked.calls++;
	asked.session = session;
	asked.size = size;
	asked.first = size ? request[0] : 0;
	out->size = answer_size;
	memset(out->data, (int)(16 * session + asked.first), answer_size);
}

void management_close(unsigned session)
{
	asked.closed[session]++;
}

static int setup(void **)
{
	fake_host_reset();
	memset(&asked, 0, sizeof(asked));
	memset(&place, 0, sizeof(place));
	answer_size = 20;
	fake_vm_config.control.commands = true;
	if (guest_start())
		return -1;
	drive(0, QUEUES_ALL, MULTIPORT);
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	fake_vm_config.control.commands = false;
	return fake_host.pages_in_use != 0;
}

static void offer_in(unsigned queue, unsigned count, u32 size)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned at = offered[queue] % 16u;

		set_desc(queue, at, DATA(queue) + at * 0x1000, size, WRITE, 0);
		offer(queue, (u16)at);
	}
	put(0, NOTIFY(queue), 2, queue);
	finish();
}

static void send_out(unsigned queue, const void *data, u32 size)
{
	unsigned at = offered[queue] % 16u;

	memcpy(guest_ptr(vm, gpa(DATA(queue) + at * 0x1000), size), data, size);
	set_desc(queue, at, DATA(queue) + at * 0x1000, size, 0, 0);
	offer(queue, (u16)at);
	put(0, NOTIFY(queue), 2, queue);
	finish();
}

static unsigned used(unsigned queue)
{
	return (unsigned)ram(USED(queue) + 2, 2);
}

static u32 used_bytes(unsigned queue, unsigned i)
{
	return (u32)ram(USED(queue) + 4 + i * 8 + 4, 4);
}

static void event(u32 port, u16 what, u16 value)
{
	send_out(CONTROL_OUT, &(struct {
			 u32 port;
			 u16 event;
			 u16 value;
		 }){ port, what, value },
		 8);
}

/* The i-th of what the driver was told: port, event and value. */
static void told(unsigned i, u32 port, u16 what, u16 value)
{
	assert_int_equal(ram(DATA(CONTROL_IN) + i * 0x1000, 4), port);
	assert_int_equal(ram(DATA(CONTROL_IN) + i * 0x1000 + 4, 2), what);
	assert_int_equal(ram(DATA(CONTROL_IN) + i * 0x1000 + 6, 2), value);
}

static void test_ports(void **)
{
	assert_int_equal(config_read(0, 2, 2), 0x1043);
	assert_int_equal(get(0, DEVICE_CONFIG + 4, 4), MANAGEMENT_PORTS);
	put(0, FEATURE_SELECT, 4, 0);
	assert_true(get(0, FEATURE, 4) & MULTIPORT);
	event(0, 0, 1);
	assert_int_equal(used(CONTROL_IN), 0);
	offer_in(CONTROL_IN, 3, 64);
	assert_int_equal(used(CONTROL_IN), 3);
	offer_in(CONTROL_IN, 5, 64);
	assert_int_equal(used(CONTROL_IN), 4);
	for (unsigned i = 0; i < MANAGEMENT_PORTS; i++)
		told(i, i, 1, 1);
	event(2, 3, 1);
	assert_int_equal(used(CONTROL_IN), 6);
	told(4, 2, 6, 1);
	told(5, 2, 7, 1);
	assert_memory_equal(guest_ptr(vm, gpa(DATA(CONTROL_IN) + 5 * 0x1000 + 8), 8), "margay.2",
			    8);
	assert_int_equal(used_bytes(CONTROL_IN, 5), 16);
	/* What is not there, and what is cut. */
	event(MANAGEMENT_PORTS, 3, 1);
	event(0xffffffff, 6, 1);
	send_out(CONTROL_OUT, "abc", 3);
	assert_int_equal(used(CONTROL_IN), 6);
}

static void test_requests(void **)
{
	/* Port 1 is behind the control messages. */
	event(1, 6, 1);
	offer_in(4, 4, 16);
	send_out(5, "x123", 4);
	assert_true(asked.calls == 1 && asked.session == 1 && asked.size == 4 &&
		    asked.first == 'x');
	assert_int_equal(used(4), 2);
	assert_true(used_bytes(4, 0) == 16 && used_bytes(4, 1) == 4);
	assert_int_equal(ram(DATA(4), 1), (u8)(16 + 'x'));
	/* As long as may be, and longer: no more than that is read. */
	set_desc(5, 9, DATA(5), 0x7000, 1, 10);
	set_desc(5, 10, DATA(5), 0x1001, 0, 0);
	offer(5, 9);
	put(0, NOTIFY(5), 2, 5);
	finish();
	assert_int_equal(asked.size, 0x8001);
	/* Not the guest's RAM. */
	set_desc(5, 9, GUEST_RAM, 16, 0, 0);
	offer(5, 9);
	put(0, NOTIFY(5), 2, 5);
	finish();
	assert_int_equal(asked.size, 0);
}

/* A second request before the first one's answer was read. */
static void test_not_read(void **)
{
	struct management_message m = { MANAGEMENT_MAGIC, MANAGEMENT_VERSION, 1, 0x1234, 0 }, late;

	event(0, 6, 1);
	answer_size = 40;
	send_out(1, "a", 1);
	assert_int_equal(asked.calls, 1);
	send_out(1, &m, sizeof(m));
	assert_int_equal(asked.calls, 1);
	assert_int_equal(used(1), 2);
	offer_in(0, 1, 24);
	assert_int_equal(used(0), 1);
	offer_in(0, 3, 64);
	assert_int_equal(used(0), 3);
	assert_true(used_bytes(0, 0) == 24 && used_bytes(0, 1) == 16 &&
		    used_bytes(0, 2) == sizeof(late));
	memcpy(&late, guest_ptr(vm, gpa(DATA(0) + 2 * 0x1000), sizeof(late)), sizeof(late));
	assert_true(late.magic == MANAGEMENT_MAGIC && late.what == 16 && late.tag == 0x1234 &&
		    !late.size);
	/* And all is well again. */
	send_out(1, "b", 1);
	assert_int_equal(asked.calls, 2);
	assert_int_equal(used(0), 4);
}

/* What is behind a head goes where it belongs at once, and nowhere else. */
static void test_place(void **)
{
	struct {
		struct management_message head;
		u8 data[100];
	} m = { { MANAGEMENT_MAGIC, MANAGEMENT_VERSION, MANAGEMENT_DATA, 7, 100 }, "" };
	u8 to[101];

	for (unsigned i = 0; i < sizeof(m.data); i++)
		m.data[i] = (u8)(i + 1);
	event(2, 6, 1);
	memset(to, 0xee, sizeof(to));
	place.to = to;
	send_out(7, &m, sizeof(m));
	assert_int_equal(place.calls, 1);
	assert_true(place.session == 2 && place.size == sizeof(m) &&
		    !memcmp(&place.head, &m.head, sizeof(m.head)));
	assert_true(asked.calls == 1 && asked.size == sizeof(m) && place.served == to);
	assert_memory_equal(to, m.data, sizeof(m.data));
	assert_int_equal(to[sizeof(m.data)], 0xee);
	/* Its answer was not read: the next one is not served, and goes nowhere. */
	memset(to, 0xee, sizeof(to));
	send_out(7, &m, sizeof(m));
	assert_true(place.calls == 1 && asked.calls == 1 && to[0] == 0xee);
	offer_in(6, 3, 64);
	/* Cut in the head and in the data, which are not the guest's RAM from somewhere on. */
	memcpy(guest_ptr(vm, gpa(DATA(7)), sizeof(m)), &m, sizeof(m));
	set_desc(7, 9, DATA(7), 10, 1, 10);
	set_desc(7, 10, DATA(7) + 10, 50, 1, 11);
	set_desc(7, 11, DATA(7) + 60, sizeof(m) - 60, 0, 0);
	offer(7, 9);
	put(0, NOTIFY(7), 2, 7);
	finish();
	assert_true(place.calls == 2 && asked.calls == 2 && asked.size == sizeof(m));
	assert_memory_equal(to, m.data, sizeof(m.data));
	offer_in(6, 3, 64);
	set_desc(7, 11, GUEST_RAM, sizeof(m) - 60, 0, 0);
	offer(7, 9);
	put(0, NOTIFY(7), 2, 7);
	finish();
	assert_true(asked.calls == 3 && !asked.size);
	/* A head alone has no place, what is too long neither. */
	offer_in(6, 3, 64);
	send_out(7, &m, sizeof(m.head));
	assert_true(place.calls == 3 && asked.calls == 4 && asked.size == sizeof(m.head));
	offer_in(6, 3, 64);
	set_desc(7, 9, DATA(7), 0x7000, 1, 10);
	set_desc(7, 10, DATA(7), 0x1001, 0, 0);
	offer(7, 9);
	put(0, NOTIFY(7), 2, 7);
	finish();
	assert_true(place.calls == 3 && asked.calls == 5 && asked.size == 0x8001);
	/* Elsewhere: behind the head. */
	place.to = NULL;
	offer_in(6, 3, 64);
	send_out(7, &m, sizeof(m));
	assert_true(place.calls == 4 && asked.calls == 6);
	assert_memory_equal(place.served, m.data, sizeof(m.data));
}

/*
 * What is open is closed, once: by the driver, by its reset, by the VM's end; an answer is not the
 * next one's.
 */
static void test_close(void **)
{
	unsigned closed = asked.closed[3];

	/* Whether it was opened or not: the driver may be anything. */
	event(3, 6, 0);
	assert_int_equal(asked.closed[3], ++closed);
	event(3, 6, 1);
	assert_int_equal(asked.closed[3], ++closed);
	send_out(9, "a", 1);
	event(3, 6, 0);
	assert_int_equal(asked.closed[3], ++closed);
	event(3, 6, 1);
	closed++;
	offer_in(8, 1, 64);
	assert_int_equal(used(8), 0);
	assert_int_equal(asked.closed[2], closed - 4);
	put(0, STATUS, 1, 0);
	assert_int_equal(asked.closed[3], ++closed);
	memset(offered, 0, sizeof(offered));
	drive(0, QUEUES_ALL, MULTIPORT);
	closed = asked.closed[3];
	fake_vm_destroy(vm);
	assert_int_equal(asked.closed[3], ++closed);
	setup(NULL);
}

/* Buffers without room: one exit looks at so many, and the driver's others follow. */
static void test_no_room(void **)
{
	event(0, 6, 1);
	send_out(1, "a", 1);
	for (unsigned i = 0; i < 100; i++) {
		set_desc(0, i, DATA(0), 0, WRITE, 0);
		offer(0, (u16)i);
	}
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(used(0), 64);
	assert_int_equal(finish(), 1);
	assert_int_equal(used(0), 100);
	set_desc(0, 100, DATA(0), 64, WRITE, 0);
	offer(0, 100);
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(used_bytes(0, 100), 20);
}

static void test_not_there(void **)
{
	fake_vm_destroy(vm);
	fake_vm_config.control.commands = false;
	assert_int_equal(guest_start(), 0);
	assert_null(vm->virtual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

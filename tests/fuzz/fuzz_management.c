/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/fuzz/fuzz_management.sources */
/* FUZZ: -max_len=600 -dict=tests/fuzz/config.dict vmm/management/?*.c vmm/config/config_control.c */
/*
 * A management VM that sends anything: messages of its bytes, requests with a right head, and the
 * transfers of images that they begin, go on with, and leave. Checked: each is answered, the
 * refused ones with a printable line; what VMs and images have together is within the right; no two
 * VMs have a name; and when all is ended, destroyed and removed, nothing is left.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_management.h"
#include "vmm/management/private.h"
#include "vmm/management/sha256.h"
#include "vmm/slots/node_events.h"

#define STEPS 40
#define RIGHTS "create, destroy, console, dump, boot, cpus:1-2, memory:100M, pci:01:00.0"

static const char *const names[] = { "a",  "b", "image", "other",    "management",
				     "k",  "",  "t",     "t 0 4096", "t 1048576 1048576",
				     "t 0" };

static const char *name(struct fuzz_in *in)
{
	return names[fuzz_u8(in) % ARRAY_SIZE(names)];
}

/* An announcement that is right, and perhaps its data. */
static void transfer(struct fuzz_in *in)
{
	unsigned session = fuzz_u8(in) % MANAGEMENT_PORTS, how = fuzz_u8(in);
	char line[200];
	u8 digest[32], data[40];
	struct sha256 s;
	u64 size = 1 + how % sizeof(data);
	int n;

	memset(data, how, sizeof(data));
	sha256_begin(&s, NULL);
	sha256_add(&s, data, size);
	sha256_end(&s, digest);
	n = snprintf(line, sizeof(line), "%s %lu ", name(in), how & 64 ? size : size << (how >> 3));
	for (unsigned i = 0; i < 32; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x", digest[i]);
	management_request(session, MANAGEMENT_IMAGE, line, (u32)n);
	if (how & 128)
		management_request(session, MANAGEMENT_DATA, data, (u32)size);
	if (fuzz_u8(in) & 1)
		management_request(session, MANAGEMENT_IMAGE_END, "", 0);
}

static void create(struct fuzz_in *in)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "f.conf\nname = %s\nkernel = %s\nmemory = %uM\n",
			 name(in), name(in), (fuzz_u8(in) & 31) * 4 + 2);

	while (in->left && n < (int)sizeof(text) - 1 && *in->p)
		text[n++] = (char)fuzz_u8(in);
	management_request(0, MANAGEMENT_CREATE, text, (u32)n);
}

static void anything(struct fuzz_in *in)
{
	u8 bytes[64];
	u32 n = fuzz_u8(in) % sizeof(bytes);
	u16 what;

	for (u32 i = 0; i < n; i++)
		bytes[i] = fuzz_u8(in);
	if (n >= 16 && fuzz_u8(in) & 1)
		memcpy(bytes,
		       &(struct management_message){ MANAGEMENT_MAGIC, MANAGEMENT_VERSION, bytes[6],
						     1, n - 16 },
		       16);
	management_bytes(fuzz_u8(in) % MANAGEMENT_PORTS, bytes, n, &what);
}

/* Events are lines of ten values, whatever came. */
static void check_events(void)
{
	const char *p, *end;
	unsigned tabs = 9;

	management_request(0, MANAGEMENT_EVENTS, "0", 1);
	p = (const char *)answer.data + sizeof(struct management_message);
	end = (const char *)answer.data + answer.size;
	CHECK(!strncmp(p, "next=", 5));
	while (*p++ != '\n')
		;
	for (; p < end; p++) {
		CHECK(*p == '\n' || *p == '\t' || (*p >= ' ' && *p <= '~'));
		CHECK(*p != '\n' || !tabs);
		tabs = *p == '\n' ? 9 : tabs - (*p == '\t');
	}
}

static void check(void)
{
	const struct management_message *head = (const struct management_message *)answer.data;

	for (u32 i = 0; head->what && i < head->size; i++) {
		u8 c = answer.data[sizeof(*head) + i];

		CHECK((c >= ' ' && c <= '~') || c == '\n');
	}
	CHECK(vms_bytes() + images_bytes() <= management_config.control.memory);
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(!monitor_slots[i].config || !monitor_slots[k].config ||
			      strcmp(monitor_vm_name(i), monitor_vm_name(k)) != 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	management_begin(RIGHTS);
	events_start();
	/* One of the boot, to be read. */
	management_there(false)[5 * 512] = 1;
	for (unsigned i = 0; in.left && i < STEPS; i++, fuzz_actions++) {
		u8 op = fuzz_u8(&in);
		const char *whom = name(&in);

		if (op < 64)
			anything(&in);
		else if (op < 128)
			transfer(&in);
		else if (op < 160)
			create(&in);
		else if (op < 168)
			management_close(op % MANAGEMENT_PORTS);
		else
			management_request(op % MANAGEMENT_PORTS, op % MANAGEMENT_REQUESTS, whom,
					   (u32)strlen(whom));
		check();
	}
	check_events();
	for (unsigned i = 0; i < MANAGEMENT_PORTS; i++)
		management_close(i);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		management_request(0, MANAGEMENT_STOP, names[i], (u32)strlen(names[i]));
		management_request(0, MANAGEMENT_DESTROY, names[i], (u32)strlen(names[i]));
	}
	/* Their names may be others. */
	for (unsigned i = 2; i < monitor_nr_slots; i++) {
		const char *last = monitor_vm_name(i);

		management_request(0, MANAGEMENT_STOP, last, (u32)strlen(last));
		CHECK(!last[0] ||
		      !management_request(0, MANAGEMENT_DESTROY, last, (u32)strlen(last)));
		CHECK(!monitor_vm_name(i)[0]);
	}
	for (unsigned i = 1; i < fake_host.nr_modules; i++)
		if (fake_host.modules[i].name[0])
			CHECK(!management_request(0, MANAGEMENT_IMAGE_REMOVE,
						  fake_host.modules[i].name,
						  (u32)strlen(fake_host.modules[i].name)));
	CHECK(!images_bytes() && !fake_host.nr_extents);
	return 0;
}

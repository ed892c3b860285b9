/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/gdb/packet.c vmm/gdb/requests.c lib/span.c */
/* FUZZ: -max_len=4096 */
/*
 * The gdb stub's line: bytes through the packet layer, complete packets to the
 * commands, over a target that checks what it is asked. Input is taken raw and,
 * each line once more, as the text of a packet with a right checksum.
 */
#include <margay/errno.h>

#include "tests/fuzz/fuzz.h"
#include "vmm/config/config.h"
#include "vmm/gdb/gdb.h"
#include "vmm/gdb/packet.h"

#define VCPUS 3u
#define REGISTERS 40u
#define MEMORY 512u

static struct gdb_line line;
static u8 memory[MEMORY], registers[REGISTERS][GDB_REGISTER_MAX];
static unsigned current;
static bool running;

bool gdb_running(void)
{
	return running;
}
unsigned gdb_threads(void)
{
	return VCPUS;
}
unsigned gdb_current(void)
{
	return current;
}
void gdb_no_ack(void) { }
void gdb_understands(bool sw, bool hw)
{
	(void)sw;
	(void)hw;
}
void gdb_begin(struct vcpu *vcpu)
{
	(void)vcpu;
}
void gdb_detach(struct vcpu *vcpu)
{
	(void)vcpu;
	running = false;
}
void gdb_kill(struct vcpu *vcpu)
{
	(void)vcpu;
}

bool gdb_select(unsigned vcpu)
{
	if (vcpu >= VCPUS)
		return false;
	current = vcpu;
	return true;
}

unsigned gdb_halt(struct vcpu *, char *answer)
{
	running = false;
	memcpy(answer, "T05", 3);
	return 3;
}

void gdb_resume(struct vcpu *, const u8 action[])
{
	bool any = false;

	CHECK(!running);
	for (unsigned i = 0; i < VCPUS; i++) {
		CHECK(action[i] <= GDB_STEP);
		any = any || action[i] != GDB_HOLD;
	}
	CHECK(any);
	running = true;
}

unsigned gdb_register_count(void)
{
	return REGISTERS;
}
unsigned gdb_register_size(unsigned i)
{
	if (i < 24)
		return 8;
	if (i < 32)
		return 10;
	return i < REGISTERS ? 4 : 0;
}

bool gdb_register_get(struct vcpu *, unsigned i, u8 value[GDB_REGISTER_MAX])
{
	CHECK(i < REGISTERS);
	memcpy(value, registers[i], gdb_register_size(i));
	return i < 24 || i >= 32;
}

int gdb_register_set(struct vcpu *, unsigned i, const u8 value[GDB_REGISTER_MAX])
{
	CHECK(i < REGISTERS);
	memcpy(registers[i], value, gdb_register_size(i));
	return i % 7 ? 0 : -EPERM;
}

unsigned gdb_description(unsigned offset, unsigned max, char *out, bool *more)
{
	unsigned n = offset < 5000 ? (unsigned)MIN(max, 5000 - offset) : 0;

	memset(out, 'x', n);
	*more = offset + n < 5000;
	return n;
}

unsigned gdb_memory(struct vcpu *, u64 address, u8 *bytes, unsigned n, bool write)
{
	unsigned can = address < MEMORY ? (unsigned)MIN(n, MEMORY - address) : 0;

	CHECK(n <= GDB_PACKET);
	if (write)
		memcpy(memory + (can ? address : 0), bytes, can);
	else
		memcpy(bytes, memory + (can ? address : 0), can);
	return can;
}

int gdb_break(struct vcpu *, enum gdb_break kind, u64 address, unsigned length, bool)
{
	CHECK(kind <= GDB_ACCESS && !running);
	if (address % 5 == 0)
		return -EFAULT;
	return length > 8 ? -EINVAL : 0;
}

static void command(void)
{
	static char answer[GDB_PACKET + 1];
	static u8 frame[GDB_FRAME];
	struct gdb_line back = { 0 };
	unsigned n, length;

	CHECK(line.length <= GDB_PACKET && !line.text[line.length]);
	answer[GDB_PACKET] = 0x55;
	n = gdb_command(NULL, line.text, line.length, answer);
	CHECK(answer[GDB_PACKET] == 0x55);
	if (n == GDB_NO_ANSWER)
		return;
	CHECK(n <= GDB_PACKET);
	/* What we frame we understand. */
	length = gdb_frame(answer, n, frame);
	CHECK(length <= GDB_FRAME);
	for (unsigned i = 0; i + 1 < length; i++)
		CHECK(gdb_feed(&back, frame[i]) == GDB_NONE);
	CHECK(gdb_feed(&back, frame[length - 1]) == GDB_COMMAND);
	CHECK(back.length == n && !memcmp(back.text, answer, n));
}

static void feed(u8 byte)
{
	switch (gdb_feed(&line, byte)) {
	case GDB_COMMAND: command(); break;
	case GDB_BREAK: running = false; break;
	case GDB_BAD:
	case GDB_RESEND:
	case GDB_NONE: break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 frame[GDB_FRAME];
	size_t start = 0;

	line = (struct gdb_line){ 0 };
	current = 0;
	running = false;
	for (size_t i = 0; i < size; i++)
		feed(data[i]);
	for (size_t i = 0; i <= size; i++) {
		unsigned length;

		if (i < size && data[i] != '\n')
			continue;
		length = gdb_frame((const char *)data + start, (unsigned)MIN(i - start, GDB_PACKET),
				   frame);
		for (unsigned j = 0; j < length; j++)
			feed(frame[j]);
		start = i + 1;
	}
	return 0;
}

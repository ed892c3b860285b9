/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands of gdb's remote protocol (GDB manual, appendix E.2 and E.4).
 * Unknown ones get the empty answer. Nothing here trusts what is sent.
 */
#include <margay/errno.h>
#include <margay/span.h>
#include <margay/string.h>

#include "vmm/config/config.h"
#include "vmm/gdb/gdb.h"
#include "vmm/gdb/packet.h"

/* What is left of a command, and the answer so far. */
struct call {
	struct vcpu *vcpu;
	const char *p;
	const char *end;
	char *answer;
	unsigned n;
};

static void say(struct call *c, const char *text)
{
	while (*text && c->n < GDB_PACKET)
		c->answer[c->n++] = *text++;
}

static void say_hex(struct call *c, const u8 *bytes, unsigned n)
{
	char text[3];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%02x", bytes[i]);
		say(c, text);
	}
}

static void say_result(struct call *c, int err)
{
	char text[4];

	snprintf(text, sizeof(text), "E%02x", (unsigned)-err & 0xff);
	say(c, err ? text : "OK");
}

static bool skip(struct call *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return false;
	c->p += n;
	return true;
}

/* A hexadecimal number. */
static bool number(struct call *c, u64 *out)
{
	struct span rest = { c->p, (size_t)(c->end - c->p) };
	bool found = span_number(&rest, 16, out);

	c->p = rest.p;
	return found;
}

static bool hex_bytes(struct call *c, u8 *out, unsigned n)
{
	for (unsigned i = 0; i < n; i++, c->p += 2) {
		if (c->end - c->p < 2 || hex_digit(c->p[0]) < 0 || hex_digit(c->p[1]) < 0)
			return false;
		out[i] = (u8)(hex_digit(c->p[0]) << 4 | hex_digit(c->p[1]));
	}
	return true;
}

/* "address,length" */
static bool range(struct call *c, u64 *address, u64 *n)
{
	return number(c, address) && skip(c, ",") && number(c, n);
}

/* A thread; -1 (all) and 0 (any) come as 0. */
static bool thread(struct call *c, u64 *out)
{
	*out = 0;
	return skip(c, "-1") || number(c, out);
}

/* ---- registers and memory ---- */

static void get_register(struct call *c, unsigned i)
{
	u8 value[GDB_REGISTER_MAX];
	unsigned n = gdb_register_size(i);

	if (gdb_register_get(c->vcpu, i, value)) {
		say_hex(c, value, n);
		return;
	}
	while (n--)
		say(c, "xx");
}

static void read_registers(struct call *c)
{
	for (unsigned i = 0; i < gdb_register_count(); i++)
		get_register(c, i);
}

/* All in order; what is not available, or is not changed, need not be writable. */
static void write_registers(struct call *c)
{
	u8 value[GDB_REGISTER_MAX], old[GDB_REGISTER_MAX];
	int err = 0;

	for (unsigned i = 0; !err && c->p < c->end && i < gdb_register_count(); i++) {
		unsigned n = gdb_register_size(i);

		if (skip(c, "xx"))
			c->p = MIN(c->p + 2 * (n - 1), c->end);
		else if (!hex_bytes(c, value, n))
			err = -EINVAL;
		else if (gdb_register_get(c->vcpu, i, old) && memcmp(old, value, n) != 0)
			err = gdb_register_set(c->vcpu, i, value);
	}
	say_result(c, err);
}

static void read_register(struct call *c)
{
	u64 i;

	if (!number(c, &i) || i >= gdb_register_count())
		say_result(c, -EINVAL);
	else
		get_register(c, (unsigned)i);
}

static void write_register(struct call *c)
{
	u8 value[GDB_REGISTER_MAX];
	u64 i;

	if (!number(c, &i) || i >= gdb_register_count() || !skip(c, "=") ||
	    !hex_bytes(c, value, gdb_register_size((unsigned)i)))
		say_result(c, -EINVAL);
	else
		say_result(c, gdb_register_set(c->vcpu, (unsigned)i, value));
}

static void read_memory(struct call *c)
{
	u8 bytes[64];
	u64 address, n;

	if (!range(c, &address, &n)) {
		say_result(c, -EINVAL);
		return;
	}
	n = MIN(n, GDB_PACKET / 2);
	for (unsigned want, done = 0, got = 1; got && done < n; done += got) {
		want = (unsigned)MIN(n - done, sizeof(bytes));
		got = gdb_memory(c->vcpu, address + done, bytes, want, false);
		say_hex(c, bytes, got);
	}
	if (n && !c->n)
		say_result(c, -EFAULT);
}

static bool take_bytes(struct call *c, bool binary, u8 *bytes, u64 n)
{
	if (!binary)
		return hex_bytes(c, bytes, (unsigned)n);
	if ((u64)(c->end - c->p) != n)
		return false;
	memcpy(bytes, c->p, n);
	return true;
}

static void write_memory(struct call *c, bool binary)
{
	u8 bytes[GDB_PACKET];
	u64 address, n;

	if (!range(c, &address, &n) || !skip(c, ":") || n > sizeof(bytes) ||
	    !take_bytes(c, binary, bytes, n)) {
		say_result(c, -EINVAL);
		return;
	}
	say_result(c, gdb_memory(c->vcpu, address, bytes, (unsigned)n, true) == n ? 0 : -EFAULT);
}

static void change_breakpoint(struct call *c, bool insert)
{
	char kind = c->p < c->end ? *c->p++ : 0;
	u64 address, n;

	if (kind < '0' || kind > '4')
		return;
	if (!skip(c, ",") || !range(c, &address, &n))
		say_result(c, -EINVAL);
	else if (gdb_running())
		say_result(c, -EBUSY);
	else
		say_result(c, gdb_break(c->vcpu, (enum gdb_break)(kind - '0'), address, (unsigned)n,
					insert));
}

/* ---- running ---- */

static enum gdb_action action_of(char letter)
{
	if (letter == 's' || letter == 'S')
		return GDB_STEP;
	return letter == 'c' || letter == 'C' ? GDB_CONTINUE : GDB_HOLD;
}

static unsigned resume(struct call *c, const u8 *action)
{
	if (gdb_running())
		say_result(c, -EBUSY);
	else
		gdb_resume(c->vcpu, action);
	return c->n ? c->n : GDB_NO_ANSWER;
}

/* Of the actions that name a thread the first counts. */
static unsigned vcont(struct call *c)
{
	static u8 action[VM_CPUS_MAX]; /* under the session's lock */
	bool any = false;

	memset(action, GDB_HOLD, sizeof(action));
	while (skip(c, ";")) {
		char letter = c->p < c->end ? *c->p++ : 0;
		u64 signal, who = 0;

		if ((letter == 'S' || letter == 'C') && !number(c, &signal))
			letter = 0;
		if (action_of(letter) == GDB_HOLD || (skip(c, ":") && !thread(c, &who))) {
			say_result(c, -EINVAL);
			return c->n;
		}
		for (unsigned i = 0; i < gdb_threads(); i++)
			if (action[i] == GDB_HOLD && (!who || who == i + 1)) {
				action[i] = (u8)action_of(letter);
				any = true;
			}
	}
	if (any)
		return resume(c, action);
	say_result(c, -EINVAL);
	return c->n;
}

/* The old commands: this thread, the others go on. */
static unsigned run_request(struct call *c, char letter, unsigned self)
{
	static u8 action[VM_CPUS_MAX]; /* under the session's lock */

	memset(action, GDB_CONTINUE, sizeof(action));
	action[self] = (u8)action_of(letter);
	return resume(c, action);
}

/* ---- queries ---- */

static void supported(struct call *c)
{
	bool swbreak = false, hwbreak = false;
	char text[160];

	for (; c->p < c->end; c->p++) {
		swbreak = swbreak || skip(c, "swbreak+");
		hwbreak = hwbreak || skip(c, "hwbreak+");
		if (c->p == c->end)
			break;
	}
	gdb_begin(c->vcpu);
	gdb_understands(swbreak, hwbreak);
	snprintf(
		text, sizeof(text),
		"PacketSize=%x;qXfer:features:read+;QStartNoAckMode+;swbreak+;hwbreak+;vContSupported+",
		GDB_PACKET);
	say(c, text);
}

static void description(struct call *c)
{
	u64 offset, n;
	bool more;

	if (!range(c, &offset, &n) || offset > GDB_PACKET * 16) {
		say_result(c, -EINVAL);
		return;
	}
	c->n = 1 + gdb_description((unsigned)offset, (unsigned)MIN(n, GDB_PACKET - 1),
				   c->answer + 1, &more);
	c->answer[0] = more ? 'm' : 'l';
}

static void threads(struct call *c)
{
	char text[12];

	for (unsigned i = 0; i < gdb_threads(); i++) {
		snprintf(text, sizeof(text), "%c%x", i ? ',' : 'm', i + 1);
		say(c, text);
	}
}

static void query(struct call *c, unsigned self)
{
	char text[12];

	if (skip(c, "Supported")) {
		supported(c);
	} else if (skip(c, "Xfer:features:read:target.xml:")) {
		description(c);
	} else if (skip(c, "fThreadInfo")) {
		threads(c);
	} else if (skip(c, "sThreadInfo")) {
		say(c, "l");
	} else if (skip(c, "Attached")) {
		say(c, "1");
	} else if (c->p == c->end - 1 && skip(c, "C")) {
		snprintf(text, sizeof(text), "QC%x", self + 1);
		say(c, text);
	}
}

/* Hg and T; Hc says nothing that vCont does not. */
static void select_thread(struct call *c, bool set)
{
	u64 who;

	if (!thread(c, &who) || who > gdb_threads())
		say_result(c, -EINVAL);
	else
		say_result(c, !set || !who || gdb_select((unsigned)who - 1) ? 0 : -EINVAL);
}

unsigned gdb_command(struct vcpu *vcpu, const char *text, unsigned length, char *answer)
{
	struct call call = { .vcpu = vcpu, .p = text + 1, .end = text + length, .answer = answer },
		    *c = &call;
	unsigned self = gdb_current();

	if (!length)
		return 0;
	switch (text[0]) {
	case '?': return gdb_halt(vcpu, answer);
	case 'g': read_registers(c); break;
	case 'G': write_registers(c); break;
	case 'p': read_register(c); break;
	case 'P': write_register(c); break;
	case 'm': read_memory(c); break;
	case 'M': write_memory(c, false); break;
	case 'X': write_memory(c, true); break;
	case 'Z': change_breakpoint(c, true); break;
	case 'z': change_breakpoint(c, false); break;
	case 'c':
	case 's': return run_request(c, text[0], self);
	case 'q': query(c, self); break;
	case 'H':
		if (skip(c, "g"))
			select_thread(c, true);
		else if (skip(c, "c"))
			select_thread(c, false);
		break;
	case 'T': select_thread(c, false); break;
	case 'D':
		gdb_detach(vcpu);
		say(c, "OK");
		break;
	case 'k': gdb_kill(vcpu); return GDB_NO_ANSWER;
	case 'v':
		if (skip(c, "Cont?"))
			say(c, "vCont;c;C;s;S");
		else if (skip(c, "Cont"))
			return vcont(c);
		break;
	case 'Q':
		if (skip(c, "StartNoAckMode")) {
			gdb_no_ack();
			say(c, "OK");
		}
		break;
	}
	return c->n;
}

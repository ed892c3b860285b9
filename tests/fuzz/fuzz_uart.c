/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/uart16550.c vmm/slots/output_log.c kernel/console/plain.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c -lcmocka */
/* FUZZ: -max_len=300 vmm/dev/board/uart16550.c */
/*
 * Fuzzes the console UART: the input is register accesses, bytes typed, and
 * room on the line. Checked: the receiver holds what a naive queue holds; what
 * is sent comes out once; status bits say what is so; the interrupt line
 * follows IIR and MCR after each step (PC16550D data sheet, section 8).
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_vm.h"
#include "vmm/vm/intc.h"
#include "vmm/guest_platform.h"

#define STEPS 96

static struct vm *vm;
static bool line;
static u8 typed, sent; /* the next byte that goes in: counters, so that order shows */
static u8 lcr, mcr, fcr;

/* What the receiver must hold. */
static u8 queue[512];
static unsigned queued;
static bool overrun;

static void set_line(struct vm *which, unsigned gsi, bool level)
{
	CHECK(which == vm && gsi == GUEST_UART_GSI);
	line = level;
}

static const struct intc_ops intc = { .line = set_line };

static u8 in(unsigned reg)
{
	return (u8)guest_in(vm, (u16)(GUEST_UART_PORT + reg), 1);
}

static void model_push(u8 byte, unsigned limit)
{
	if (queued >= limit)
		overrun = true;
	else
		queue[queued++] = byte;
}

static void out(unsigned reg, u8 value)
{
	guest_out(vm, (u16)(GUEST_UART_PORT + reg), 1, value);
	if (reg == 0 && !(lcr & 0x80) && mcr & 0x10)
		model_push(value, fcr & 1 ? 16 : 1);
	if (reg == 2) {
		if (value & 2 || (value ^ fcr) & 1)
			queued = 0;
		fcr = value & 1;
	}
	lcr = reg == 3 ? value : lcr;
	mcr = reg == 4 ? value & 0x1f : mcr;
}

static void type(unsigned count)
{
	for (; count; count--, typed++) {
		fake_host.console->rx(fake_host.console, typed);
		if (!(mcr & 0x10))
			model_push(typed, sizeof(queue));
	}
}

static void read_data(void)
{
	u8 lsr = in(5), value;

	/* THRE and TEMT go together; no error but the overrun, told once. */
	CHECK(!(lsr & 0x9c) && !(lsr & 0x20) == !(lsr & 0x40));
	CHECK(!(lsr & 1) == !queued && !(lsr & 2) == !overrun);
	overrun = false;
	value = in(0);
	if (lcr & 0x80)
		return;
	CHECK(value == (queued ? queue[0] : 0));
	if (queued)
		memmove(queue, queue + 1, --queued);
}

static void check_output(void)
{
	/* The guest sends its counter: each byte that came out is later than the one before. */
	for (size_t i = 1; i < fake_host.output_len; i++)
		CHECK((u8)fake_host.output[i] != (u8)fake_host.output[i - 1]);
}

static void check_line(void)
{
	bool open = (mcr & 0x18) == 0x08, was = line;
	u8 iir;

	CHECK(open || !line);
	/* Reading IIR takes note of THRE only: the line shows what it said before. */
	iir = in(2);
	CHECK((iir & 0x30) == 0 && ((iir & 0xf) == 1 || !(iir & 1)));
	CHECK(was == (open && !(iir & 1)));
	CHECK(in(3) == lcr && in(4) == mcr);
}

static void step(struct fuzz_in *input)
{
	u8 op = fuzz_u8(input), n = op >> 4 & 7;

	switch (op & 0xf) {
	case 0:
	case 1:
	case 2: /* the guest writes its counter */
		if (!(lcr & 0x80) && !(mcr & 0x10))
			out(0, sent++);
		break;
	case 3:
	case 4: read_data(); break;
	case 5: type(n + 1); break;
	case 6: type(n * 80u); break;
	case 7: fake_host_drain(n * 4u); break;
	case 8: fake_host.output_room = n; break;
	case 9: /* but those whose reading changes the model */
		if (n && n != 5)
			in(n);
		break;
	case 10: {
		u8 reg = n, value = fuzz_u8(input);

		/*
		 * The transmitter gets the counter only, so that order shows; but in loopback
		 * anything.
		 */
		if (reg || lcr & 0x80 || mcr & 0x10)
			out(reg, value);
		break;
	}
	case 11: { /* wider than a byte: no such access */
		unsigned size = op & 0x80 ? 4 : 2;

		CHECK(guest_in(vm, (u16)(GUEST_UART_PORT + n), size) ==
		      (size == 4 ? ~0u : 0xffffu));
		guest_out(vm, (u16)(GUEST_UART_PORT + n), size, fuzz_u8(input));
		break;
	}
	case 12:
		out(2, fuzz_u8(input)); /* FCR */
		break;
	case 13:
		out(1, n | (op & 0x80 ? 8 : 0)); /* IER */
		break;
	case 14: out(4, n & 1 ? 0x0b : 0x1b); break;
	default: out(3, n & 1 ? 0x83 : 0x03);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in input = { data, size };

	fake_host_reset();
	vm = fake_vm_create(0);
	vm->intc = &intc;
	line = false;
	typed = sent = lcr = mcr = fcr = 0;
	queued = 0;
	overrun = false;
	for (unsigned i = 0; input.left && i < STEPS; i++) {
		step(&input);
		check_line();
	}
	check_output();
	fake_vm_destroy(vm);
	CHECK(!fake_host.console);
	return 0;
}

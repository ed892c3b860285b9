/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: the tests of the monitor console start it, in the ways of mode=
 * NOT ON bochs: the same
 *
 * A guest that does what an operator has to cope with: mode=hang stops with
 * interrupts off, three calls deep; mode=flood prints for ever; mode=part
 * leaves a line unfinished and waits; mode=tick counts its timer interrupts
 * for ever, and says every=50 of them, with slow=1 behind an access that no
 * short way emulates, and mode=mwait, too, but sleeps in MWAIT, with period=0
 * until something else ends that; mode=mce says what its
 * machine checks tell, and goes on, and mode=touch reads at=ADDRESS without
 * end, and with mce=1 until a machine check tells that this is lost; mode=nmi
 * hangs, and says what NMIs come at LINT1; mode=crash dies of a triple fault;
 * mode=reset pulses the keyboard controller's reset line; mode=keys says what
 * is typed; mode=wild says lines that a terminal would obey, and waits;
 * mode=once says one line and ends.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x40
#define PERIOD 20000 /* of the APIC timer's input clock, divided by 1; or period= */

static volatile u64 ticks;
static u32 period;

static void on_tick(struct trap_frame *f)
{
	(void)f;
	ticks++;
	apic_write(APIC_EOI, 0);
	apic_write(APIC_TIMER_INIT, period);
}

extern const u8 behave_mwait[];

static void sleep(bool by_mwait)
{
	if (by_mwait)
		asm volatile("monitor\n\txor %%eax, %%eax\n\tsti\n\tmwait\nbehave_mwait:\n\tcli" :
			     : "a"(&ticks), "c"(0ull), "d"(0ull) : "memory");
	else
		asm volatile("sti; hlt; cli" : : : "memory");
}

static void tick(bool by_mwait)
{
	u64 every = option_number("every", 50);
	bool slow = option_number("slow", 0);

	period = (u32)option_number("period", PERIOD);
	apic_enable();
	trap_handlers[VECTOR] = on_tick;
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR);
	apic_write(APIC_TIMER_INIT, period);
	if (by_mwait) {
		check(cpuid(1, 0).ecx & BIT(3) && cpuid(5, 0).edx & 0xf0,
		      "CPUID shows MWAIT and a C-state C1");
		print("behave: sleeps at %lx", (u64)behave_mwait);
	}
	for (u64 said = 0;;) {
		sleep(by_mwait);
		if (ticks - said >= every) {
			said = ticks;
			if (slow)
				asm volatile("orl $0, %0"
					     : "+m"(*(volatile u32 *)(LAPIC_BASE + APIC_TPR)));
			print("behave: ticks=%lu", said);
		}
	}
}

/*
 * Where the backtrace must lead: with frame pointers, not inlined, and with something to do after
 * the call.
 */
#define FRAME __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
extern const u8 behave_hang[];

FRAME static void hang_inner(void)
{
	irq_off();
	asm volatile("behave_hang:\n\tjmp behave_hang" : : "a"(0x1122334455667788ull),
							   "b"(0xb0b0b0b0ull));
}

FRAME static void hang_middle(void)
{
	hang_inner();
	asm volatile("" : : : "memory");
}

FRAME static void hang_outer(void)
{
	hang_middle();
	asm volatile("" : : : "memory");
}

static volatile bool told;

extern const u8 behave_touch[], behave_touched[];

static void on_mce(struct trap_frame *f)
{
	told = true;
	if (f->rip == (u64)behave_touch)
		f->rip = (u64)behave_touched;
	print("behave: machine check %lx: status %lx address %lx misc %lx", rdmsr(0x17a),
	      rdmsr(0x401), rdmsr(0x402), rdmsr(0x403));
	wrmsr(0x401, 0);
	wrmsr(0x17a, 0);
}

static void take_mce(void)
{
	u64 cr4;

	print("behave: MCG_CAP %lx", rdmsr(0x179));
	trap_handlers[18] = on_mce;
	irq_off();
	asm volatile("mov %%cr4, %0\n\tor $0x40, %0\n\tmov %0, %%cr4" : "=r"(cr4));
}

static void touch(void)
{
	u64 at = option_number("at", 0);

	if (option_number("mce", 0))
		take_mce();
	print("behave: touches %lx", at);
	while (!told)
		asm volatile("behave_touch:\n\tmov (%0), %%al\nbehave_touched:" : : "r"(at)
			     : "rax", "memory");
	print("behave: goes on");
	for (;;)
		asm volatile("hlt");
}

static void mce(void)
{
	take_mce();
	print("behave: waits");
	/* No exit may come in between: an error there would be the hypervisor's. */
	while (!told)
		;
	print("behave: goes on");
	for (;;)
		asm volatile("hlt");
}

static void on_nmi(struct trap_frame *f)
{
	(void)f;
	print("behave: NMI, port 61 says %x", inb(0x61));
}

static void nmi(void)
{
	irq_off();
	apic_enable();
	trap_handlers[VEC_NMI] = on_nmi;
	apic_write(APIC_LVT_LINT1, 0x400);
	print("behave: waits");
	for (;;)
		asm volatile("" : : : "memory");
}

static bool mode_is(const char *want)
{
	const char *mode = option("mode");

	while (mode && *mode && *mode == *want)
		mode++, want++;
	return mode && !*want && (!*mode || *mode == ' ');
}

void test_main(void)
{
	check(true, "it runs");
	print("behave: begins");
	if (mode_is("hang")) {
		print("behave: hangs at %lx in %lx in %lx", (u64)behave_hang, (u64)hang_middle,
		      (u64)hang_outer);
		hang_outer();
	}
	for (u64 n = 0; mode_is("flood"); n++)
		print("flood %lu of a guest that never stops to say what nobody wants to know", n);
	if (mode_is("tick") || mode_is("mwait"))
		tick(mode_is("mwait"));
	if (mode_is("mce"))
		mce();
	if (mode_is("nmi"))
		nmi();
	if (mode_is("touch"))
		touch();
	if (mode_is("wild")) {
		print("\x1b[2J\x1b[1;31mred\x1b[0m \x9b"
		      "7m \xff\xfe\a\b K\xc3\xa4se");
		for (;;)
			asm volatile("hlt");
	}
	while (mode_is("keys"))
		if (inb(0x3fd) & 1)
			print("behave: key %x", inb(0x3f8));
	if (mode_is("crash")) {
		idt_load(NULL, 0);
		asm volatile("ud2");
	}
	if (mode_is("reset"))
		outb(0x64, 0xfe);
	if (mode_is("part")) {
		for (const char *p = "an unfinished line"; *p; p++)
			outb(0x3f8, (u8)*p);
		for (;;)
			asm volatile("hlt");
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_pci_function.sources */
/*
 * What the host does to a function, on a model of one: quiet at boot, reset, taken back; and
 * functions that do not obey.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/console/screen.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"

enum {
	PM = 0x40,
	MSI = 0x50,
	MSIX = 0x70,
	EXP = 0x80,
	AF = 0xc0,
	AER = 0x100,
	LTR = 0x150,
	REBAR = 0x160,
	VF_REBAR = 0x180
};

static u8 config[0x200], port_config[256]; /* PCI Express at EXP there, too */
static struct pci_function f;
static const struct pci_function port = { .address = { .bus = 0, .devfn = 0x20 },
					  .header_type = 1,
					  .secondary_bus = 1 };
static bool alone; /* below the port */
static char bus_log[100]; /* what the port was told, and reads while its link is away */
static unsigned link_away;
static unsigned resets, errors;
static unsigned pending; /* reads for which transactions are under way */
static unsigned away; /* reads that are not answered */
static unsigned leaves_at; /* the n-th read from now on finds it gone, ... */
static bool leaves_whole; /* ... if not this: by a reset of its own */
static u64 leaves_for; /* ... for so long */
static u64 gone_until; /* TSC */
static unsigned away_after; /* ... after a reset */
static bool stubborn; /* bus master stays on, but for a reset */
static bool still_stubborn; /* ... also after a reset */
static unsigned still_pending; /* pending, after a reset */
/* its FLR does not end if it is no bus master with all messages masked */
static bool wedges;
static bool dead; /* after a reset: never comes back */
static unsigned reads; /* of its configuration space */
static u64 now; /* the TSC of resets, of 1 MHz */
static u64 polls; /* reads that were not answered: one a millisecond */
static const u64 khz = 1000; /* of the TSC: milliseconds that do not hold the test up */

/* The way to memory takes all at first. */
static unsigned takes;

unsigned pci_path(const struct pci_function *g)
{
	assert_ptr_equal(g, &f);
	return takes;
}

static u32 get(u16 at, unsigned size)
{
	u32 v = 0;

	memcpy(&v, config + at, size);
	return v;
}

static void set(u16 at, unsigned size, u32 v)
{
	memcpy(config + at, &v, size);
}

static void has_sizes(void);

/* What the function loses. */
static void lose(void)
{
	resets++;
	stubborn = still_stubborn;
	pending = still_pending;
	set(4, 2, 0);
	set(0x0c, 4, 0);
	memset(config + 0x10, 0, 0x24);
	set(0x3c, 1, 0);
	set(MSI + 2, 2, 0x80);
	set(MSIX + 2, 2, 7);
	set(EXP + 8, 2, 0x2810);
	set(EXP + 0x10, 2, 0);
	set(EXP + 0x28, 2, 0);
	set(LTR + 4, 4, 0);
	set(REBAR + 8, 2, 0x0840);
	set(REBAR + 16, 2, 0x0842);
	set(REBAR + 24, 2, 0);
	set(VF_REBAR + 8, 2, 0x0020);
	away = away_after;
}

/* What redirects its requests to an IOMMU is lost by a reset, too. */
static unsigned isolated;

void pci_isolate(const struct pci_function *g)
{
	assert_ptr_equal(g, &f);
	isolated = resets;
}

/* Before it loses its bus mastering, which firmware's driver in SMM waits for. */
static unsigned usb_taken;

void pci_take_usb(const struct pci_function *g)
{
	assert_ptr_equal(g, &f);
	assert_int_equal(get(4, 2) & BIT(2), BIT(2));
	usb_taken++;
}

/* Memory that was a VM's before or will be, in whole. */
static u64 yielded;

void screen_yield(u64 base, u64 size)
{
	assert_true(base != 0xc040);
	yielded += base + size;
}

const struct pci_function *pci_own_port(const struct pci_function *g)
{
	assert_ptr_equal(g, &f);
	return alone ? &port : NULL;
}

static u32 port_read(u16 offset, unsigned size)
{
	u32 v = 0;

	memcpy(&v, port_config + offset, size);
	if (offset == EXP + 0x12 && link_away) {
		link_away--;
		v &= ~(u32)BIT(13);
	}
	return v;
}

/* Its link goes with the reset of its bus, and what is there loses all. */
static void port_write(u16 offset, unsigned size, u32 v)
{
	assert_int_equal(size, 2);
	if (offset == EXP + 0x28) {
		assert_true(!link_away && v == 0x0420);
		memcpy(port_config + offset, &v, size);
		return;
	}
	assert_int_equal(offset, 0x3e);
	port_config[EXP + 0x29] &= ~4u;
	strcat(bus_log, v & BIT(6) ? "+" : "-");
	if (v & BIT(6))
		lose();
	memcpy(port_config + offset, &v, size);
}

static bool is_gone(void)
{
	if (leaves_at && !--leaves_at) {
		if (!leaves_whole)
			lose();
		gone_until = now + leaves_for;
	}
	return now < gone_until;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	if (pci_same_address(&a, &port.address))
		return port_read(offset, size);
	assert_false(port_config[0x3e] & BIT(6));
	assert_true(offset + size <= sizeof(config) && IS_ALIGNED(offset, size));
	reads++;
	if (is_gone())
		return size == 4 ? ~0u : (u32)(BIT(size * 8) - 1);
	if (away) {
		away -= !dead;
		polls++;
		return size == 4 ? ~0u : (u32)(BIT(size * 8) - 1);
	}
	if (offset == EXP + 10 && pending) {
		pending--;
		return get(offset, 2) | BIT(5);
	}
	return get(offset, size);
}

void pci_write(struct pci_address a, u16 offset, unsigned size, u32 v)
{
	if (pci_same_address(&a, &port.address)) {
		port_write(offset, size, v);
		return;
	}
	assert_false(port_config[0x3e] & BIT(6));
	assert_true(offset + size <= sizeof(config) && IS_ALIGNED(offset, size));
	if (now < gone_until || away)
		return;
	/*
	 * Latencies are there, and the port takes them, before they are sent; sizes before
	 * addresses.
	 */
	if (offset == EXP + 0x28 && v & BIT(10))
		assert_true(get(LTR + 4, 4) == 0x10031003 && port_config[EXP + 0x29] & 4);
	if (offset == 0x10 && v)
		has_sizes();
	assert_int_not_equal(offset, REBAR + 24);
	/* What was read as ones. */
	assert_true(size != 2 || (v | 0x7) != 0xffff);
	if (offset == 4 && stubborn)
		v |= BIT(2);
	if (offset == EXP + 8 && v & BIT(15)) {
		bool drains = get(4, 2) & BIT(2) && get(MSIX + 2, 2) >> 14 == 3;

		lose();
		dead = dead || (wedges && !drains);
		away = dead ? 1 : away;
		return;
	}
	if (offset == AF + 4 && v & 1) {
		lose();
		return;
	}
	/* What is noted is cleared by ones: PCI Express 7.5.1.1.4, 7.5.3.5, 7.8.4.2, 7.8.4.5. */
	if (offset == 6 || offset == EXP + 10 || offset == AER + 4 || offset == AER + 0x10)
		v = get(offset, size) & ~v;
	if (offset == PM + 4 && (get(offset, 2) & 3) == 3 && !(v & 3) && !(get(offset, 2) & BIT(3)))
		lose();
	set(offset, size, v);
}

const struct pci_function *pci_get(unsigned i)
{
	assert_int_equal(i, 0);
	return &f;
}

u64 host_tsc_khz(void)
{
	return khz;
}

void host_interrupt_window(void)
{
	fail();
}

u64 host_tsc(void)
{
	return now;
}

/*
 * Goes on with it each 100 us, until it is over. No step waits for the device: it would read again
 * and again.
 */
static int finish(struct host_pci_reset *r)
{
	int err;

	do {
		reads = 0;
		now += khz / 10;
		err = host_pci_reset_step(r);
		assert_in_range(reads, 0, 150);
	} while (err == -EBUSY);
	return err;
}

static int run_reset(bool decodes)
{
	struct host_pci_reset r;

	host_pci_reset_begin(&r, 0);
	r.decodes = decodes;
	return finish(&r);
}

static int reset_now(void)
{
	return run_reset(false);
}

static int take_back_now(void)
{
	int err = run_reset(true);

	return err == -ENODEV ? 0 : err;
}

void printk(const char *, ...) { }

void printk_error(const char *, ...)
{
	errors++;
}

void host_log_limited(struct log_limit *, const char *, const char *, ...)
{
	errors++;
}

static int setup(void **)
{
	takes = HOST_PCI_RELAXED;
	memset(config, 0, sizeof(config));
	memset(port_config, 0, sizeof(port_config));
	port_config[6] = 0x10;
	port_config[0x34] = EXP;
	port_config[EXP] = 0x10;
	port_config[EXP + 2] = 0x42;
	port_config[EXP + 0x0c + 2] = 0x10; /* says whether its link is there */
	port_config[EXP + 0x12 + 1] = 0x20;
	port_config[EXP + 0x28] = 0x20; /* ARI, and LTR */
	port_config[EXP + 0x29] = 4;
	port_config[0x3e] = 3;
	alone = false;
	bus_log[0] = 0;
	link_away = 0;
	f = (struct pci_function){
		.address.bus = 1,
		.id.class_code = 0x020000,
		.extended = true,
		.bar = { { .base = 0xfebc0000, .size = 0x20000 },
			 { .base = 0xc040, .flags = 1 },
			 { .base = 0x380000000000, .size = 0x1000, .flags = 0xc },
			 [PCI_ROM_BAR] = { .base = 0xfeb80000 } },
	};
	resets = errors = pending = away = away_after = leaves_at = 0;
	polls = gone_until = 0;
	leaves_whole = false;
	now = 1;
	stubborn = still_stubborn = dead = wedges = false;
	still_pending = 0;
	set(0, 4, 0x10d38086);
	set(4, 4, 0x00100007);
	set(0x0c, 1, 0x10);
	set(0x10, 4, 0xfebc0000);
	set(0x14, 4, 0xc041);
	set(0x18, 4, 0xc);
	set(0x1c, 4, 0x3800);
	set(0x30, 4, 0xfeb80000);
	set(0x34, 1, PM);
	set(PM, 4, 0x00030001 | MSI << 8);
	set(MSI, 4, 0x00810005 | MSIX << 8);
	set(MSIX, 4, 0x80070011 | (u32)EXP << 8);
	set(EXP, 4, 0x00020010 | (u32)AF << 8);
	set(EXP + 4, 4, BIT(28));
	set(EXP + 8, 2, 0x2050);
	set(EXP + 0x10, 2, 0x40);
	set(EXP + 0x28, 2, 0x400);
	set(AF, 4, 0x03060013);
	set(AER, 4, 0x00020001 | (u32)LTR << 20);
	set(LTR, 4, 0x00010018 | (u32)REBAR << 20);
	set(LTR + 4, 4, 0x10031003);
	/* Two BARs of 2^(20 + n) bytes, and one of its VFs. */
	set(REBAR, 4, 0x00010015 | (u32)VF_REBAR << 20);
	set(REBAR + 8, 4, 0x0f40);
	set(REBAR + 16, 4, 0x0042);
	set(REBAR + 24, 4, 0x0f00); /* of none */
	set(VF_REBAR, 4, 0x00010024);
	set(VF_REBAR + 8, 4, 0x0520);
	set(AER + 8, 4, 0x00100000);
	set(AER + 0xc, 4, 0x00462030);
	set(AER + 0x14, 4, 0x2000);
	set(AER + 0x18, 4, 0xa0);
	pci_keep(&f);
	return 0;
}

static void is_quiet(void)
{
	assert_int_equal(get(4, 2) & BIT(2), 0);
	assert_int_equal(get(4, 2) & BIT(10), BIT(10));
	assert_int_equal(get(MSI + 2, 2) & 1, 0);
	assert_int_equal(get(MSIX + 2, 2) & BIT(15), 0);
}

static void has_addresses(void)
{
	assert_int_equal(get(0x10, 4), 0xfebc0000);
	assert_int_equal(get(0x14, 4), 0xc041);
	assert_int_equal(get(0x18, 4), 0xc);
	assert_int_equal(get(0x1c, 4), 0x3800);
	assert_int_equal(get(0x20, 4), 0);
	assert_int_equal(get(0x30, 4), 0xfeb80000);
	assert_int_equal(get(EXP + 8, 2), 0x2050);
}

/* What BARs decode, and what the path takes. */
static void has_sizes(void)
{
	assert_int_equal(get(REBAR + 8, 4), 0x0f40);
	assert_int_equal(get(REBAR + 16, 4), 0x0042);
	assert_int_equal(get(VF_REBAR + 8, 4), 0x0520);
	assert_int_equal(get(LTR + 4, 4), 0x10031003);
}

static void is_restored(void)
{
	has_addresses();
	has_sizes();
	assert_int_equal(get(0x0c, 1), 0x10);
	assert_int_equal(get(EXP + 0x10, 2), 0x40);
}

static void test_boot(void **)
{
	static const u32 left_alone[] = {
		0x060000, 0x060400, 0x080000, 0x080020, 0x080200,
		0x080300, 0x080400, 0x080600, 0x080700,
	};
	static const u32 quieted[] = { 0x080100, 0x080501, 0x088000, 0x020000 };
	u8 before[sizeof(config)];

	memcpy(before, config, sizeof(config));
	for (unsigned i = 0; i < ARRAY_SIZE(left_alone); i++) {
		f.id.class_code = left_alone[i];
		pci_keep_quiet(&f);
		assert_memory_equal(config, before, sizeof(config));
	}
	f.id.class_code = 0x020000;
	f.header_type = 1;
	pci_keep_quiet(&f);
	assert_memory_equal(config, before, sizeof(config));
	f.header_type = 0;
	/* A display's picture may come from memory. */
	f.id.class_code = 0x030000;
	set(PCI_REG_ROM, 4, 0xffc00001);
	pci_keep_quiet(&f);
	/* Wherever its ROM is, it is switched off. */
	assert_int_equal(get(PCI_REG_ROM, 4), 0xffc00000);
	assert_int_equal(get(4, 2), 0x0407);
	/* A DMA controller, an SD host's, an accelerator ("other"): they do DMA as a card does. */
	for (unsigned i = 0; i < ARRAY_SIZE(quieted); i++) {
		set(4, 2, 7);
		f.id.class_code = quieted[i];
		pending = 3;
		pci_keep_quiet(&f);
		is_quiet();
	}
	assert_int_equal(get(4, 2), 0x0403);
	assert_int_equal(errors | resets | usb_taken, 0);
	/*
	 * No Snoop, which a reset has on, and what tells the platform of errors go off (PCI Express
	 * 7.5.3.4); the rest is kept.
	 */
	set(EXP + 8, 2, 0x295f);
	set(4, 2, 0x147);
	f.kept.control = f.kept.control2 = 0;
	pci_keep_quiet(&f);
	assert_int_equal(get(EXP + 8, 2), 0x2150);
	assert_int_equal(get(4, 2) & 0x140, 0);
	assert_true(f.kept.control == 0x2150 && f.kept.control2 == 0x400);
	set(4, 2, 7);
	f.id.class_code = 0x0c0330;
	pci_keep_quiet(&f);
	assert_int_equal(usb_taken, 1);
	is_quiet();
	assert_false(f.restless);
	stubborn = true;
	set(4, 2, 7);
	pci_keep_quiet(&f);
	assert_int_equal(errors, 1);
	assert_true(f.restless);
}

static void take_back(void)
{
	yielded = 0;
	assert_int_equal(take_back_now(), 0);
	assert_int_equal(yielded, 0xfebc0000 + 0x20000 + 0x380000000000 + 0x1000);
	assert_int_equal(resets, 1);
	assert_int_equal(isolated, 1);
	is_quiet();
	is_restored();
	assert_int_equal(get(4, 2), 0x0403); /* decoding as it was */
}

static void test_take_back(void **state)
{
	take_back(); /* by FLR */
	setup(state);
	set(EXP + 4, 4, 0);
	take_back(); /* by FLR of the advanced features */
	setup(state);
	set(EXP + 4, 4, 0);
	set(AF, 4, 0x01060013);
	take_back(); /* by D3hot and back */
	/* Without any: quiet is enough, and must be. */
	setup(state);
	set(EXP + 4, 4, 0);
	set(AF, 4, 0x01060013);
	set(PM + 4, 2, BIT(3));
	assert_int_equal(take_back_now(), 0);
	assert_int_equal(resets, 0);
	is_quiet();
	assert_int_equal(reset_now(), -ENODEV);
	/*
	 * Bus mastering that stays on, or what is under way and does not end: the function has not
	 * stopped, for nobody.
	 */
	for (unsigned i = 0; i < 2; i++) {
		pending = i ? 1000 : 0;
		stubborn = !i;
		set(4, 2, 7);
		assert_int_equal(take_back_now(), -EIO);
		pending = i ? 1000 : 0;
		assert_int_equal(reset_now(), -EIO);
	}
}

/*
 * What the last one has set there, by its configuration space or a register of its own: completion
 * timeout, what is reported, masks and severity of errors, which FLR keeps (PCI Express 7.8.4:
 * sticky). Each way to reset it, and none.
 */
static void test_left(void **state)
{
	for (unsigned way = 0; way < 5; way++) {
		setup(state);
		alone = way == 3;
		set(EXP + 4, 4, way ? 0 : BIT(28));
		set(AF, 4, way == 1 ? 0x03060013 : 0x01060013);
		set(PM + 4, 2, way > 2 ? BIT(3) : 0);
		set(6, 2, 0xf910);
		set(4, 2, get(4, 2) | 0x140);
		set(EXP + 8, 2, 0x291f);
		set(EXP + 10, 2, 0xf);
		set(EXP + 0x28, 2, 0x41f);
		set(AER + 4, 4, 0x00140000);
		set(AER + 8, 4, 0xffffffff);
		set(AER + 0xc, 4, 0xffffffff);
		set(AER + 0x10, 4, 0x2001);
		set(AER + 0x14, 4, 0xffff);
		set(AER + 0x18, 4, 0x1f4);
		assert_int_equal(take_back_now(), 0);
		assert_int_equal(resets, way < 4);
		is_restored();
		assert_int_equal(get(EXP + 0x28, 2), 0x400);
		assert_int_equal(get(AER + 8, 4), 0x00100000);
		assert_int_equal(get(AER + 0xc, 4), 0x00462030);
		assert_int_equal(get(AER + 0x14, 4), 0x2000);
		assert_int_equal(get(AER + 0x18, 4), 0xa0);
		assert_int_equal(get(AER + 4, 4) | get(AER + 0x10, 4) | get(EXP + 10, 2), 0);
		assert_int_equal(get(6, 2), 0x10);
		assert_int_equal(get(4, 2) & 0x140, 0);
	}
}

static void set_by_bus(void)
{
	alone = true;
	set(EXP + 4, 4, 0);
	set(AF, 4, 0x01060013);
	set(PM + 4, 2, BIT(3));
}

/*
 * Without a reset of its own, by the bus, where it is alone: all is lost then, and there again but
 * for what saves power.
 */
static void test_bus(void **state)
{
	u64 start;

	for (unsigned pm = 0; pm < 2; pm++) {
		setup(state);
		alone = true;
		set(EXP + 4, 4, 0);
		set(AF, 4, 0x01060013);
		set(PM + 4, 2, pm ? 0 : BIT(3));
		set(EXP + 0x10, 2, 0x43);
		link_away = 20;
		start = now;
		assert_int_equal(reset_now(), 0);
		assert_int_equal(resets, 1);
		assert_string_equal(bus_log, pm ? "" : "+-");
		if (pm) {
			assert_int_equal(get(EXP + 0x10, 2), 0x43);
			continue;
		}
		assert_true(now - start >= (2 + 20 + 100) * khz);
		assert_int_equal(link_away, 0);
		is_restored();
		is_quiet();
		assert_int_equal(port_config[0x3e], 3);
		assert_int_equal(port_config[EXP + 0x29], 4);
	}
	/* A port that takes no latencies does not begin with it. */
	setup(state);
	set(EXP + 0x28, 2, 0);
	pci_keep(&f);
	port_config[EXP + 0x29] = 0;
	set_by_bus();
	assert_int_equal(reset_now(), 0);
	assert_string_equal(bus_log, "+-");
	assert_int_equal(port_config[EXP + 0x29], 0);
	/* Of version 1 that register is another's. */
	port_config[EXP + 2] = 0x41;
	port_config[EXP + 0x29] = 4;
	assert_int_equal(reset_now(), 0);
	assert_int_equal(port_config[EXP + 0x29], 0);
	/* A port that does not say when its link is there. */
	setup(state);
	set_by_bus();
	port_config[EXP + 0x0c + 2] = 0;
	start = now;
	away_after = 3;
	assert_int_equal(reset_now(), 0);
	assert_true(now - start >= 1102 * khz);
	is_restored();
}

static void test_disobedient(void **state)
{
	/* What does not end by itself, and bus mastering that stays on, are ended by a reset. */
	pending = 100000;
	stubborn = true;
	take_back(); /* by FLR */
	setup(state);
	/* It asks for time. */
	away_after = 50;
	take_back(); /* by FLR */
	setup(state);
	away_after = 1;
	dead = true;
	assert_int_equal(take_back_now(), -EIO);
	/* One that goes on behind its reset; what ends by itself soon has ended. */
	setup(state);
	still_stubborn = true;
	assert_int_equal(take_back_now(), -EIO);
	setup(state);
	still_pending = 1000;
	assert_int_equal(take_back_now(), -EIO);
	setup(state);
	still_pending = 50;
	assert_int_equal(take_back_now(), 0);
}

/* Some take nearly a minute; who waits hears of it, and the CPU can do something else meanwhile. */
static void test_slow(void **state)
{
	away_after = 59900;
	take_back();
	assert_int_equal(errors, 5);
	/* A look each millisecond. */
	assert_in_range(now, 59900 * khz, 60200 * khz);
	assert_in_range(polls, 59899, 59901);
	setup(state);
	away_after = 59900;
	assert_int_equal(reset_now(), 0);
	is_restored();
	assert_int_equal(errors, 5);
	setup(state);
	away_after = 1;
	dead = true;
	assert_int_equal(reset_now(), -EIO);
	assert_int_equal(errors, 6);
	assert_in_range(polls, 60000, 60002);
	/* The usual one: no word. */
	setup(state);
	away_after = 900;
	take_back();
	assert_int_equal(errors, 0);
}

/*
 * One that starts anew by its guest's own word as it is to be reset (2.3.1: it reads as ones): it
 * is waited for, then reset.
 */
static void test_away(void **state)
{
	away = 30000;
	take_back();
	assert_int_equal(errors, 2);
	assert_in_range(now, 30000 * khz, 30300 * khz);
	setup(state);
	away = 1;
	dead = true;
	assert_int_equal(take_back_now(), -EIO);
	assert_in_range(now, 60000 * khz, 60010 * khz);
	assert_int_equal(resets, 0);
}

/* As each way to reset it needs it; the last has none. */
static void set_way(void **state, unsigned way)
{
	setup(state);
	alone = way == 3;
	set(EXP + 4, 4, way ? 0 : BIT(28));
	set(AF, 4, way == 1 ? 0x03060013 : 0x01060013);
	set(PM + 4, 2, way > 2 ? BIT(3) : 0);
}

/* It goes at that read, for so long. False: it has not been asked that often. */
static bool leaves(void **state, unsigned way, unsigned at, u64 time, bool whole)
{
	int err;

	set_way(state, way);
	leaves_at = at;
	leaves_for = time;
	leaves_whole = whole;
	err = reset_now();
	if (leaves_at)
		return false;
	assert_in_range(now, 0, 121000 * khz);
	if (time > 60000 * khz) {
		assert_int_equal(err, -EIO);
		return true;
	}
	assert_int_equal(err, way < 4 ? 0 : -ENODEV);
	assert_true(resets >= 1 || way == 4);
	is_quiet();
	has_addresses();
	return true;
}

/*
 * It goes in the middle of anything, by a reset of its own or not, and is back at the next look, or
 * after a while, or never: then it has been reset, is quiet and has its addresses, or counts as one
 * that does not stop. Ones are neither what it has, nor what it can.
 */
static void test_goes(void **state)
{
	for (unsigned way = 0; way < 5; way++) {
		unsigned at = 1;

		while (leaves(state, way, at, khz / 20, false)) {
			leaves(state, way, at, khz / 20, true);
			leaves(state, way, at, 300 * khz, false);
			leaves(state, way, at, ~0ull >> 2, false);
			at++;
		}
		assert_in_range(at, 80, 2000);
	}
}

/*
 * Its answers fail for a moment: it is not left in D3hot, and nothing is written of what was not
 * read.
 */
static void test_moments(void **state)
{
	for (unsigned moment = 1; moment < 300; moment *= 2) {
		struct host_pci_reset r;

		set_way(state, 2);
		host_pci_reset_begin(&r, 0);
		while ((get(PM + 4, 2) & 3) != 3)
			assert_int_equal((now += khz, host_pci_reset_step(&r)), -EBUSY);
		away = moment;
		assert_int_equal(finish(&r), 0);
		assert_int_equal(get(PM + 4, 2) & 3, 0);
	}
	setup(state);
	away = 1;
	assert_false(pci_change16(&f, 4, 1, 2));
	assert_true(get(4, 2) == 7 && pci_change16(&f, 4, 1, 0) && get(4, 2) == 6 &&
		    pci_change16(&f, 4, 1, 0));
}

/* Each time that it is back it goes again before its reset is begun: that ends, too. */
static void test_comes_and_goes(void **state)
{
	for (unsigned at = 5; at < 40; at += 10) {
		struct host_pci_reset r;
		int err;

		setup(state);
		leaves_for = 150 * khz;
		host_pci_reset_begin(&r, 0);
		do {
			/* It has been made quiet. */
			if (r.step && !leaves_at && now >= gone_until)
				leaves_at = at;
			now += khz / 10;
			err = host_pci_reset_step(&r);
		} while (err == -EBUSY);
		assert_int_equal(err, -EIO);
		assert_in_range(now, 60000 * khz, 61000 * khz);
	}
}

/*
 * It goes when it has been made quiet, and comes back as after a reset of its own: it gets what it
 * had before.
 */
static void test_goes_when_quiet(void **state)
{
	struct host_pci_reset r;
	int err;

	setup(state);
	leaves_for = 150 * khz;
	host_pci_reset_begin(&r, 0);
	r.decodes = true;
	do {
		if (r.step && !resets && !leaves_at && now >= gone_until)
			leaves_at = 1;
		now += khz / 10;
		err = host_pci_reset_step(&r);
		if (now < gone_until)
			leaves_for = 0;
	} while (err == -EBUSY);
	assert_int_equal(err, 0);
	is_restored();
	assert_int_equal(get(4, 2) & 3, 3);
}

/*
 * A virtual function that its card has switched off (PCI Express 9.3.3.3.1): nothing is there, and
 * nobody waits for it.
 */
static void test_absent(void **)
{
	extern int fake_vf_gone;
	struct host_pci_reset r;

	fake_vf_gone = 0;
	away = away_after = 1;
	dead = true;
	assert_int_equal(reset_now(), 0);
	assert_int_equal(take_back_now(), 0);
	/* It goes in the middle. */
	fake_vf_gone = -1;
	away = 0;
	host_pci_reset_begin(&r, 0);
	while (!resets)
		assert_int_equal((now += khz, host_pci_reset_step(&r)), -EBUSY);
	fake_vf_gone = 0;
	assert_int_equal(host_pci_reset_step(&r), 0);
	fake_vf_gone = -1;
	assert_int_equal(errors, 0);
	assert_in_range(polls, 0, 10);
}

/*
 * Those that hang are not begun, by neither capability; those that are not ready after them get
 * their time.
 */
static void test_quirks(void **state)
{
	static const struct pci_id hang[] = {
		{ 0x1022, 0x149c, 0 },
		{ 0x8086, 0x1503, 0 },
		{ 0x14c3, 0x0616, 0 },
		{ 0x144d, 0xa804, 0 },
	};
	u64 start;

	for (unsigned i = 0; i < ARRAY_SIZE(hang); i++)
		for (unsigned pm = 0; pm < 2; pm++) {
			setup(state);
			f.id = hang[i];
			/* Without D3hot and back there is none. */
			if (!pm)
				set(PM + 4, 2, BIT(3));
			assert_true(pci_reset_quirks(&f.id).flr_hangs);
			assert_int_equal(reset_now(), pm ? 0 : -ENODEV);
			assert_int_equal(resets, pm);
			is_quiet();
		}
	assert_false(pci_reset_quirks(&(struct pci_id){ 0x1022, 0x1503, 0 }).flr_hangs);
	for (unsigned slow = 0; slow < 2; slow++) {
		setup(state);
		f.id = (struct pci_id){ 0x8086, slow ? 0x0953 : 0x10d3, 0 };
		start = now;
		take_back();
		assert_true(now - start >= (slow ? 350 : 100) * khz);
		assert_int_equal(pci_reset_quirks(&f.id).flr_ms, slow ? 350 : 100);
	}
}

/*
 * What announces a reset by D3hot, or by its bus, that is none: the next way is taken, and what is
 * told of it says so.
 */
static void test_ineffective(void **state)
{
	static const struct pci_id keeps[] = {
		{ 0x1002, 0x6610, 0x030000 },
		{ 0x15b3, 0xcb84, 0x020000 },
		{ 0x15b3, 0xcf80, 0x028000 },
	};
	static const struct pci_id hangs[] = {
		{ 0x10de, 0x2342, 0x030200 },
		{ 0x104c, 0xb005, 0x118000 },
		{ 0x1b21, 0x1164, 0x010601 },
	};
	/* An Instinct is no VGA; ConnectX; H100. */
	static const struct pci_id others[] = {
		{ 0x1002, 0x740f, 0x120000 },
		{ 0x15b3, 0x1017, 0x020000 },
		{ 0x10de, 0x2330, 0x030200 },
		{ 0x10de, 0x2380, 0x030200 },
	};
	struct pci_info info;

	for (unsigned i = 0; i < ARRAY_SIZE(keeps); i++)
		for (unsigned port_alone = 0; port_alone < 2; port_alone++) {
			set_way(state, 2);
			f.id = keeps[i];
			alone = port_alone;
			assert_int_equal(reset_now(), port_alone ? 0 : -ENODEV);
			assert_string_equal(bus_log, port_alone ? "+-" : "");
			info = (struct pci_info){
				.id = keeps[i], .pm_reset = true, .flr = true, .bus_reset = true
			};
			pci_correct_resets(&info);
			assert_true(!info.pm_reset && info.flr && info.bus_reset);
		}
	for (unsigned i = 0; i < ARRAY_SIZE(hangs); i++) {
		set_way(state, 3);
		f.id = hangs[i];
		assert_int_equal(reset_now(), -ENODEV);
		assert_string_equal(bus_log, "");
		is_quiet();
		info = (struct pci_info){
			.id = hangs[i], .pm_reset = true, .flr = true, .bus_reset = true
		};
		pci_correct_resets(&info);
		assert_true(info.pm_reset && info.flr && !info.bus_reset);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		for (unsigned way = 2; way < 4; way++) {
			set_way(state, way);
			f.id = others[i];
			assert_int_equal(reset_now(), 0);
			assert_int_equal(resets, 1);
			info = (struct pci_info){ .id = others[i],
						  .pm_reset = true,
						  .bus_reset = true };
			pci_correct_resets(&info);
			assert_true(info.pm_reset && !info.flr && info.bus_reset);
		}
}

/*
 * An 82599's VF has the FLR that it does not announce; a T4's ends only as a bus master with
 * messages on, which come to nobody.
 */
static void test_special_flr(void **state)
{
	struct pci_info info = { .id = { 0x8086, 0x10ed, 0x020000 } };

	set_way(state, 4);
	f.id = info.id;
	assert_int_equal(reset_now(), 0);
	assert_int_equal(resets, 1);
	pci_correct_resets(&info);
	assert_true(info.flr);
	for (unsigned t4 = 0; t4 < 2; t4++) {
		setup(state);
		f.id = (struct pci_id){ 0x1425, t4 ? 0x440d : 0x540d, 0x020000 };
		wedges = t4;
		take_back();
		setup(state);
		wedges = true;
		f.id = (struct pci_id){ 0x1425, t4 ? 0x440d : 0x540d, 0x020000 };
		assert_int_equal(reset_now(), t4 ? 0 : -EIO);
	}
}

/*
 * What the way to memory does not take is off, at boot and after a reset; AtomicOps that it takes
 * are on.
 */
static void test_path(void **state)
{
	for (unsigned way = 0; way < 4; way++) {
		setup(state);
		takes = way;
		set(EXP + 8, 2, 0x2050);
		set(EXP + 0x28, 2, 0x400);
		pci_keep(&f);
		assert_int_equal(f.kept.control, way & HOST_PCI_RELAXED ? 0x2050 : 0x2040);
		assert_int_equal(f.kept.control2, way & HOST_PCI_ATOMICS ? 0x440 : 0x400);
		/* Nobody has had it yet: it is as its first guest will find it. */
		assert_int_equal(get(EXP + 8, 2), f.kept.control);
		assert_int_equal(get(EXP + 0x28, 2), f.kept.control2);
		assert_int_equal(reset_now(), 0);
		assert_int_equal(get(EXP + 8, 2), f.kept.control);
		assert_int_equal(get(EXP + 0x28, 2), f.kept.control2);
	}
}

/* As its guest sees it: nothing decodes, nothing comes; addresses are there. */
static void test_reset(void **state)
{
	assert_int_equal(reset_now(), 0);
	assert_int_equal(resets, 1);
	is_quiet();
	is_restored();
	assert_int_equal(get(4, 2), 0x0400);
	assert_int_equal(get(EXP + 0x28, 2), 0x400);
	/* Of version 1 that register is another capability's. */
	setup(state);
	set(EXP, 4, 0x00010010 | (u32)AF << 8);
	pci_keep(&f);
	assert_int_equal(reset_now(), 0);
	is_restored();
	assert_int_equal(get(EXP + 0x28, 2), 0);
	/* A reset of its own has cost it its addresses before. */
	setup(state);
	memset(config + 0x10, 0, 0x24);
	assert_int_equal(reset_now(), 0);
	is_restored();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_boot, setup),
		cmocka_unit_test_setup(test_take_back, setup),
		cmocka_unit_test_setup(test_bus, setup),
		cmocka_unit_test_setup(test_left, setup),
		cmocka_unit_test_setup(test_disobedient, setup),
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_slow, setup),
		cmocka_unit_test_setup(test_quirks, setup),
		cmocka_unit_test_setup(test_away, setup),
		cmocka_unit_test_setup(test_goes, setup),
		cmocka_unit_test_setup(test_comes_and_goes, setup),
		cmocka_unit_test_setup(test_goes_when_quiet, setup),
		cmocka_unit_test_setup(test_moments, setup),
		cmocka_unit_test_setup(test_absent, setup),
		cmocka_unit_test_setup(test_ineffective, setup),
		cmocka_unit_test_setup(test_special_flr, setup),
		cmocka_unit_test_setup(test_path, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

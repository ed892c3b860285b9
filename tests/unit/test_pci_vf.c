/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_sriov_cap.c kernel/pci/pci_sriov_config.c kernel/pci/pci_sriov_place.c kernel/pci/pci_info.c kernel/pci/pci_cap.c */
/*
 * Virtual functions (VFs) of a ConnectX-5 as its public dumps show it, switched on and off on a
 * model of one: where their registers are put, what the card is told in which order, what their
 * guests read; and cards that do not do what they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pci_route.h"
#include "kernel/pci/pci_sriov_vfs.c"
#include "tests/unit/connectx5.h"

#define AT 0x180u /* the card's capability */
#define OTHER 1 /* a function beside it, whose BAR has room above */
#define PORT_EXP 0x40u /* of the port above it */
#define KHZ 1000u /* of the TSC */

struct pci_function pci_functions[HOST_PCI_FUNCTIONS];
unsigned pci_nr_functions;

static const struct pci_address card = { 0, 0x3b, PCI_DEVFN(0, 0) };
static u8 card_devfn;
static const struct pci_function *const pf = &pci_functions[0];
static struct pci_function bridge;
static u32 config[1024], vf_config[1024];
static u64 size; /* of a VF's BAR */
static unsigned quiet, isolated, kept;
static u64 now, written; /* the TSC; when the control register was written */
static unsigned late; /* milliseconds until VFs answer */
static unsigned silent; /* VFs that never answer, from this one on */
static unsigned stubborn; /* none of them stops: their bus mastering, what is under way */
static bool unknown_window;
/* the bridge above is a root port; that has ARI, and the card has */
static bool is_port, port_ari, card_ari;
/* of the port, and of a PF of the same device with a lower number */
static u16 port_control, low_control;
static const struct pci_function *low_pf;
static u64 window_start, window_end;

static u16 control(void)
{
	return (u16)config[(AT + PCI_SRIOV_CONTROL) / 4];
}

static u32 part(u32 value, u16 offset, unsigned bytes)
{
	value >>= (offset & 3) * 8;
	return bytes == 4 ? value : value & (u32)(BIT(bytes * 8) - 1);
}

u32 pci_read(struct pci_address a, u16 offset, unsigned bytes)
{
	unsigned n = ((unsigned)a.bus << 8 | a.devfn) - 0x3b02u - card_devfn,
		 count = config[(AT + PCI_SRIOV_NUM_VFS) / 4] & 0xffff;

	assert_true(IS_ALIGNED(offset, bytes));
	if (a.bus == 0x3a && offset == PORT_EXP + PCI_EXP_CAPABILITIES)
		return PCIE_ROOT_PORT << 4 | 2;
	if (a.bus == 0x3a && offset == PORT_EXP + EXP_DEVICE2)
		return port_ari ? PCI_EXP_ARI : 0;
	if (a.bus == card.bus && a.devfn == card_devfn)
		return part(config[offset / 4], offset, bytes);
	/* Who asks before the 100 ms are over has no right to an answer (9.3.3.3.1). */
	assert_true(now - written >= 100 * KHZ);
	if (n >= count || n >= silent || now - written < late * KHZ ||
	    !(control() & PCI_SRIOV_ENABLE))
		return part(~0u, offset, bytes);
	return part(offset < 4 ? ~0u : vf_config[offset / 4], offset, bytes);
}

void pci_write(struct pci_address a, u16 offset, unsigned bytes, u32 value)
{
	u32 *word = &config[offset / 4], lanes = part(~0u, 0, bytes) << (offset & 3) * 8;

	assert_true(a.bus == card.bus && a.devfn == card_devfn && offset >= AT);
	/*
	 * All but the control register is written while there are no VFs (9.3.3.3.1, 9.3.3.7,
	 * 9.3.3.13).
	 */
	assert_true(offset == AT + PCI_SRIOV_CONTROL || !(control() & PCI_SRIOV_ENABLE));
	if (offset == AT + PCI_SRIOV_BAR)
		lanes &= (u32) ~(size - 1);
	else if (offset >= AT + PCI_SRIOV_BAR && offset != AT + PCI_SRIOV_BAR + 4)
		lanes = 0;
	*word = (*word & ~lanes) | (value << (offset & 3) * 8 & lanes);
}

bool pci_change16(const struct pci_function *f, u16 offset, u16 clear, u16 set)
{
	if (f == &bridge) {
		assert_true(offset == PORT_EXP + PCI_EXP_DEVICE_CONTROL2 && !clear);
		port_control |= set;
		return true;
	}
	if (f == low_pf) {
		assert_true(offset == AT + 0x40 + PCI_SRIOV_CONTROL && !clear);
		low_control |= set;
		return true;
	}
	assert_ptr_equal(f, pf);
	written = now;
	pci_write(f->address, offset, 2, (pci_read(f->address, offset, 2) & (u32)~clear) | set);
	return true;
}

static u32 read32(void *, u16 offset)
{
	return pci_read(pf->address, offset, 4);
}

struct pcicap_reader pci_reader(const struct pci_function *f)
{
	return (struct pcicap_reader){ read32, (void *)f, true };
}

u16 pci_find_extended_cap(const struct pci_function *f, u16 id)
{
	if (f == low_pf)
		return id == PCI_EXT_CAP_SRIOV ? AT + 0x40 : 0;
	if (f == pf && id == PCI_EXT_CAP_SRIOV)
		return AT;
	return f == pf && id == EXT_CAP_ARI && card_ari ? 0x150 : 0;
}

u16 pci_find_cap(const struct pci_function *f, u16 id)
{
	assert_true(f == &bridge && id == PCI_CAP_EXP);
	return is_port ? PORT_EXP : 0;
}

const struct pci_function *pci_get(unsigned i)
{
	return i < pci_nr_functions ? &pci_functions[i] : NULL;
}

const struct pci_function *pci_bridge_of(const struct pci_function *f)
{
	return f == &bridge ? NULL : &bridge;
}

/* Over the other function's BAR, or in no window. */
const char *pci_misplaced(const struct pci_function *f)
{
	const struct pci_bar *b = &f->bar[0], *other = &pci_functions[OTHER].bar[0];

	return (b->base < other->base + other->size && other->base < b->base + b->size) ||
			       b->base < window_start || b->base + b->size - 1 > window_end
		       ? "misplaced"
		       : NULL;
}

enum pci_window pci_window(const struct pci_function *, bool, u64, u64)
{
	return unknown_window ? PCI_WINDOW_UNKNOWN : PCI_WINDOW_IN;
}

/* The one above the card: what may be fetched ahead, and other memory. */
bool pci_bridges_pass(const struct pci_function *f, bool io, u64 first, u64 last)
{
	assert_true(f == pf && !io);
	return (first >= 0xf8000000 && last <= 0xf9ffffff) ||
	       (first >= 0xfa000000 && last <= 0xfbffffff);
}

u64 host_tsc(void)
{
	return now;
}

bool pci_still(const struct pci_function *f)
{
	assert_int_equal(f->id.device, 0x1018);
	quiet++;
	return stubborn != 1;
}

bool pci_pending(const struct pci_function *)
{
	return stubborn == 2;
}

/* As it comes, before anyone has had it. */
void pci_keep(struct pci_function *f)
{
	assert_int_equal(f->id.device, 0x1018);
	assert_true(kept++ == isolated || !IS_ENABLED(CONFIG_IOMMU));
}

void pci_isolate(const struct pci_function *f)
{
	assert_int_equal(f->id.device, 0x1018);
	isolated++;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

/* Again and again, each half of a millisecond. */
static int enable(unsigned count)
{
	int err;

	while ((err = host_sriov_enable(0, count)) == -EBUSY)
		now += KHZ / 2;
	return err;
}

/* ---- tests ------------------------------------------------------------------------------ */

static int setup(void **)
{
	memset(config, 0, sizeof(config));
	memset(vf_config, 0, sizeof(vf_config));
	memset(pci_functions, 0, sizeof(pci_functions));
	for (unsigned i = 0; i < ARRAY_SIZE(connectx5_pf); i++)
		config[connectx5_pf[i].offset / 4] = connectx5_pf[i].value;
	for (unsigned i = 0; i < ARRAY_SIZE(connectx5_vf); i++)
		vf_config[connectx5_vf[i].offset / 4] = connectx5_vf[i].value;
	pci_functions[0] = (struct pci_function){ .address = card,
						  .id = { 0x15b3, 0x1017, 0x020000 },
						  .extended = true };
	pci_functions[OTHER] = (struct pci_function){ .address = { 0, 0x3b, 0x40 },
						      .bar[0] = { 0xf8000000, MIB(32), 0xc } };
	bridge = (struct pci_function){ .address = { 0, 0x3a, 0 },
					.header_type = 1,
					.secondary_bus = 0x3b,
					.subordinate_bus = 0x3b };
	pci_nr_functions = 2;
	nr_cards = 0;
	size = MIB(1);
	quiet = isolated = kept = late = stubborn = 0;
	now = 1;
	silent = HOST_PCI_FUNCTIONS;
	unknown_window = false;
	is_port = port_ari = card_ari = true;
	port_control = low_control = 0;
	low_pf = NULL;
	card_devfn = 0;
	window_start = 0xf8000000;
	window_end = 0xfbffffff;
	return 0;
}

/*
 * They are functions from now on, at the card's own numbers, and none is there yet; what has been
 * written is written again.
 */
static void test_prepared(void **)
{
	assert_null(host_sriov_prepare(0, 8));
	assert_int_equal(pci_nr_functions, 10);
	for (unsigned n = 0; n < 8; n++) {
		const struct pci_function *f = &pci_functions[2 + n];

		assert_int_equal(host_sriov_vf(0, n), 2 + n);
		assert_true(host_sriov_is_vf(2 + n) && !host_sriov_on(2 + n));
		assert_ptr_equal(pci_physical(f), pf);
		assert_true(f->address.bus == 0x3b && f->address.devfn == 2 + n && f->extended);
		assert_true(f->id.vendor == 0x15b3 && f->id.device == 0x1018 &&
			    f->id.class_code == 0x020000);
		/* Where firmware has put them. */
		assert_true(f->bar[0].base == 0xfa000000 + n * MIB(1) && f->bar[0].size == MIB(1) &&
			    f->bar[0].flags == 0xc);
	}
	assert_true(host_sriov_vf(0, 8) == -1 && host_sriov_vf(OTHER, 0) == -1);
	assert_true(!host_sriov_is_vf(0) && !host_sriov_is_vf(10));
	assert_ptr_equal(pci_physical(pf), pf);
	/*
	 * Not on, pages of 4 KiB, and ARI, which the port above passes on: two of them are no
	 * functions of its one device.
	 */
	assert_int_equal(control(), SRIOV_ARI);
	assert_int_equal(port_control, PCI_EXP_ARI);
	assert_int_equal(config[(AT + PCI_SRIOV_PAGE) / 4], 1);
	assert_int_equal(config[(AT + PCI_SRIOV_NUM_VFS) / 4], 8);
	assert_int_equal(config[(AT + PCI_SRIOV_BAR) / 4], 0xfa00000c);
	/* The next VM that has the card: as many at most, which are the same. */
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xc;
	config[(AT + PCI_SRIOV_CONTROL) / 4] = 0;
	assert_null(host_sriov_prepare(0, 3));
	assert_int_equal(control(), SRIOV_ARI);
	assert_int_equal(pci_nr_functions, 10);
	assert_int_equal(config[(AT + PCI_SRIOV_BAR) / 4], 0xfa00000c);
	assert_int_equal(config[(AT + PCI_SRIOV_NUM_VFS) / 4], 3);
}

/*
 * A port without ARI, or a card without it: functions 2 to 7 alone. Below another bridge there are
 * more devices.
 */
static void test_no_ari(void **)
{
	for (unsigned i = 0; i < 2; i++) {
		setup(NULL);
		*(i ? &port_ari : &card_ari) = false;
		assert_non_null(strstr(host_sriov_prepare(0, 7), "has no ARI"));
		assert_int_equal(pci_nr_functions, 2);
		assert_null(host_sriov_prepare(0, 6));
		assert_true(!control() && !port_control);
	}
	setup(NULL);
	is_port = false;
	assert_null(host_sriov_prepare(0, 8));
	assert_true(!control() && !port_control);
}

/*
 * Some have numbers beyond the card's bus, as far as the port above has buses; behind another
 * bridge these are others'.
 */
static void test_buses(void **)
{
	bridge.subordinate_bus = 0x3c;
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0xfc;
	assert_null(host_sriov_prepare(0, 8));
	for (unsigned n = 0; n < 8; n++) {
		const struct pci_address *at = &pci_functions[2 + n].address;

		assert_int_equal(at->bus << 8 | at->devfn, 0x3bfc + n);
	}
	/* Another's are not theirs. */
	setup(NULL);
	bridge.subordinate_bus = 0x3c;
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0xfc;
	pci_functions[OTHER].address = (struct pci_address){ 0, 0x3c, 3 };
	assert_string_equal(host_sriov_prepare(0, 8),
			    "another function has the address of one of its virtual functions");
	assert_int_equal(pci_nr_functions, 2);
	assert_null(host_sriov_prepare(0, 7));
	setup(NULL);
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0xfc;
	assert_non_null(strstr(host_sriov_prepare(0, 5),
			       "need bus numbers that the bridge above it does not have"));
	assert_null(host_sriov_prepare(0, 4));
	/* The first on the next bus is no function 0 to 7 of the port's one device. */
	setup(NULL);
	bridge.subordinate_bus = 0x3c;
	card_ari = false;
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0x100;
	assert_non_null(strstr(host_sriov_prepare(0, 1), "has no ARI"));
	setup(NULL);
	bridge.subordinate_bus = 0x3c;
	is_port = false;
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0xfc;
	assert_non_null(strstr(host_sriov_prepare(0, 8), "need bus numbers"));
}

/*
 * Of a device's PFs the lowest is told of ARI, each time the VFs of any are prepared or switched
 * on.
 */
static void test_lowest(void **)
{
	pci_functions[0].address = (struct pci_address){ 0, 0x3b, 1 };
	pci_functions[2] = (struct pci_function){ .address = card };
	pci_nr_functions = 3;
	low_pf = &pci_functions[2];
	card_devfn = 1;
	assert_null(host_sriov_prepare(0, 4));
	assert_int_equal(low_control, SRIOV_ARI);
	low_control = 0;
	assert_int_equal(enable(4), 0);
	assert_int_equal(low_control, SRIOV_ARI);
	/* A function below it without VFs is none of them; without ARI nobody is told. */
	setup(NULL);
	card_ari = false;
	pci_functions[2] = (struct pci_function){ .address = card };
	pci_functions[0].address.devfn = card_devfn = 1;
	pci_nr_functions = 3;
	low_pf = &pci_functions[2];
	assert_null(host_sriov_prepare(0, 4));
	assert_int_equal(low_control, 0);
}

/*
 * What an operator is told, before and after a VM has it; nothing is written to the card for that.
 */
static void test_text(void **)
{
	char text[200];

	assert_false(host_sriov_text(OTHER, text, sizeof(text)));
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_string_equal(text,
			    "up to 8 virtual functions, if there is room for their registers");
	assert_int_equal(port_control, 0);
	/* The last of 8 is on the next bus; then all are. */
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0xf9;
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_non_null(strstr(text, "up to 7 virtual functions"));
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 1 << 16 | 0x100;
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_string_equal(
		text,
		"no virtual functions: its virtual functions need bus numbers that the bridge above it does not "
		"have: more in the setup (SR-IOV)");
	/* It says where they are when it is told how many. */
	config[(AT + PCI_SRIOV_OFFSET) / 4] = 0;
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_non_null(strstr(text, "up to 8 virtual functions"));
	config[(AT + PCI_SRIOV_PAGES) / 4] = 2;
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_non_null(strstr(text, "no virtual functions: "));
	/* Functions 2 to 7. */
	setup(NULL);
	card_ari = false;
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_non_null(strstr(text, "up to 6 virtual functions"));
	setup(NULL);
	assert_null(host_sriov_prepare(0, 3));
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_string_equal(text, "0 of 3 virtual functions are on");
	assert_int_equal(enable(2), 0);
	assert_true(host_sriov_text(0, text, sizeof(text)));
	assert_string_equal(text, "2 of 3 virtual functions are on");
	assert_false(host_sriov_text(2, text, sizeof(text)));
}

static void test_not_prepared(void **)
{
	assert_string_equal(host_sriov_prepare(OTHER, 1), "it has none (SR-IOV)");
	assert_string_equal(host_sriov_prepare(0, 9), "it has not so many virtual functions");
	pci_nr_functions = HOST_PCI_FUNCTIONS - 7;
	assert_string_equal(host_sriov_prepare(0, 8), "the machine has more functions than fit");
	assert_int_equal(pci_nr_functions, HOST_PCI_FUNCTIONS - 7);
	pci_nr_functions = 2;
	assert_null(host_sriov_prepare(0, 4));
	assert_string_equal(host_sriov_prepare(0, 5),
			    "another VM has had it with fewer: restart the node");
	assert_int_equal(nr_cards, 1);
	nr_cards = CARDS;
	assert_string_equal(host_sriov_prepare(OTHER, 1), "more such cards than fit");
}

/*
 * Firmware gave no address, or one that is not free: above or below another BAR, where window and
 * bridge let them.
 */
static void test_placed(void **)
{
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xc;
	assert_null(host_sriov_prepare(0, 8));
	assert_int_equal(pci_functions[2].bar[0].base, 0xfa000000);
	assert_int_equal(config[(AT + PCI_SRIOV_BAR) / 4], 0xfa00000c);
	setup(NULL);
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xf900000c;
	assert_null(host_sriov_prepare(0, 8));
	assert_int_equal(pci_functions[9].bar[0].base, 0xfa700000);
	/* The window ends above: below there is none either; with fewer there is. */
	setup(NULL);
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xc;
	window_end = 0xfa3fffff;
	assert_non_null(
		strstr(host_sriov_prepare(0, 8), "has no room for the registers of so many"));
	assert_int_equal(pci_nr_functions, 2);
	assert_null(host_sriov_prepare(0, 4));
	/* Within the window, but the bridge does not pass it on. */
	setup(NULL);
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xc;
	pci_functions[OTHER].bar[0].base = 0xfa000000;
	window_end = 0xfdffffff;
	window_start = 0xfa000000;
	assert_non_null(strstr(host_sriov_prepare(0, 8), "the bridge above it, has no room"));
	setup(NULL);
	config[(AT + PCI_SRIOV_BAR) / 4] = 0xc;
	unknown_window = true;
	assert_non_null(strstr(host_sriov_prepare(0, 8), "does not say which its root bus has"));
}

/*
 * After 100 ms each is asked, quiet and kept apart; then their guests read what only the card says.
 */
static void test_on(void **)
{
	assert_int_equal(enable(1), -EINVAL);
	assert_null(host_sriov_prepare(0, 8));
	assert_int_equal(enable(0), -EINVAL);
	assert_int_equal(enable(9), -EINVAL);
	assert_int_equal(pci_vf_read(2, 0, 4, ~0u), ~0u);
	assert_int_equal(enable(4), 0);
	assert_int_equal(control(), PCI_SRIOV_ENABLE | PCI_SRIOV_MEMORY | SRIOV_ARI);
	assert_true(quiet == 4 && kept == 4 && now - written == 100 * KHZ &&
		    isolated == (IS_ENABLED(CONFIG_IOMMU) ? 4 : 0));
	assert_true(host_sriov_on(2) && host_sriov_on(5) && !host_sriov_on(6) && !host_sriov_on(0));
	assert_int_equal(enable(4), -EINVAL);
	assert_int_equal(pci_vf_read(2, PCI_REG_ID, 4, ~0u), 0x101815b3);
	assert_int_equal(pci_vf_read(2, PCI_REG_ID + 2, 2, 0xffff), 0x1018);
	assert_int_equal(pci_vf_read(2, PCI_REG_ID + 1, 1, 0xff), 0x15);
	assert_int_equal(pci_vf_read(2, PCI_REG_HEADER, 4, 0), PCI_HEADER_MULTI);
	assert_int_equal(pci_vf_read(2, PCI_REG_CLASS, 4, 0x02000000), 0x02000000);
	/* Neither of one that is not on, nor of others. */
	assert_int_equal(pci_vf_read(6, PCI_REG_ID, 4, ~0u), ~0u);
	assert_int_equal(pci_vf_read(0, PCI_REG_ID, 4, 0x101715b3), 0x101715b3);
}

/* Off they are nobody's at once; a second must pass until they are on again. */
static void test_off(void **)
{
	u64 since;

	host_sriov_disable(0);
	assert_null(host_sriov_prepare(0, 8));
	host_sriov_disable(0);
	assert_int_equal(cards[0].off_at, 0);
	assert_int_equal(enable(8), 0);
	since = now;
	host_sriov_disable(0);
	assert_true(control() == SRIOV_ARI && !host_sriov_on(2));
	assert_int_equal(enable(2), 0);
	assert_in_range(now - since, (OFF_MS + ON_MS) * KHZ, (OFF_MS + ON_MS + 1) * KHZ);
	assert_true(host_sriov_on(3) && !host_sriov_on(4));
}

/* Those that never answer, do not stop, or are somewhere else now: none is on. */
static void test_lies(void **)
{
	for (unsigned i = 0; i < 4; i++) {
		setup(NULL);
		assert_null(host_sriov_prepare(0, 8));
		silent = i == 0 ? 7 : HOST_PCI_FUNCTIONS;
		stubborn = i == 3 ? 0 : i;
		if (i == 3)
			config[(AT + PCI_SRIOV_OFFSET) / 4] = 0x00010003;
		assert_int_equal(enable(8), -EIO);
		assert_true(control() == SRIOV_ARI && !host_sriov_on(2));
		assert_in_range(now, i < 3 ? READY_MS * KHZ : 0, i < 3 ? (READY_MS + 2) * KHZ : 1);
	}
}

/*
 * Those that ask for more time have a second (9.3.3.3.1: Configuration Request Retry until then),
 * all together: a card of which each one takes it held up its VM for as many seconds. Who has asked
 * for them can have them off meanwhile, and another number.
 */
static void test_late(void **)
{
	assert_null(host_sriov_prepare(0, 8));
	late = 950;
	assert_int_equal(enable(8), 0);
	assert_in_range(now, 950 * KHZ, 952 * KHZ);
	host_sriov_disable(0);
	late = 500;
	now += 1000 * KHZ;
	assert_int_equal(host_sriov_enable(0, 4), -EBUSY);
	assert_int_equal(host_sriov_enable(0, 3), -EINVAL);
	now += 200 * KHZ;
	assert_int_equal(host_sriov_enable(0, 4), -EBUSY);
	assert_false(host_sriov_on(2));
	host_sriov_disable(0);
	assert_int_equal(control(), SRIOV_ARI);
	assert_int_equal(enable(3), 0);
	assert_true(host_sriov_on(4) && !host_sriov_on(5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_prepared, setup),
		cmocka_unit_test_setup(test_no_ari, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_buses, setup),
		cmocka_unit_test_setup(test_lowest, setup),
		cmocka_unit_test_setup(test_text, setup),
		cmocka_unit_test_setup(test_not_prepared, setup),
		cmocka_unit_test_setup(test_placed, setup),
		cmocka_unit_test_setup(test_on, setup),
		cmocka_unit_test_setup(test_off, setup),
		cmocka_unit_test_setup(test_lies, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

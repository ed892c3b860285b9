/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual functions (VFs) of the machine's PCI functions: room for their registers, and switching
 * them on and off by the physical function's (PF's) capability (PCI Express Base 5.0, 9.3.3).
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/string.h>
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_sriov_cap.h"

#define CARDS 16
#define ON_MS 100     /* until a VF may be asked for anything (9.3.3.3.1) */
#define READY_MS 1000 /* and until it answers, if it says that it needs more time (2.3.1) */
#define OFF_MS 1000   /* from off to on (9.3.3.3.1) */
/*
 * Alternative Routing-ID Interpretation (6.13): its capability, of a port (7.5.3.15, 7.5.3.16), in
 * the PF's control (9.3.3.3.4).
 */
#define EXT_CAP_ARI 0x0e
#define EXP_DEVICE2 0x24
#define SRIOV_ARI BIT(4)

static struct spinlock lock; /* guards nr_cards, and who changes a card */
static struct card {
	const struct pci_function *pf;
	struct sriov sriov;
	/* the port above it passes on all function numbers, not 0 to 7 alone */
	bool ari;
	/* its VFs among the functions */
	unsigned first;
	unsigned count;
	unsigned on; /* so many of them are; atomic */
	unsigned coming; /* so many are to be; 0: none */
	/* TSC; off_at 0: they have not been on */
	u64 coming_at;
	u64 off_at;
} cards[CARDS];
static unsigned nr_cards;

static struct card *card_of(const struct pci_function *pf)
{
	for (unsigned i = 0; i < nr_cards; i++)
		if (cards[i].pf == pf)
			return &cards[i];
	return NULL;
}

static struct card *card_of_vf(unsigned index)
{
	for (unsigned i = 0; i < nr_cards; i++)
		if (index - cards[i].first < cards[i].count)
			return &cards[i];
	return NULL;
}

const struct pci_function *pci_physical(const struct pci_function *f)
{
	for (unsigned i = 0; i < nr_cards; i++)
		if (f >= pci_functions + cards[i].first &&
		    f < pci_functions + cards[i].first + cards[i].count)
			return cards[i].pf;
	return f;
}

/* ---- the PF's capability ---------------------------------------------------------------- */

static void write_config(void *ctx, u16 offset, u32 value)
{
	const struct pci_function *f = ctx;

	pci_write(f->address, offset, 4, value);
}

static u16 reg(const struct card *c, unsigned offset)
{
	return (u16)(c->sriov.at + offset);
}

/*
 * That the port above passes on all numbers is said to a device's lowest PF for all; in others the
 * bit is read-only (9.3.3.3.5).
 */
static void say_ari(const struct card *c)
{
	const struct pci_function *low = c->pf, *f;

	if (!c->ari)
		return;
	for (unsigned i = 0; (f = pci_get(i)); i++)
		if (pci_bridge_of(f) == pci_bridge_of(low) &&
		    f->address.devfn < low->address.devfn &&
		    pci_find_extended_cap(f, PCI_EXT_CAP_SRIOV))
			low = f;
	if (low != c->pf)
		pci_change16(
			low,
			(u16)(pci_find_extended_cap(low, PCI_EXT_CAP_SRIOV) + PCI_SRIOV_CONTROL), 0,
			SRIOV_ARI);
}

/* All but whether they are on. */
static void program(const struct card *c, unsigned count)
{
	const struct pci_function *f = c->pf;

	say_ari(c);
	pci_write(f->address, reg(c, PCI_SRIOV_CONTROL), 2, c->ari ? SRIOV_ARI : 0);
	pci_write(f->address, reg(c, PCI_SRIOV_PAGE), 4, 1);
	pci_write(f->address, reg(c, PCI_SRIOV_NUM_VFS), 2, count);
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &c->sriov.bar[i];

		if (!b->size)
			continue;
		pci_write(f->address, reg(c, PCI_SRIOV_BAR + i * 4), 4, (u32)b->base);
		if (pci_bar_is_64(b) && i + 1 < PCI_ROM_BAR)
			pci_write(f->address, reg(c, PCI_SRIOV_BAR + i * 4 + 4), 4,
				  (u32)(b->base >> 32));
	}
}

/* There is room for all, and for the card, which is known from here on. */
static void add(struct card *c, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		struct pci_function vf = {
			.id = { c->pf->id.vendor, c->sriov.device, c->pf->id.class_code },
			.extended = c->pf->extended,
		};

		sriov_address(&c->sriov, &c->pf->address, n, &vf.address);
		sriov_bars(&c->sriov, n, vf.bar);
		pci_functions[pci_nr_functions + n] = vf;
	}
	c->first = pci_nr_functions;
	c->count = count;
	/* Others look through them meanwhile, and know each as a VF from the first on. */
	__atomic_fetch_add(&nr_cards, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&pci_nr_functions, count, __ATOMIC_RELEASE);
}

/*
 * A port has one device below it, whose functions above 7 are reached by ARI only. The port's PCI
 * Express capability; 0: it is not below such a port. *ari: port and card can do that.
 */
static u16 find_port(const struct pci_function *f, bool *ari)
{
	const struct pci_function *port = pci_bridge_of(f);
	u16 exp = port ? pci_find_cap(port, PCI_CAP_EXP) : 0;
	u32 says = exp ? pci_read(port->address, exp + PCI_EXP_CAPABILITIES, 2) : 0;

	*ari = false;
	if (!exp || (PCI_EXP_TYPE(says) != PCIE_ROOT_PORT && PCI_EXP_TYPE(says) != PCIE_DOWNSTREAM))
		return 0;
	*ari = (says & PCI_EXP_VERSION) > 1 && pci_find_extended_cap(f, EXT_CAP_ARI) &&
	       pci_read(port->address, exp + EXP_DEVICE2, 4) & PCI_EXP_ARI;
	return exp;
}

/*
 * Why the last of so many VFs is not reached; port: they are below one, all of whose buses are its
 * one device's (9.2.1.2); few: it passes on functions 0 to 7 alone. NULL: it is.
 */
static const char *beyond(const struct sriov *s, const struct pci_function *f, unsigned count,
			  bool port, bool few)
{
	u8 bus = f->address.bus;
	const char *why =
		sriov_unfit(s, &f->address, count, port ? pci_bridge_of(f)->subordinate_bus : bus);
	struct pci_address at;
	const struct pci_function *g;

	if (why || !sriov_address(s, &f->address, count - 1, &at))
		return why;
	if (few && (PCI_DEVICE(at.devfn) || at.bus != bus))
		return "its virtual functions have numbers above 7, and it, or the port above it, has no ARI";
	for (unsigned i = 0; (g = pci_get(i)); i++)
		if (pci_same_address(&g->address, &at))
			return "another function has the address of one of its virtual functions";
	return NULL;
}

static const char *begin(struct card *c, unsigned count)
{
	const struct pci_function *f = c->pf;
	const struct pcicap_reader reader = pci_reader(f);
	u16 at = pci_find_extended_cap(f, PCI_EXT_CAP_SRIOV), port;
	const char *why;

	if (!at)
		return "it has none (SR-IOV)";
	c->sriov.at = at;
	port = find_port(f, &c->ari);
	if (c->ari)
		pci_change16(pci_bridge_of(f), port + PCI_EXP_DEVICE_CONTROL2, 0, PCI_EXP_ARI);
	/* Where they are may go by how many there shall be, and by ARI. */
	say_ari(c);
	pci_write(f->address, reg(c, PCI_SRIOV_CONTROL), 2, c->ari ? SRIOV_ARI : 0);
	pci_write(f->address, reg(c, PCI_SRIOV_PAGE), 4, 1);
	pci_write(f->address, reg(c, PCI_SRIOV_NUM_VFS), 2, count);
	why = sriov_read(&reader, write_config, at, &c->sriov);
	for (unsigned n = count; !why && n; n--)
		why = beyond(&c->sriov, f, n, port, port && !c->ari);
	if (why)
		return why;
	if (count > HOST_PCI_FUNCTIONS / 2 || pci_get(HOST_PCI_FUNCTIONS - count))
		return "the machine has more functions than fit";
	why = pci_vf_place(f, &c->sriov, count);
	if (!why)
		add(c, count);
	return why;
}

const char *host_sriov_prepare(unsigned index, unsigned count)
{
	const struct pci_function *f = pci_get(index);
	const char *why = NULL;
	struct card *c;

	spin_lock(&lock);
	c = card_of(f);
	if (!c && nr_cards == CARDS) {
		why = "more such cards than fit";
	} else if (!c) {
		c = &cards[nr_cards];
		*c = (struct card){ .pf = f };
		why = begin(c, count);
	} else if (count > c->count) {
		why = "another VM has had it with fewer: restart the node";
	}
	if (!why)
		program(c, count);
	spin_unlock(&lock);
	return why;
}

bool host_sriov_text(unsigned index, char *text, size_t size)
{
	const struct pci_function *f = pci_get(index);
	u16 at = card_of_vf(index) ? 0 : pci_find_extended_cap(f, PCI_EXT_CAP_SRIOV);
	const struct card *c = card_of(f);
	const struct pcicap_reader reader = pci_reader(f);
	u16 port;
	unsigned fit = 0;
	struct sriov s;
	const char *why;
	bool ari;

	if (!at)
		return false;
	if (c) {
		snprintf(text, size, "%u of %u virtual functions are on",
			 __atomic_load_n(&c->on, __ATOMIC_ACQUIRE), c->count);
		return true;
	}
	why = sriov_read(&reader, NULL, at, &s);
	port = find_port(f, &ari);
	/* Where they are may be said only when their number is (9.3.3.9). */
	if (!why && !s.offset)
		fit = s.total;
	while (!why && fit < s.total) {
		why = beyond(&s, f, fit + 1, port, port && !ari);
		fit += !why;
	}
	if (fit)
		snprintf(text, size,
			 "up to %u virtual functions, if there is room for their registers", fit);
	else
		snprintf(text, size, "no virtual functions: %s", why);
	return true;
}

int host_sriov_vf(unsigned index, unsigned n)
{
	const struct card *c = card_of(pci_get(index));

	return c && n < c->count ? (int)(c->first + n) : -1;
}

bool host_sriov_on(unsigned vf)
{
	const struct card *c = card_of_vf(vf);

	return c && vf - c->first < __atomic_load_n(&c->on, __ATOMIC_ACQUIRE);
}

bool host_sriov_is_vf(unsigned index)
{
	return card_of_vf(index);
}

/* Are they where they were said to be? Else it lies: others may be where it says now. */
static bool in_place(const struct card *c, unsigned count)
{
	u32 where = pci_read(c->pf->address, reg(c, PCI_SRIOV_OFFSET), 4);
	struct pci_address at;

	for (unsigned n = 0; n < count; n++) {
		struct sriov now = { .offset = (u16)where, .stride = (u16)(where >> 16) };

		if (!sriov_address(&now, &c->pf->address, n, &at) ||
		    !pci_same_address(&at, &pci_get(c->first + n)->address))
			return false;
	}
	return true;
}

static u64 elapsed_ms(u64 since)
{
	return (host_tsc() - since) / host_tsc_khz();
}

static int switch_on(struct card *c, unsigned count)
{
	if (c->off_at && elapsed_ms(c->off_at) < OFF_MS)
		return -EBUSY;
	program(c, count);
	if (!in_place(c, count))
		return -EIO;
	pci_change16(c->pf, reg(c, PCI_SRIOV_CONTROL), 0, PCI_SRIOV_ENABLE | PCI_SRIOV_MEMORY);
	c->coming = count;
	c->coming_at = host_tsc();
	return -EBUSY;
}

/*
 * It may ask for more time, for which it reads as ones (2.3.1, Configuration Request Retry); it is
 * quiet, or does not get so.
 */
static bool has_come(const struct pci_function *vf)
{
	return pci_read(vf->address, PCI_REG_COMMAND, 4) != ~0u && pci_still(vf) &&
	       !pci_pending(vf);
}

/* All have the same second. */
static int wait_for_all(struct card *c)
{
	u64 ms = elapsed_ms(c->coming_at);

	if (ms < ON_MS)
		return -EBUSY;
	for (unsigned n = 0; n < c->coming; n++)
		if (!has_come(pci_get(c->first + n)))
			return ms < READY_MS ? -EBUSY : -EIO;
	for (unsigned n = 0; n < c->coming; n++) {
		pci_keep(&pci_functions[c->first + n]);
		pci_isolate(pci_get(c->first + n));
	}
	__atomic_store_n(&c->on, c->coming, __ATOMIC_RELEASE);
	c->coming = 0;
	return 0;
}

int host_sriov_enable(unsigned index, unsigned count)
{
	struct card *c = card_of(pci_get(index));
	int err;

	if (!c || !count || count > c->count || c->on || (c->coming && c->coming != count))
		return -EINVAL;
	err = c->coming ? wait_for_all(c) : switch_on(c, count);
	if (err == -EIO)
		host_sriov_disable(index);
	return err;
}

void host_sriov_disable(unsigned index)
{
	struct card *c = card_of(pci_get(index));

	if (!c)
		return;
	__atomic_store_n(&c->on, 0, __ATOMIC_RELEASE);
	c->coming = 0;
	if (!(pci_read(c->pf->address, reg(c, PCI_SRIOV_CONTROL), 2) & PCI_SRIOV_ENABLE))
		return;
	pci_change16(c->pf, reg(c, PCI_SRIOV_CONTROL), PCI_SRIOV_ENABLE | PCI_SRIOV_MEMORY, 0);
	c->off_at = host_tsc() | 1;
}

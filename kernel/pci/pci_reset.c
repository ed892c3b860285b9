/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a function back from a VM: the strongest reset that hurts no other function, FLR (PCI
 * Express 6.6.2, Advanced Features 2.2), else D3hot and back (PCI PM 1.2, 5.4.1), else of the bus
 * on which it is alone (PCI Express 6.6.1, 7.5.1.3.13). PCI Local Bus 3.0, 6.2; PCI Express Base
 * 5.0, 7.5. In steps, none of which waits: some devices take a minute.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/console/screen.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"

#define D3_MS 10
#define BUS_RESET_MS 2    /* at least one */
#define LINK_MS 1000      /* until it is there again, if nothing says so */
#define BUS_READY_MS 100
#define ASPM 3u           /* of Link Control: L0s, L1 */
/*
 * No standard says how long a device may take in the end: a minute is what some need that start
 * firmware of their own.
 */
#define READY_S 60
#define TELL_S 10

/* What is waited for. */
enum { AWAY, PENDING, D3, BUS, LINK, READY, ENDING };

/* ---- time ------------------------------------------------------------------------------- */

static int later(struct host_pci_reset *r, unsigned ms)
{
	r->until = host_tsc() + ms * host_tsc_khz();
	return -EBUSY;
}

/* The next step, which begins in so many milliseconds. */
static int go(struct host_pci_reset *r, u8 step, unsigned ms)
{
	later(r, ms);
	r->step = step;
	r->since = r->until;
	r->told = 0;
	return -EBUSY;
}

static u64 elapsed_ms(const struct host_pci_reset *r)
{
	return (host_tsc() - r->since) / host_tsc_khz();
}

/* It does not answer, or not as itself. -EIO: for too long. */
static int keep_patience(struct host_pci_reset *r, const struct pci_function *f)
{
	static struct log_limit lines; /* its guest may reset it again and again */
	unsigned seconds = (unsigned)(elapsed_ms(r) / 1000);

	if (seconds / TELL_S > r->told) {
		r->told = seconds / TELL_S;
		host_log_limited(&lines, "margay",
				 "pci " PCI_FULL_FORMAT ": not ready %u s after its reset, of %u",
				 PCI_FULL_FORMAT_ARGS(f->address), seconds, READY_S);
	}
	return seconds >= READY_S ? -EIO : later(r, 1);
}

/*
 * What it is asked meanwhile is worth nothing: in the middle of a step it may go, and after any it
 * may have gone.
 */
static bool answers(const struct pci_function *f)
{
	return pci_read(f->address, PCI_REG_COMMAND, 4) != ~0u;
}

/*
 * It has gone, and what has been done to it since that step perhaps, too: from there on again, but
 * for the patience.
 */
static int go_back(struct host_pci_reset *r, const struct pci_function *f, u8 step)
{
	r->step = step;
	r->since = r->begun;
	return keep_patience(r, f);
}

/* ---- the steps -------------------------------------------------------------------------- */

static void put_header(const struct host_pci_reset *r, const struct pci_function *f)
{
	for (u16 at = PCI_REG_HEADER; at <= PCI_REG_INTERRUPT; at += 4)
		pci_write(f->address, at, 4, r->header[at / 4]);
}

/*
 * Addresses as firmware gave them: the device may have lost them before, by a reset that its guest
 * knows and we do not.
 */
static void put_bars(const struct pci_function *f, u32 header[16])
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &f->bar[i];

		header[PCI_REG_BAR / 4 + i] = (u32)b->base | b->flags;
		if (pci_bar_is_64(b) && i + 1 < PCI_ROM_BAR)
			header[PCI_REG_BAR / 4 + ++i] = (u32)(b->base >> 32);
	}
	header[PCI_REG_ROM / 4] =
		(header[PCI_REG_ROM / 4] & PCI_ROM_FLAGS) | (u32)f->bar[PCI_ROM_BAR].base;
}

/*
 * One that is away at first, as its guest has had it start anew by a register of its own, has
 * nothing that could be kept.
 */
static int quieten(struct host_pci_reset *r, const struct pci_function *f)
{
	u16 exp;

	if (!answers(f))
		return keep_patience(r, f);
	exp = pci_find_cap(f, PCI_CAP_EXP);
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (!pci_bar_is_io(&f->bar[i]))
			screen_yield(f->bar[i].base, f->bar[i].size);
	if (!r->saved)
		r->decoding = (u16)pci_read(f->address, PCI_REG_COMMAND, 2) &
			      (PCI_COMMAND_IO | PCI_COMMAND_MEMORY);
	r->obeys = pci_still(f);
	/* A guest may have switched it on; whoever has the function next does so for itself. */
	pci_change16(f, PCI_REG_ROM, PCI_ROM_ENABLE, 0);
	if (!r->saved)
		r->link = exp ? (u16)pci_read(f->address, exp + PCI_EXP_LINK_CONTROL, 2) : 0;
	for (unsigned i = 0; !r->saved && i < ARRAY_SIZE(r->header); i++)
		r->header[i] = pci_read(f->address, (u16)(i * 4), 4);
	if (!answers(f))
		return keep_patience(r, f);
	r->saved = true;
	put_bars(f, r->header);
	return go(r, PENDING, 0);
}

/*
 * The port keeps its registers, but that it takes latencies (LTR), which goes with its link (PCI
 * Express 7.5.3.16): the function must not send any before.
 */
static void restore_port(const struct host_pci_reset *r, const struct pci_function *f)
{
	const struct pci_function *port = pci_own_port(f);

	if (r->ltr)
		pci_change16(port, (u16)(pci_find_cap(port, PCI_CAP_EXP) + PCI_EXP_DEVICE_CONTROL2),
			     0, PCI_EXP_LTR);
}

static int start_bus_reset(struct host_pci_reset *r, const struct pci_function *f,
			   const struct pci_function *port)
{
	u16 exp = pci_find_cap(port, PCI_CAP_EXP);
	bool ltr = (pci_read(port->address, exp + PCI_EXP_CAPABILITIES, 2) & PCI_EXP_VERSION) > 1 &&
		   pci_read(port->address, exp + PCI_EXP_DEVICE_CONTROL2, 2) & PCI_EXP_LTR;

	r->by_bus = true;
	if (!pci_change16(port, PCI_REG_BRIDGE_CONTROL, 0, PCI_BRIDGE_RESET))
		return go_back(r, f, AWAY);
	/* A first try may have cost it the bit. */
	r->ltr = r->ltr || ltr;
	return go(r, BUS, BUS_RESET_MS);
}

/*
 * What it still has to send it may send: it wedges otherwise. Its last VM still has the memory; no
 * message comes of it.
 */
static void let_drain(const struct pci_function *f)
{
	u16 msix = pci_find_cap(f, PCI_CAP_MSIX);

	pci_change16(f, PCI_REG_COMMAND, 0, PCI_COMMAND_MASTER);
	if (msix)
		pci_change16(f, (u16)(msix + PCI_MSIX_CONTROL), 0,
			     PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL);
}

static int start_flr(struct host_pci_reset *r, const struct pci_function *f, u16 exp,
		     const struct pci_reset_quirks *quirks)
{
	if (quirks->flr_as_master)
		let_drain(f);
	return pci_change16(f, (u16)(exp + PCI_EXP_DEVICE_CONTROL), 0, PCI_EXP_START_FLR)
		       ? go(r, READY, quirks->flr_ms)
		       : go_back(r, f, AWAY);
}

/* Its PCI Express capability, if it has a reset by that; 0: none. */
static u16 find_flr(const struct pci_function *f, const struct pci_reset_quirks *quirks)
{
	u16 exp = quirks->flr_hangs ? 0 : pci_find_cap(f, PCI_CAP_EXP);
	bool flr = exp && (quirks->flr_unsaid ||
			   pci_read(f->address, (u16)(exp + PCI_EXP_DEVICE), 4) & PCI_EXP_FLR);

	return flr ? exp : 0;
}

/* The same of Advanced Features. */
static u16 find_af_flr(const struct pci_function *f, const struct pci_reset_quirks *quirks)
{
	u16 af = quirks->flr_hangs ? 0 : pci_find_cap(f, PCI_CAP_AF);
	bool flr = af && pci_read(f->address, (u16)(af + PCI_AF_CAPABILITIES), 1) & PCI_AF_FLR;

	return flr ? af : 0;
}

/* And of power management: D3hot and back. */
static u16 find_d3(const struct pci_function *f, const struct pci_reset_quirks *quirks)
{
	u16 pm = quirks->d3_keeps ? 0 : pci_find_cap(f, PCI_CAP_PM);
	bool keeps =
		pm && pci_read(f->address, (u16)(pm + PCI_PM_CONTROL), 2) & PCI_PM_NO_SOFT_RESET;

	return keeps ? 0 : pm;
}

static int start_af_flr(struct host_pci_reset *r, const struct pci_function *f, u16 af,
			const struct pci_reset_quirks *quirks)
{
	pci_write(f->address, (u16)(af + PCI_AF_CONTROL), 1, PCI_AF_START_FLR);
	return go(r, READY, quirks->flr_ms);
}

static int enter_d3(struct host_pci_reset *r, const struct pci_function *f, u16 pm)
{
	return pci_change16(f, (u16)(pm + PCI_PM_CONTROL), PCI_PM_STATE, PCI_PM_STATE)
		       ? go(r, D3, D3_MS)
		       : go_back(r, f, AWAY);
}

/* It has no reset: with its registers as they were it is done. */
static int do_without(struct host_pci_reset *r, const struct pci_function *f)
{
	pci_restore(f);
	put_header(r, f);
	if (!answers(f))
		return go_back(r, f, AWAY);
	/* A reset would end what does not end by itself. */
	return r->obeys ? -ENODEV : -EIO;
}

/* Begins the reset that it has. */
static int start_reset(struct host_pci_reset *r, const struct pci_function *f)
{
	const struct pci_reset_quirks quirks = pci_reset_quirks(&f->id);
	u16 exp = find_flr(f, &quirks);
	u16 af = find_af_flr(f, &quirks);
	u16 pm = find_d3(f, &quirks);

	if (!answers(f))
		return go_back(r, f, AWAY);
	if (exp)
		return start_flr(r, f, exp, &quirks);
	if (af)
		return start_af_flr(r, f, af, &quirks);
	if (pm)
		return enter_d3(r, f, pm);
	if (!quirks.bus_hangs && pci_own_port(f))
		return start_bus_reset(r, f, pci_own_port(f));
	return do_without(r, f);
}

static int wait_pending(struct host_pci_reset *r, const struct pci_function *f)
{
	bool pending = pci_pending(f);

	if (!answers(f))
		return go_back(r, f, AWAY);
	if (pending && elapsed_ms(r) < PCI_PENDING_MS)
		return later(r, 1);
	r->obeys = r->obeys && !pending;
	return start_reset(r, f);
}

static int leave_d3(struct host_pci_reset *r, const struct pci_function *f)
{
	u16 pm = pci_find_cap(f, PCI_CAP_PM);

	return pm && pci_change16(f, (u16)(pm + PCI_PM_CONTROL), PCI_PM_STATE, 0)
		       ? go(r, READY, D3_MS)
		       : keep_patience(r, f);
}

static int wait_link(struct host_pci_reset *r, const struct pci_function *f)
{
	const struct pci_function *port = pci_own_port(f);
	u16 exp = pci_find_cap(port, PCI_CAP_EXP);
	bool there = pci_read(port->address, (u16)(exp + PCI_EXP_LINK), 4) & PCI_EXP_LINK_TELLS &&
		     pci_read(port->address, exp + PCI_EXP_LINK_STATUS, 2) & PCI_EXP_LINK_ACTIVE;

	return there || elapsed_ms(r) >= LINK_MS ? go(r, READY, BUS_READY_MS) : later(r, 1);
}

/*
 * It may ask for more time (PCI Express 2.3.1, Configuration Request Retry), for which it reads as
 * another and writes would be lost.
 */
static int wait_ready(struct host_pci_reset *r, const struct pci_function *f)
{
	u16 exp;

	if (pci_read(f->address, PCI_REG_ID, 4) != r->header[0] || pci_vf_silent(f))
		return keep_patience(r, f);
	exp = pci_find_cap(f, PCI_CAP_EXP);
	/*
	 * The link does not save power any more: the times for that are lost, which its other end
	 * has still.
	 */
	if (exp)
		pci_write(f->address, exp + PCI_EXP_LINK_CONTROL, 2,
			  r->by_bus ? r->link & ~ASPM : r->link);
	restore_port(r, f);
	pci_restore(f);
	pci_isolate(f);
	put_header(r, f);
	pci_write(f->address, PCI_REG_COMMAND, 2, PCI_COMMAND_NO_INTX);
	r->obeys = pci_still(f);
	return answers(f) ? go(r, ENDING, 0) : keep_patience(r, f);
}

static int wait_end(struct host_pci_reset *r, const struct pci_function *f)
{
	bool pending = pci_pending(f);

	if (!answers(f))
		return go_back(r, f, READY);
	if (pending && elapsed_ms(r) < PCI_PENDING_MS)
		return later(r, 1);
	if (pending || !r->obeys)
		return -EIO;
	if (r->decodes)
		pci_change16(f, PCI_REG_COMMAND, 0, r->decoding);
	return 0;
}

/* ---- for the monitor -------------------------------------------------------------------- */

/* A virtual function that is off: nothing is there to be reset, or to do anything. */
static bool is_absent(unsigned index)
{
	return host_sriov_is_vf(index) && !host_sriov_on(index);
}

void host_pci_reset_begin(struct host_pci_reset *r, unsigned index)
{
	*r = (struct host_pci_reset){ .index = index };
	go(r, AWAY, 0);
	r->begun = r->since;
}

int host_pci_reset_step(struct host_pci_reset *r)
{
	const struct pci_function *f = pci_get(r->index);

	if (is_absent(r->index))
		return 0;
	if ((s64)(host_tsc() - r->until) < 0)
		return -EBUSY;
	switch (r->step) {
	case AWAY: return quieten(r, f);
	case PENDING: return wait_pending(r, f);
	case D3: return leave_d3(r, f);
	case BUS:
		return pci_change16(pci_own_port(f), PCI_REG_BRIDGE_CONTROL, PCI_BRIDGE_RESET, 0)
			       ? go(r, LINK, 0)
			       : keep_patience(r, f);
	case LINK: return wait_link(r, f);
	case READY: return wait_ready(r, f);
	default: return wait_end(r, f);
	}
}

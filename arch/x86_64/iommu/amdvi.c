/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD-Vi: a device table for all requester IDs, interrupt tables of 128-bit entries, one for each
 * requester ID that has any, the rings of commands and events. AMD I/O Virtualization Technology
 * Specification 3.07.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/iommu/amdvi.h"

#define PATIENCE_MS 1000 /* far more than any command takes */
#define MESSAGE_ADDRESS 0xfee00000u
#define HOW_LEVEL 0x8000u /* as in an I/O APIC's entry: trigger, delivery mode, NMI */
#define HOW_MODE 0x700u
#define HOW_NMI 0x400u
#define CAPS 16

static const char no_answer[] = "does not answer";

/* ---- registers and commands ------------------------------------------------------------- */

static u64 read64(const struct iommu_unit *u, unsigned reg)
{
	return host_mmio_read(u->regs + reg, 8);
}

static void write64(struct iommu_unit *u, unsigned reg, u64 value)
{
	host_mmio_write(u->regs + reg, 8, value);
}

/* Waits until these status bits are 0. False: they never are. */
static bool stopped(const struct iommu_unit *u, u64 bits)
{
	u64 start = host_tsc(), patience = PATIENCE_MS * host_tsc_khz();

	while (read64(u, AMDVI_STATUS) & bits)
		if (host_tsc() - start > patience)
			return false;
	return true;
}

static void put(u64 *entry, u64 value)
{
	__atomic_store_n(entry, value, __ATOMIC_RELEASE);
}

static void queue(struct iommu_unit *u, u64 low, u64 high)
{
	u->queue[u->tail / 8] = low;
	u->queue[u->tail / 8 + 1] = high;
	u->tail = (u->tail + 16) & AMDVI_RING_MASK;
}

/*
 * Has the unit work on what is queued, and waits. The status is the first quadword behind the ring.
 * False: it is broken.
 */
static bool work(struct iommu_unit *u)
{
	volatile u64 *status = (volatile u64 *)((u8 *)u->queue + PAGE_SIZE);
	u64 start = host_tsc(), patience = PATIENCE_MS * host_tsc_khz();

	if (u->broken || !u->on) {
		u->tail = 0;
		return !u->broken;
	}
	queue(u, AMDVI_WAIT | host_virt_to_hpa((void *)status).v, ++u->waits);
	write64(u, AMDVI_COMMAND_TAIL, u->tail);
	while (*status != u->waits && !u->broken)
		if (host_tsc() - start > patience)
			u->broken = no_answer;
	return !u->broken;
}

static u64 *device(const struct iommu_unit *u, u16 bdf)
{
	return u->root + bdf * AMDVI_DTE_WORDS;
}

static bool drop_device(struct iommu_unit *u, u16 bdf)
{
	queue(u, AMDVI_DROP_DEVICE(bdf), 0);
	return work(u);
}

/* ---- functions -------------------------------------------------------------------------- */

/*
 * The page behind the ring's status is a page table without a mapping. Erratum 63: system
 * management writes pass with W only.
 */
static u64 blocked(const struct iommu_unit *u, const u64 *d)
{
	return AMDVI_DTE(host_virt_to_hpa(u->queue).v + 2 * PAGE_SIZE) |
	       (AMDVI_DTE_SYSMGT_OF(d[1]) == 1 ? AMDVI_W : 0);
}

static void amdvi_allow(struct iommu_unit *u, u16 first, u16 last, u8 settings)
{
	for (unsigned id = first; id <= last; id++) {
		u64 *d = device(u, (u16)id);

		put(&d[1], d[1] | AMDVI_DTE_SYSMGT(settings));
		put(&d[2], d[2] | AMDVI_DTE_PASSING(settings));
		put(&d[0], blocked(u, d));
	}
}

static bool amdvi_flush(struct iommu_unit *u, unsigned domain)
{
	queue(u, AMDVI_DROP_PAGES(domain), AMDVI_ALL_PAGES);
	return work(u);
}

static int amdvi_set(struct iommu_unit *u, u16 bdf, unsigned domain, u64 root)
{
	u64 *d = device(u, bdf);
	unsigned flushed = domain ? domain : (u16)d[1];

	/* Blocked first: the unit reads the entry in parts. */
	put(&d[0], blocked(u, d));
	u->counts[bdf] = 0;
	if (!drop_device(u, bdf))
		return -EIO;
	put(&d[1], (d[1] & AMDVI_DTE_SYSMGT(~0u)) | domain);
	put(&d[0], domain ? AMDVI_DTE(root) | AMDVI_R | AMDVI_W : blocked(u, d));
	queue(u, AMDVI_DROP_DEVICE(bdf), 0);
	return amdvi_flush(u, flushed) ? 0 : -EIO;
}

/* ---- interrupts ------------------------------------------------------------------------- */

static u64 *interrupts(const u64 *d)
{
	return d[2] & AMDVI_DTE_INTERRUPT_ROOT
		       ? host_hpa_to_virt(hpa(d[2] & AMDVI_DTE_INTERRUPT_ROOT))
		       : NULL;
}

static const char *amdvi_remap(struct iommu_unit *u, unsigned count, bool wide)
{
	u->wide = wide;
	for (unsigned id = 0; id < AMDVI_IDS; id++)
		put(&device(u, (u16)id)[2],
		    (device(u, (u16)id)[2] & AMDVI_DTE_PASS) | (count ? AMDVI_DTE_INTERRUPTS : 0));
	queue(u, AMDVI_DROP_ALL, 0);
	return work(u) ? NULL : no_answer;
}

static bool empty(const u64 *entry, unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		if (entry[2 * n] & 1)
			return false;
	return true;
}

static int amdvi_take(struct iommu_unit *u, u16 source, unsigned count, u32 how)
{
	u64 *d = device(u, source), *t = interrupts(d);
	/*
	 * An I/O APIC's EOI goes by what its entry has for a vector, which names ours: it must be
	 * the CPU's, too.
	 */
	unsigned n = how & HOW_LEVEL ? (u8)how : 0, step = how & HOW_LEVEL ? 256 : count;
	unsigned end = how ? AMDVI_INTERRUPTS : u->entries;

	if (!t) {
		t = host_pages_alloc(u->entries * 16 / PAGE_SIZE, -1);
		if (!t)
			return -ENOMEM;
		put(&d[2], (d[2] & AMDVI_DTE_PASS) | AMDVI_DTE_INTERRUPTS |
				   AMDVI_DTE_ENTRIES(u->entries) | AMDVI_DTE_REMAP |
				   host_virt_to_hpa(t).v);
		drop_device(u, source);
	}
	for (; n < end; n += step)
		if (empty(&t[2 * n], count))
			return (int)n;
	return -ENOSPC;
}

static bool amdvi_interrupt(struct iommu_unit *u, unsigned n, u16 source, u32 apic_id, u32 how)
{
	u64 *d = device(u, source), *e = interrupts(d) + 2 * n;

	/* Those are in no table: they pass as the I/O APIC sends them, or not at all. */
	if ((how & HOW_MODE) == HOW_NMI) {
		put(&d[2], d[2] | AMDVI_DTE_NMI_PASS);
		return drop_device(u, source);
	}
	/* Never one that is half the old one. */
	if (e[0]) {
		put(&e[0], 0);
		queue(u, AMDVI_DROP_INTERRUPTS(source), 0);
		if (!work(u))
			return false;
	}
	if (!how)
		return true;
	put(&e[1], AMDVI_IRTE_HIGH(apic_id, how & 0xff));
	put(&e[0], AMDVI_IRTE(apic_id));
	queue(u, AMDVI_DROP_INTERRUPTS(source), 0);
	return work(u);
}

static u64 amdvi_message(unsigned n, bool)
{
	return (u64)n << 32 | MESSAGE_ADDRESS;
}

static u64 amdvi_input(unsigned n, u64 entry)
{
	return (entry & HOW_MODE) == HOW_NMI ? entry : (u32)entry >> 11 << 11 | n;
}

/* ---- faults ----------------------------------------------------------------------------- */

/* Counts a function's faults, and has its page faults noted no more when they are enough. */
static unsigned count_fault(struct iommu_unit *u, u16 bdf)
{
	u64 *d = device(u, bdf);

	if (u->counts[bdf] > IOMMU_REPORTS)
		return u->counts[bdf];
	if (++u->counts[bdf] == IOMMU_REPORTS) {
		put(&d[1], d[1] | AMDVI_DTE_SILENT);
		drop_device(u, bdf);
	}
	return u->counts[bdf];
}

static bool more(const struct iommu_unit *u, u64 head)
{
	return head != (read64(u, AMDVI_EVENT_TAIL) & AMDVI_RING_MASK);
}

/*
 * The next event is told; one that came before this is seen now. A log that was full starts again.
 */
static bool acknowledge(struct iommu_unit *u)
{
	u64 status = read64(u, AMDVI_STATUS) & (AMDVI_EVENTS_LOST | AMDVI_EVENT_TOLD), control;

	if (!status)
		return false;
	control = read64(u, AMDVI_CONTROL);
	if (status & AMDVI_EVENTS_LOST) {
		write64(u, AMDVI_CONTROL, control & ~AMDVI_EVENT_LOG);
		stopped(u, AMDVI_EVENTS_RUN);
	}
	write64(u, AMDVI_STATUS, status);
	if (status & AMDVI_EVENTS_LOST)
		write64(u, AMDVI_CONTROL, control);
	return true;
}

static bool amdvi_fault(struct iommu_unit *u, struct iommu_fault *out)
{
	u64 head = read64(u, AMDVI_EVENT_HEAD) & AMDVI_RING_MASK, start = host_tsc(),
	    *e = &u->events[head / 8], event[2];

	/* Asked at each NMI of the boot CPU: two registers then, and the status. */
	if (!more(u, head) && (!acknowledge(u) || !more(u, head)))
		return false;
	/* The tail may come to memory before the event does. */
	while (!__atomic_load_n(&e[0], __ATOMIC_ACQUIRE) && host_tsc() - start < host_tsc_khz())
		;
	memcpy(event, e, sizeof(event));
	memset(e, 0, sizeof(event));
	write64(u, AMDVI_EVENT_HEAD, (head + sizeof(event)) & AMDVI_RING_MASK);
	if (!amdvi_decode(event, out))
		u->broken = "refuses a command";
	out->count = count_fault(u, out->bdf);
	return true;
}

static void amdvi_hold(struct iommu_unit *u, bool held)
{
	u64 control = read64(u, AMDVI_CONTROL) & ~AMDVI_EVENT_MESSAGE;

	write64(u, AMDVI_CONTROL, control | (held ? 0 : AMDVI_EVENT_MESSAGE));
}

/* ---- start ------------------------------------------------------------------------------ */

static bool map(struct iommu_unit *u)
{
	if (!u->regs)
		u->regs = host_mmio_map(hpa(u->base), AMDVI_REGISTERS);
	if (u->regs)
		u->cap = read64(u, AMDVI_FEATURES);
	return u->regs;
}

static const char *judge(const struct iommu_unit *u)
{
	if (!u->cap || u->cap == ~0ull)
		return no_answer;
	if (!(u->cap & AMDVI_FEATURE_IA))
		return "cannot drop all at once that it keeps";
	return AMDVI_FEATURE_HATS(u->cap) == 3 ? "has no page tables of four levels" : NULL;
}

/*
 * All requester IDs are blocked. The device table is the end of memory: guests want the beginning.
 */
static bool make_tables(struct iommu_unit *u)
{
	struct host_extent_request want = { .size = AMDVI_TABLE_SIZE,
					    .align = AMDVI_TABLE_SIZE,
					    .node = -1 };
	struct host_extent table;

	for (unsigned i = 0; host_mem_piece(i, &table); i++)
		want.min_addr = table.base.v + table.size - AMDVI_TABLE_SIZE;
	u->queue = host_pages_alloc(3, -1);
	u->events = host_pages_alloc(1, -1);
	u->counts = host_pages_alloc(AMDVI_IDS / PAGE_SIZE, -1);
	if (!u->queue || !u->events || !u->counts || host_extent_alloc(&want, &table))
		return false;
	u->root = host_hpa_to_virt(table.base);
	memset(u->root, 0, AMDVI_TABLE_SIZE);
	for (unsigned id = 0; id < AMDVI_IDS; id++)
		device(u, (u16)id)[0] = blocked(u, device(u, (u16)id));
	return true;
}

static const char *amdvi_start(struct iommu_unit *u)
{
	const char *why;

	if (!map(u))
		return "has registers where none can be";
	why = judge(u);
	if (why)
		return why;
	u->bits = 48;
	u->domains = AMDVI_IDS;
	u->max_leaf = LEAF_1G;
	u->coherent = u->snoops = true;
	/* Emulated ones do (NpCache, 3.2.2), and it costs others little. */
	u->keeps_absent = true;
	u->remaps = u->cap & AMDVI_FEATURE_GA;
	u->remaps_wide = u->remaps && u->cap & AMDVI_FEATURE_XT;
	u->entries = AMDVI_INTERRUPTS;
	if (AMDVI_FEATURE_INTERRUPTS(read64(u, AMDVI_FEATURES_2)) == 1 && !u->nmis)
		u->entries = AMDVI_INTERRUPTS_2K;
	return make_tables(u) ? NULL : "finds no memory for its tables";
}

/* Events are told by the MSI of the unit's own function, which no unit remaps. */
static void arm(const struct iommu_unit *u, u32 address, u32 data)
{
	struct pci_cap cap[CAPS];
	unsigned count = u->function < 0 || !address
				 ? 0
				 : MIN(host_pci_caps((unsigned)u->function, cap, CAPS), CAPS);

	for (unsigned i = 0; i < count; i++) {
		unsigned f = (unsigned)u->function;
		u32 control;

		if (cap[i].extended || cap[i].id != PCI_CAP_MSI)
			continue;
		control = host_pci_read(f, cap[i].offset + PCI_MSI_CONTROL, 2);
		host_pci_write(f, cap[i].offset + PCI_MSI_ADDRESS, 4, address);
		if (control & PCI_MSI_64)
			host_pci_write(f, cap[i].offset + PCI_MSI_ADDRESS + 4, 4, 0);
		host_pci_write(f, cap[i].offset + PCI_MSI_DATA(control), 2, data);
		host_pci_write(f, cap[i].offset + PCI_MSI_CONTROL, 2,
			       (control & ~(u32)PCI_MSI_COUNT) | PCI_MSI_ENABLE);
	}
}

static const char *amdvi_enable(struct iommu_unit *u, u32 address, u32 data)
{
	u64 control = AMDVI_LINKS(u->hints) | AMDVI_COHERENT | AMDVI_ENABLE | AMDVI_COMMANDS_ON |
		      AMDVI_EVENT_LOG;

	control |= (u->remaps ? AMDVI_GA : 0) |
		   (u->remaps_wide && host_is_x2apic() ? AMDVI_XT : 0) |
		   (u->entries == AMDVI_INTERRUPTS_2K ? AMDVI_2K : 0);
	/*
	 * For a moment it translates nothing: the kind of its interrupts' entries does not change
	 * otherwise.
	 */
	write64(u, AMDVI_CONTROL, 0);
	if (!stopped(u, AMDVI_COMMANDS_RUN | AMDVI_EVENTS_RUN))
		return no_answer;
	write64(u, AMDVI_STATUS, AMDVI_EVENTS_LOST | AMDVI_EVENT_TOLD);
	write64(u, AMDVI_EXCLUSION, 0);
	write64(u, AMDVI_DEVICES, host_virt_to_hpa(u->root).v | AMDVI_TABLE_PAGES);
	write64(u, AMDVI_COMMANDS, AMDVI_RING(host_virt_to_hpa(u->queue).v));
	write64(u, AMDVI_EVENTS, AMDVI_RING(host_virt_to_hpa(u->events).v));
	write64(u, AMDVI_COMMAND_HEAD, 0);
	write64(u, AMDVI_COMMAND_TAIL, 0);
	write64(u, AMDVI_EVENT_HEAD, 0);
	write64(u, AMDVI_EVENT_TAIL, 0);
	arm(u, address, data);
	write64(u, AMDVI_CONTROL, control | (address ? AMDVI_EVENT_MESSAGE : 0));
	u->on = true;
	/* Each by its number, too: QEMU passes by an entry that it was not told of. */
	for (unsigned id = 0; id < AMDVI_IDS; id++) {
		queue(u, AMDVI_DROP_DEVICE(id), 0);
		if (id % 128 == 127 && !work(u))
			return no_answer;
	}
	queue(u, AMDVI_DROP_ALL, 0);
	return work(u) ? NULL : no_answer;
}

static const struct iommu_ops amdvi_ops = {
	.name = "AMD-Vi",
	.ivrs = true,
	.format = &amdvi_format,
	.start = amdvi_start,
	.allow = amdvi_allow,
	.enable = amdvi_enable,
	.set = amdvi_set,
	.flush = amdvi_flush,
	.remap = amdvi_remap,
	.take = amdvi_take,
	.interrupt = amdvi_interrupt,
	.message = amdvi_message,
	.input = amdvi_input,
	.fault = amdvi_fault,
	.hold = amdvi_hold,
};
IOMMU_BACKEND(amdvi_ops);

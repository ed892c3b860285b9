/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel VT-d: DMA remapping in legacy mode (root and context tables, second-level page tables of
 * four levels), interrupt remapping, queued invalidation, fault records. Intel Virtualization
 * Technology for Directed I/O 4.0.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/iommu/vtd.h"

#define PATIENCE_MS 1000 /* far more than any command takes */
#define CACHE_LINE 64

static const char no_answer[] = "does not answer";

/* ---- registers -------------------------------------------------------------------------- */

static u32 read32(const struct iommu_unit *u, unsigned reg)
{
	return (u32)host_mmio_read(u->regs + reg, 4);
}

static u64 read64(const struct iommu_unit *u, unsigned reg)
{
	return host_mmio_read(u->regs + reg, 8);
}

static void write32(struct iommu_unit *u, unsigned reg, u32 value)
{
	host_mmio_write(u->regs + reg, 4, value);
}

static void write64(struct iommu_unit *u, unsigned reg, u64 value)
{
	host_mmio_write(u->regs + reg, 8, value);
}

/* Waits until these bits are so. False: they never are. */
static bool wait_for(const struct iommu_unit *u, unsigned reg, u32 bits, u32 want)
{
	u64 start = host_tsc(), patience = PATIENCE_MS * host_tsc_khz();

	while ((read32(u, reg) & bits) != want)
		if (host_tsc() - start > patience)
			return false;
	return true;
}

/* One command at a time, with the status that it leaves (11.4.4.1). */
static bool command(struct iommu_unit *u, u32 bit, bool on, u32 want)
{
	u32 kept = read32(u, VTD_GSTS) & VTD_KEPT & ~bit;

	write32(u, VTD_GCMD, on ? kept | bit : kept);
	return wait_for(u, VTD_GSTS, bit, want);
}

static bool switch_off(struct iommu_unit *u, u32 bit)
{
	return !(read32(u, VTD_GSTS) & bit) || command(u, bit, false, 0);
}

/* ---- tables and their invalidation ---------------------------------------------------------- */

/* What the unit does not see in the CPUs' caches goes to memory. */
static void written(const struct iommu_unit *u, const void *from, size_t size)
{
	if (!u->coherent)
		for (size_t at = 0; at < size; at += CACHE_LINE)
			cpu_clflush((const u8 *)from + at);
}

static void put(const struct iommu_unit *u, u64 *entry, u64 value)
{
	__atomic_store_n(entry, value, __ATOMIC_RELEASE);
	written(u, entry, sizeof(*entry));
}

static void queue(struct iommu_unit *u, u64 low, u64 high)
{
	u->queue[u->tail / 8] = low;
	u->queue[u->tail / 8 + 1] = high;
	u->tail = (u->tail + 16) % VTD_QUEUE_SIZE;
}

/*
 * Has the unit work on what is queued, and waits. The status is the first word behind the queue.
 * Entries that were not present are dropped like others: units in caching mode keep them (6.1).
 */
static bool work(struct iommu_unit *u)
{
	volatile u32 *status = (volatile u32 *)((u8 *)u->queue + VTD_QUEUE_SIZE);
	u64 start = host_tsc(), patience = PATIENCE_MS * host_tsc_khz();

	/* Old chipsets: what was written to tables may stand in a buffer (6.8). */
	if (u->cap & VTD_CAP_RWBF && !command(u, VTD_WBF, true, 0))
		return false;
	queue(u, VTD_INV_WAIT | VTD_WAIT_STATUS | VTD_WAIT_FENCE | (u64)++u->waits << 32,
	      host_virt_to_hpa((void *)status).v);
	write64(u, VTD_IQT, u->tail);
	while (*status != u->waits)
		if (read32(u, VTD_FSTS) & VTD_FSTS_QUEUE || host_tsc() - start > patience)
			return false;
	return true;
}

static bool work_or_break(struct iommu_unit *u)
{
	if (!u->broken && !work(u))
		u->broken = no_answer;
	return !u->broken;
}

/*
 * Drops what the unit has of a domain's page tables (0: of all); all that was translated by them
 * has reached memory then.
 */
static bool vtd_flush(struct iommu_unit *u, unsigned domain)
{
	queue(u,
	      VTD_INV_IOTLB | VTD_INV_DRAIN |
		      (domain ? VTD_INV_DOMAIN | (u64)domain << VTD_INV_DOMAIN_SHIFT
			      : VTD_INV_GLOBAL),
	      0);
	return work_or_break(u);
}

/* The same, and of context entries all. */
static bool flush_or_break(struct iommu_unit *u, unsigned domain)
{
	queue(u, VTD_INV_CONTEXT | VTD_INV_GLOBAL, 0);
	return vtd_flush(u, domain);
}

/*
 * The same of what it has of interrupts' entries, as `which` says; interrupts that went by them
 * have been delivered then (6.5).
 */
static bool flush_interrupts(struct iommu_unit *u, u64 which)
{
	queue(u, VTD_INV_INTERRUPT | which, 0);
	return work_or_break(u);
}

/*
 * The context entry of a function, in a table of its bus' that is made when first asked for. NULL:
 * no memory.
 */
static u64 *context(struct iommu_unit *u, u16 bdf)
{
	u64 *bus = &u->root[(bdf >> 8) * 2], *table;

	if (!(*bus & VTD_PRESENT)) {
		table = host_pages_alloc(1, u->node);
		if (!table)
			return NULL;
		written(u, table, PAGE_SIZE);
		put(u, bus, host_virt_to_hpa(table).v | VTD_PRESENT);
	}
	table = host_hpa_to_virt(hpa(*bus & PTE_ADDR));
	return &table[(bdf & 0xff) * 2];
}

static int vtd_set(struct iommu_unit *u, u16 bdf, unsigned domain, u64 root)
{
	u64 *e = context(u, bdf);
	unsigned flushed;

	if (!e)
		return -ENOMEM;
	flushed = domain ? domain : (unsigned)(e[1] >> VTD_CONTEXT_DOMAIN_SHIFT & 0xffff);
	put(u, &e[0], 0);
	put(u, &e[1], domain ? VTD_CONTEXT_4_LEVELS | (u64)domain << VTD_CONTEXT_DOMAIN_SHIFT : 0);
	if (domain)
		put(u, &e[0], root | VTD_PRESENT);
	return flush_or_break(u, flushed) ? 0 : -EIO;
}

/* ---- interrupts ------------------------------------------------------------------------- */

static const char *vtd_remap(struct iommu_unit *u, unsigned count, bool wide)
{
	unsigned pages = count * 16 / PAGE_SIZE;

	if (!count)
		return switch_off(u, VTD_IRE) ? NULL : no_answer;
	u->interrupts = host_pages_alloc(pages, u->node);
	if (!u->interrupts)
		return "finds no memory for the table of its interrupts";
	written(u, u->interrupts, pages * PAGE_SIZE);
	u->wide = wide;
	write64(u, VTD_IRTA,
		host_virt_to_hpa(u->interrupts).v | (wide ? VTD_IRTA_EIME : 0) |
			(unsigned)(__builtin_ctz(count) - 1));
	return command(u, VTD_SIRTP, true, VTD_SIRTP) && flush_interrupts(u, 0) &&
			       switch_off(u, VTD_CFI) && command(u, VTD_IRE, true, VTD_IRE)
		       ? NULL
		       : no_answer;
}

static bool vtd_interrupt(struct iommu_unit *u, unsigned n, u16 source, u32 apic_id, u32 how)
{
	u64 *e = &u->interrupts[n * 2];

	/* Never one that is half the old one. */
	if (e[0]) {
		put(u, &e[0], 0);
		if (!flush_interrupts(u, VTD_INV_ENTRY(n)))
			return false;
	}
	if (!how)
		return true;
	put(u, &e[1], VTD_IRTE_SOURCE | source);
	put(u, &e[0], VTD_IRTE(how) | VTD_IRTE_ID(apic_id, u->wide));
	return flush_interrupts(u, VTD_INV_ENTRY(n));
}

static u64 vtd_message(unsigned n, bool several)
{
	return VTD_MESSAGE(n, several);
}

static u64 vtd_input(unsigned n, u64 entry)
{
	return VTD_INPUT(n, entry);
}

/* ---- faults -------------------------------------------------------------------------------- */

/*
 * Counts a function's faults where hardware does not look, and has it note no more when they are
 * enough.
 */
static unsigned count_fault(struct iommu_unit *u, u16 bdf)
{
	u64 *e = context(u, bdf);
	unsigned count = e ? (e[1] >> VTD_CONTEXT_COUNT_SHIFT & VTD_CONTEXT_COUNT) + 1 : 1;

	if (!e || count > IOMMU_REPORTS)
		return count;
	put(u, &e[1], e[1] + BIT(VTD_CONTEXT_COUNT_SHIFT));
	if (count == IOMMU_REPORTS) {
		put(u, &e[0], e[0] | VTD_CONTEXT_FPD);
		flush_or_break(u, 0);
	}
	return count;
}

static bool vtd_fault(struct iommu_unit *u, struct iommu_fault *out)
{
	unsigned n = 0, records = VTD_CAP_NFR(u->cap);

	/* Asked at each NMI of the boot CPU: one register then. */
	if (!(read32(u, VTD_FSTS) & VTD_FSTS_FAULT))
		return false;
	/*
	 * Twice: no message tells of a record that was filled behind our back, before what is left
	 * of the overflow was cleared.
	 */
	for (; n < 2 * records; n++) {
		unsigned at = (unsigned)VTD_CAP_FRO(u->cap) + n % records * 16;
		u64 low, high;

		/* The queue's errors stay: a unit with these is broken. */
		if (n == records)
			write32(u, VTD_FSTS, VTD_FSTS_CLEAR & ~VTD_FSTS_QUEUE);
		low = read64(u, at);
		high = read64(u, at + 8);

		if (!(high & VTD_FRCD_VALID))
			continue;
		*out = (struct iommu_fault){
			.bdf = (u16)high,
			.write = !(high & VTD_FRCD_READ),
			.reason = (u8)(high >> 32),
			.interrupt = (u8)(high >> 32) >= VTD_REASON_INTERRUPT,
		};
		out->address = out->interrupt ? low >> 48 : low & ~(PAGE_SIZE - 1);
		write32(u, at + 12, VTD_FRCD_CLEAR);
		out->count = count_fault(u, out->bdf);
		return true;
	}
	return false;
}

static void vtd_hold(struct iommu_unit *u, bool held)
{
	write32(u, VTD_FECTL, held ? VTD_FECTL_MASK : 0);
}

/* ---- start ---------------------------------------------------------------------------------- */

static const char *judge(struct iommu_unit *u, u64 ecap)
{
	if (!u->cap || u->cap == ~0ull)
		return no_answer;
	if (!(ecap & VTD_ECAP_QI))
		return "has no queued invalidation";
	if ((u->cap & VTD_CAP_DRAIN) != VTD_CAP_DRAIN)
		return "cannot wait for what is under way";
	return u->cap & VTD_CAP_SAGAW_4 ? NULL : "has no page tables of four levels";
}

/* Finds the registers. */
static bool map(struct iommu_unit *u)
{
	if (!u->regs)
		u->regs = host_mmio_map(hpa(u->base), VTD_REGISTERS);
	if (u->regs)
		u->cap = read64(u, VTD_CAP);
	return u->regs;
}

static const char *vtd_start(struct iommu_unit *u)
{
	const char *why;
	u64 ecap;

	if (!map(u))
		return "has registers where none can be";
	ecap = read64(u, VTD_ECAP);
	why = judge(u, ecap);
	if (why)
		return why;
	u->bits = MIN((unsigned)VTD_CAP_MGAW(u->cap), 48u);
	u->domains = 1u << (4 + 2 * MIN(VTD_CAP_ND(u->cap), 6u));
	u->max_leaf = LEAF_4K;
	if (u->cap & VTD_CAP_2M)
		u->max_leaf = u->cap & VTD_CAP_1G ? LEAF_1G : LEAF_2M;
	u->coherent = ecap & VTD_ECAP_C;
	/* or does not see before what was written (6.8) */
	u->keeps_absent = u->cap & (VTD_CAP_CM | VTD_CAP_RWBF);
	u->snoops = ecap & VTD_ECAP_SC;
	u->remaps = ecap & VTD_ECAP_IR;
	u->remaps_wide = ecap & VTD_ECAP_EIM;
	u->root = host_pages_alloc(1, u->node);
	u->queue = host_pages_alloc(2, u->node);
	if (!u->root || !u->queue)
		return "finds no memory for its tables";
	written(u, u->root, PAGE_SIZE);
	/* Nothing of the firmware's may be told to us or go on with a queue of its own. */
	write32(u, VTD_FECTL, VTD_FECTL_MASK);
	if ((read32(u, VTD_GSTS) & VTD_QIE && !wait_for(u, VTD_IQH, ~0u, read32(u, VTD_IQT))) ||
	    !switch_off(u, VTD_QIE) || !switch_off(u, VTD_EAFL))
		return no_answer;
	write32(u, VTD_FSTS, VTD_FSTS_CLEAR);
	write64(u, VTD_IQT, 0);
	write64(u, VTD_IQA, host_virt_to_hpa(u->queue).v);
	return command(u, VTD_QIE, true, VTD_QIE) ? NULL : no_answer;
}

static const char *vtd_enable(struct iommu_unit *u, u32 address, u32 data)
{
	/* What was noted before is not ours to tell. */
	for (unsigned n = 0; n < VTD_CAP_NFR(u->cap); n++)
		write32(u, (unsigned)VTD_CAP_FRO(u->cap) + n * 16 + 12, VTD_FRCD_CLEAR);
	write64(u, VTD_RTADDR, host_virt_to_hpa(u->root).v);
	if (!command(u, VTD_SRTP, true, VTD_SRTP) || !flush_or_break(u, 0) ||
	    !command(u, VTD_TE, true, VTD_TE))
		return no_answer;
	if (address) {
		write32(u, VTD_FEDATA, data);
		write32(u, VTD_FEADDR, address);
		write32(u, VTD_FEUADDR, 0);
		write32(u, VTD_FECTL, 0);
	}
	return NULL;
}

static const struct iommu_ops vtd_ops = {
	.name = "VT-d",
	.format = &vtd_format,
	.snooped = &vtd_snooped,
	.start = vtd_start,
	.enable = vtd_enable,
	.set = vtd_set,
	.flush = vtd_flush,
	.remap = vtd_remap,
	.interrupt = vtd_interrupt,
	.message = vtd_message,
	.input = vtd_input,
	.fault = vtd_fault,
	.hold = vtd_hold,
};
IOMMU_BACKEND(vtd_ops);

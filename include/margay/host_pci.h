/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCI functions for VMs: the part of <margay/host.h> that, but for host_mmio_read() and
 * host_mmio_write(), is only there in images with PASSTHROUGH. Include that.
 */
#ifndef MARGAY_HOST_PCI_H
#define MARGAY_HOST_PCI_H

#include <margay/errno.h>
#include <margay/pci.h>

#define HOST_PCI_FUNCTIONS 512 /* the machine has no more, or they are not used */

struct host_pci_function {
	unsigned index; /* what host_pci_function() was asked for */
	struct pci_address address;
	struct pci_id id;
	bool extended;  /* offsets 0x100-0xfff are there */
	int node;       /* -1: unknown */
	struct pci_bar bar[PCI_BARS];
};

/* The i-th function of the machine, in address order; false past the last. */
bool host_pci_function(unsigned i, struct host_pci_function *out);

/* Configuration space of function `index`: aligned accesses of 1, 2 or 4 bytes. */
u32 host_pci_read(unsigned index, u16 offset, unsigned size);
void host_pci_write(unsigned index, u16 offset, unsigned size, u32 value);

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * Fills cap[] with up to `max` capabilities, standard ones first, in list order; returns how many
 * there are.
 */
unsigned host_pci_caps(unsigned index, struct pci_cap *cap, unsigned max);
#else
static inline unsigned host_pci_caps(unsigned, struct pci_cap *, unsigned)
{
	return 0;
}
#endif

/* Before its VM runs: each bridge above passes on what it sends. Logs where it did not. */
void host_pci_open_way(unsigned index);

/* What the way from function `index` to memory takes, of which its guest sees no bridge. */
/* AtomicOps: all switches route them, and the root port completes them */
#define HOST_PCI_ATOMICS BIT(0)
#define HOST_PCI_RELAXED BIT(1) /* relaxed ordering, without harm */
unsigned host_pci_path(unsigned index);

/*
 * A function's reset, which takes 100 ms, or as long as the device needs, up to a minute. Its room
 * is the caller's, and may be moved between two steps; what is in it is the kernel's.
 */
struct host_pci_reset {
	unsigned index;
	/* the caller's, until it is over: what the function decoded before it decodes again */
	bool decodes;
	u8 step;
	u8 told;
	bool obeys;
	bool by_bus;
	bool ltr;
	bool saved; /* link, decoding and header have been read, before whatever befell it since */
	u16 link;
	u16 decoding;
	u32 header[16];
	/* TSC */
	u64 begun;
	u64 since;
	u64 until;
};

void host_pci_reset_begin(struct host_pci_reset *r, unsigned index);
/*
 * Goes on with it, and waits for nothing: the first step ends what the function does. -EBUSY: it is
 * not over, and wants another one, soon. Else it is: addresses, and what belongs to the path, are
 * there again; the rest is as after a reset, but that line interrupts stay off. 0; -ENODEV: it has
 * no reset that hurts no other, and is just quiet; -EIO: it does not come back, or does not obey,
 * and may still write to memory. Any CPU, one at a time.
 */
int host_pci_reset_step(struct host_pci_reset *r);

/* Where the machine's extended configuration space of segment 0 is, bus 0 first; false: nowhere. */
bool host_pci_ecam(u64 *base, u8 *last_bus);

/*
 * May a VM have this in its map, or its functions in theirs? ram: as its memory, all of which is
 * usable; else as registers of one of its functions: nothing of the platform's, of the node's
 * memory or of what firmware has reserved is there. One list for all (kernel/pci/pci_platform.c),
 * which whoever maps asks, whatever he thinks that he maps.
 */
bool host_may_map(hpa_t pa, u64 size, bool ram);
/* May a VM have these ports opened? */
bool host_may_open(u64 port, u64 ports);

/*
 * Device registers, uncached; any alignment. The same again for the same range. NULL: no memory, or
 * no address space left.
 */
volatile void *host_mmio_map(hpa_t pa, u64 size);

/*
 * Aligned accesses of 1, 2, 4 or 8 bytes to what host_mmio_map() has mapped. Where nothing is,
 * which a defect of ours has led to, a load reads ones, and the work item's fault() ends what it
 * stands for. Without one the node panics.
 */
u64 host_mmio_read(const volatile void *reg, unsigned size);
void host_mmio_write(volatile void *reg, unsigned size, u64 value);

/*
 * Vectors of one CPU, and the message that makes a device interrupt at the first; the data of the
 * next is one more.
 */
struct host_msi {
	/* all but cpu: host_iommu_message()'s, entries of a unit; entries 0: none */
	u16 cpu;
	u16 unit;
	u16 source;
	u16 entry;
	u16 entries;
	/* count 0: none */
	u8 first;
	u8 count;

	u32 address;
	u32 data;
};

/*
 * Takes `count` vectors, a power of two up to 32, aligned to it. fn(arg, n) runs
 * on that CPU in its interrupt windows for each interrupt at the n-th; it must
 * not take or give vectors. 0; -ENOSPC; -ENOMEM; -ERANGE: no message reaches a
 * CPU of this APIC ID.
 */
int host_msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg,
		   struct host_msi *out);
/*
 * Gives them back, and its entries; fn does not run any more when it returns, what comes late is
 * dropped. Not where it has none.
 */
void host_msi_free(struct host_msi *msi);

/* A line interrupt: an input of the machine's I/O APICs, level-triggered. */
struct host_intx {
	u32 gsi;
	bool active_low;
};

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * Where the interrupt pin of a function led at boot. 0; -ENXIO: it has none; -ENOENT: firmware does
 * not say it in constants.
 */
int host_intx_route(unsigned index, struct host_intx *out);
#else
static inline int host_intx_route(unsigned, struct host_intx *)
{
	return -ENOENT;
}
#endif

/*
 * Takes the line, masked. fn(arg, 0) runs as host_msi_alloc()'s, with the line masked until
 * host_intx_open(). 0; -EBUSY: somebody has it, or the host itself; -ENODEV: there is no such
 * input; or as host_msi_alloc(). Without fn it is host_intx_lead()'s alone.
 */
int host_intx_take(const struct host_intx *line, unsigned cpu, void (*fn)(void *arg, unsigned n),
		   void *arg);
/* Lets the next interrupt of a taken line come: at once, while it is asserted. Any CPU. */
void host_intx_open(u32 gsi);
/*
 * Its interrupts are that vector of a CPU whose APIC is a guest's, by APIC ID, and end by that
 * one's EOI; vector 0: masked. Any CPU, one at a time.
 */
void host_intx_lead(const struct host_intx *line, u32 apic_id, u8 vector);
/*
 * Has a CPU one that it has not ended? end: it is ended first; while the line is asserted the next
 * one comes. As the above.
 */
bool host_intx_in_service(u32 gsi, bool end);
/* Masks it and gives it back; fn does not run any more when it returns. */
void host_intx_release(u32 gsi);

/* ---- SR-IOV: images without SRIOV know no VFs --------------------------- */

/*
 * Makes VFs 0 to count - 1 of function `index`, none of which is on, ready to be switched on: their
 * registers get addresses, and they are functions of the machine from now on. Again after the
 * function's reset. NULL, or why it cannot have them, in words.
 */
const char *host_sriov_prepare(unsigned index, unsigned count);
/* The function that is VF n of function `index`; -1: it is not prepared for so many. */
int host_sriov_vf(unsigned index, unsigned n);
#if IS_ENABLED(CONFIG_SRIOV)
bool host_sriov_is_vf(unsigned index);
/* Is the VF there? */
bool host_sriov_on(unsigned index);
#else
static inline bool host_sriov_is_vf(unsigned)
{
	return false;
}

static inline bool host_sriov_on(unsigned)
{
	return false;
}
#endif

/*
 * Switches VFs 0 to count - 1 on, quiet, which takes 100 ms, or up to two seconds, and waits for
 * nothing. 0; -EBUSY: they are coming, and want the same call again, soon; -EINVAL: not prepared;
 * -EIO: they do not come. One caller at a time.
 */
int host_sriov_enable(unsigned index, unsigned count);
/*
 * Switches all off. They are quiet and no VM's; or their VM has not let go of them in time, and
 * finds nothing there.
 */
void host_sriov_disable(unsigned index);
#if IS_ENABLED(CONFIG_SRIOV)
/*
 * For an operator: how many VFs the function has or can have, or why none. False: it is not one
 * that has any.
 */
bool host_sriov_text(unsigned index, char *text, size_t size);
#else
static inline bool host_sriov_text(unsigned, char *, size_t)
{
	return false;
}
#endif

/* ---- IOMMUs: images without IOMMU use none --------------------------------- */

/* Memory that functions of one VM reach, and by which addresses. */
struct host_iommu;

#if IS_ENABLED(CONFIG_IOMMU)
/*
 * Do IOMMUs stand between the functions and memory? Each function that is not attached reaches
 * nothing then.
 */
bool host_iommu_on(void);

/* Why no VM may have function `index` while they do, to end a sentence about it; NULL: nothing. */
const char *host_iommu_unfit(unsigned index);
#else
static inline bool host_iommu_on(void)
{
	return false;
}

static inline const char *host_iommu_unfit(unsigned)
{
	return NULL;
}
#endif

/* Whose functions they are. It stays until what is made for it is destroyed, or abandoned. */
struct host_iommu_user {
	/* for lines; mode: how they reach memory */
	const char *name;
	const char *mode;
	/*
	 * Function `index` was blocked. On the boot CPU, in a window, or where host_iommu_state()
	 * is called, and under a lock: it just takes note. storm: there will be more of it until
	 * the function is no bus master any more. NULL: nobody wants to know.
	 */
	void (*blocked)(void *arg, unsigned index, bool storm);
	void *arg;
	int node; /* of its CPUs: tables come from there */
};

/* Makes one that reaches nothing. 0; -ENOMEM; -ENOSPC: the IOMMUs hold no more. */
int host_iommu_create(const struct host_iommu_user *user, struct host_iommu **out);
/*
 * `at`, as functions say it, is pa; both 4 KiB aligned; functions may be attached already. The
 * caller serializes changes of a domain. 0; -EINVAL: not so, or over what are interrupts; -EPERM:
 * pa is registers of the platform, or the flash; -ERANGE: beyond the IOMMUs' address bits; -EEXIST;
 * -ENOMEM; -EIO: an IOMMU does not answer. On error a part may be mapped.
 */
int host_iommu_map(struct host_iommu *d, u64 at, hpa_t pa, u64 size);
/*
 * Functions do not reach [at, at+size) any more, and what they have sent there has come, or never
 * will; parts without a mapping are passed over. 0; -EINVAL; -ENOMEM: a part still is; -EIO: an
 * IOMMU does not answer, and what was mapped gets no other use.
 */
int host_iommu_unmap(struct host_iommu *d, u64 at, u64 size);
/* For a function that is quiet. 0; -ENOMEM; -EIO: its IOMMU does not answer. */
int host_iommu_attach(struct host_iommu *d, unsigned index);
/*
 * It reaches nothing any more, and what it has sent has come, or never will. 0; -EIO: its IOMMU
 * does not answer.
 */
int host_iommu_detach(unsigned index);
/* When no function is attached any more. NULL: does nothing. */
void host_iommu_destroy(struct host_iommu *d);
/*
 * In its place where one still may be, as its IOMMU does not answer: all stays as it is, and its
 * user may go.
 */
void host_iommu_abandon(struct host_iommu *d);

/*
 * What function `index` reaches, and what of it was blocked since it was attached, as far as it was
 * noted. False: no IOMMU.
 */
struct host_iommu_state {
	unsigned domain; /* 0: it reaches nothing */
	const char *mode; /* its user's */
	u64 dma;
	u64 interrupts;
};
#if IS_ENABLED(CONFIG_IOMMU)
bool host_iommu_state(unsigned index, struct host_iommu_state *out);

/* Do interrupts of devices reach CPUs with APIC IDs above 254? */
bool host_iommu_wide(void);
#else
static inline bool host_iommu_state(unsigned, struct host_iommu_state *)
{
	return false;
}

static inline bool host_iommu_wide(void)
{
	return false;
}
#endif

/* Entries that an IOMMU keeps for the messages of one function. */
struct host_messages {
	/* count 0: none, for nothing is remapped */
	u16 unit;
	u16 first;
	u16 count;
};

#if IS_ENABLED(CONFIG_IOMMU)
/*
 * Where IOMMUs remap interrupts: keeps entries for `count` messages of function `index`, no other
 * one's then. It may get fewer, 64 at least. 0, also where nothing is remapped; -ENOSPC: none are
 * left; -ENOMEM. Any CPU.
 */
int host_iommu_reserve(unsigned index, unsigned count, struct host_messages *out);
/* After host_msi_free() of all its messages. */
void host_iommu_release(struct host_messages *kept);
/*
 * Lets function `index` interrupt msi->cpu at `count` vectors from msi->first on, a power of two up
 * to 32, by some of the entries kept for it, and makes address and data the message for it. 0, also
 * where nothing is remapped; -ENOSPC: all of them are in use; -EIO: its IOMMU does not answer.
 */
int host_iommu_message(unsigned index, const struct host_messages *kept, unsigned count,
		       struct host_msi *msi);
#else
static inline int host_iommu_reserve(unsigned, unsigned, struct host_messages *)
{
	return 0;
}

static inline void host_iommu_release(struct host_messages *) { }

static inline int host_iommu_message(unsigned, const struct host_messages *, unsigned,
				     struct host_msi *)
{
	return 0;
}
#endif

#endif

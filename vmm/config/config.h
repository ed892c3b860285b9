/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file. One text file per VM; strict: an unknown key, a
 * duplicate, a value out of range is an error with file and line. The same
 * parser is linked into the image and into tools/margay-check.
 */
#ifndef VMM_CONFIG_H
#define VMM_CONFIG_H

#include <margay/pci.h>

struct span;

/* vCPUs of one VM. */
#define VM_CPUS_MAX 4096 /* as many as the MADT may name */
/* Nodes that `memory` can name. */
#define VM_MEMORY_NODES 16
#define VM_NODE_NUMBER_MAX 63
/* Below this no Linux kernel unpacks; above it no x86-64 CPU of today addresses. */
#define VM_MEMORY_MIN MIB(32)
#define VM_MEMORY_MAX GIB(65536)

#define VM_NAME_MAX 31
#define VM_MODULE_MAX 63
#define VM_CMDLINE_MAX 2047
/* `module =` lines of one VM file, and the text that each may add for the kernel. */
#define VM_MODULES_MAX 4
#define VM_MODULE_ARGS_MAX 127
#define VM_DISKS_MAX 4
#define VM_NETS_MAX 4
#define VM_SEGMENT_MAX 15
/* Bytes that a frame of a segment has at most behind its Ethernet header; where none is given: */
#define VM_MTU_MIN 1280u /* IPv6 wants so much (RFC 8200, 5) */
#define VM_MTU_MAX 9000u
#define VM_MTU_DEFAULT 1500u
/* IEEE 802.1Q: 0 is none, 4095 is kept back. Ranges of one interface's trunk. */
#define VM_VLAN_MAX 4094u
#define VM_TRUNK_MAX 16
/* Bytes of all `meta =` lines, each with its line feed; and keys of theirs that are known here. */
#define VM_META_MAX 4096
#define VM_META_NAME_MAX 63
#define VM_META_ID "instance-id"
#define VM_META_HOST "local-hostname"
#define VM_META_MODE "dsmode"
#define VM_META_SSH "public-keys"
#define VM_META_USER "user-data"
#define VM_META_NETWORK "network-config"

enum vm_leaf { VM_LEAF_4K, VM_LEAF_2M, VM_LEAF_1G };
enum vm_memory_map { VM_MAP_AUTO, VM_MAP_OFFSET, VM_MAP_IDENTITY };
/*
 * How devices reach its memory: not at all, by the host's addresses, by windows of which its guest
 * is told, as CPUs do.
 */
enum vm_dma { VM_DMA_NONE, VM_DMA_IDENTITY, VM_DMA_WINDOW, VM_DMA_IOMMU };
enum vm_interrupts { VM_INTERRUPTS_AUTO, VM_INTERRUPTS_DIRECT, VM_INTERRUPTS_EMULATED };
enum vm_clock { VM_CLOCK_FOLLOW, VM_CLOCK_FREEZE };
/* What follows when the IOMMU blocks a function of the VM's, beside a line. */
enum vm_on_fault { ON_FAULT_REPORT, ON_FAULT_STOP, ON_FAULT_RESTART };
/* What follows when it has used memory that the machine has lost. */
enum vm_on_mce { ON_MCE_STOP, ON_MCE_RESTART, ON_MCE_INJECT };
/* How a VM ended, as the VM file tells it apart, and what follows. */
enum vm_ending { ENDING_POWEROFF, ENDING_REBOOT, ENDING_CRASH, VM_ENDINGS };
enum vm_then { THEN_STOP, THEN_RESTART, THEN_POWEROFF_NODE, THEN_REBOOT_NODE, THEN_DUMP };

/* Parts of `pci`. */
#define VM_PCI_MAX 64

/* PCI functions: one by its address, or all of a class or of an ID. */
struct vm_config_pci {
	enum vm_pci_by { VM_PCI_ADDRESS, VM_PCI_CLASS, VM_PCI_ID, VM_PCI_VF } by;
	struct pci_address address; /* of a VF its PF's */
	unsigned vf;
	u16 class_code; /* class << 8 | subclass */
	u16 vendor;
	u16 device;
};

/* What firmware does not say of functions: a number for each. */
struct vm_config_pci_facts {
	unsigned count;
	struct vm_config_pci_fact {
		struct pci_address function;
		u32 value;
	} of[VM_PCI_MAX];
};

/* A boot module that the guest kernel gets beside itself. */
struct vm_config_module {
	char name[VM_MODULE_MAX + 1];
	char args[VM_MODULE_ARGS_MAX + 1]; /* handed over with it; may be empty */
	unsigned line;
};

/* A disk: a boot module that is only read, or so many bytes of memory, zero at first. */
struct vm_config_disk {
	char name[VM_MODULE_MAX + 1];
	u64 scratch;
	unsigned line;
};

/*
 * A network interface: its address as of vm_config_mac(), 0: made of the name; plain: nothing is
 * offloaded.
 */
struct vm_config_net {
	char segment[VM_SEGMENT_MAX + 1];
	u64 mac;
	u16 mtu; /* as of vm_config_mtu(); 0: the default */
	u16 pvid; /* the VLAN of its frames without a tag; 0: it has none */
	/* those of its frames with one, without a trunk none; with neither it knows no VLANs */
	u16 nr_trunk;
	struct vm_config_vlans {
		u16 first;
		u16 last;
	} trunk[VM_TRUNK_MAX];
	bool bridge;
	bool isolated;
	bool mirror;
	bool plain;
	unsigned line;
};

/* What the management VM may do, beside looking. */
enum vm_may {
	MAY_CREATE = 1,
	MAY_DESTROY = 2,
	MAY_CONSOLE = 4,
	MAY_BOOT = 8,
	MAY_TRUSTED = 16,
	MAY_IPI = 32,
	MAY_IDENTITY = 64,
	MAY_MODULES = 128,
	MAY_DUMP = 256
};
/* config_control.c: the word of BIT(i) of these; NULL past the last. */
const char *vm_config_right(unsigned i);
struct vm_config_control {
	bool commands;
	unsigned may; /* of these */
	u64 memory; /* bytes that VMs and images it makes may have together */
	u8 cpus[VM_CPUS_MAX / 8]; /* CPUs that its VMs may have: a bit for each */
	unsigned nr_pci;
	unsigned nr_nets;
	struct pci_address pci[VM_PCI_MAX]; /* functions that its VMs may have */
	char net[VM_NETS_MAX][VM_SEGMENT_MAX + 1]; /* segments that its VMs may be on */
};

struct vm_config {
	/* as given to vm_config_parse(), for messages; outlives this */
	const char *file;
	/* letters, digits, '-', '_'; default: "vm" and a number, set by the caller */
	char name[VM_NAME_MAX + 1];
	char kernel[VM_MODULE_MAX + 1]; /* module name; required */
	char initrd[VM_MODULE_MAX + 1]; /* module name; empty: none */
	char cmdline[VM_CMDLINE_MAX + 1]; /* guest kernel command line */
	unsigned cpus; /* vCPUs; default 1; 0: all CPUs that are free */
	/* cpu[n] is the host CPU of vCPU n; else the planner chooses (plan.h) */
	bool pinned;
	u16 cpu[VM_CPUS_MAX];
	/* bytes, multiple of 2 MiB, split as the CPUs are; 0: see the next two */
	u64 memory;
	/* memory by node; 0 and memory 0: all that is free on the CPUs' nodes */
	unsigned nr_memory_nodes;
	struct {
		u16 node;
		u64 size; /* bytes; 0: all that is free there */
	} memory_node[VM_MEMORY_NODES];
	enum vm_leaf leaf; /* largest second-level leaf; default VM_LEAF_1G */
	/* default: none, or identity where memory_map says so and there is pci */
	enum vm_dma dma;
	enum vm_on_fault on_fault; /* default ON_FAULT_REPORT */
	enum vm_on_mce on_mce; /* where line_mce is 0 as then[ENDING_CRASH] */
	enum vm_memory_map memory_map; /* default VM_MAP_AUTO; auto becomes what dma needs */
	/* the guest sees one node and one package; default false */
	bool flat;
	/* memory may come from other nodes than the CPUs'; default false */
	bool remote_memory;
	/* other VMs may run on its cores' other threads; default false */
	bool smt_sharing;
	/* what the guest's clocks do while it is paused; default VM_CLOCK_FOLLOW */
	enum vm_clock clock;
	enum vm_interrupts interrupts; /* default VM_INTERRUPTS_AUTO */
	bool ipi_direct; /* its guest sends by the CPUs' own ICR; default false */
	/* its guest is told those of the firmware's _CST; default false */
	bool cstates_firmware;
	bool no_watchdog; /* the guest has none; default false */
	bool no_pvclock; /* the guest has no clock but its TSC; default false */
	/* it has so many ways of so many of the last caches; default 0: as everybody */
	unsigned cache_ways;
	unsigned cache_of;
	/* percent of the memory bandwidth, or GB/s by an L3 cache; default 0: as everybody */
	unsigned bandwidth;
	unsigned gigabytes;
	/* the CPUs' performance counters are the guest's; default false */
	bool counters;
	/* default THEN_STOP; without CONFIG_VM_FOLLOW_UP the first is for all */
	enum vm_then then[VM_ENDINGS];
	/* restarts within so much of the first of them; 0: any number */
	unsigned restart_limit;
	unsigned restart_seconds;
	/* KiB of the guest's output that are kept, a multiple of 4; 0: nothing */
	unsigned console_log;
	unsigned nr_modules;
	struct vm_config_module module[VM_MODULES_MAX];
	unsigned nr_disks;
	struct vm_config_disk disk[VM_DISKS_MAX];
	unsigned nr_nets;
	struct vm_config_net net[VM_NETS_MAX];
	bool virtio_console; /* beside the UART; default false */
	unsigned nr_pci;
	struct vm_config_pci pci[VM_PCI_MAX];
	/* each of these that has SR-IOV may have so many VFs, which are other VMs'; default 0 */
	unsigned vfs;
	/* which input of the I/O APICs its interrupt pin leads to */
	struct vm_config_pci_facts pci_irq;
	struct vm_config_pci_facts pci_node; /* the host's node of its bus; one for all of a bus */
	/* its guest may read all that the host holds: no mitigations; default false */
	bool trusted;
	/* the guest sees maker and serial numbers of the node; default false */
	bool dmi_node;
	bool debug_exit; /* the guest may end itself by port 0xf4; default no */
	/* name of the VM whose end starts this one; empty: none */
	char after[VM_NAME_MAX + 1];
	/* Line numbers of the keys, for errors found after parsing (0: not given). */
	unsigned line_name;
	unsigned line_kernel;
	unsigned line_initrd;
	unsigned line_cmdline;
	unsigned line_cpus;
	unsigned line_clock;
	unsigned line_memory;
	unsigned line_after;
	unsigned line_pci;
	unsigned line_facts;
	unsigned line_dma;
	unsigned line_fault;
	unsigned line_on_end;
	unsigned line_on_one;
	unsigned line_trusted;
	unsigned line_direct;
	unsigned line_ipi;
	unsigned line_cstates;
	unsigned line_counters;
	unsigned line_rdt;
	unsigned line_mce;
	unsigned line_pvclock;
	unsigned line_vfs;
	unsigned line_control;
	unsigned line_may;
	/*
	 * Not by the parser: it came from the management VM, which lets it have these CPUs, a
	 * bit for each; NULL: all.
	 */
	bool created;
	const u8 *let_cpus;
	struct vm_config_control control; /* default: nothing */
	char meta[VM_META_MAX + 1]; /* as vm_config_meta() reads it; default: empty */
};

/* Does it command the node? */
#define vm_config_commands(c) (IS_ENABLED(CONFIG_MANAGEMENT_VM) && (c)->control.commands)

/* Do its clocks stand still while it is paused? */
#define vm_config_freezes(c) (IS_ENABLED(CONFIG_VM_PAUSE) && (c)->clock == VM_CLOCK_FREEZE)

/* Are its CPUs given, one for each vCPU? */
#define vm_config_pinned(c) (IS_ENABLED(CONFIG_VM_SHARING) && (c)->pinned)

/* Is its guest told of a machine check in place of what else follows? */
#define vm_config_injects(c) (IS_ENABLED(CONFIG_VM_MACHINE_CHECKS) && (c)->on_mce == ON_MCE_INJECT)

#if IS_ENABLED(CONFIG_MANAGEMENT_VM)
/* Is it made by the management VM, and which CPUs does that let it have? */
static inline bool vm_config_is_created(const struct vm_config *c)
{
	return c->created;
}

static inline bool vm_config_may_have(const struct vm_config *c, unsigned cpu)
{
	return !c->let_cpus || c->let_cpus[cpu / 8] & BIT(cpu % 8);
}
#else
static inline bool vm_config_is_created(const struct vm_config *)
{
	return false;
}

static inline bool vm_config_may_have(const struct vm_config *, unsigned)
{
	return true;
}
#endif

/* Has its guest no clock but its TSC? */
#define vm_config_tsc_only(c) (IS_ENABLED(CONFIG_VM_TSC_ONLY) && (c)->no_pvclock)

/* Its lists that an option brings; without that they are empty. */
#define vm_config_modules(c) (IS_ENABLED(CONFIG_VM_MODULES) ? (c)->nr_modules : 0)
#define vm_config_disks(c) (IS_ENABLED(CONFIG_VIRTIO) ? (c)->nr_disks : 0)
#define vm_config_nets(c) (IS_ENABLED(CONFIG_VIRTIO_NET) ? (c)->nr_nets : 0)

/* Is its guest told something by `meta =` lines? */
#define vm_config_has_meta(c) (IS_ENABLED(CONFIG_VIRTIO) && (c)->meta[0])

/* Has it functions that no machine has? */
#define vm_config_virtual(c) \
	(IS_ENABLED(CONFIG_VIRTIO) && ((c)->nr_disks || (c)->virtio_console || (c)->nr_nets || \
				       (c)->control.commands || vm_config_has_meta(c)))

/* Where and what is wrong, one line: "vm0.conf:3: expected ..., found ...". */
struct config_error {
	char text[520];
};

/*
 * Formats an error into *err: "file:line: text", or "file: text" when line is 0. Returns -EINVAL.
 */
int vm_config_error(struct config_error *err, const char *file, unsigned line, const char *fmt, ...)
	__printf(4, 5);

/*
 * Parses `size` bytes of text (no terminator needed). file: its name for
 * messages. 0, or -EINVAL with the last error in *err, after tell() has been
 * called with each before it; tell NULL: the first one ends the parsing.
 */
int vm_config_parse(const char *file, const char *text, size_t size, struct vm_config *out,
		    struct config_error *err, void (*tell)(const char *text));

/* What a Linux kernel does without, as its command line or its image says. */
enum { LINUX_NO_CLOCK = 1 /* KVM's */, LINUX_NO_X2APIC = 2, LINUX_NO_TIMER = 4 };
/*
 * config_linux.c: the first word of its command line by which it does without one of these, as a
 * short text; NULL: there is none
 */
const char *vm_config_linux(const struct vm_config *config, unsigned without);

/*
 * What else keeps a VM from owning its CPUs' local APICs, or has interrupts = auto rather not,
 * beside its VM file.
 */
enum {
	DIRECT_NO_X2APIC = 1,
	DIRECT_WIDE_IDS = 2,
	DIRECT_MULTIBOOT = 4,
	DIRECT_GDB = 8,
	DIRECT_NO_ALARM = 16,
	DIRECT_X2APIC_OFF = 32,
	DIRECT_NO_KVM_GUEST = 64,
	DIRECT_XAPIC_KERNEL = 128,
	DIRECT_LEAVES_X2APIC = 256
};
#define VM_CONFIG_NO_ALARM "its watchdog needs an HPET that interrupts (watchdog = no)"
#define VM_CONFIG_NOT_DIRECT "interrupts = direct: %s: use emulated"
/*
 * config_direct.c: the first reason, beginning with *row, which moves behind it; NULL: none is
 * left. facts: of these.
 */
const char *vm_config_not_direct(const struct vm_config *config, unsigned facts, unsigned *row);

/* meta_lines.c: key and value of the i-th `meta =` line. False past the last. */
bool vm_config_meta(const struct vm_config *config, unsigned i, struct span *key,
		    struct span *value);
/* The value of one of these keys; without it the text. */
struct span vm_config_meta_name(const struct vm_config *config, const char *key,
				const char *otherwise);
/* Does it go into SMBIOS tables, as a string for whoever knows it, and not on the disk? */
bool vm_config_meta_oem(struct span key);

/* A boot module that a VM file names. */
struct vm_config_name {
	const char *key;
	const char *name;
	unsigned line;
};

/*
 * config_net.c: the address of the i-th interface, first byte in bits 7:0, given or made of the
 * VM's name. To print it:
 */
u64 vm_config_mac(const struct vm_config *config, unsigned i);
#define VM_MAC "%02x:%02x:%02x:%02x:%02x:%02x"
#define VM_MAC_BYTES(mac) \
	(u8)(mac), (u8)((mac) >> 8), (u8)((mac) >> 16), (u8)((mac) >> 24), (u8)((mac) >> 32), \
		(u8)((mac) >> 40)

/* Of its segment, as its file has it. */
static inline unsigned vm_config_mtu(const struct vm_config_net *n)
{
	return n->mtu ? n->mtu : VM_MTU_DEFAULT;
}

/* Does it know VLANs? */
static inline bool vm_config_has_vlans(const struct vm_config_net *n)
{
	return n->pvid || n->nr_trunk;
}

/* config_net.c: its trunk as the file may have it, "" without one. */
#define VM_TRUNK_TEXT (VM_TRUNK_MAX * sizeof("4000-4094"))
void vm_config_trunk(const struct vm_config_net *n, char text[VM_TRUNK_TEXT]);

/* For its key and its name, when there is none. */
#define VM_CONFIG_NO_MODULE "%s = %s: the boot loader gave no module of that name"

/* The i-th: the kernel first. False past the last. */
bool vm_config_name(const struct vm_config *config, unsigned i, struct vm_config_name *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* A virtual machine and its vCPUs: state, life cycle, and what devices may use of them. */
#ifndef VMM_VM_H
#define VMM_VM_H

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/types.h>
#include <margay/x86.h>
#include "arch/x86_64/stage2/stage2.h"
#include "vmm/config/config.h"
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/emulate/decode.h"
#include "vmm/hvm_ops.h"
#include "vmm/memory/gpa_map.h"
#include "vmm/memory/mtrr.h"
#include "vmm/plan/plan.h"
#include "vmm/report/telemetry.h"

struct intc_ops;
struct lapic;
struct vm_pci;
struct dma_windows;

#define VM_MAX_VCPUS VM_CPUS_MAX
#define VM_MAX_PIO 32
#define PIO_BLOCK 256u /* ports */
#define PIO_BLOCKS (0x10000 / PIO_BLOCK)
#define VM_MAX_MMIO 32
#define VM_MAX_MSR 16
#define VM_MAX_DEVICES 16
#define VM_MAX_EXTENTS PLAN_EXTENTS

/* Why a VM ended; also the text of its last line (vm_end_name()). */
enum vm_end {
	VM_RUNNING = 0,
	VM_END_POWEROFF,     /* ACPI S5 */
	VM_END_RESET_ACPI,   /* FADT RESET_REG */
	VM_END_RESET_KBD,    /* keyboard controller, port 0x64 */
	VM_END_RESET_CF9,    /* port 0xcf9 */
	VM_END_TRIPLE_FAULT,
	VM_END_EXIT,         /* by the debug-exit port, with vm->exit_status */
	VM_END_STOPPED,      /* by the operator */
	VM_END_CRASH,        /* the monitor could not go on with it: the line before says why */
};

/* The guest page that a vCPU fetched code from last (guest_fetch()). */
struct guest_path {
	struct hvm_context context;
	u64 gva;
	const u8 *page; /* NULL: none */
	u8 levels, entry_size;
	const void *entry[4]; /* in guest RAM */
	u64 value[4];
};

/*
 * An instruction that was decoded before, by what the decoder has seen: 15 bytes, and the mode, of which 0 is none.
 * Whoever stands on the same bytes again need not decode them.
 */
#define INSNS_DECODED 8 /* by address */
struct decoded {
	union insn_key {
		struct {
			u8 bytes[INSN_MAX];
			u8 mode; /* enum insn_mode + 1 */
		};
		u64 word[2];
	} key;
	struct insn insn;
};

/* What a stage-2 exit says of the access of an instruction with one operand in memory. */
struct exit_access {
	bool valid, write;
	gpa_t gpa;
};

/* What the debugger (vmm/gdb/) has of a vCPU; its own but for the first five, which are stored while it is out of the guest. */
#define DEBUG_REGISTERS 4u
struct vcpu_debug {
	bool wanted;      /* to serve a command; atomic */
	bool hold;        /* stays out of the guest though the VM runs; atomic */
	bool work;        /* must look before it enters the guest; atomic */
	bool sync;        /* what is wanted of it has changed */
	bool step_wanted;
	bool retired;     /* the instruction that is being stepped was emulated */
	bool own;         /* the debug registers are the debugger's; these are the guest's: */
	u64 dr[DEBUG_REGISTERS], dr6, dr7;
	enum { STEP_NONE, STEP_ON, STEP_LANDING } step; /* RFLAGS.TF is ours; a breakpoint waits at an exception's handler */
	bool guest_tf;    /* what it was */
	bool loads_tf;    /* the instruction sets RFLAGS.TF itself */
	u16 opcode;
	u64 landing;
	unsigned landing_dr;
};

struct vcpu {
	/* What is used most comes first: a short displacement reaches it. */
	struct vm *vm;
	void *hvm;                /* backend state */
	struct lapic *lapic;      /* vmm/dev/lapic.c's */
	struct hvm_event event;   /* to inject at the next entry */
	unsigned id;              /* 0-based within the VM */
	u32 startup;              /* enum vcpu_startup, atomic: INIT and SIPI from other vCPUs */
	bool look;                /* vcpu_look(); atomic */
	struct guest_regs regs;
	u32 apic_id;
	unsigned cpu;             /* host CPU that runs it */
	const u32 *kick;          /* that CPU's kick word (host_cpu_kick_word()), from before the first entry */
	u64 stage2_seen;          /* vmm/memory/shootdown.c: the vm->stage2_count that it has flushed for; atomic */
	bool halted;              /* in HLT: waits for an event */
	bool nmi_pending;
	u8 watched;               /* breakpoints that the instruction in hand has met: emulate_watch() */
	u32 retries;              /* emulate_again() */
	u32 ext_topology[2];      /* EBX, ECX of its CPUID leaf 0x8000001E */
	u64 xcr0;                 /* guest XCR0, live in hardware while it runs */
	u64 xss;
	u64 debugctl;             /* virtual IA32_DEBUGCTL: read back, without effect */
	bool irq_window;          /* requested of the backend */
	s64 tsc_offset;           /* the VM's, as in force for this vCPU */
	u64 tsc_adjust;           /* virtual IA32_TSC_ADJUST */
	u64 kvm_system_time;      /* MSR 0x4b564d01 as written */
	struct guest_path fetched;
	struct decoded decoded[INSNS_DECODED];
	struct exit_access access; /* valid while that instruction is carried out */
	struct vcpu_debug debug;
	bool died;                /* it could not go on: vcpu_die() */
	void (*call)(struct vcpu *vcpu); /* what vcpu_call() wants, or a mark that the vCPU is not in its loop; atomic */
	struct vcpu_stats stats;
	struct host_work work;
};

/*
 * Where a vCPU is between INIT and its code (SDM vol. 3, 9.4). Others store
 * INIT and SIPI, the vCPU itself the rest; a SIPI carries its vector.
 */
enum vcpu_startup {
	STARTUP_RUN,       /* runs: a SIPI is ignored */
	STARTUP_INIT,      /* an INIT has come and is not yet carried out */
	STARTUP_WAIT,      /* waits for a SIPI */
	STARTUP_SIPI = BIT(8), /* | vector: starts at vector << 12 in real mode */
};

/*
 * Port, MMIO and MSR handlers. `offset` counts from the start of the registered range. An access is aligned, begins in the
 * range, with MMIO ends there too, and has a size in bytes that `sizes`, a sum of 1, 2, 4 and 8, holds; a value that is
 * written has no bits beyond that size. Memory accesses that are not aligned the core splits; of any other access the
 * device hears nothing, it reads as ones.
 */
struct pio_ops {
	u8 sizes;
	u32 (*read)(void *dev, struct vcpu *vcpu, u16 offset, unsigned size);
	void (*write)(void *dev, struct vcpu *vcpu, u16 offset, unsigned size, u32 value);
};
struct mmio_ops {
	u8 sizes;
	u64 (*read)(void *dev, struct vcpu *vcpu, u64 offset, unsigned size);
	void (*write)(void *dev, struct vcpu *vcpu, u64 offset, unsigned size, u64 value);
};
struct msr_ops {
	/* 0, or -EFAULT: the guest gets #GP. */
	int (*read)(void *dev, struct vcpu *vcpu, u32 msr, u64 *value);
	int (*write)(void *dev, struct vcpu *vcpu, u32 msr, u64 value);
};

struct pio_range {
	u16 base, count;
	const struct pio_ops *ops;
	void *dev;
};
struct mmio_range {
	u64 base, size;
	const struct mmio_ops *ops;
	void *dev;
};
struct msr_range {
	u32 first, last; /* inclusive */
	const struct msr_ops *ops;
	void *dev;
};

struct vm {
	/* What is used most comes first: a short displacement reaches it. */
	unsigned id;
	enum vm_end end;          /* set once, by vm_end() */
	const struct vm_config *config;
	const struct intc_ops *intc;
	void *ioapic;
	struct vm_pci *pci;       /* its PCI functions; NULL: none */
	struct dma_windows *windows; /* what its guest adds to what it gives devices; NULL: nothing */
	struct host_console *console; /* the UART's; NULL: it has none */
	unsigned nr_vcpus, nr_host_cpus, nr_extents, nr_devices;
	unsigned nr_pio, nr_mmio, nr_msr;
	bool started;             /* every vCPU has its CPU: they may enter the guest; atomic */
	bool paused;              /* vCPUs stay out of the guest: vm_pause(); also read without the lock, atomic */
	bool wide_ids;            /* an APIC ID beyond xAPIC's: x2APIC mode from the start, 15-bit IDs in RTE and MSI */
	bool quarantined;         /* a device may still write to its memory: that is not given back */
	s64 tsc_offset;
	u64 stage2_count;         /* times that something was taken out of stage2; atomic */
	char name[VM_NAME_MAX + 1];
	u64 exit_status;          /* of VM_END_EXIT: BIT(32) | status; 0: none yet; atomic */
	void (*entry_state)(struct vm *vm, struct vcpu *vcpu); /* the loader's: a reset vCPU 0 as the guest's entry wants it */
	u64 own_bytes;            /* of the hypervisor's memory that it takes, its second-level tables included; atomic */
	unsigned ready;           /* vCPUs that are prepared; atomic */
	unsigned live_vcpus;      /* assigned to a CPU and not yet out of their loop; atomic */
	u64 entry_rip;            /* where the loader wants vCPU 0 to start */
	u64 entry_info;           /* what it is handed: boot_params (RSI), or multiboot information (EBX) */
	gpa_t rsdp;               /* guest ACPI root pointer */
	struct spinlock stage2_lock; /* guards stage2 once vCPUs run: vm_stage2_lock() */
	struct spinlock pause_lock; /* guards paused, the next two, and tsc_offset once vCPUs run */
	unsigned nr_paused;       /* vCPUs that stay out of the guest */
	u64 frozen_at;            /* host TSC when the last of these stopped */
	struct vcpu *vcpus[VM_MAX_VCPUS];
	struct stage2 stage2;
	struct gpa_map map;
	struct cpuid_table cpuid;
	struct mtrr_state mtrr;
	struct pio_range pio[VM_MAX_PIO]; /* by port */
	u8 pio_from[PIO_BLOCKS];  /* by block of ports: the first in pio that ends in it or beyond */
	struct mmio_range mmio[VM_MAX_MMIO];
	struct msr_range msr[VM_MAX_MSR];
	void *device[VM_MAX_DEVICES]; /* instance by registration index of struct vdev */
	/* Its part of the machine (place.h). */
	u16 host_cpu[VM_MAX_VCPUS]; /* by vCPU */
	struct host_extent extent[VM_MAX_EXTENTS];
};

/*
 * Register a handler range at VM creation, before any vCPU runs. 0, -EEXIST
 * when it overlaps another, -ENOSPC when the table is full (printed).
 */
int vm_register_pio(struct vm *vm, u16 base, u16 count, const struct pio_ops *ops, void *dev);
int vm_register_mmio(struct vm *vm, gpa_t base, u64 size, const struct mmio_ops *ops, void *dev);
int vm_register_msr(struct vm *vm, u32 first, u32 last, const struct msr_ops *ops, void *dev);
/* Moves the MMIO range of a device that has one; size 0: nowhere. What another vCPU is just doing may still go to the old place. */
void vm_set_mmio(struct vm *vm, const void *dev, u64 base, u64 size);

/* Has a device registered this MSR, or (pio_find()) port? What the guest is told of its platform follows from it. */

static inline bool vm_has_msr(const struct vm *vm, u32 msr)
{
	for (unsigned i = 0; i < vm->nr_msr; i++)
		if (msr >= vm->msr[i].first && msr <= vm->msr[i].last)
			return true;
	return false;
}

/* Ends the VM: the first reason wins, every vCPU leaves its loop. From any CPU and any handler. */
void vm_end(struct vm *vm, enum vm_end why);
const char *vm_end_name(enum vm_end why);
/* Ends the VM with the status that its guest wrote to the debug-exit port; the first one counts. */
void vm_exit(struct vm *vm, u32 status);

/* Ends the VM because this vCPU cannot go on, which its last report explains. On its CPU. */
static inline void vcpu_die(struct vcpu *vcpu, enum vm_end why)
{
	vcpu->died = true;
	vm_end(vcpu->vm, why);
}

/*
 * Has fn called on the vCPU's CPU, out of the guest, soon and once, though the
 * VM be paused or about to end. From any CPU; the caller sees to it that the
 * VM stays during the call of this. 0, -EBUSY when another is under way,
 * -ENODEV when the vCPU runs no more or not yet.
 */
int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu));
/* Does what vcpu_call() and the debugger want: wherever the vCPU stays out of the guest. On its CPU. */
void vcpu_serve_call(struct vcpu *vcpu);

/*
 * Pauses the VM: every vCPU leaves the guest soon and stays out of it, asleep
 * on its CPU, until vm_resume() or the VM's end. Interrupts stay pending; its
 * clocks go on, or with `clock = freeze` stand still. From any CPU and any
 * handler; the caller sees to it that the VM stays. 0, or -EALREADY when it is
 * in that state.
 */
int vm_pause(struct vm *vm);
int vm_resume(struct vm *vm);

/* Stays out of the guest until the VM is no longer paused. On the vCPU's CPU, in its loop. */
void vcpu_stay_paused(struct vcpu *vcpu);

static inline bool vm_paused(const struct vm *vm)
{
	return IS_ENABLED(CONFIG_VM_PAUSE) && __atomic_load_n(&vm->paused, __ATOMIC_ACQUIRE);
}

/* Does it stay out of the guest, with its VM or for the debugger? */
static inline bool vcpu_paused(const struct vcpu *vcpu)
{
	return vm_paused(vcpu->vm) || (IS_ENABLED(CONFIG_GDB) && __atomic_load_n(&vcpu->debug.hold, __ATOMIC_ACQUIRE));
}

/*
 * Makes a VM of a configuration: memory, tables, devices, guest image. 0 or
 * -errno; the reason has been printed as one line.
 */
int vm_create(const struct vm_config *config, unsigned id, struct vm **out);
/* Frees all of it. No vCPU may be assigned to a CPU any more. */
void vm_destroy(struct vm *vm);
/*
 * Hands every vCPU to its CPU. 0; or -EBUSY (printed) when a CPU was missing
 * and no vCPU runs any more: the caller destroys the VM. When some have started
 * they leave at once, and the last one reports the VM's end.
 */
int vm_start(struct vm *vm);
/* Called on the CPU of the last vCPU that left its loop (vmm/monitor.c). */
void monitor_vm_ended(struct vm *vm);

/* One vCPU for the CPU that the VM has for it (vm->host_cpu), on its node. NULL when there is no memory. */
struct vcpu *vcpu_create(struct vm *vm, unsigned id);
void vcpu_destroy(struct vcpu *vcpu);

/* An INIT or a SIPI has been sent to the vCPU. From any CPU; kicks it. */
void vcpu_init_ipi(struct vcpu *vcpu);
void vcpu_sipi(struct vcpu *vcpu, u8 vector);

/* Log line with the VM's name in front. */
#define vm_log(vm, fmt, ...) host_log("%s: " fmt, (vm)->name, ##__VA_ARGS__)

/* The same of what is as it should be. */
#define vm_note(vm, fmt, ...)                                   \
	do {                                                    \
		if (IS_ENABLED(CONFIG_BOOT_LOG))                \
			vm_log(vm, fmt, ##__VA_ARGS__);         \
	} while (0)

/*
 * The vCPU's loop looks only when told to at what may keep it from the guest: its own state, its interrupt controller's and
 * its VM's. What it shall see is stored before. vcpu_look() is for those who run on its CPU; vcpu_kick() is for all, and
 * brings a CPU that is in the guest out of it.
 */
static inline void vcpu_look(struct vcpu *vcpu)
{
	__atomic_store_n(&vcpu->look, true, __ATOMIC_RELEASE);
}

void vcpu_kick(struct vcpu *vcpu);

/*
 * Queues an exception for the guest at its next entry, merging with one whose
 * delivery was cut (SDM vol. 3, table 6-5: double fault, triple fault).
 */
void vcpu_raise(struct vcpu *vcpu, u8 vector);
void vcpu_raise_error(struct vcpu *vcpu, u8 vector, u32 error);
/* An interrupt or NMI that waits for the next entry goes back to where it came from. */
void vcpu_put_back_event(struct vcpu *vcpu);
/* #PF with CR2. */
void vcpu_raise_page_fault(struct vcpu *vcpu, u64 cr2, u32 error);

/* The guest's TSC for a host TSC value. */
static inline u64 vm_guest_tsc(const struct vm *vm, u64 host_tsc)
{
	return host_tsc + (u64)vm->tsc_offset;
}

/*
 * Before an entry: queues the highest pending event into vcpu->event if the
 * guest can take it, else asks for a window. While one more waits, the next
 * exit makes the loop look again. On the vCPU's CPU.
 */
void vcpu_queue_events(struct vcpu *vcpu);

/* Is there an event that ends HLT? On the vCPU's CPU. */
bool vcpu_wakes(struct vcpu *vcpu);

/*
 * The interrupt controller as the core sees it; vmm/dev/lapic.c fills
 * vm->intc. All run on the vCPU's own CPU but deliver() and line(), which
 * come from any.
 */
struct intc_ops {
	/* Highest vector that the vCPU could take now (above its PPR), or -1. */
	int (*pending)(struct vcpu *vcpu);
	/* Is there any, above its PPR or not? A new one comes with a vcpu_kick(). */
	bool (*waiting)(struct vcpu *vcpu);
	/* The vector is being injected: IRR -> ISR. */
	void (*accept)(struct vcpu *vcpu, u8 vector);
	/* Its delivery was given up: ISR -> IRR. */
	void (*unaccept)(struct vcpu *vcpu, u8 vector);
	/* INIT: the vCPU's local APIC takes its reset values but for ID and mode (SDM vol. 3, 11.4.7.3). */
	void (*init)(struct vcpu *vcpu);
	/* CR8, the task priority class (bits 3:0). */
	u64 (*get_cr8)(struct vcpu *vcpu);
	void (*set_cr8)(struct vcpu *vcpu, u64 value);
	/* A message-signalled interrupt in the format of SDM vol. 3, 11.11. */
	void (*msi)(struct vm *vm, u64 address, u32 data);
	/* A vCPU that such a message would interrupt, if it is fixed or lowest priority with a vector from 16 on; or NULL. */
	const struct vcpu *(*msi_vcpu)(struct vm *vm, u64 address, u32 data);
	/* Level of a global system interrupt; edge inputs fire on false -> true. */
	void (*line)(struct vm *vm, unsigned gsi, bool level);
	/* APIC_BASE MSR, also tested by CPUID (bit 9 of leaf 1 follows EN). */
	u64 (*apic_base)(struct vcpu *vcpu);
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* A virtual machine: its state, its life, and the lines that the log has of it. */
#ifndef VMM_VM_H
#define VMM_VM_H

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/types.h>
#include "vmm/config/config.h"
#include "vmm/vm_end.h"

struct dma_windows;
struct intc_ops;
struct pci_end;
struct pci_virtual;
struct vcpu;
struct vm_pci;

#define VM_MAX_VCPUS VM_CPUS_MAX
#define VM_MAX_EXTENTS HOST_ZERO_MAX
#define VM_OWN_SIZE 64 /* as in margay.lds, which sees to it that all fit */

/*
 * A console beside the UART, by whose vm->console it writes and is called; rx() false: the byte is
 * the UART's.
 */
struct second_console {
	bool (*rx)(struct second_console *second, u8 byte);
	void (*tx_room)(struct second_console *second);
};

/*
 * What several files know of a VM; its memory map and the like are in vm_parts.h. What one file
 * alone keeps of each VM is a variable of that file, as PERCPU ones are (kernel/percpu.h):
 *
 *	static VM_OWN u64 frozen_at;
 *	vm_own(vm, frozen_at) = now;
 *
 * They are 0 when the VM is made.
 */
struct vm {
	/* What is used most comes first: a short displacement reaches it. */
	unsigned id;
	/* set once, by vm_end(); kept: by on_crash = dump, in place of an end */
	enum vm_end end;
	enum vm_end kept;

	const struct vm_config *config;
	const struct intc_ops *intc;
	void *ioapic;
	struct vm_pci *pci; /* its PCI functions; NULL: none */
	/* it is being taken down, and they are still being reset; NULL: they are not */
	struct pci_end *pci_end;
	struct host_console *console; /* the UART's; NULL: it has none */
	unsigned nr_vcpus;
	unsigned nr_host_cpus;
	unsigned nr_extents;
	unsigned nr_devices;
	/* vCPUs stay out of the guest: vm_pause(); also read without the lock, atomic */
	bool paused;
	/* its power button was pressed: a power-off is a stop then; atomic */
	bool asked;
	/* an APIC ID beyond xAPIC's: x2APIC mode from the start, 15-bit IDs in RTE and MSI */
	bool wide_ids;
	bool direct; /* its vCPUs own their CPUs' local APICs: vm_direct() */
	bool mwait; /* they may sleep by MWAIT: vm_mwait() */
	bool is_linux; /* it is what was loaded */
	bool told_rate; /* its TSC's rate stands on its command line */
	/* what its kernel forbids that: DIRECT_MULTIBOOT ... (load/kernel_facts.c) */
	unsigned kernel_facts;
	const char *not_direct; /* why interrupts = auto is not; NULL: it is, or nobody asked */
	bool icrs_used; /* one was open once: INIT and NMI may be its guest's; atomic */
	/* by an ICR of a CPU that was given up its guest might: vm_still_sends(); atomic */
	bool still_sends;
	/* a device may still write to its memory: that is not given back */
	bool quarantined;
	/* somebody waits for its vCPUs to leave, and has it taken down; atomic */
	bool leaving;
	bool abandoned; /* lost_cpus.c has given up vCPUs */
	unsigned ready; /* vCPUs that are prepared; atomic */
	s64 tsc_offset;
	u8 own[VM_OWN_SIZE] __aligned(sizeof(u64)); /* of vm_own() */
	u64 started_at; /* host TSC */
	u64 stage2_count; /* times that something was taken out of stage2; atomic */
	char name[VM_NAME_MAX + 1];
	struct vcpu **vcpus; /* nr_host_cpus, place.h's like what follows them */
	/* what its guest adds to what it gives devices; NULL: nothing */
	struct dma_windows *windows;
	u64 exit_status; /* of VM_END_EXIT: BIT(32) | status; 0: none yet; atomic */
	/* the loader's: a reset vCPU 0 as the guest's entry wants it */
	void (*entry_state)(struct vm *vm, struct vcpu *vcpu);
	/* of the hypervisor's memory that it takes, its second-level tables included; atomic */
	u64 own_bytes;
	/*
	 * Assigned to a CPU and not yet out of their loop; and, times this, those that have not
	 * begun, behind others. Atomic.
	 */
	u32 live_vcpus;
#define VM_VCPU_BEHIND (IS_ENABLED(CONFIG_LOST_CPUS) ? 0x10000u : 0u)
	u64 entry_rip; /* where the loader wants vCPU 0 to start */
	/* what it is handed: boot_params (RSI), or multiboot information (EBX) */
	u64 entry_info;
	gpa_t rsdp; /* guest ACPI root pointer */
	/* guards paused, nr_paused, pause.c's frozen_at, and tsc_offset once vCPUs run */
	struct spinlock pause_lock;
	unsigned nr_paused; /* vCPUs that stay out of the guest */
	/* instance by registration index of struct vdev: as many as the image has of them */
	void **device;
	struct log_limit lines; /* of vm_log() */
	/* Its part of the machine (place.h). */
	u16 *host_cpu; /* by vCPU */
	struct host_extent extent[VM_MAX_EXTENTS];
	/* Only in images with VIRTIO; NULL: none. */
	struct pci_virtual *virtual; /* functions that no machine has: the last that was added */
	struct second_console *second;
};

/*
 * VM_OWN: before the type, a variable of each VM, without a value of its own. Its address is where
 * it lies in own[] (margay.lds).
 */
#if __STDC_HOSTED__
/* In a program of the build host it has an address like any other. */
#define VM_OWN __section("vm_own")
extern u8 __start_vm_own[];
#define VM_OWN_START ((uintptr_t)__start_vm_own)
#else
#define VM_OWN __section("vm_own,\"aw\",@nobits#")
#define VM_OWN_START 0u
#endif

/* A VM's variable of this file: an access is one to a member, the displacement is a constant. */
#define vm_own(vm, variable) \
	(*(typeof(variable) *)((uintptr_t)(vm)->own + ((uintptr_t)&(variable) - VM_OWN_START)))

/*
 * Makes a VM of a configuration: memory, tables, devices, guest image. 0 or
 * -errno; the reason has been printed as one line.
 */
int vm_create(const struct vm_config *config, unsigned id, struct vm **out);
/* The module of that name, of the boot or later; NULL: there is none. */
const struct host_module *vm_find_module(const char *name);
/* Frees all of it. No vCPU may be assigned to a CPU any more. */
void vm_destroy(struct vm *vm);
/*
 * Hands every vCPU to its CPU. 0; or -EBUSY (printed) when a CPU was missing
 * and no vCPU runs any more: the caller destroys the VM. When some have started
 * they leave at once, and the last one reports the VM's end.
 */
int vm_start(struct vm *vm);

/*
 * place.c's, in images with SLOTS_WAIT: memory of a VM that is no more, which its functions may
 * write still, is nobody's; VMs whose start fails for lack of some wait for it. Then it is others',
 * or nobody's for good. Any CPU.
 */
void vm_keep_extents(const struct host_extent *e, unsigned count);
void vm_let_extents(const struct host_extent *e, unsigned count, bool to_others);

/* How long any exit may take: a CPU that has not answered by then never will (lost_cpus.h). */
#define VM_ANSWER_SECONDS (IS_ENABLED(CONFIG_DEBUG_FAULT) ? 2u : 20u)

/* Have vCPUs of it been given up? */
#define vm_is_abandoned(vm) (IS_ENABLED(CONFIG_LOST_CPUS) && (vm)->abandoned)
/* Does it own the local APICs of its CPUs, by x2APIC mode? */
#define vm_direct(vm) (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && (vm)->direct)
/* And is it shown MONITOR and MWAIT, which are no exit then? */
#define vm_mwait(vm) (vm_direct(vm) && (vm)->mwait)

#if IS_ENABLED(CONFIG_VM_SHARING)
/* Does none of its vCPUs enter the guest before all have begun? One's CPU may be another VM's. */
static inline bool vm_begins_together(const struct vm *)
{
	return true;
}
#else
static inline bool vm_begins_together(const struct vm *vm)
{
	return vm_direct(vm);
}
#endif

#if IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/* Has the operator ended it? */
static inline bool vm_is_stopped(const struct vm *vm)
{
	return vm->end == VM_END_STOPPED;
}
#else
static inline bool vm_is_stopped(const struct vm *)
{
	return false;
}
#endif

#if IS_ENABLED(CONFIG_VM_POWER_BUTTON)
/* Has its power button been pressed? */
static inline bool vm_is_asked(const struct vm *vm)
{
	return __atomic_load_n(&vm->asked, __ATOMIC_ACQUIRE);
}
#else
static inline bool vm_is_asked(const struct vm *)
{
	return false;
}
#endif

/*
 * Might its guest send interrupts to any CPU though it has ended? Then its CPUs stay as they are:
 * interrupts off for good, and virtualization on, by which an INIT is not taken. They go back to
 * their work loop, but to no other VM.
 */
#define vm_still_sends(vm) \
	(IS_ENABLED(CONFIG_LOST_CPUS) && vm_direct(vm) && \
	 __atomic_load_n(&(vm)->still_sends, __ATOMIC_ACQUIRE))

/*
 * direct.c: may it, as its VM file wants? Once it has vCPUs, before its devices. Sets direct, mwait
 * and not_direct. 0; -EINVAL, printed.
 */
int direct_decide(struct vm *vm);

/*
 * Log line with the VM's name in front, limited: its guest may cause it again and again. vm_tell()
 * is never left out: for what the operator has asked for, and for a VM's end and its cause.
 * tests/guest-lines says for each that an exit can reach why it is few.
 */
#define vm_log(vm, fmt, ...) host_log_limited(&(vm)->lines, (vm)->name, fmt, ##__VA_ARGS__)
#define vm_tell(vm, fmt, ...) host_log("%s: " fmt, (vm)->name, ##__VA_ARGS__)

/* Why it is not made: with its VM file and the line there of a key. */
#define vm_refuse(vm, key, fmt, ...) \
	(!IS_ENABLED(CONFIG_BOOT_LOG) ? vm_tell(vm, fmt, ##__VA_ARGS__) \
				      : vm_tell(vm, "%s:%u: " fmt, (vm)->config->file, \
						(vm)->config->line_##key, ##__VA_ARGS__))

/* The same of what is as it should be. */
#define vm_note(vm, fmt, ...) \
	do { \
		if (IS_ENABLED(CONFIG_BOOT_LOG)) \
			vm_tell(vm, fmt, ##__VA_ARGS__); \
	} while (0)

/* The first of its functions that no machine has; NULL: none. */
#define vm_virtual(vm) (IS_ENABLED(CONFIG_VIRTIO) ? (vm)->virtual : NULL)
/* Its console beside the UART; NULL: none. */
#define vm_second(vm) (IS_ENABLED(CONFIG_VIRTIO) ? (vm)->second : NULL)

/* The guest's TSC for a host TSC value. */
static inline u64 vm_guest_tsc(const struct vm *vm, u64 host_tsc)
{
	return host_tsc + (u64)vm->tsc_offset;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the lives of a VM and of a vCPU are made of: each part registers its stage. The order stands
 * here, and nowhere else; what is not linked in is not there. Of each place there is one at most.
 */
#ifndef VMM_STAGE_H
#define VMM_STAGE_H

#include <margay/types.h>

struct slot;
struct vcpu;
struct vm;

/* ---- a VM (stages.c) ---------------------------------------------------------------------- */

/* As it is made, from the first to the last. It is unmade the other way round. */
enum vm_stage_order {
	/* pci/pci_linger.c: functions that are reset still when the VM is no more */
	STAGE_LINGER,
	STAGE_MODULES,  /* load/modules.c: what its VM file names is there */
	STAGE_PLACE,    /* plan/place.c: its CPUs and its memory */
	/* pci/pci_linger.c: memory that such functions may write is not given back yet */
	STAGE_KEEP,
	STAGE_TABLES,   /* memory/vm_memory.c: the second-level tables */
	STAGE_RANGES,   /* ranges.c: pages for the ranges that its devices register */
	STAGE_VCPUS,    /* vcpu.c */
	STAGE_KERNEL,   /* load/kernel_facts.c: what its kernel forbids interrupts = direct */
	STAGE_DIRECT,   /* direct.c: whether it owns its CPUs' local APICs */
	STAGE_DEVICES,  /* devices.c, PCI functions among them */
	STAGE_VIRTUAL,  /* pci/pci_virtual.c: where virtual PCI functions lie */
	STAGE_DMA,      /* pci/pci_dma.c: the windows of its devices */
	STAGE_CPUID,    /* vm_cpuid.c: what it sees of its CPUs, and of what devices there are */
	STAGE_ACPI,     /* acpi/guest_acpi.c: the tables, once all that they tell of is there */
	STAGE_IMAGE,    /* load/load_image.c: its kernel, behind what the tables take */
	STAGE_SHAPE,    /* report/vm_shape.c: lines of what it has got */
	STAGE_DEBUGGER, /* gdb/session.c: is told first that the VM goes */
	VM_STAGES
};

struct vm_stage {
	enum vm_stage_order at;
	/* Makes its part of the VM. 0 or -errno (printed): then the VM is unmade. May be NULL. */
	int (*create)(struct vm *vm);
	/*
	 * Unmakes that, and what a create() that has failed has left. Not called for what was not
	 * begun. No vCPU is on a CPU any more, or ever was. May be NULL.
	 */
	void (*destroy)(struct vm *vm);
};

/*
 * As many as there are. 0 or -errno (printed): stages_destroy() follows in any case.
 */
int stages_create(struct vm *vm);
/* Those that were begun, from the last to the first. */
void stages_destroy(struct vm *vm);

#define VM_STAGE(stage) \
	static const struct vm_stage *const stage##_entry __used __section("vm_stages") = &(stage)

/*
 * The VM is paused, or (on a vCPU's CPU) that vCPU stays out of the guest for it. Once these have
 * returned, nobody writes to its memory but its own vCPUs in their exits. vm->pause_lock may be
 * held, no device's lock is. Any CPU.
 */
void stages_pause(struct vm *vm);

#define VM_ON_PAUSE(fn) \
	static void (*const fn##_entry)(struct vm * vm) __used __section("vm_pauses") = (fn)

/* ---- a VM that is given up, in place of its destruction (abandon.c, in images with LOST_CPUS)  */

/* One of its CPUs does not answer, and may still use, and write to, all that it has, for good: */
enum vm_abandon_order {
	ABANDON_DEBUGGER, /* gdb/session.c: has it no longer */
	ABANDON_FUNCTIONS, /* pci/pci_root.c: are reset, and stay its own */
	ABANDON_CONSOLE, /* lost_cpus.c: the line leads to it no longer */
	ABANDON_CPUS, /* plan/place_abandon.c: those that answer are others' */
	VM_ABANDONS
};

struct vm_abandon {
	enum vm_abandon_order at;
	void (*abandon)(struct vm *vm);
};

void vm_abandon(struct vm *vm);

#define VM_ABANDON(order, fn) \
	static const struct vm_abandon fn##_step = { .at = (order), .abandon = (fn) }; \
	static const struct vm_abandon *const fn##_entry __used __section("vm_abandons") = \
		&fn##_step

/* ---- a vCPU, on its CPU (stages.c) ------------------------------------------------------ */

/* In this order at each of the events. */
enum vcpu_stage_order {
	VCPU_RDT, /* vcpu_rdt.c */
	VCPU_MITIGATIONS, /* vcpu_mitigations.c */
	VCPU_LOST, /* lost_memory.c: looks for what was lost before it began */
	VCPU_INSPECT, /* report/inspect.c: its last state, when it has died */
	VCPU_DEVICES, /* devices.c */
	/* report/telemetry.c: the line of its exits, once nothing is counted any more */
	VCPU_TELEMETRY,
	VCPU_STAGES
};

enum vcpu_event {
	VCPU_ENTERS, /* its CPU is its VM's from now on; virtualization is still off there */
	/* its backend state is as after power-on, its MSRs are open: before the first entry */
	VCPU_STARTS,
	VCPU_STOPS, /* after the last; only where it has started */
	VCPU_EVENTS
};

struct vcpu_stage {
	enum vcpu_stage_order at;
	void (*on[VCPU_EVENTS])(struct vcpu *vcpu); /* each may be NULL */
};

void stages_vcpu(struct vcpu *vcpu, enum vcpu_event event);

#define VCPU_STAGE(stage) \
	static const struct vcpu_stage *const stage##_entry __used __section("vcpu_stages") = \
		&(stage)

/*
 * ---- what may keep a vCPU from its guest beside its own state (looks.c, in images with
 * VCPU_LOOKS) ----
 */

/* In this order, before an entry. */
enum vcpu_look_order {
	LOOK_LOST, /* lost_memory.c: pages that the machine has lost leave the tables */
	/* pci/pci_wait.c: what its guest has asked of a function takes its time */
	LOOK_PCI_WAIT,
	LOOK_MACHINE_CHECK, /* dev/machine_check.c: #MC, at the next entry */
	LOOK_BUS_LOCK, /* exit/bus_lock.c: it waits for its turn to slow down others */
	LOOK_VIRTUAL, /* pci/pci_virtual.c: work of devices that one exit did not finish */
	VCPU_LOOKS
};

struct vcpu_look {
	enum vcpu_look_order at;
	bool while_paused; /* also while its VM is paused */
	/*
	 * One of vcpu->reasons is set, perhaps another's. True: something else may have changed by
	 * now, look anew.
	 */
	bool (*look)(struct vcpu *vcpu);
};

/* Finds them; a service. */
void looks_sort(void);
/* True: look anew. */
bool looks_do(struct vcpu *vcpu, bool paused);

static inline bool vcpu_looks(struct vcpu *vcpu, bool paused)
{
	return IS_ENABLED(CONFIG_VCPU_LOOKS) && looks_do(vcpu, paused);
}

#define VCPU_LOOK(look) \
	static const struct vcpu_look *const look##_entry __used __section("vcpu_looks") = &(look)

/* ---- a VM file, as its VM starts and ends (slots/slot_stages.c, in images with SLOT_STAGES) - */

/* In this order at each of the events. */
enum slot_stage_order {
	SLOT_OUTPUT, /* slots/output_stage.c: what its guests write is kept */
	SLOT_OUTCOME, /* node/outcome.c: what became of it, for who asks later */
	SLOT_OPERATOR, /* node/control.c: who has the line learns that it leads nowhere */
	SLOT_STAGE_ORDERS
};

enum slot_event {
	SLOT_BEGINS, /* its VM is made next */
	/* it is made, and its vCPUs get their CPUs: if not, one of the next two follows */
	SLOT_STARTS,
	SLOT_NOT_STARTED, /* why: the words; NULL: what has just been logged of it */
	SLOT_ENDED, /* its last_end and last_status are known, and not logged yet */
	SLOT_TOLD, /* that is logged; s->vm is there still */
	SLOT_DONE, /* all that followed of the end; it may be OVER, and another VM's slot by now */
	SLOT_EVENTS
};

struct slot_stage {
	enum slot_stage_order at;
	/* Each may be NULL. why: of SLOT_NOT_STARTED alone. On the CPU that starts or ends it. */
	void (*on[SLOT_EVENTS])(const struct slot *s, const char *why);
};

#if IS_ENABLED(CONFIG_SLOT_STAGES)
void stages_slot(const struct slot *s, enum slot_event event, const char *why);
#else
static inline void stages_slot(const struct slot *, enum slot_event, const char *) { }
#endif

#define SLOT_STAGE(stage) \
	static const struct slot_stage *const stage##_entry __used __section("slot_stages") = \
		&(stage)

#endif

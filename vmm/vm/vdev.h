/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual devices register themselves: each device file defines one struct
 * vdev with VDEV(), the core walks the linker section. What is not linked in
 * is not there; nothing lists them by name.
 */
#ifndef VMM_VDEV_H
#define VMM_VDEV_H

#include <margay/types.h>

struct net_counts;
struct vcpu;
struct vm;

/*
 * That somebody presses from outside: the guest's power button, and the one for an NMI that servers
 * have.
 */
enum vm_button { VM_BUTTON_POWER, VM_BUTTON_NMI };

/* Each may be NULL. */
struct vdev_calls {
	/*
	 * Somebody presses a button, which the guest may heed or not. From any CPU; the caller sees
	 * to it that the VM stays. 0; -ENOSYS: it has no such button; -ENXIO: the guest has closed
	 * itself to it; -EPERM: a crash keeps the VM paused (on_crash = dump).
	 */
	int (*press)(struct vm *vm, void *instance, enum vm_button button);
	/*
	 * Tells the guest that a page that it has used is lost; page: as host_work's fault() has
	 * it. False: it cannot be told, or its VM file does not want that. On the vCPU's CPU.
	 */
	bool (*machine_check)(struct vcpu *vcpu, u64 page);
	/*
	 * say() gets what has been counted, a part of a line of name=value with tabs between. From
	 * any CPU.
	 */
	void (*counts)(const struct vm *vm, void *instance, void (*say)(const char *text));
	/* What the network interface of that number has counted. False: there is none. */
	bool (*net)(void *instance, unsigned number, struct net_counts *out);
};

struct vdev {
	/*
	 * Makes the instance, stores it in *instance (NULL before), registers its ranges. 0 or
	 * -errno (printed). vCPU structures exist, their backend state may not. NULL: it has
	 * nothing of its own.
	 */
	int (*create)(struct vm *vm, void **instance);
	/*
	 * Frees everything; also called for a VM that never ran, and for what create() has left
	 * when it failed. Timers are disarmed on the vCPU's CPU before. NULL: the instance is one
	 * page, or none.
	 */
	void (*destroy)(struct vm *vm, void *instance);
	/*
	 * On the vCPU's own CPU, before its first entry and after its last (arm nothing, disarm
	 * timers). May be NULL.
	 */
	void (*vcpu_start)(struct vcpu *vcpu, void *instance);
	void (*vcpu_stop)(struct vcpu *vcpu, void *instance);
	/*
	 * On the vCPU's own CPU, when it stops for a pause of its VM and (paused
	 * false) before it goes on. By then vm->tsc_offset may be less than
	 * vcpu->tsc_offset, by the time for which the guest's TSC stood still. May be NULL.
	 */
	void (*vcpu_pause)(struct vcpu *vcpu, void *instance, bool paused);
	/* What few devices have; NULL: nothing of it. */
	const struct vdev_calls *calls;
};

/* Its vcpu_pause(): no VM pauses in images without VM_PAUSE. */
#define VDEV_PAUSE(fn) (IS_ENABLED(CONFIG_VM_PAUSE) ? (fn) : NULL)

#define VDEV(dev) static const struct vdev *const dev##_entry __used __section("vdevs") = &(dev)

#endif

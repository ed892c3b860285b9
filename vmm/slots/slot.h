/* SPDX-License-Identifier: GPL-2.0-only */
/* The monitor's own record of each VM file: those of the boot stay to the node's end. */
#ifndef VMM_SLOT_H
#define VMM_SLOT_H

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/types.h>
#include "vmm/slots/restart_limit.h"
#include "vmm/vm_end.h"

struct vm;

#define SLOT_CONFIG_PAGES (unsigned)(ALIGN_UP(sizeof(struct vm_config), PAGE_SIZE) / PAGE_SIZE)
#define MONITOR_MAX_VMS (IS_ENABLED(CONFIG_VM_SHARING) ? 64u : 1u)
#define MONITOR_FILE_MAX 63
#define MONITOR_VM_PREFIX "vm:" /* a boot module whose name begins so is a VM file */

/*
 * ENDING: it is being taken down. ENDED: others may start, but what its end means for the node has
 * not been done and said yet.
 */
enum slot_state { WAITING, STARTED, ENDING, ENDED, OVER };

struct slot {
	char file[MONITOR_FILE_MAX + 1];
	struct vm_config *config; /* SLOT_CONFIG_PAGES; NULL when the file was not understood */
	struct vm *vm; /* NULL: not running; guarded by monitor_lock once CPUs run VMs */
	enum slot_state state; /* guarded by monitor_lock */
	const struct slot *after; /* starts when that one is over; NULL: at once */
	enum vm_end last_end;
	u32 last_status; /* of VM_END_EXIT */
	unsigned starts;
	/* its end is followed by a start, whatever on_end says; guarded by monitor_lock */
	bool again;
	/* STARTED, but no CPU was free to do it; guarded by monitor_lock */
	bool queued;
	/* by the management VM; something of it lives on; guarded by monitor_lock */
	bool created;
	bool stays;
	/* it is to end as soon as it has started again; guarded by monitor_lock */
	bool stopped;
	/* what its Linux has shown to do without, LINUX_NO_CLOCK ...; dev/without_kvm.c's */
	u8 without;
	/* its start has failed by what vm_keep_extents() has; place.c's, of who starts it */
	bool lacks_memory;
	/*
	 * the how manieth of those that were told to start, until it has its memory; 0: done;
	 * atomic
	 */
	u64 order;
	struct restarts restarts;
	/* it is WAITING until then, host TSC; 0: for no time; guarded by monitor_lock */
	u64 restart_at;
	/* monitor.c's alone; here, for its slot is found by it, and by an array in 96 bytes more */
	struct host_work reaper;
	struct host_work starter;
};

#if IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/* Does the operator want its end as soon as it has started? */
static inline bool slot_is_stopped(const struct slot *s)
{
	return s->stopped;
}

/* Does he want a start behind its end? Forgets that; monitor_lock held. */
static inline bool slot_take_wish(struct slot *s)
{
	bool wanted = s->again;

	s->again = false;
	return wanted;
}
#else
static inline bool slot_is_stopped(const struct slot *)
{
	return false;
}

static inline bool slot_take_wish(struct slot *)
{
	return false;
}
#endif

#if IS_ENABLED(CONFIG_VM_SHARING)
/*
 * Its file was not understood. Who waits for its end waits no more: monitor_check_together() needs
 * its name once again.
 */
static inline void slot_refuse(struct slot *s)
{
	s->state = OVER;
}

/* Does it wait for another's end? */
static inline bool slot_follows(const struct slot *s)
{
	return s->after && s->after->state < ENDED;
}

/* Will it be started when the monitor itself has started? */
static inline bool slot_starts_later(const struct slot *s)
{
	return s->after || s->state == WAITING;
}
#else
/* There is no other. */
static inline void slot_refuse(struct slot *s)
{
	host_pages_free(s->config, SLOT_CONFIG_PAGES);
	s->config = NULL;
}

static inline bool slot_follows(const struct slot *)
{
	return false;
}

static inline bool slot_starts_later(const struct slot *)
{
	return false;
}
#endif

#if IS_ENABLED(CONFIG_MANAGEMENT_VM)
/* Something of its VM lives on: nobody destroys it. */
static inline void slot_stays(struct slot *s)
{
	s->stays = true;
}
#else
static inline void slot_stays(struct slot *) { }
#endif

#if IS_ENABLED(CONFIG_VM_TSC_ONLY)
/* start_anew.c: is there a Linux in it that starts again if it is no guest of KVM's, or has? */
bool slot_may_start_anew(struct slot *s);
#else
static inline bool slot_may_start_anew(struct slot *)
{
	return false;
}
#endif

extern struct spinlock monitor_lock;
extern struct slot monitor_slots[MONITOR_MAX_VMS];
extern unsigned monitor_nr_slots;
/*
 * CPUs that start a VM or take one down, guarded by monitor_lock; odd: the monitor console has a
 * command, with a slot's number perhaps; atomic
 */
extern unsigned monitor_busy, monitor_turn;
/* The monitor console has a command from here on, or has done it. */
static inline void monitor_take_turn(void)
{
	if (IS_ENABLED(CONFIG_MANAGEMENT_VM))
		__atomic_fetch_add(&monitor_turn, 1, __ATOMIC_SEQ_CST);
}

/* all VMs that could start at boot have been given their CPUs; the boot CPU's */
extern bool monitor_booted;

/* Whoever holds one of these holds off the node's end; the last to put ends the node. */
void monitor_get_running(void);
void monitor_put_running(void);
/*
 * start_functions.c, in images with SLOTS_WAIT: can the VM have all PCI functions that its file
 * wants: are its VFs on, and is none being reset after a VM's end? If not, the same file starts it
 * once they are. monitor_lock held.
 */
#define SLOTS_WAIT (IS_ENABLED(CONFIG_PASSTHROUGH) && IS_ENABLED(CONFIG_MONITOR_CONSOLE))
bool monitor_has_functions(struct slot *s);
/*
 * The same file's: the VM's start has failed. If some function has gone since
 * monitor_has_functions(), or it lacks memory that functions still being reset may write, it is
 * WAITING, or has been started again, and this is true.
 */
bool monitor_wait_for_functions(struct slot *s);

/*
 * restart_pace.c's, in images with RESTARTS_PACED; monitor_lock held. The VM is to start by itself.
 * True: it has done so too often, and waits; the caller's hold on the node's end is the wait's now,
 * and it calls restart_pace_go_on() without the lock.
 */
#define RESTARTS_PACED (SLOTS_WAIT && IS_ENABLED(CONFIG_VM_FOLLOW_UP))
bool restart_pace_wait(struct slot *s);
void restart_pace_go_on(const char *name);
/*
 * It waits no longer; monitor_lock held. True: it did, and the caller has the hold on the node's
 * end now.
 */
bool restart_pace_forget(struct slot *s);

#if IS_ENABLED(CONFIG_VM_SHARING)
/*
 * Refuses VM files that cannot stand beside the others, one line each. Slots that are OVER lose
 * their configuration.
 */
void monitor_check_together(void);
#else
static inline void monitor_check_together(void) { }
#endif

#if IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/*
 * control.c's. One less of monitor_busy: CPUs that were lent are free. VMs that are queued get
 * them, or stay queued while others are busy.
 */
void monitor_not_busy(void);
#else
static inline void monitor_not_busy(void) { }
#endif

/*
 * Makes and starts the VM of a slot that is STARTED; OVER when it fails (logged). The caller holds
 * off the node's end.
 */
void monitor_start_slot(struct slot *s);

#if IS_ENABLED(CONFIG_LOST_CPUS)
/*
 * lost_cpus.c's, monitor_lock held: the operator has stopped the VM once more. Where nobody waits
 * for its vCPUs, a CPU does to which hand_out() gives the work.
 */
void vm_stop_again(struct slot *s, bool (*hand_out)(struct host_work *work));
#else
static inline void vm_stop_again(struct slot *, bool (*)(struct host_work *)) { }
#endif

#if IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/*
 * control.c's. Has the operator asked for the VM's start meanwhile? Forgets it.
 */
bool monitor_asked_again(struct slot *s);
/* The same file's: has monitor_operator() been called? */
bool monitor_has_operator(void);
#else
static inline bool monitor_asked_again(struct slot *)
{
	return false;
}

static inline bool monitor_has_operator(void)
{
	return false;
}
#endif

/*
 * What the node's last line says of the VMs (docs/architecture.md): how many there are and how many
 * have failed; how many still run, and how many nobody has told to start, where there are any.
 */
#define MONITOR_SUM 64
void monitor_sum_up(char text[MONITOR_SUM]);

/*
 * Nothing runs any more: the last machine-readable line, and reboot or power off if any VM that ran
 * asked for it. One that the operator stopped does not: there is more to be done on this node.
 */
void monitor_node_over(void);

#endif

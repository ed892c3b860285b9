/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has happened to VMs and to the node, and who has commanded it: the last of it, by number,
 * for the management VM (docs/management-vm.md). Without one nothing is kept. Any CPU, with any
 * lock; not in an NMI.
 */
#ifndef VMM_NODE_EVENTS_H
#define VMM_NODE_EVENTS_H

#include "vmm/config/config.h"
#include "vmm/slots/slot.h"

/* Of the node, or of a VM that is not there. */
#define EVENT_NODE MONITOR_MAX_VMS
#define EVENT_USER_MAX 32u
#define EVENT_TEXT 160
/* The kind of end of a VM that was not to be started. */
#define OUTCOME_NOT_STARTED "not-started"
/* Who has commanded: the monitor console, or the management VM. */
#define BY_CONSOLE "console"
#define BY_MANAGEMENT "management"

/* A command, before it is done: what follows of it comes behind. */
struct event_command {
	const char *what; /* a word that stays */
	const char *by;
	const char *user; /* in the management VM, as that says; NULL: it does not */
	/* a start, or an end of its VM, that follows is this one's */
	bool starts;
	bool ends;
};

#if IS_ENABLED(CONFIG_MANAGEMENT_VM)
/* Of a slot's VM: `what` stays. */
void event_vm(unsigned slot, const char *what, const char *fmt, ...) __printf(3, 4);
/* The same of what a guest can cause again and again: as log_limit.h has it, for each VM. */
void event_often(unsigned slot, const char *what, const char *fmt, ...) __printf(3, 4);
/* Returns its number. name: the VM's, also of one that is not there, with slot EVENT_NODE. */
u64 event_command(unsigned slot, const char *name, const struct event_command *command);
/* That one has not been done. */
void event_refused(u64 number, const char *why);
#else
static inline __printf(3, 4) void event_vm(unsigned, const char *, const char *, ...) { }
static inline __printf(3, 4) void event_often(unsigned, const char *, const char *, ...) { }
static inline u64 event_command(unsigned, const char *, const struct event_command *)
{
	return 0;
}

static inline void event_refused(u64, const char *) { }
#endif

/* The rest is in images with MANAGEMENT_VM only. When the VM files have been read. */
void events_start(void);
/* Milliseconds since 1970 at that: another boot's are others. 0: nothing is kept. */
u64 events_boot(void);
/* What becomes of its VM: the kind of its end, or NULL: it starts. */
void event_run(unsigned slot, const char *kind, u32 status, const char *why);
/* The slot is another VM's from now on. */
void events_forget(unsigned slot);
/* user: as above; NULL: nobody has commanded it. */
void event_image(const char *what, const char *image, const char *user);

struct node_event {
	u64 number; /* 0: there is none */
	u64 ms;     /* since 1970 */
	const char *what;
	const char *by;  /* who has commanded it; "": nobody */
	const char *end; /* the kind of end; "": it is none */
	u32 status;
	u8 origin; /* the slot, or EVENT_NODE */
	char user[EVENT_USER_MAX + 1];
	char vm[VM_NAME_MAX + 1];
	char image[VM_MODULE_MAX + 1];
	char text[EVENT_TEXT + 1];
};
/* The first one from that number on; false: there is none. */
bool event_from(u64 from, struct node_event *out);

#endif

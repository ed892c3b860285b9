/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VM files' slots (slot.h): one for each, and the lock that guards what others may change of
 * them.
 */
#include "vmm/slots/slot.h"

struct spinlock monitor_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots;
unsigned monitor_busy = 1, monitor_turn;
bool monitor_booted;

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last that guests wrote to their consoles, by VM file (slot): of all runs, also when the VM is
 * over. Images without VM_LOG keep nothing. Any CPU.
 */
#ifndef VMM_OUTPUT_LOG_H
#define VMM_OUTPUT_LOG_H

#include <margay/spinlock.h>

struct vm_config;

#define OUTPUT_LOG_AGAIN "--- starts again ---" /* a line between one run and the next */

/* One for each slot. */
struct output_ring {
	struct spinlock lock; /* guards head and what is in it */
	u8 *data;             /* set once; NULL: nothing is kept */
	/* bytes; how many were ever put in */
	u64 size;
	u64 head;
	const char *name;     /* the VM's */
};
extern struct output_ring output_rings[];

#if IS_ENABLED(CONFIG_VM_LOG)
/*
 * A run begins: takes the memory that `console_log` says, if that is not there yet; without it a
 * line says that nothing is kept.
 */
void output_log_start(unsigned id, const struct vm_config *config);

void output_log_put(unsigned id, const u8 *bytes, size_t n);

#define OUTPUT_LOG_LAST KIB(64) /* more than the monitor console has room for */
/*
 * say() gets the last lines, oldest first, of OUTPUT_LOG_LAST bytes at most, as text for any
 * terminal, in pieces of 240 bytes at most; NULL: the node's log gets them behind "NAME: > ", and
 * the line, which has had most of them, does not. False: nothing is kept.
 */
bool output_log_last(unsigned id, unsigned lines, void (*say)(const char *text));
#else
static inline void output_log_put(unsigned, const u8 *, size_t) { }

static inline bool output_log_last(unsigned, unsigned, void (*)(const char *))
{
	return false;
}
#endif

/*
 * In images with MANAGEMENT_VM: from where to where it is kept, by the number of bytes that came
 * before. *from: what is wanted, moved to the oldest there is. Returns the end.
 */
u64 output_log_range(unsigned id, u64 *from);
/* Copies n bytes of that. What is written over meanwhile is other bytes. */
void output_log_copy(unsigned id, u64 from, u8 *to, u32 n);
/* The slot is another VM's from now on. */
void output_log_forget(unsigned id);

#endif

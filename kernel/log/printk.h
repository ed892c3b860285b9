/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log: one line per call, of at most HOST_LOG_LINE characters with its source
 * (<margay/host.h>), kept in a 64 KiB ring and shown on the console.
 * Works from the first instruction of C on; what was logged before the console
 * was found is shown when it is. Any CPU, any context; interrupts off.
 */
#ifndef KERNEL_PRINTK_H
#define KERNEL_PRINTK_H

#include <margay/string.h>
#include <margay/types.h>
#include "kernel/boot/cmdline.h"

#define PRINTK_RING KIB(64)

/* One line of the hypervisor itself: "margay: " is put in front, no newline at the end. */
void printk_error(const char *fmt, ...) __printf(1, 2);
void vprintk_error(const char *fmt, va_list ap) __printf(1, 0);
#if IS_ENABLED(CONFIG_BOOT_LOG)
void printk(const char *fmt, ...) __printf(1, 2);
void printk_debug(const char *fmt, ...) __printf(1, 2);
#else
/* Without CONFIG_BOOT_LOG only what is wrong is said. */
static inline __printf(1, 2) void printk(const char *, ...) { }

static inline __printf(1, 2) void printk_debug(const char *, ...) { }
#endif

/* What is shown on the console from now on. */
void printk_set_level(enum loglevel level);

/* For panic: nobody else runs any more, so whoever held the ring's lock does not use it. */
void printk_panic(void);

/* Shows the whole ring on the console, for a console that has just been found. */
void printk_replay(void);

/* Records: one byte of level ('0' + enum loglevel), the text, a newline. */
struct log_ring {
	char text[PRINTK_RING];
	u64 head; /* bytes ever written */
};
extern struct log_ring printk_log;

/*
 * Calls fn for each of a ring's last lines, oldest first. Takes no lock: a line that is being
 * written may be missing or cut. The text is NUL-terminated, without a newline, and valid during
 * the call only.
 */
void printk_last(const struct log_ring *log, unsigned lines,
		 void (*fn)(enum loglevel level, const char *text, size_t length));

/*
 * What has a part in each line of the log registers itself (linker section), so that the log uses
 * nobody: it works before and below all of them. Of one kind there is one in an image at most;
 * NULL: it has no part in that.
 */
struct log_part {
	/*
	 * Puts what stands in front of the line; returns its length, which is less than size (32 or
	 * more).
	 */
	size_t (*stamp)(char *text, size_t size);
	/* The line without newline, whether it is shown or not. With the ring's lock. */
	void (*keep)(enum loglevel level, const char *text, size_t n);
	/* The same, if it is shown, without the lock. */
	void (*show)(const char *text, size_t n);
};
#define LOG_PART(part) \
	static const struct log_part *const part##_entry __used __section("log_parts") = &(part)

#endif

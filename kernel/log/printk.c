/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of the log, and who is shown its lines. */
#include "kernel/log/printk.h"

#include <margay/host.h>
#include <margay/spinlock.h>

/*
 * Long enough for any holder that still runs; one that does not (interrupted by #MC) must not
 * silence the log.
 */
#define LOCK_TRIES 1000000u

static struct spinlock ring_lock; /* guards this */
struct log_ring printk_log;
static enum loglevel shown = LOGLEVEL_INFO;

extern const struct log_part *const __start_log_parts[], *const __stop_log_parts[];

static size_t stamp(char *text, size_t size)
{
	for (const struct log_part *const *p = __start_log_parts; p < __stop_log_parts; p++)
		if ((*p)->stamp)
			return (*p)->stamp(text, size);
	return 0;
}

static void keep(enum loglevel level, const char *text, size_t n)
{
	for (const struct log_part *const *p = __start_log_parts; p < __stop_log_parts; p++)
		if ((*p)->keep)
			(*p)->keep(level, text, n);
}

static void show(const char *text, size_t n)
{
	for (const struct log_part *const *p = __start_log_parts; p < __stop_log_parts; p++)
		if ((*p)->show)
			(*p)->show(text, n);
}

static bool lock_ring(void)
{
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (spin_trylock(&ring_lock))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static void store(char c)
{
	printk_log.text[printk_log.head++ % PRINTK_RING] = c;
}

static void emit(enum loglevel level, char *text, size_t n)
{
	bool locked;

	/* One record is one line, whatever a name from outside holds. */
	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
	locked = lock_ring();
	store((char)('0' + level));
	for (size_t i = 0; i < n; i++)
		store(text[i]);
	store('\n');
	keep(level, text, n);
	if (locked)
		spin_unlock(&ring_lock);
	if (level <= shown)
		show(text, n);
}

static __printf(3, 0) void log_from(enum loglevel level, const char *source, const char *fmt,
				    va_list ap)
{
	char text[HOST_LOG_LINE + 1];
	size_t n = stamp(text, sizeof(text));
	int more;

	memcpy(text + n, source, strlen(source));
	n += strlen(source);
	more = vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	if (more > 0)
		n = MIN(n + (size_t)more, sizeof(text) - 1);
	emit(level, text, n);
}

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	/*
	 * Never hidden: these lines tell operators and scripts what is wrong with a VM file and how
	 * a VM ended.
	 */
	log_from(LOGLEVEL_ERROR, "", fmt, ap);
	va_end(ap);
}

void host_log_quiet(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_from(LOGLEVEL_DEBUG, "", fmt, ap);
	va_end(ap);
}

void vprintk_error(const char *fmt, va_list ap)
{
	log_from(LOGLEVEL_ERROR, "margay: ", fmt, ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintk_error(fmt, ap);
	va_end(ap);
}

#if IS_ENABLED(CONFIG_BOOT_LOG)
void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_from(LOGLEVEL_INFO, "margay: ", fmt, ap);
	va_end(ap);
}

void printk_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_from(LOGLEVEL_DEBUG, "margay: ", fmt, ap);
	va_end(ap);
}
#endif

void printk_set_level(enum loglevel level)
{
	shown = level;
}

void printk_panic(void)
{
	spin_unlock(&ring_lock);
}

/* By the digit before a line of the ring. */
static enum loglevel level_of(char digit)
{
	if (digit == '0')
		return LOGLEVEL_ERROR;
	return digit == '1' ? LOGLEVEL_INFO : LOGLEVEL_DEBUG;
}

void printk_last(const struct log_ring *log, unsigned lines,
		 void (*fn)(enum loglevel level, const char *text, size_t length))
{
	u64 end = log->head, oldest = end > PRINTK_RING ? end - PRINTK_RING : 0, at = end;
	unsigned seen = 0;

	/*
	 * Back to the newline before the first wanted line; the ring's oldest line may be cut and
	 * is left out then.
	 */
	while (at > oldest) {
		if (log->text[(at - 1) % PRINTK_RING] == '\n' && seen++ == lines)
			break;
		at--;
	}
	if (at == oldest && oldest > 0)
		while (at < end && log->text[at++ % PRINTK_RING] != '\n')
			;
	while (at < end) {
		char text[HOST_LOG_LINE + 1], level = log->text[at++ % PRINTK_RING], c;
		size_t n = 0;

		while (at < end && (c = log->text[at++ % PRINTK_RING]) != '\n')
			if (n < sizeof(text) - 1)
				text[n++] = c;
		text[n] = 0;
		fn(level_of(level), text, n);
	}
}

static void replay_line(enum loglevel level, const char *text, size_t n)
{
	if (level <= shown)
		show(text, n);
}

void printk_replay(void)
{
	printk_last(&printk_log, ~0u, replay_line);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* See output_log.h. Rings of bytes as they came; lines are made of them when somebody asks. */
#include "vmm/slots/output_log.h"

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "vmm/config/config.h"
#include "vmm/slots/slot.h"

struct output_ring output_rings[MONITOR_MAX_VMS];

static u64 oldest(const struct output_ring *r)
{
	return r->head > r->size ? r->head - r->size : 0;
}

static u8 byte_at(const struct output_ring *r, u64 at)
{
	return r->data[at % r->size];
}

void output_log_start(unsigned id, const struct vm_config *config)
{
	static const char next[] = "\n" OUTPUT_LOG_AGAIN "\n";
	struct output_ring *r = &output_rings[id];

	if (r->data) {
		output_log_put(id, (const u8 *)next, r->head ? sizeof(next) - 1 : 0);
		return;
	}
	r->name = config->name;
	r->size = config->console_log * 1024ull;
	if (r->size)
		r->data = host_pages_alloc((unsigned)(r->size / PAGE_SIZE), -1);
	if (r->size && !r->data)
		host_log("%s: console_log: no memory for %u KiB: its output is not kept",
			 config->name, config->console_log);
}

void output_log_put(unsigned id, const u8 *bytes, size_t n)
{
	struct output_ring *r = &output_rings[id];

	if (!r->data)
		return;
	spin_lock(&r->lock);
	for (size_t i = 0; i < n; i++)
		r->data[r->head++ % r->size] = bytes[i];
	spin_unlock(&r->lock);
}

/* The beginning of the last lines up to `end`, which is not behind a newline. */
static u64 find_lines(const struct output_ring *r, u64 end, unsigned lines)
{
	u64 stop = MAX(oldest(r), end - MIN(end, (u64)OUTPUT_LOG_LAST));

	while (end > stop && (byte_at(r, end - 1) != '\n' || --lines))
		end--;
	return end;
}

bool output_log_last(unsigned id, unsigned lines, void (*say)(const char *text))
{
	struct output_ring *r = &output_rings[id];
	u8 line[HOST_CONSOLE_LINE + 1];
	u64 at, end;

	if (!r->data)
		return false;
	/*
	 * Without the lock, for which its guest would wait: a beginning that is written over
	 * meanwhile is no longer said below.
	 */
	end = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	end -= end && byte_at(r, end - 1) == '\n';
	at = lines ? find_lines(r, end, lines) : end;
	while (at < end) {
		unsigned n = 0;
		u8 byte = 0;

		/* Its guest may go on, and write over what has not been said yet. */
		spin_lock(&r->lock);
		for (at = MAX(at, oldest(r)); at < end && n < HOST_CONSOLE_LINE && byte != '\n';
		     at++) {
			byte = byte_at(r, at);
			if (byte != '\r' && byte != '\n')
				line[n++] = byte;
		}
		spin_unlock(&r->lock);
		if (at > end)
			break;
		line[host_plain_text(line, n)] = 0;
		if (say)
			say((const char *)line);
		else
			host_log_quiet("%s: > %s", r->name, (const char *)line);
	}
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See outcome.h. Whoever finds an error logs it, once, in a line that begins with the VM's name or
 * its file's: the words are taken from there, when it has just been said.
 */
#include "vmm/node/outcome.h"

#include <margay/host.h>
#include <margay/span.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "vmm/config/config.h"
#include "vmm/monitor.h"
#include "vmm/slots/follow_up.h"
#include "vmm/slots/node_events.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vm/service.h"

#define LOG_LINES 100 /* others may say something meanwhile */
#define GUEST_LINES 8 /* the last of them may be empty */

static struct spinlock outcome_lock; /* guards all that follows */
static struct outcome outcomes[MONITOR_MAX_VMS];
/* By enum vm_end; where none has been: not started. */
#define NOT_STARTED VM_RUNNING
#define KINDS (VM_END_CRASH + 1)
static u32 counts[MONITOR_MAX_VMS][KINDS];
/* For those that are given lines. */
static const struct slot *of;
static struct outcome *to;

static struct outcome *outcome_at(const struct slot *s)
{
	return &outcomes[s - monitor_slots];
}

/* Part of a line of name=value. */
static void copy_text(char *dst, size_t size, struct span text)
{
	snprintf(dst, size, "%.*s", (int)MIN(text.n, size - 1), text.p);
	for (char *c = dst; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = ' ';
}

static bool skip_name(struct span *line, const char *name)
{
	struct span rest = *line;

	if (!name[0] || !span_skip(&rest, name) || !span_skip(&rest, ":"))
		return false;
	*line = rest;
	span_skip(line, " ");
	return true;
}

/* "FILE:LINE: words": the line goes into *number. */
static void take_words(struct outcome *o, const char *file, struct span text)
{
	struct span after;
	u64 number = 0;

	o->line = 0;
	if (skip_name(&text, file)) {
		after = text;
		if (span_number(&after, 10, &number) && span_skip(&after, ": ")) {
			o->line = (unsigned)number;
			text = after;
		}
	}
	copy_text(o->why, sizeof(o->why), text);
}

static void hear_log(const char *text)
{
	struct span line = span_of(text), rest;
	bool ours;

	/* The time of the log. */
	if (span_skip(&line, "["))
		span_part(&line, ']', &ours);
	span_skip(&line, " ");
	rest = line;
	ours = of->config && skip_name(&rest, of->config->name);
	if (ours)
		line = rest;
	span_skip(&line, "margay: ");
	rest = line;
	ours = ours || skip_name(&rest, of->file);
	/* Nor what its guest has printed. */
	if (ours && !span_is(line, "not started") && !span_skip(&rest, "> "))
		take_words(to, of->file, line);
}

static void hear_guest(const char *text)
{
	if (!strcmp(text, OUTPUT_LOG_AGAIN))
		to->last[0] = 0;
	else if (text[0])
		copy_text(to->last, sizeof(to->last), span_of(text));
}

static void outcome_set(const struct slot *s, const struct outcome *set, enum vm_end kind,
			bool ask_log, bool ask_guest)
{
	u64 tsc;

	spin_lock(&outcome_lock);
	of = s;
	to = outcome_at(s);
	*to = *set;
	counts[s - monitor_slots][kind]++;
	to->seconds = host_wall_clock(&tsc) / 1000000000;
	if (ask_log)
		host_log_last(0, LOG_LINES, hear_log);
	if (ask_guest)
		output_log_last((unsigned)(s - monitor_slots), GUEST_LINES, hear_guest);
	spin_unlock(&outcome_lock);
}

static void tell_event(const struct slot *s)
{
	struct outcome o;

	outcome_of(s, &o);
	event_run((unsigned)(s - monitor_slots), o.kind, o.status, o.why);
}

static void ended(const struct slot *s, const char *)
{
	const struct outcome set = { .kind = monitor_end_name(s->last_end),
				     .status = s->last_status };
	bool said = s->last_end != VM_END_EXIT && !vm_ended_well(s->last_end, s->last_status);

	outcome_set(s, &set, s->last_end, said, true);
	tell_event(s);
}

static void not_started(const struct slot *s, const char *why)
{
	struct outcome set = { .kind = OUTCOME_NOT_STARTED };

	snprintf(set.why, sizeof(set.why), "%s", why ? why : "");
	outcome_set(s, &set, NOT_STARTED, !why, false);
	tell_event(s);
}

static void started(const struct slot *s, const char *)
{
	event_run((unsigned)(s - monitor_slots), NULL, 0, "");
}

void outcome_of(const struct slot *s, struct outcome *out)
{
	spin_lock(&outcome_lock);
	*out = *outcome_at(s);
	spin_unlock(&outcome_lock);
}

void outcome_forget(const struct slot *s)
{
	spin_lock(&outcome_lock);
	*outcome_at(s) = (struct outcome){ 0 };
	memset(counts[s - monitor_slots], 0, sizeof(counts[0]));
	spin_unlock(&outcome_lock);
	events_forget((unsigned)(s - monitor_slots));
}

const char *outcome_kind(unsigned i)
{
	const char *name;

	if (i == NOT_STARTED)
		return OUTCOME_NOT_STARTED;
	if (i >= KINDS)
		return NULL;
	/* One that this image does not have. */
	name = vm_end_name((enum vm_end)i);
	return name ? name : "";
}

u64 outcome_count(const struct slot *s, unsigned i)
{
	return __atomic_load_n(&counts[s - monitor_slots][i], __ATOMIC_RELAXED);
}

static const struct slot_stage outcome_stage = {
	.at = SLOT_OUTCOME,
	.on = { [SLOT_STARTS] = started, [SLOT_NOT_STARTED] = not_started, [SLOT_ENDED] = ended },
};
SLOT_STAGE(outcome_stage);

/* Files that were not understood it tells itself of. */
static void outcome_start(void)
{
	events_start();
	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		if (!s->config)
			not_started(s, NULL);
}
MONITOR_SERVICE(outcome_start);

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See node_events.h. When there is no room the oldest of whoever has most goes, so that a VM that
 * does something again and again takes the place of its own events only.
 */
#include "vmm/slots/node_events.h"

#include <margay/host.h>
#include <margay/log_limit.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "vmm/config/config.h"

#define EVENTS 512u
#define ORIGINS (MONITOR_MAX_VMS + 1)
#define PAGES (unsigned)(ALIGN_UP(EVENTS * sizeof(struct node_event), PAGE_SIZE) / PAGE_SIZE)
static_assert(ORIGINS <= 256, "origin is a u8");

static struct spinlock events_lock; /* guards all that follows */
static struct node_event *events; /* EVENTS of them; NULL: nobody is there who would ask */
static u64 last, boot;
static unsigned count[ORIGINS];
/* Whose word a VM's next start, and its next end, are. number 0: nobody's. */
struct word {
	u64 number;
	const char *by;
	char user[EVENT_USER_MAX + 1];
};
static struct word starter[ORIGINS], ender[ORIGINS];
static struct log_limit limits[ORIGINS];

static u64 now_ms(void)
{
	u64 tsc;

	return host_wall_clock(&tsc) / 1000000;
}

void events_start(void)
{
	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		if (s->config && s->config->control.commands && !events)
			events = host_pages_alloc(PAGES, -1);
	boot = events ? now_ms() : 0;
}

u64 events_boot(void)
{
	return boot;
}

static struct node_event *free_place(void)
{
	struct node_event *oldest = NULL;
	unsigned most = 0;

	for (unsigned i = 1; i < ORIGINS; i++)
		most = count[i] > count[most] ? i : most;
	for (struct node_event *e = events; e < events + EVENTS; e++) {
		if (!e->number)
			return e;
		if (e->origin == most && (!oldest || e->number < oldest->number))
			oldest = e;
	}
	count[most]--;
	return oldest;
}

/* Of a slot's VM, or of its file that was not understood. */
static const char *name_of(unsigned origin)
{
	const struct vm_config *c;

	if (origin == EVENT_NODE)
		return "";
	c = __atomic_load_n(&monitor_slots[origin].config, __ATOMIC_ACQUIRE);
	return c ? c->name : monitor_slots[origin].file;
}

/* With the lock. */
static struct node_event *add(unsigned origin, const char *what)
{
	struct node_event *e = free_place();

	*e = (struct node_event){ .number = ++last,
				  .ms = now_ms(),
				  .what = what,
				  .by = "",
				  .end = "",
				  .origin = (u8)origin };
	count[origin]++;
	snprintf(e->vm, sizeof(e->vm), "%s", name_of(origin));
	return e;
}

/* Part of a line of name=value. */
static void set_text(char *to, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(to, size, fmt, ap);
	for (char *c = to; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = ' ';
}

static __printf(3, 4) void put_text(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(to, size, fmt, ap);
	va_end(ap);
}

/* ---- what happens ------------------------------------------------------------------------- */

void event_vm(unsigned slot, const char *what, const char *fmt, ...)
{
	struct node_event *e;
	va_list ap;

	if (!events)
		return;
	spin_lock(&events_lock);
	e = add(slot, what);
	va_start(ap, fmt);
	set_text(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	spin_unlock(&events_lock);
}

void event_often(unsigned slot, const char *what, const char *fmt, ...)
{
	char text[EVENT_TEXT + 1];
	u32 unsaid;
	va_list ap;

	if (!events || !log_limit_take(&limits[slot], host_tsc(), host_tsc_khz(), &unsaid))
		return;
	va_start(ap, fmt);
	set_text(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (unsaid)
		event_vm(slot, what, "%s, %u more since the last one", text, unsaid);
	else
		event_vm(slot, what, "%s", text);
}

static void set_word(struct node_event *e, struct word *w)
{
	if (w->number) {
		e->by = w->by;
		memcpy(e->user, w->user, sizeof(e->user));
	}
	w->number = 0;
}

/* It has started, again if nobody's word was for that; else it is over. */
void event_run(unsigned slot, const char *kind, u32 status, const char *why)
{
	unsigned starts = monitor_slots[slot].starts;
	bool ended = kind && strcmp(kind, OUTCOME_NOT_STARTED);
	struct node_event *e;

	if (!events)
		return;
	spin_lock(&events_lock);
	if (kind)
		e = add(slot, ended ? "ended" : OUTCOME_NOT_STARTED);
	else
		e = add(slot, starts > 1 && !starter[slot].number ? "restarted" : "started");
	if (!ended)
		set_word(e, &starter[slot]);
	if (ended && monitor_slots[slot].last_end == VM_END_STOPPED)
		set_word(e, &ender[slot]);
	ender[slot].number = 0;
	e->end = ended ? kind : "";
	e->status = status;
	put_text(e->text, sizeof(e->text), "%s", why);
	spin_unlock(&events_lock);
}

void events_forget(unsigned slot)
{
	spin_lock(&events_lock);
	starter[slot].number = 0;
	ender[slot].number = 0;
	limits[slot] = (struct log_limit){ 0 };
	spin_unlock(&events_lock);
}

void event_image(const char *what, const char *image, const char *user)
{
	struct node_event *e;

	if (!events)
		return;
	spin_lock(&events_lock);
	e = add(EVENT_NODE, what);
	e->by = user ? BY_MANAGEMENT : "";
	put_text(e->user, sizeof(e->user), "%s", user ? user : "");
	put_text(e->image, sizeof(e->image), "%s", image);
	spin_unlock(&events_lock);
}

/* ---- commands ----------------------------------------------------------------------------- */

static void keep_word(struct word *w, const struct node_event *e)
{
	w->number = e->number;
	w->by = e->by;
	memcpy(w->user, e->user, sizeof(w->user));
}

u64 event_command(unsigned slot, const char *name, const struct event_command *command)
{
	struct node_event *e;
	u64 number;

	if (!events)
		return 0;
	spin_lock(&events_lock);
	e = add(slot, command->what);
	number = e->number;
	e->by = command->by;
	put_text(e->vm, sizeof(e->vm), "%s", name);
	put_text(e->user, sizeof(e->user), "%s", command->user ? command->user : "");
	if (command->starts)
		keep_word(&starter[slot], e);
	if (command->ends)
		keep_word(&ender[slot], e);
	spin_unlock(&events_lock);
	return number;
}

void event_refused(u64 number, const char *why)
{
	if (!events)
		return;
	spin_lock(&events_lock);
	for (struct node_event *e = events; e < events + EVENTS; e++) {
		if (e->number != number)
			continue;
		put_text(e->text, sizeof(e->text), "refused: %s", why);
		if (starter[e->origin].number == number)
			starter[e->origin].number = 0;
		if (ender[e->origin].number == number)
			ender[e->origin].number = 0;
	}
	spin_unlock(&events_lock);
}

bool event_from(u64 from, struct node_event *out)
{
	const struct node_event *first = NULL;

	spin_lock(&events_lock);
	for (const struct node_event *e = events; events && e < events + EVENTS; e++)
		if (e->number >= MAX(from, 1ul) && (!first || e->number < first->number))
			first = e;
	if (first)
		*out = *first;
	spin_unlock(&events_lock);
	return first;
}

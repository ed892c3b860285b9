/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a message of the VM that commands the node to what it asks for, and the answer
 * (docs/management-vm.md). A message that is none is refused and counted, and what comes next is a
 * message again: no state is kept of it.
 */
#include "vmm/management/management.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/slots/node_events.h"
#include "vmm/vm.h"

static const struct request {
	commander_fn *serve;
	unsigned right; /* of enum vm_may; 0: everybody who commands may */
	bool pages;     /* its lines may be asked for from one on */
} requests[COMMANDER_REQUESTS] = {
	[COMMANDER_LIST] = { commander_list, 0, true },
	[COMMANDER_SHOW] = { commander_show, 0, true },
	[COMMANDER_NODE] = { commander_node, 0, true },
	[COMMANDER_PCI] = { commander_pci, 0, true },
	[COMMANDER_LOG] = { commander_log, 0, false },
	[COMMANDER_STATS] = { commander_stats, 0, true },
	[COMMANDER_CREATE] = { commander_create, MAY_CREATE, false },
	[COMMANDER_DESTROY] = { commander_destroy, MAY_DESTROY, false },
	[COMMANDER_START] = { commander_start, MAY_CREATE, false },
	[COMMANDER_STOP] = { commander_stop, MAY_DESTROY, false },
	[COMMANDER_RESTART] = { commander_restart, MAY_CREATE | MAY_DESTROY, false },
	[COMMANDER_PAUSE] = { commander_pause, MAY_DESTROY, false },
	[COMMANDER_RESUME] = { commander_resume, MAY_CREATE, false },
	[COMMANDER_READ] = { commander_read, MAY_CONSOLE, false },
	[COMMANDER_WRITE] = { commander_write, MAY_CONSOLE, false },
	[COMMANDER_IMAGES] = { commander_images, 0, true },
	[COMMANDER_IMAGE] = { commander_image, MAY_CREATE, false },
	[COMMANDER_DATA] = { commander_data, MAY_CREATE, false },
	[COMMANDER_IMAGE_END] = { commander_image_end, MAY_CREATE, false },
	[COMMANDER_IMAGE_REMOVE] = { commander_image_remove, MAY_CREATE, false },
	[COMMANDER_DUMP] = { commander_dump, MAY_DUMP, false },
	[COMMANDER_REGISTERS] = { commander_registers, MAY_DUMP, false },
	[COMMANDER_MEMORY] = { commander_memory, MAY_DUMP, false },
	[COMMANDER_PRESS] = { IS_ENABLED(CONFIG_VM_POWER_BUTTON) ? commander_press : NULL,
			      MAY_DESTROY, false },
	[COMMANDER_NMI] = { commander_nmi, MAY_DESTROY, false },
	[COMMANDER_FILE] = { commander_file, 0, false },
	[COMMANDER_COUNTS] = { commander_counts, 0, true },
	[COMMANDER_LOG_FROM] = { commander_log_from, 0, false },
	[COMMANDER_EVENTS] = { commander_events, 0, false },
};
/* Those that are events, of the VM that their text begins with. */
static const struct {
	const char *what; /* NULL: it is none */
	bool starts;
	bool ends;
} told[COMMANDER_REQUESTS] = {
	[COMMANDER_DESTROY] = { "destroy", false, false },
	[COMMANDER_START] = { "start", true, false },
	[COMMANDER_STOP] = { "kill", false, true },
	[COMMANDER_RESTART] = { "restart", true, true },
	[COMMANDER_PAUSE] = { "pause", false, false },
	[COMMANDER_RESUME] = { "resume", false, false },
	[COMMANDER_PRESS] = { "press", false, true },
	[COMMANDER_NMI] = { "nmi", false, false },
};
#define CUT "truncated=yes\tfrom=%u\n"
#define FROM "from="

static struct commander_answer *answer; /* of the request in hand */
static bool cut;
static u32 from, line; /* the first line that is asked for, the next one that may be said */
static u64 refused; /* messages that were none, since boot */
static char users[COMMANDER_PORTS][EVENT_USER_MAX + 1]; /* who is at each session, as it says */
static unsigned serving; /* the session in hand */

void commander_say(const char *fmt, ...)
{
	u32 end = (u32)(sizeof(answer->data) - sizeof(CUT) - 10),
	    room = end - MIN(end, answer->size);
	va_list ap;
	int n;

	cut = cut || !room;
	if (cut || line++ < from)
		return;
	va_start(ap, fmt);
	n = vsnprintf((char *)answer->data + answer->size, room, fmt, ap);
	va_end(ap);
	cut = (u32)n + 1 >= room;
	if (cut) {
		line--;
		return;
	}
	answer->size += (u32)n;
	answer->data[answer->size++] = '\n';
}

void commander_skip(void)
{
	line += !cut;
}

u32 commander_put(const void *data, u32 size)
{
	u32 n = MIN(size, (u32)sizeof(answer->data) - answer->size);

	memcpy(answer->data + answer->size, data, n);
	answer->size += n;
	return n;
}

int commander_refuse(int err, const char *fmt, ...)
{
	struct commander_message *head = (struct commander_message *)answer->data;
	va_list ap;
	int n;

	cut = false;
	/* What it has said before, an error each, comes with it. */
	va_start(ap, fmt);
	n = vsnprintf((char *)answer->data + answer->size, sizeof(answer->data) - answer->size, fmt,
		      ap);
	va_end(ap);
	answer->size = MIN(answer->size + (u32)n, (u32)sizeof(answer->data));
	/* What was asked may be anything; who asks gets printable text. */
	for (u8 *c = answer->data + sizeof(*head); c < answer->data + answer->size; c++)
		if (*c != '\n' && (*c < ' ' || *c > '~'))
			*c = '?';
	head->what = (u16)err;
	return -err;
}

/* Why it is no message; 0: it is one. */
static int judge(const struct commander_message *m, u32 size)
{
	if (size < sizeof(*m) || size > COMMANDER_MAX || m->magic != COMMANDER_MAGIC)
		return commander_refuse(EINVAL, "%u bytes that are no message", size);
	if (m->version != COMMANDER_VERSION)
		return commander_refuse(EINVAL, "a message of version %u: this node speaks %u",
					m->version, COMMANDER_VERSION);
	if (m->size != size - sizeof(*m))
		return commander_refuse(EINVAL, "a message of %lu bytes that says %u",
					size - sizeof(*m), m->size);
	if (m->what != COMMANDER_HELLO &&
	    (m->what >= COMMANDER_REQUESTS || !requests[m->what].serve))
		return commander_refuse(ENOSYS, "request %u: this node does not know it", m->what);
	return 0;
}

/*
 * Takes a last line from=NUMBER off: what comes before it stands in the answer to an earlier
 * request.
 */
static bool take_from(struct span *text)
{
	struct span rest = *text, last;
	bool found;
	u64 n;

	do
		last = span_part(&rest, '\n', &found);
	while (found);
	if (!span_skip(&last, FROM))
		return true;
	if (!span_number(&last, 10, &n) || last.n || n != (u32)n)
		return false;
	from = (u32)n;
	while (text->n && text->p[text->n - 1] != '\n')
		text->n--;
	text->n -= text->n > 0;
	return true;
}

const char *commander_user(void)
{
	return users[serving];
}

/* The event that the request is; 0: none. */
static u64 tell(unsigned what, struct span text)
{
	struct event_command command = { told[what].what, BY_COMMANDER, commander_user(),
					 told[what].starts, told[what].ends };
	unsigned slot = 0;
	char name[VM_NAME_MAX + 1];

	if (!command.what)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)MIN(text.n, sizeof(name) - 1), text.p);
	while (slot < monitor_vm_count() && !span_is(text, monitor_vm_name(slot)))
		slot++;
	return event_command(slot < monitor_vm_count() ? slot : EVENT_NODE, name, &command);
}

static void do_request(unsigned what, const struct vm *vm, unsigned session, struct span text)
{
	const struct vm_config_control *control = &vm->config->control;
	const struct request *r = &requests[what];
	u64 event = tell(what, text);
	char why[100];
	int err;

	if (r->right & ~control->may)
		err = commander_refuse(EPERM, "control_may of %s does not have it", vm->name);
	else if (r->pages && !take_from(&text))
		err = commander_refuse(EINVAL, "expected " FROM "NUMBER in the last line");
	else
		err = r->serve(control, session, text);
	if (!event || !err)
		return;
	snprintf(why, sizeof(why), "%.*s", (int)(answer->size - sizeof(struct commander_message)),
		 (const char *)answer->data + sizeof(struct commander_message));
	event_refused(event, why);
}

/* user=NAME: who is there, for the events of this session. */
static void take_user(unsigned session, struct span text)
{
	char *user = users[session];

	if (!span_skip(&text, "user="))
		return;
	snprintf(user, sizeof(users[0]), "%.*s", (int)MIN(text.n, sizeof(users[0]) - 1), text.p);
	for (char *c = user; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
}

static void hello(const struct vm *vm)
{
	const struct vm_config_control *c = &vm->config->control;
	char may[90] = "";

	for (unsigned i = 0; vm_config_right(i); i++)
		if (c->may & BIT(i))
			snprintf(may + strlen(may), sizeof(may) - strlen(may), "%s%s",
				 may[0] ? "," : "", vm_config_right(i));
	commander_say(
		"margay=%s\tprotocol=%u\tcommander=%s\tmay=%s\tmemory=%lu\tmemory_used=%lu\trefused=%lu",
		host_version(), COMMANDER_VERSION, vm->name, may, c->memory,
		vms_bytes() + images_bytes(), refused);
}

static void serve(unsigned what, const struct vm *vm, unsigned session, struct span text)
{
	if (what != COMMANDER_HELLO) {
		do_request(what, vm, session, text);
		return;
	}
	take_user(session, text);
	hello(vm);
}

void commander_serve(struct vm *vm, unsigned session, const u8 *request, u32 size,
		     struct commander_answer *out)
{
	struct commander_message m = { 0 }, *head = (struct commander_message *)out->data;

	memcpy(&m, request, MIN(size, (u32)sizeof(m)));
	*head = (struct commander_message){ COMMANDER_MAGIC, COMMANDER_VERSION, 0, m.tag, 0 };
	out->size = sizeof(*head);
	answer = out;
	cut = false;
	from = line = 0;
	serving = session;
	if (judge(&m, size))
		refused++;
	else
		serve(m.what, vm, session,
		      (struct span){ (const char *)request + sizeof(m), m.size });
	if (cut)
		out->size += (u32)snprintf((char *)out->data + out->size,
					   sizeof(out->data) - out->size, CUT, line);
	head->size = out->size - (u32)sizeof(*head);
}

void commander_close(unsigned session)
{
	images_close(session);
	users[session][0] = 0;
}

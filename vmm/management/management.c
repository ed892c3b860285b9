/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a message of the management VM to what it asks for, and the answer (docs/management-vm.md).
 * A message that is none is refused and counted, and what comes next is a message again: no state
 * is kept of it.
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
	management_fn *serve;
	unsigned right; /* of enum vm_may; 0: the management VM always may */
	bool pages;     /* its lines may be asked for from one on */
} requests[MANAGEMENT_REQUESTS] = {
	[MANAGEMENT_LIST] = { management_list, 0, true },
	[MANAGEMENT_SHOW] = { management_show, 0, true },
	[MANAGEMENT_NODE] = { management_node, 0, true },
	[MANAGEMENT_PCI] = { management_pci, 0, true },
	[MANAGEMENT_LOG] = { management_log, 0, false },
	[MANAGEMENT_STATS] = { management_stats, 0, true },
	[MANAGEMENT_CREATE] = { management_create, MAY_CREATE, false },
	[MANAGEMENT_DESTROY] = { management_destroy, MAY_DESTROY, false },
	[MANAGEMENT_START] = { management_start, MAY_CREATE, false },
	[MANAGEMENT_STOP] = { management_stop, MAY_DESTROY, false },
	[MANAGEMENT_RESTART] = { management_restart, MAY_CREATE | MAY_DESTROY, false },
	[MANAGEMENT_PAUSE] = { management_pause, MAY_DESTROY, false },
	[MANAGEMENT_RESUME] = { management_resume, MAY_CREATE, false },
	[MANAGEMENT_READ] = { management_read, MAY_CONSOLE, false },
	[MANAGEMENT_WRITE] = { management_write, MAY_CONSOLE, false },
	[MANAGEMENT_IMAGES] = { management_images, 0, true },
	[MANAGEMENT_IMAGE] = { management_image, MAY_CREATE, false },
	[MANAGEMENT_DATA] = { management_data, MAY_CREATE, false },
	[MANAGEMENT_IMAGE_END] = { management_image_end, MAY_CREATE, false },
	[MANAGEMENT_IMAGE_REMOVE] = { management_image_remove, MAY_CREATE, false },
	[MANAGEMENT_DUMP] = { management_dump, MAY_DUMP, false },
	[MANAGEMENT_REGISTERS] = { management_registers, MAY_DUMP, false },
	[MANAGEMENT_MEMORY] = { management_memory, MAY_DUMP, false },
	[MANAGEMENT_PRESS] = { IS_ENABLED(CONFIG_VM_POWER_BUTTON) ? management_press : NULL,
			       MAY_DESTROY, false },
	[MANAGEMENT_NMI] = { management_nmi, MAY_DESTROY, false },
	[MANAGEMENT_FILE] = { management_file, 0, false },
	[MANAGEMENT_COUNTS] = { management_counts, 0, true },
	[MANAGEMENT_LOG_FROM] = { management_log_from, 0, false },
	[MANAGEMENT_EVENTS] = { management_events, 0, false },
	[MANAGEMENT_NET] = { management_net, 0, true },
};
/* Those that are events, of the VM that their text begins with. */
static const struct {
	const char *what; /* NULL: it is none */
	bool starts;
	bool ends;
} told[MANAGEMENT_REQUESTS] = {
	[MANAGEMENT_DESTROY] = { "destroy", false, false },
	[MANAGEMENT_START] = { "start", true, false },
	[MANAGEMENT_STOP] = { "kill", false, true },
	[MANAGEMENT_RESTART] = { "restart", true, true },
	[MANAGEMENT_PAUSE] = { "pause", false, false },
	[MANAGEMENT_RESUME] = { "resume", false, false },
	[MANAGEMENT_PRESS] = { "press", false, true },
	[MANAGEMENT_NMI] = { "nmi", false, false },
};
#define CUT "truncated=yes\tfrom=%u\n"
#define FROM "from="

static struct management_answer *answer; /* of the request in hand */
static bool cut;
static u32 from, line; /* the first line that is asked for, the next one that may be said */
static u64 refused; /* messages that were none, since boot */
static char users[MANAGEMENT_PORTS][EVENT_USER_MAX + 1]; /* who is at each session, as it says */
static unsigned serving; /* the session in hand */

void management_say(const char *fmt, ...)
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

void management_skip(void)
{
	line += !cut;
}

u32 management_put(const void *data, u32 size)
{
	u32 n = MIN(size, (u32)sizeof(answer->data) - answer->size);

	memcpy(answer->data + answer->size, data, n);
	answer->size += n;
	return n;
}

int management_refuse(int err, const char *fmt, ...)
{
	struct management_message *head = (struct management_message *)answer->data;
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

u8 *management_place(unsigned session, const struct management_message *head, u32 size)
{
	if (head->magic != MANAGEMENT_MAGIC || head->version != MANAGEMENT_VERSION ||
	    head->what != MANAGEMENT_DATA || head->size != size - sizeof(*head))
		return NULL;
	return images_place(session, head->size);
}

/* Why it is no message; 0: it is one. */
static int judge(const struct management_message *m, u32 size)
{
	if (size < sizeof(*m) || size > MANAGEMENT_MAX || m->magic != MANAGEMENT_MAGIC)
		return management_refuse(EINVAL, "%u bytes that are no message", size);
	if (m->version != MANAGEMENT_VERSION)
		return management_refuse(EINVAL, "a message of version %u: this node speaks %u",
					 m->version, MANAGEMENT_VERSION);
	if (m->size != size - sizeof(*m))
		return management_refuse(EINVAL, "a message of %lu bytes that says %u",
					 size - sizeof(*m), m->size);
	if (m->what != MANAGEMENT_HELLO &&
	    (m->what >= MANAGEMENT_REQUESTS || !requests[m->what].serve))
		return management_refuse(ENOSYS, "request %u: this node does not know it", m->what);
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

const char *management_user(void)
{
	return users[serving];
}

/* The event that the request is; 0: none. */
static u64 tell(unsigned what, struct span text)
{
	struct event_command command = { told[what].what, BY_MANAGEMENT, management_user(),
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
		err = management_refuse(EPERM, "control_may of %s does not have it", vm->name);
	else if (r->pages && !take_from(&text))
		err = management_refuse(EINVAL, "expected " FROM "NUMBER in the last line");
	else
		err = r->serve(control, session, text);
	if (!event || !err)
		return;
	snprintf(why, sizeof(why), "%.*s", (int)(answer->size - sizeof(struct management_message)),
		 (const char *)answer->data + sizeof(struct management_message));
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
	/* commander: the name that `management` had in 0.2 */
	management_say(
		"margay=%s\tprotocol=%u\tmanagement=%s\tcommander=%s\tmay=%s\tmemory=%lu\tmemory_used=%lu\trefused=%lu",
		host_version(), MANAGEMENT_VERSION, vm->name, vm->name, may, c->memory,
		vms_bytes() + images_bytes(), refused);
}

static void serve(unsigned what, const struct vm *vm, unsigned session, struct span text)
{
	if (what != MANAGEMENT_HELLO) {
		do_request(what, vm, session, text);
		return;
	}
	take_user(session, text);
	hello(vm);
}

void management_serve(struct vm *vm, unsigned session, const u8 *request, const u8 *data, u32 size,
		      struct management_answer *out)
{
	struct management_message m = { 0 }, *head = (struct management_message *)out->data;

	memcpy(&m, request, MIN(size, (u32)sizeof(m)));
	*head = (struct management_message){ MANAGEMENT_MAGIC, MANAGEMENT_VERSION, 0, m.tag, 0 };
	out->size = sizeof(*head);
	answer = out;
	cut = false;
	from = line = 0;
	serving = session;
	if (judge(&m, size))
		refused++;
	else
		serve(m.what, vm, session, (struct span){ (const char *)data, m.size });
	if (cut)
		out->size += (u32)snprintf((char *)out->data + out->size,
					   sizeof(out->data) - out->size, CUT, line);
	head->size = out->size - (u32)sizeof(*head);
}

void management_close(unsigned session)
{
	images_close(session);
	users[session][0] = 0;
}

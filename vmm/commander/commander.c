/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a message of the VM that commands the node to what it asks for, and the answer
 * (docs/commander.md). A message that is none is refused and counted, and what comes next is a
 * message again: no state is kept of it.
 */
#include "vmm/commander/commander.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/commander/private.h"
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
};
#define CUT "truncated=yes\tfrom=%u\n"
#define FROM "from="

static struct commander_answer *answer; /* of the request in hand */
static bool cut;
static u32 from, line; /* the first line that is asked for, the next one that may be said */
static u64 refused; /* messages that were none, since boot */

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

static void serve(const struct request *r, const struct vm_config_control *control,
		  unsigned session, struct span text)
{
	if (r->pages && !take_from(&text))
		commander_refuse(EINVAL, "expected " FROM "NUMBER in the last line");
	else
		r->serve(control, session, text);
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

void commander_serve(struct vm *vm, unsigned session, const u8 *request, u32 size,
		     struct commander_answer *out)
{
	const struct vm_config_control *control = &vm->config->control;
	struct commander_message m = { 0 }, *head = (struct commander_message *)out->data;

	memcpy(&m, request, MIN(size, (u32)sizeof(m)));
	*head = (struct commander_message){ COMMANDER_MAGIC, COMMANDER_VERSION, 0, m.tag, 0 };
	out->size = sizeof(*head);
	answer = out;
	cut = false;
	from = line = 0;
	if (judge(&m, size))
		refused++;
	else if (m.what == COMMANDER_HELLO)
		hello(vm);
	else if (requests[m.what].right & ~control->may)
		commander_refuse(EPERM, "control_may of %s does not have it", vm->name);
	else
		serve(&requests[m.what], control, session,
		      (struct span){ (const char *)request + sizeof(m), m.size });
	if (cut)
		out->size += (u32)snprintf((char *)out->data + out->size,
					   sizeof(out->data) - out->size, CUT, line);
	head->size = out->size - (u32)sizeof(*head);
}

void commander_close(unsigned session)
{
	images_close(session);
}

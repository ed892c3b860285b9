/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The segments of the node: who is on them by the VM files, and what was counted there since each
 * VM's start.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"
#include "vmm/vm/net_counts.h"

/* The interface from (*i, *k) on, by VM files and their lines; NULL: that was all. */
static const struct vm_config_net *next_interface(unsigned *i, unsigned *k)
{
	for (; *i < monitor_vm_count(); ++*i, *k = 0) {
		const struct vm_config *c =
			monitor_vm_name(*i)[0] ? monitor_slots[*i].config : NULL;

		if (c && *k < vm_config_nets(c))
			return &c->net[(*k)++];
	}
	return NULL;
}

/* The first segment behind a name, in the order of names; NULL: that was the last one. */
static const char *next_segment(const char *behind)
{
	const char *found = NULL;
	const struct vm_config_net *n;
	unsigned i = 0, k = 0;

	while ((n = next_interface(&i, &k)))
		if (strcmp(n->segment, behind) > 0 && (!found || strcmp(n->segment, found) < 0))
			found = n->segment;
	return found;
}

/* Of an interface: its VLANs, and as many numbers with their names as there are. */
#define NUMBERS (1 + 4 + NET_DROPS)
#define NUMBER_TEXT sizeof("\treceived_bytes=18446744073709551615")
#define INTERFACE_TEXT (sizeof("\ttrunk=") + VM_TRUNK_TEXT + NUMBERS * NUMBER_TEXT)

/* snprintf() says what it wanted, not what had room: where the text ends it is asked itself. */
static void add_text(char text[INTERFACE_TEXT], const char *name, const char *value)
{
	size_t n = strlen(text);

	snprintf(text + n, INTERFACE_TEXT - n, "\t%s=%s", name, value);
}

/* One name and its number more; one that does not run has counted nothing. */
static void add(char text[INTERFACE_TEXT], const char *name, bool counted, u64 value)
{
	char number[NUMBER_TEXT] = "";

	if (counted)
		snprintf(number, sizeof(number), "%lu", value);
	add_text(text, name, number);
}

static void say_interface(unsigned i, unsigned k)
{
	const struct vm_config *c = monitor_slots[i].config;
	const struct vm_config_net *n = &c->net[k];
	const struct vm *vm = monitor_vm_hold(i);
	struct net_counts counts = { 0 };
	bool runs = vm && vm_net_counts(vm, k, &counts), crashed = vm && vm->kept;
	char trunk[VM_TRUNK_TEXT], text[INTERFACE_TEXT] = "";
	struct monitor_vm info;

	monitor_vm_release();
	monitor_vm_info(i, &info);
	vm_config_trunk(n, trunk);
	add(text, "pvid", n->pvid, n->pvid);
	add_text(text, "trunk", trunk);
	add(text, "received", runs, counts.got.frames);
	add(text, "received_bytes", runs, counts.got.bytes);
	add(text, "sent", runs, counts.sent.frames);
	add(text, "sent_bytes", runs, counts.sent.bytes);
	for (unsigned why = 0; why < NET_DROPS; why++)
		add(text, net_drop_name(why), runs, counts.drop[why]);
	management_say("segment=%s\tvm=%s\tnet=%u\tstate=%s\tmac=" VM_MAC "\tmtu=%u%s", n->segment,
		       monitor_vm_name(i), k, crashed ? "crashed" : monitor_state_name(&info),
		       VM_MAC_BYTES(vm_config_mac(c, k)), vm_config_mtu(n), text);
}

static void say_segment(const char *segment)
{
	const struct vm_config_net *n;
	unsigned i = 0, k = 0;

	while ((n = next_interface(&i, &k)))
		if (!strcmp(n->segment, segment))
			say_interface(i, k - 1);
}

/* SEGMENT, or nothing: all. False: there is none of that name. */
static bool say_segments(struct span text)
{
	bool found = !text.n;

	for (const char *s = next_segment(""); s; s = next_segment(s)) {
		if (text.n && !span_is(text, s))
			continue;
		found = true;
		say_segment(s);
	}
	return found;
}

int management_net(const struct vm_config_control *, unsigned, struct span text)
{
	bool found = IS_ENABLED(CONFIG_VIRTIO_NET) ? say_segments(text) : !text.n;

	return found ? 0
		     : management_refuse(ENOENT, "%.*s: there is no such segment",
					 (int)MIN(text.n, (size_t)VM_SEGMENT_MAX), text.p);
}

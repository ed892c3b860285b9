/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the management VM sees of the node: a line for each thing, of name=value that tabs part.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/slots/node_events.h"
#include "vmm/node/outcome.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/plan/place.h"
#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define EVENT_LINE 480u /* more than an event takes */
#define EVENTS_AT_ONCE ((MANAGEMENT_MAX - 256u) / EVENT_LINE)
#define LOG_MAX (MANAGEMENT_MAX - 256u) /* bytes of the log: what follows the message's head */

/*
 * What became of its last run, behind all else that is said of it: one that a crash keeps has not
 * ended yet.
 */
static void get_outcome(unsigned i, enum vm_end kept, struct outcome *out)
{
	outcome_of(&monitor_slots[i], out);
	if (kept)
		*out = (struct outcome){ .kind = monitor_end_name(kept) };
}

/* What a guest has said is for who may read its console. */
static bool may_hear(const struct vm_config_control *control, unsigned i)
{
	return control->may & MAY_CONSOLE && (monitor_slots[i].created || control->may & MAY_BOOT);
}

static void say_vm(const struct vm_config_control *control, unsigned i)
{
	struct monitor_vm info;
	struct outcome o;
	const struct vm *vm = monitor_vm_hold(i);
	enum vm_end kept = vm ? vm->kept : VM_RUNNING;
	char seconds[24] = "";
	u64 disks;

	monitor_vm_release();
	monitor_vm_info(i, &info);
	get_outcome(i, kept, &o);
	if (o.seconds)
		snprintf(seconds, sizeof(seconds), "%lu", o.seconds);
	disks = info.config ? vms_disk_bytes(info.config) : 0;
	management_say(
		"name=%s\tstate=%s\tcpus=%u\tmemory=%lu\tup=%lu\tstarts=%u\tfile=%s\tcreated=%s\tcommands=%s\t"
		"memory_and_disks=%lu\tend=%s\tstatus=%u\tended=%s\tline=%u\twhy=%s\tlast=%s",
		monitor_vm_name(i), kept ? "crashed" : monitor_state_name(&info), info.cpus,
		info.memory, info.up / host_tsc_khz() / 1000, info.starts, info.file,
		monitor_slots[i].created ? "yes" : "no",
		info.config && info.config->control.commands ? "yes" : "no", info.memory + disks,
		o.kind ? o.kind : "", o.status, seconds, o.line, o.why,
		may_hear(control, i) ? o.last : "");
}

int management_list(const struct vm_config_control *control, unsigned, struct span)
{
	for (unsigned i = 0; i < monitor_vm_count(); i++)
		if (monitor_vm_name(i)[0])
			say_vm(control, i);
		else
			management_skip();
	return 0;
}

int vms_look(struct span name)
{
	for (unsigned i = 0; i < monitor_vm_count(); i++)
		if (name.n && span_is(name, monitor_vm_name(i)))
			return (int)i;
	return management_refuse(ENOENT, "%.*s: there is no such VM",
				 (int)MIN(name.n, (size_t)VM_NAME_MAX), name.p);
}

static void say_net(const struct vm_config *c, unsigned k)
{
	const struct vm_config_net *n = &c->net[k];
	char trunk[VM_TRUNK_TEXT], pvid[8] = "";

	vm_config_trunk(n, trunk);
	if (n->pvid)
		snprintf(pvid, sizeof(pvid), "%u", n->pvid);
	management_say("segment=%s\tmac=" VM_MAC
		       "\tbridge=%s\tisolated=%s\tmirror=%s\tplain=%s\tmtu=%u\tpvid=%s\ttrunk=%s",
		       n->segment, VM_MAC_BYTES(vm_config_mac(c, k)), n->bridge ? "yes" : "no",
		       n->isolated ? "yes" : "no", n->mirror ? "yes" : "no",
		       n->plain ? "yes" : "no", vm_config_mtu(n), pvid, trunk);
}

/*
 * What its file says of it beside the modules that it names. Fixed lines: all is read from the one
 * struct vm_config, here alone, and an option that is off leaves nothing there.
 */
static void say_config(const struct vm_config *c)
{
	static char cmdline[VM_CMDLINE_MAX + 1];
	struct vm_config_name named;

	for (unsigned k = 0; vm_config_name(c, k, &named); k++)
		management_say("%s=%s", named.key, images_shown(named.name));
	/* A tab ends a value. */
	snprintf(cmdline, sizeof(cmdline), "%s", c->cmdline);
	for (char *p = cmdline; *p; p++)
		*p = *p == '\t' ? ' ' : *p;
	management_say("cmdline=%s", cmdline);
	for (unsigned k = 0; k < c->nr_disks; k++)
		if (c->disk[k].scratch)
			management_say("scratch=%lu", c->disk[k].scratch);
	for (unsigned k = 0; k < vm_config_nets(c); k++)
		say_net(c, k);
}

int management_show(const struct vm_config_control *control, unsigned, struct span text)
{
	int i = vms_look(text);
	const struct vm_config *c;
	struct vm *vm;

	if (i < 0)
		return i;
	say_vm(control, (unsigned)i);
	vm = monitor_vm_hold((unsigned)i);
	c = monitor_slots[i].config;
	if (c)
		say_config(c);
	if (vm)
		for (unsigned k = 0; k < vm->nr_host_cpus; k++)
			management_say("vcpu=%u\tcpu=%u\tnode=%d", k, vm->host_cpu[k],
				       host_cpu_info(vm->host_cpu[k])->node);
	if (vm)
		for (unsigned k = 0; k < vm->nr_extents; k++)
			management_say("memory=%lu\tnode=%d", vm->extent[k].size,
				       vm->extent[k].node);
	monitor_vm_release();
	return 0;
}

int management_node(const struct vm_config_control *, unsigned, struct span)
{
	const struct host_cpu_info *cpu;
	u64 largest, free, own, used;

	for (unsigned n = 0; n < host_node_count(); n++) {
		free = host_mem_free((int)n, &largest);
		management_say("node=%u\tmemory=%lu\tfree=%lu\tlargest=%lu", n, host_node_memory(n),
			       free, largest);
	}
	own = host_own_bytes(&used);
	management_say("own=%lu\tused=%lu", own, used);
	for (unsigned i = 0; (cpu = host_cpu_info(i)); i++) {
		char owner[VM_NAME_MAX + 1] = "";

		place_owner(i, owner);
		management_say("cpu=%u\tapic=%u\tnode=%d\tonline=%s\towner=%s", i, cpu->apic_id,
			       cpu->node, cpu->online ? "yes" : "no", owner);
	}
	return 0;
}

int management_pci(const struct vm_config_control *, unsigned, struct span)
{
	struct pci_info f;

	for (unsigned i = 0; host_pci_info(i, &f); i++) {
		char why[PCI_FITNESS_TEXT], owner[VM_NAME_MAX + 1] = "", node[12] = "";
		bool unfit = pci_fitness(&f, why) == PCI_UNFIT;

		vm_pci_owner(i, owner);
		if (f.has_node)
			snprintf(node, sizeof(node), "%u", f.node);
		management_say(
			"function=" PCI_FULL_FORMAT
			"\tvendor=0x%04x\tdevice=0x%04x\tclass=0x%06x\tnode=%s\tfit=%s\towner=%s\twhy=%s",
			PCI_FULL_FORMAT_ARGS(f.address), f.id.vendor, f.id.device, f.id.class_code,
			node, unfit ? "no" : "yes", owner, why);
	}
	return 0;
}

/* bytes that do not fit: of the first lines, for the last ones are what is asked for */
static u64 excess;

static void measure(const char *text)
{
	excess += strlen(text) + 1;
}

static void say_line(const char *text)
{
	u64 n = strlen(text) + 1;

	if (!excess)
		management_say("%s", text);
	excess -= MIN(excess, n);
}

/* The last lines of the node's log: as many as it says, or as fit. */
int management_log(const struct vm_config_control *, unsigned, struct span text)
{
	u64 lines;

	if (!span_number(&text, 10, &lines) || text.n || lines > 1000)
		return management_refuse(EINVAL, "expected a number of lines up to 1000");
	excess = 0;
	host_log_last(0, (unsigned)lines, measure);
	excess -= MIN(excess, (u64)LOG_MAX);
	host_log_last(0, (unsigned)lines, say_line);
	return 0;
}

/*
 * OFFSET: the log from that byte on, or from the oldest line there is, as whole lines behind one
 * that says from where to where.
 */
int management_log_from(const struct vm_config_control *, unsigned, struct span text)
{
	static char lines[LOG_MAX];
	u64 at, began = host_log_began();
	u32 n;

	if (!span_number(&text, 10, &at) || text.n)
		return management_refuse(EINVAL, "expected an offset");
	n = host_log_copy(&at, lines, sizeof(lines));
	management_say("offset=%lu\tnext=%lu\tbegan=%lu.%03lu\tboot=%lu", at, at + n, began / 1000,
		       began % 1000, events_boot());
	management_put(lines, n);
	return 0;
}

static void say_event(const struct node_event *e)
{
	char status[12] = "";

	if (!strcmp(e->end, "exit"))
		snprintf(status, sizeof(status), "%u", e->status);
	management_say(
		"number=%lu\ttime=%lu.%03lu\tevent=%s\tvm=%s\timage=%s\tend=%s\tstatus=%s\tby=%s\tuser=%s\ttext=%s",
		e->number, e->ms / 1000, e->ms % 1000, e->what, e->vm, e->image, e->end, status,
		e->by, e->user, e->text);
}

/* NUMBER: the events from it on, as many as fit; and from where to ask on. */
int management_events(const struct vm_config_control *, unsigned, struct span text)
{
	static struct node_event found[EVENTS_AT_ONCE];
	unsigned n = 0;
	u64 from;

	if (!span_number(&text, 10, &from) || text.n)
		return management_refuse(EINVAL, "expected the number of an event");
	for (; n < EVENTS_AT_ONCE && event_from(from, &found[n]); n++)
		from = found[n].number + 1;
	management_say("next=%lu\tboot=%lu", from, events_boot());
	for (unsigned i = 0; i < n; i++)
		say_event(&found[i]);
	return 0;
}

int management_stats(const struct vm_config_control *, unsigned, struct span text)
{
	int i = vms_look(text);
	struct vm *vm;

	if (i < 0)
		return i;
	vm = monitor_vm_hold((unsigned)i);
	for (unsigned k = 0; vm && k < vm->nr_vcpus; k++) {
		const struct vcpu_stats *s = &vm->vcpus[k]->stats;

		for (unsigned r = 0; r < VMEXITS; r++)
			if (!s->exit[r].count)
				management_skip();
			else
				management_say("vcpu=%u\texit=%s\tcount=%lu", k, vmexit_name(r),
					       s->exit[r].count);
		management_say("vcpu=%u\tinjected=%lu", k, s->injected);
	}
	monitor_vm_release();
	return vm ? 0
		  : management_refuse(ENODEV, "%.*s does not run",
				      (int)MIN(text.n, (size_t)VM_NAME_MAX), text.p);
}

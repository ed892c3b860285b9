/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor as the management VM sees it, without VMs that run: started ones do so on paper.
 * Messages go in, answers come out; one program of a test or fuzzer includes it.
 */
#ifndef TESTS_FAKE_MANAGEMENT_H
#define TESTS_FAKE_MANAGEMENT_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/fake_host.h"
#include "vmm/management/management.h"
#include "vmm/config/config.h"
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/plan/place.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot_own.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"
#include "vmm/vm/net_counts.h"
#include "vmm/vm_parts.h"

struct spinlock monitor_lock, place_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
/* What a device keeps beyond a VM's end. */
SLOT_OWN(u64, own);
unsigned monitor_nr_slots, monitor_turn;
struct output_ring output_rings[MONITOR_MAX_VMS];

static struct vm_config management_config;
static struct vm management = { .name = "management", .config = &management_config };
static struct management_answer answer;

unsigned monitor_vm_count(void)
{
	return monitor_nr_slots;
}

const char *monitor_vm_name(unsigned i)
{
	if (i >= monitor_nr_slots)
		return NULL;
	return monitor_slots[i].config ? monitor_slots[i].config->name : monitor_slots[i].file;
}

void monitor_vm_info(unsigned i, struct monitor_vm *out)
{
	const struct slot *s = &monitor_slots[i];

	*out = (struct monitor_vm){ .file = s->file,
				    .config = s->config,
				    .starts = s->starts,
				    .memory = s->config ? s->config->memory : 0 };
	out->state = s->state == STARTED ? MONITOR_VM_RUNNING : MONITOR_VM_OVER;
	if (!s->config)
		out->state = MONITOR_VM_BAD;
}

const char *monitor_state_name(const struct monitor_vm *info)
{
	return info->state == MONITOR_VM_RUNNING ? "running" : "over";
}

static struct vm *management_held; /* what any VM runs as; NULL: as its slot says */
static unsigned management_holds;

struct vm *monitor_vm_hold(unsigned i)
{
	if (management_holds++)
		abort();
	return management_held ? management_held : monitor_slots[i].vm;
}

void monitor_vm_release(void)
{
	management_holds--;
}

int vm_resume(struct vm *vm)
{
	return vm->kept ? -EPERM : 0;
}
static const struct vm *pressed, *nmi_sent;
static int nmi_result, press_result;

int vm_press(struct vm *vm, enum vm_button button)
{
	if (button == VM_BUTTON_POWER) {
		pressed = vm;
		return press_result;
	}
	nmi_sent = vm;
	return nmi_result;
}

int vm_pause(struct vm *vm)
{
	vm->paused = true;
	vm->nr_paused = vm->nr_vcpus;
	return 0;
}

/* A VM that is there: its map says where this program has its memory. */
static struct vm_parts there;
static struct vcpu there_vcpu[2];
static int call_error;
static bool call_late; /* the vCPU answers a question before */

int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu))
{
	if (!call_error)
		fn(call_late ? &there_vcpu[!vcpu->id] : vcpu);
	return call_error;
}

static u64 reg_of(struct vcpu *vcpu, enum hvm_reg reg)
{
	return 0x1000 * (vcpu->id + 1) + reg;
}

static void segment_of(struct vcpu *, enum seg seg, struct segment *out)
{
	*out = (struct segment){ .selector = (u16)(8 * seg) };
}

static const struct hvm_ops ops = { .get = reg_of, .get_segment = segment_of };
const struct hvm_ops *hvm = &ops;
const char *vm_end_name(enum vm_end why)
{
	return why == VM_END_PANICKED ? "panicked" : "";
}

const char *monitor_end_name(enum vm_end why)
{
	switch (why) {
	case VM_END_PANICKED: return "panicked";
	case VM_END_STOPPED: return "stopped";
	case VM_END_EXIT: return "exit";
	default: return "crash";
	}
}

bool place_owner(unsigned, char *)
{
	return false;
}
bool vm_pci_owner(unsigned, char *)
{
	return false;
}
static const struct vm_config *pci_holder; /* whose function did not stop */
bool vm_pci_holds(const struct vm_config *c)
{
	return c == pci_holder;
}
bool host_iommu_on(void)
{
	return fake_host.iommu;
}

/* One function, of which something was blocked. */
bool host_pci_info(unsigned i, struct pci_info *out)
{
	if (i || !fake_host.iommu)
		return false;
	*out = (struct pci_info){ .address = { .bus = 2, .devfn = 8 } };
	return true;
}

bool host_iommu_state(unsigned, struct host_iommu_state *out)
{
	*out = (struct host_iommu_state){ .dma = 5, .interrupts = 1 };
	return true;
}

void vm_device_counts(const struct vm *, void (*say)(const char *text))
{
	say("disk=0\treads=1");
}

static struct net_counts net_counted = { { 1, 60, 0 }, { 2, 120, 0 }, { 3, 4, 5, 6, 7, 0 } };

/* Of the first interface of any VM. */
bool vm_net_counts(const struct vm *, unsigned number, struct net_counts *out)
{
	*out = net_counted;
	return !number;
}

/* what the log has, NULL at the end; a guest's last line */
static const char *const *fake_log, *fake_output;

bool output_log_last(unsigned, unsigned, void (*say)(const char *text))
{
	if (fake_output)
		say(fake_output);
	return fake_output;
}

/* That, or so many lines, each too long for all to fit. */
bool host_log_last(unsigned, unsigned lines, void (*fn)(const char *text))
{
	char line[500];

	for (const char *const *p = fake_log; p && *p; p++)
		fn(*p);
	if (fake_log)
		return true;

	for (unsigned i = 0; i < lines; i++) {
		snprintf(line, sizeof(line), "%0400u", i);
		fn(line);
	}
	return true;
}

/* Lines of 100 bytes, of which the first 1000 are there no more. */
static u64 fake_log_end = 150000;

u32 host_log_copy(u64 *from, char *to, u32 room)
{
	u32 n;

	*from = *from < 100000 || *from > fake_log_end ? 100000 : *from;
	n = (u32)MIN(fake_log_end - *from, (u64)room) / 100 * 100;
	for (u32 i = 0; i < n; i++)
		to[i] = (char)('a' + (*from + i) / 100 % 26);
	for (u32 i = 0; i < n; i += 100) {
		to[i] = '0';
		to[i + 99] = '\n';
	}
	return n;
}

u64 host_log_began(void)
{
	return 1700000000007;
}

const char *vmexit_name(enum vmexit_reason)
{
	return "";
}

static unsigned let_go; /* of those that waited to restart, of which each held off the node's end */

bool restart_pace_forget(struct slot *s)
{
	bool waited = s->restart_at;

	s->restart_at = 0;
	return waited;
}

void monitor_put_running(void)
{
	let_go++;
}

int monitor_vm_start(unsigned i)
{
	if (monitor_slots[i].state == STARTED)
		return -EBUSY;
	monitor_slots[i].state = STARTED;
	monitor_slots[i].starts++;
	return 0;
}

/* so many times more it still starts when it is to stop and start again */
static unsigned management_starting;

int monitor_vm_stop(unsigned i, bool again)
{
	if (monitor_slots[i].state != STARTED ||
	    (again && management_starting && management_starting--))
		return -ENODEV;
	monitor_slots[i].state = OVER;
	return 0;
}

/* The late modules of fake_host.modules[]. */
int host_module_add(const char *name, const void *data, u64 size)
{
	for (unsigned i = 0; i < ARRAY_SIZE(fake_host.modules); i++) {
		if (i < fake_host.nr_modules && fake_host.modules[i].name[0])
			continue;
		fake_host.modules[i] = (struct host_module){ strdup(name), "", data, size };
		fake_host.nr_modules = MAX(fake_host.nr_modules, i + 1);
		return 0;
	}
	return -ENOSPC;
}

void host_module_remove(const char *name)
{
	for (unsigned i = 0; i < fake_host.nr_modules; i++)
		if (!strcmp(fake_host.modules[i].name, name)) {
			free((void *)(uintptr_t)fake_host.modules[i].name);
			fake_host.modules[i].name = "";
		}
}

/* The file of the management VM has these rights; nothing else is there but its kernel. */
static void management_begin(const char *rights)
{
	struct config_error err;
	char text[400];
	int n = snprintf(text, sizeof(text),
			 "name = management\nkernel = k\nmemory = 64M\ncontrol = yes\n%s%s\n",
			 rights[0] ? "control_may = " : "", rights);

	fake_host_reset();
	fake_host.modules[0] = (struct host_module){ "k", "", "boot's", 6 };
	fake_host.nr_modules = 1;
	memset(monitor_slots, 0, sizeof(monitor_slots));
	if (vm_config_parse("management.conf", text, (size_t)n, &management_config, &err, NULL))
		abort();
	snprintf(monitor_slots[0].file, sizeof(monitor_slots[0].file), "management.conf");
	monitor_slots[0].config = &management_config;
	monitor_slots[0].state = STARTED;
	monitor_nr_slots = 1;
}

/*
 * A VM of two vCPUs that runs, with memory at 0 and at 1 MiB, of which one page in the middle is
 * not zero.
 */
static u64 *management_there(bool created)
{
	static u8 ram[70 * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
	static struct vcpu *vcpus[2] = { &there_vcpu[0], &there_vcpu[1] };
	static const struct vm_config config = { .name = "t",
						 .then = { [ENDING_CRASH] = THEN_DUMP } };

	there = (struct vm_parts){
		.vm = { .name = "t", .config = &config, .nr_vcpus = 2, .vcpus = vcpus }
	};
	there.map = (struct gpa_map){ 2,
				      { { 0, 2 * PAGE_SIZE, (u64)ram, 0 },
					{ MIB(1), 68 * PAGE_SIZE, (u64)ram + 2 * PAGE_SIZE, 0 } } };
	for (unsigned i = 0; i < 2; i++) {
		there_vcpu[i] = (struct vcpu){ .vm = &there.vm,
					       .id = i,
					       .regs = { .rip = 0x100 + i, .rflags = 2 } };
		for (unsigned k = 0; k < GPR_COUNT; k++)
			there_vcpu[i].regs.gpr[k] = 0xa0 + k;
	}
	call_error = 0;
	call_late = false;
	monitor_slots[1] = (struct slot){ .file = "t.conf",
					  .config = (struct vm_config *)(uintptr_t)&config,
					  .vm = &there.vm,
					  .state = STARTED,
					  .created = created };
	monitor_nr_slots = 2;
	memset(ram, 0, sizeof(ram));
	return (u64 *)ram;
}

/* A message of any bytes; what the answer says. */
static const char *management_bytes(unsigned session, const void *bytes, u32 size, u16 *what)
{
	/* Of that size exactly: ASan sees what is read beyond it. */
	u8 *copy = malloc(MAX(size, 1u)), *place = NULL;
	const struct management_message *head = (const struct management_message *)answer.data;
	struct management_message m;

	memcpy(copy, bytes, size);
	if (size > sizeof(m) && size <= MANAGEMENT_MAX) {
		memcpy(&m, copy, sizeof(m));
		place = management_place(session, &m, size);
	}
	if (place)
		memcpy(place, copy + sizeof(m), size - sizeof(m));
	management_serve(&management, session, copy, place ? place : copy + sizeof(m), size,
			 &answer);
	free(copy);
	/* Nobody's VM is held when it is answered. */
	if (management_holds || answer.size < sizeof(*head) || answer.size > sizeof(answer.data) ||
	    head->magic != MANAGEMENT_MAGIC || head->size != answer.size - sizeof(*head))
		abort();
	*what = head->what;
	return (const char *)answer.data + sizeof(*head);
}

/* A request; its error number. */
static u16 management_request(unsigned session, unsigned what, const void *data, u32 size)
{
	static struct {
		struct management_message head;
		u8 data[MANAGEMENT_MAX];
	} m;
	u16 said;

	m.head = (struct management_message){ MANAGEMENT_MAGIC, MANAGEMENT_VERSION, (u16)what, 7,
					      size };
	memcpy(m.data, data, size);
	management_bytes(session, &m, (u32)sizeof(m.head) + size, &said);
	return said;
}

#endif

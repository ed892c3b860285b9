/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's memory and registers for the management VM, which makes a file of them that gdb and
 * `crash` read; and VMs that a crash does not end, so that there is something to read (on_crash =
 * dump).
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/mc_access.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/hvm.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm_parts.h"

#define PATIENCE_MS 1000u            /* for a vCPU to answer: well below VM_ANSWER_SECONDS */
#define ZEROS_MAX (256u << 10)       /* bytes that one request looks at */
#define DATA_MAX (MANAGEMENT_MAX - 128u) /* behind the answer's head and first line */

/* ---- registers -------------------------------------------------------------------------- */

/* What a core file has of a thread, in its order (Linux, struct user_regs_struct). */
/* clang-format off */
static const struct wanted {
	char name[8];
	enum { GENERAL, RIP, RFLAGS, SELECTOR, OTHER } kind;
	u8 of;
} registers[] = {
	{ "r15", GENERAL, 15 },
	{ "r14", GENERAL, 14 },
	{ "r13", GENERAL, 13 },
	{ "r12", GENERAL, 12 },
	{ "rbp", GENERAL, GPR_RBP },
	{ "rbx", GENERAL, GPR_RBX },
	{ "r11", GENERAL, 11 },
	{ "r10", GENERAL, 10 },
	{ "r9", GENERAL, 9 },
	{ "r8", GENERAL, 8 },
	{ "rax", GENERAL, GPR_RAX },
	{ "rcx", GENERAL, GPR_RCX },
	{ "rdx", GENERAL, GPR_RDX },
	{ "rsi", GENERAL, GPR_RSI },
	{ "rdi", GENERAL, GPR_RDI },
	{ "rip", RIP, 0 },
	{ "cs", SELECTOR, SEG_CS },
	{ "rflags", RFLAGS, 0 },
	{ "rsp", GENERAL, GPR_RSP },
	{ "ss", SELECTOR, SEG_SS },
	{ "fs_base", OTHER, HVM_FS_BASE },
	{ "gs_base", OTHER, HVM_GS_BASE },
	{ "ds", SELECTOR, SEG_DS },
	{ "es", SELECTOR, SEG_ES },
	{ "fs", SELECTOR, SEG_FS },
	{ "gs", SELECTOR, SEG_GS },
	{ "cr0", OTHER, HVM_CR0 },
	{ "cr2", OTHER, HVM_CR2 },
	{ "cr3", OTHER, HVM_CR3 },
	{ "cr4", OTHER, HVM_CR4 },
	{ "efer", OTHER, HVM_EFER },
};
/* clang-format on */

/*
 * Asked for by the management VM's CPU, filled in on the vCPU's: one that answers too late may find
 * another's question.
 */
static struct spinlock lock; /* guards the next three */
static const struct vcpu *asked;
static bool answered;
static u64 values[ARRAY_SIZE(registers)];

static u64 value_of(struct vcpu *vcpu, const struct wanted *w)
{
	struct segment s;

	switch (w->kind) {
	case GENERAL: return vcpu->regs.gpr[w->of];
	case RIP: return vcpu->regs.rip;
	case RFLAGS: return vcpu->regs.rflags;
	case SELECTOR: hvm->get_segment(vcpu, (enum seg)w->of, &s); return s.selector;
	case OTHER: break;
	}
	return hvm->get(vcpu, (enum hvm_reg)w->of);
}

static void collect(struct vcpu *vcpu)
{
	spin_lock(&lock);
	if (asked == vcpu) {
		for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
			values[i] = value_of(vcpu, &registers[i]);
		answered = true;
	}
	spin_unlock(&lock);
}

static void want(const struct vcpu *vcpu)
{
	spin_lock(&lock);
	asked = vcpu;
	answered = false;
	spin_unlock(&lock);
}

/* The VM may end meanwhile: its vCPUs do what they are asked for on their way out. */
static int wait(void)
{
	u64 since = host_tsc(), patience = host_tsc_khz() * PATIENCE_MS;

	while (!__atomic_load_n(&answered, __ATOMIC_ACQUIRE))
		if (host_tsc() - since > patience)
			return -EIO;
	return 0;
}

/* NAME VCPU: its registers. */
int management_registers(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, ' ', &found);
	struct slot *s = vms_find(control, name);
	char line[900];
	int err = -ENODEV, n = 0;
	struct vm *vm;
	u64 id;

	if (!s)
		return -ENOENT;
	if (!span_number(&text, 10, &id) || text.n)
		return management_refuse(EINVAL, "expected a VM and a vCPU");
	vm = monitor_vm_hold((unsigned)(s - monitor_slots));
	if (vm && id < vm->nr_vcpus) {
		want(vm->vcpus[id]);
		err = vcpu_call(vm->vcpus[id], collect);
	}
	monitor_vm_release();
	if (!err)
		err = wait();
	if (err)
		return management_refuse(-err, "%s: vCPU %lu does not %s", s->config->name, id,
					 err == -ENODEV ? "run" : "answer");
	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%s=0x%lx", registers[i].name,
			      values[i]);
	management_say("vcpu=%lu%s", id, line);
	return 0;
}

/* ---- memory ----------------------------------------------------------------------------- */

/* NAME: how many vCPUs, whether they stand still, and where there is RAM. */
int management_dump(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);
	const struct gpa_map *map;
	struct vm *vm;

	if (!s)
		return -ENOENT;
	vm = monitor_vm_hold((unsigned)(s - monitor_slots));
	if (vm) {
		map = &vm_parts(vm)->map;
		management_say("vcpus=%u\tpaused=%s\tcrashed=%s", vm->nr_vcpus,
			       vm_stands_still(vm) ? "yes" : "no", vm->kept ? "yes" : "no");
		for (unsigned i = 0; i < map->count; i++)
			management_say("address=0x%lx\tsize=0x%lx", map->region[i].gpa,
				       map->region[i].size);
	}
	monitor_vm_release();
	return vm ? 0 : management_refuse(ENODEV, "%s does not run", s->config->name);
}

/* So many bytes up to a page that the machine has lost. */
static u64 sound(u64 from, u64 bytes)
{
	return host_memory_lost_in(from, from + bytes) - from;
}

/*
 * Whole pages of zeros at the beginning. A page that is lost, or turns out to be, is told of as
 * zeros.
 */
static u64 count_zeros(u64 from, u64 bytes)
{
	u64 end = sound(from, bytes), i = 0, word = 0;

	while (i < end && !word && mc_load64(host_hpa_to_virt(hpa(from + i)), &word))
		i += word ? 0 : sizeof(word);
	return i < PAGE_SIZE && !word ? PAGE_SIZE : ALIGN_DOWN(i, PAGE_SIZE);
}

static void put_pages(u64 from, u64 bytes)
{
	for (u64 i = 0; i < bytes; i += PAGE_SIZE) {
		u8 page[PAGE_SIZE];

		if (!mc_copy(page, host_hpa_to_virt(hpa(from + i)), sizeof(page)))
			memset(page, 0, sizeof(page));
		management_put(page, sizeof(page));
	}
}

/*
 * NAME ADDRESS BYTES: how many of these are zero from there on, in whole pages; if none, some of
 * them behind that line.
 */
int management_memory(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, ' ', &found);
	struct slot *s = vms_find(control, name);
	const struct gpa_region *r;
	struct vm *vm;
	u64 at, bytes, zeros, n, from;

	if (!s)
		return -ENOENT;
	if (!span_number(&text, 10, &at) || !span_skip(&text, " ") ||
	    !span_number(&text, 10, &bytes) || text.n || at % PAGE_SIZE || !bytes ||
	    bytes % PAGE_SIZE)
		return management_refuse(
			EINVAL,
			"expected a VM, an address and a number of bytes, both whole pages");
	vm = monitor_vm_hold((unsigned)(s - monitor_slots));
	r = vm ? gpa_map_find(&vm_parts(vm)->map, at) : NULL;
	if (r) {
		from = r->hpa + (at - r->gpa);
		n = MIN(MIN(bytes, ZEROS_MAX), r->gpa + r->size - at);
		zeros = count_zeros(from, n);
		n = zeros ? 0 : MIN(sound(from, n), ALIGN_DOWN(DATA_MAX, PAGE_SIZE));
		management_say("zeros=%lu\tbytes=%lu", zeros, n);
		put_pages(from, n);
	}
	monitor_vm_release();
	if (!vm)
		return management_refuse(ENODEV, "%s does not run", s->config->name);
	return r ? 0 : management_refuse(EFAULT, "%s has no memory at 0x%lx", s->config->name, at);
}

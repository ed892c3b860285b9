/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt messages between local APICs and from devices: destination
 * matching, delivery, the ICR and MSI formats (SDM vol. 3, 11.6, 11.11, 11.12.10).
 */
#include "vmm/dev/apic/lapic.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/startup.h"

#define XAPIC_BROADCAST 0xffu
#define X2APIC_BROADCAST 0xffffffffu

/* Logical destination in xAPIC mode: flat or cluster by DFR (11.6.2.2). */
static bool match_logical_xapic(const struct lapic *l, u8 dest)
{
	u8 ldr = l->ldr >> 24;

	switch (l->dfr >> 28) {
	case 0xf: return ldr & dest;
	case 0x0: return (dest >> 4 == 0xf || dest >> 4 == ldr >> 4) && (ldr & dest & 0xf);
	default: return false;
	}
}

/* Logical x2APIC ID: cluster in bits 31:16, one bit of 15:0 (11.12.10.2). */
static bool match_logical_x2apic(u32 id, u32 dest)
{
	return dest >> 16 == id >> 4 && (dest & BIT(id & 15));
}

bool lapic_match(const struct lapic *l, const struct apic_msg *msg)
{
	u32 id = l->vcpu->apic_id;
	u32 broadcast = msg->wide ? X2APIC_BROADCAST : XAPIC_BROADCAST;

	if (msg->dest == broadcast && (!msg->logical || msg->wide))
		return true;
	if (!msg->logical)
		return id == msg->dest;
	if (lapic_x2apic(l))
		return match_logical_x2apic(id, msg->dest);
	return msg->dest <= 0xff && match_logical_xapic(l, (u8)msg->dest);
}

static bool matches(const struct lapic *l, const struct lapic *src, const struct apic_msg *msg)
{
	switch (msg->shorthand) {
	case APIC_SELF: return l == src;
	case APIC_ALL: return true;
	case APIC_ALL_BUT_SELF: return l != src;
	default: return lapic_match(l, msg);
	}
}

void lapic_nmi(struct lapic *l)
{
	__atomic_store_n(&l->vcpu->nmi_pending, true, __ATOMIC_RELEASE);
	vcpu_kick(l->vcpu);
}

/* One APIC takes the message. */
static bool take_message(struct lapic *l, const struct apic_msg *msg)
{
	switch (msg->delivery) {
	case APIC_FIXED:
	case APIC_LOWEST:
		if (!(l->svr & LAPIC_SVR_ENABLE))
			return false;
		if (msg->vector < LAPIC_FIRST_VECTOR) {
			lapic_error(l, LAPIC_ESR_RECEIVE_ILLEGAL);
			return false;
		}
		lapic_set_irr(l, msg->vector, msg->level);
		return true;
	case APIC_NMI: lapic_nmi(l); return true;
	case APIC_INIT: vcpu_init_ipi(l->vcpu); return true;
	case APIC_SIPI: vcpu_sipi(l->vcpu, msg->vector); return true;
	default: return false;
	}
}

bool lapic_deliver(struct vm *vm, struct lapic *src, const struct apic_msg *msg)
{
	struct lapic *lowest = NULL;
	bool taken = false;

	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct lapic *l = vm->vcpus[i]->lapic;

		if (!lapic_enabled(l) || !matches(l, src, msg))
			continue;
		if (msg->delivery != APIC_LOWEST)
			taken |= take_message(l, msg);
		else if ((l->svr & LAPIC_SVR_ENABLE) && (!lowest || l->tpr < lowest->tpr))
			lowest = l;
	}
	return lowest ? take_message(lowest, msg) : taken;
}

void lapic_send_icr(struct lapic *l, u64 icr)
{
	bool wide = lapic_x2apic(l);
	struct apic_msg msg = {
		.dest = (u32)(wide ? icr >> 32 : icr >> 56),
		.wide = wide,
		.logical = icr & BIT(11),
		/* IPIs are edge-triggered but for the INIT de-assert, which does nothing */
		.level = false,
		.vector = (u8)icr,
		.delivery = icr >> 8 & 7,
		.shorthand = icr >> 18 & 3,
	};

	if ((msg.delivery == APIC_FIXED || msg.delivery == APIC_LOWEST) &&
	    msg.vector < LAPIC_FIRST_VECTOR) {
		lapic_error(l, LAPIC_ESR_SEND_ILLEGAL);
		return;
	}
	/* To itself, alone or with all, only fixed interrupts are valid (table 11-4). */
	if ((msg.shorthand == APIC_SELF || msg.shorthand == APIC_ALL) && msg.delivery != APIC_FIXED)
		return;
	/* INIT level de-assert: of no effect since the Pentium 4 (11.6.1). */
	if (msg.delivery == APIC_INIT && icr & BIT(15) && !(icr & BIT(14)))
		return;
	lapic_deliver(l->vcpu->vm, l, &msg);
}

void lapic_self_ipi(struct lapic *l, u8 vector)
{
	const struct apic_msg msg = { .vector = vector,
				      .delivery = APIC_FIXED,
				      .shorthand = APIC_SELF };

	if (vector < LAPIC_FIRST_VECTOR)
		lapic_error(l, LAPIC_ESR_SEND_ILLEGAL);
	else
		lapic_deliver(l->vcpu->vm, l, &msg);
}

u32 lapic_destination(const struct vm *vm, u32 low, u32 high)
{
	return vm->wide_ids ? high << 8 | low : low;
}

static struct apic_msg decode_msi(const struct vm *vm, u64 address, u32 data)
{
	/*
	 * Linux uses logical mode without the redirection hint, so the mode bit counts either way.
	 */
	return (struct apic_msg){
		.dest = lapic_destination(vm, address >> 12 & 0xff, address >> 5 & 0x7f),
		.logical = address & BIT(2),
		.level = data & BIT(15),
		.vector = (u8)data,
		.delivery = data >> 8 & 7,
	};
}

void lapic_msi(struct vm *vm, u64 address, u32 data)
{
	const struct apic_msg msg = decode_msi(vm, address, data);

	if (address >> 20 == 0xfee)
		lapic_deliver(vm, NULL, &msg);
}

const struct vcpu *lapic_msi_vcpu(struct vm *vm, u64 address, u32 data)
{
	const struct apic_msg msg = decode_msi(vm, address, data);

	if (address >> 20 != 0xfee || msg.delivery > APIC_LOWEST || msg.vector < LAPIC_FIRST_VECTOR)
		return NULL;
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (lapic_match(vm->vcpus[i]->lapic, &msg))
			return vm->vcpus[i];
	return NULL;
}

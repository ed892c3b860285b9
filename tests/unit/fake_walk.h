/* SPDX-License-Identifier: GPL-2.0-only */
/* vmm/memory/guest_walk.c over 64 KiB of RAM, in a context that a test sets. */
#ifndef TESTS_FAKE_WALK_H
#define TESTS_FAKE_WALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

static _Alignas(4096) u8 ram[0x10000];
static unsigned lookups;
static struct vm_parts parts;
static struct vcpu vcpu;
static struct hvm_context c;
static void get_context(struct vcpu *, struct hvm_context *out)
{
	*out = c;
}

static const struct hvm_ops ops = { .get_context = get_context };
const struct hvm_ops *hvm = &ops;

void *guest_ptr(struct vm *, gpa_t gpa, u64 size)
{
	lookups++;
	return gpa.v <= sizeof(ram) - size ? ram + gpa.v : NULL;
}

bool guest_is_lost(struct vm *, gpa_t)
{
	return false;
}

void vcpu_lost_access(struct vcpu *, gpa_t)
{
	fail();
}

int guest_lost(struct vm *)
{
	fail();
	return -EIO;
}

int guest_read(struct vm *vm, gpa_t gpa, void *buf, u64 size)
{
	memcpy(buf, guest_ptr(vm, gpa, size), size);
	return 0;
}

static void put(u32 at, u64 value, unsigned size)
{
	memcpy(ram + at, &value, size);
}

static void begin(u64 cr4, u64 efer)
{
	memset(&vcpu, 0, sizeof(vcpu));
	memset(ram, 0, sizeof(ram));
	vcpu.vm = &parts.vm;
	parts.cpuid.phys_bits = 40;
	c = (struct hvm_context){
		.cr0 = CR0_PG | CR0_PE | CR0_WP, .cr3 = 0x1000, .cr4 = cr4, .efer = efer
	};
}

#endif

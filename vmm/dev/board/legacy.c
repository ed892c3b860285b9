/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PC's legacy ports still mean to a guest without such devices: the
 * keyboard controller's reset pulse (port 0x64) and the reset control register
 * (port 0xcf9, Intel PCH data sheet "RST_CNT"). All other legacy ports are
 * nobody's: the core swallows writes and answers with ones.
 */
#include "vmm/vcpu.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define KBD_STATUS_PORT 0x64
#define RST_CNT_PORT 0xcf9

/*
 * Ones, but for "input buffer full": a prober finds a buffer that never runs
 * empty and gives up at once, a rebooting kernel may send its command at once.
 */
#define KBD_STATUS 0xfdu

#define RST_CNT_RST_CPU BIT(2)

static u32 kbd_read(void *, struct vcpu *, u16, unsigned)
{
	return KBD_STATUS;
}

static void kbd_write(void *, struct vcpu *vcpu, u16, unsigned, u32 value)
{
	/* Commands 0xf0-0xff pulse the output lines whose bit is 0; line 0 is the CPU's reset. */
	if ((value & 0xf1) == 0xf0)
		vm_end(vcpu->vm, VM_END_RESET_KBD);
}

static const struct pio_ops kbd_ops = { .sizes = 1, .read = kbd_read, .write = kbd_write };

static u32 rst_cnt_read(void *, struct vcpu *, u16, unsigned)
{
	return 0;
}

/*
 * Setting RST_CPU resets, whether SYS_RST asks for a hard or a soft one.
 * Nothing else is kept: the VM has ended before anyone can read it back.
 */
static void rst_cnt_write(void *, struct vcpu *vcpu, u16, unsigned, u32 value)
{
	if (value & RST_CNT_RST_CPU)
		vm_end(vcpu->vm, VM_END_RESET_CF9);
}

static const struct pio_ops rst_cnt_ops = { .sizes = 1,
					    .read = rst_cnt_read,
					    .write = rst_cnt_write };

static int legacy_create(struct vm *vm, void **)
{
	int err = vm_register_pio(vm, KBD_STATUS_PORT, 1, &kbd_ops, NULL);

	return err ? err : vm_register_pio(vm, RST_CNT_PORT, 1, &rst_cnt_ops, NULL);
}

static const struct vdev legacy_vdev = { .create = legacy_create };
VDEV(legacy_vdev);

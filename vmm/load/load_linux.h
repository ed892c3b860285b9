/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux loader: bzImage and vmlinux by the 64-bit boot protocol (Linux,
 * Documentation/x86/boot.rst, "64-bit Boot Protocol").
 *
 * Low guest RAM that the loader uses until the kernel has its own tables:
 *   0x01000  GDT            0x02000  boot_params     0x03000  command line
 *   0x04000  page tables (6 pages: the first 4 GiB, identity)
 *   GUEST_ACPI_BASE         ACPI tables, kept for good (e820 type 3)
 */
#ifndef VMM_LOAD_LINUX_H
#define VMM_LOAD_LINUX_H

struct host_module;
struct vcpu;
struct vm;

/*
 * Loads kernel and, when not NULL, initrd into the VM's RAM, builds
 * boot_params, page tables and GDT, and sets vm->entry_rip, entry_info and
 * entry_state. module: as many as its VM file has: archives that go before the
 * initrd, with what is to be added to the command line for each.
 * The guest's RAM is zeroed, its map complete, vm->rsdp known. Before any
 * vCPU runs; no locking. 0; -ENOEXEC: no Linux image or a damaged one; -E2BIG:
 * command line too long; -ENOMEM: does not fit into the VM's RAM. Printed.
 */
int load_linux(struct vm *vm, const struct host_module *kernel,
	       const struct host_module *const *module, const struct host_module *initrd,
	       const char *cmdline);

/*
 * Puts a freshly reset vCPU into the state the 64-bit protocol asks for:
 * paging on with the loader's tables, CS 0x10, DS/ES/SS 0x18, IF clear,
 * RIP = vm->entry_rip, RSI = vm->entry_info. On the vCPU's own CPU, after
 * load_linux() and vcpu_power_on().
 */
void load_linux_entry_state(struct vm *vm, struct vcpu *vcpu);

#endif

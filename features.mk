# SPDX-License-Identifier: GPL-2.0-only
#
# The files of each compile-time feature: files-OPTION is linked in only where
# Kconfig's CONFIG_OPTION is on; a file that no list names always is. One word
# may hold a % for "everything there".

files-VMX             := arch/x86_64/vmx/%
files-SVM             := arch/x86_64/svm/%
files-CONSOLE         := kernel/console.c kernel/serial.c drivers/uart8250.c
files-HWCHECK         := vmm/hwcheck% kernel/host_check.c
files-REPORT          := vmm/report.c vmm/pci_report.c
files-NUMA            := kernel/numa.c kernel/acpi/srat.c kernel/acpi/slit.c
files-PCI             := kernel/pci.c kernel/pcicap.c kernel/pci_function.c kernel/acpi/mcfg.c
files-PCI_INFO        := kernel/pciinfo.c kernel/pci_place.c kernel/pci_group.c
files-PASSTHROUGH     := kernel/msi.c kernel/pci_reset.c kernel/host_pci.c kernel/host_passthrough.c \
	kernel/intx.c kernel/pci_route.c kernel/acpi/aml_walk.c kernel/acpi/aml_value.c kernel/acpi/aml_pci.c \
	kernel/acpi/aml_resource.c vmm/acpi_pci.c vmm/config_pci.c vmm/pci_config.c vmm/pci_rules.c vmm/dev/pci_% \
	vmm/hypercall.c vmm/dma_windows.c
files-PARALLEL_ZERO   := kernel/zero.c
files-IOMMU_TABLES    := kernel/acpi/dmar.c kernel/acpi/ivrs.c
files-VM_IOAPIC       := vmm/dev/ioapic.c
files-VM_UART         := vmm/dev/uart16550.c
files-VM_PVCLOCK      := vmm/dev/pvclock.c vmm/pvclock.c
files-VM_POWER        := vmm/dev/acpi_pm.c
files-VM_LEGACY_RESET := vmm/dev/legacy.c
files-VM_DEBUG_EXIT   := vmm/dev/debug_exit.c vmm/dev/debug_window.c
files-VMLINUX         := vmm/load_vmlinux.c
files-ELF             := vmm/elf.c
files-MULTIBOOT       := vmm/multiboot.c vmm/load_multiboot.c
files-MONITOR_CONSOLE := vmm/console/% vmm/control.c
files-DUMPS           := vmm/inspect.c arch/x86_64/vmx/dump.c arch/x86_64/svm/dump.c
files-TELEMETRY       := vmm/telemetry.c
files-VM_PAUSE        := vmm/pause.c
files-GDB             := vmm/gdb/% kernel/gdb_port.c
files-DEBUG_CLOCK     := kernel/clock_reference.c vmm/dev/debug_clock.c
files-DEBUG_FAULT     := vmm/dev/debug_fault.c
files-SYMBOLS         := kernel/symbols.c

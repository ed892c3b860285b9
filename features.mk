# SPDX-License-Identifier: GPL-2.0-only
#
# The files of each compile-time feature: files-OPTION is linked in only where
# Kconfig's CONFIG_OPTION is on; a file that no list names always is, one that
# two lists name where both are on. One word may hold a % for "everything there".

files-VMX             := vmm/vmx/%
files-SVM             := vmm/svm/%
files-LEAN_EXITS      := vmm/vmx/lean.c vmm/svm/lean.c vmm/emulate/lean_mmio.c
files-MITIGATIONS     := arch/x86_64/cpu/errata_deadline.c arch/x86_64/cpu/mitigation% \
	arch/x86_64/cpu/microcode_revision.c arch/x86_64/cpu/thunks.asm vmm/svm/run_clean.asm \
	vmm/vmx/run_clean.asm kernel/cpu/mitigations.c vmm/memory/split.c vmm/exit/bus_lock.c \
	vmm/exit/vcpu_mitigations.c
files-CPU_POWER       := arch/x86_64/cpu/power.c kernel/boot/cmdline_power.c kernel/cpu/power.c
files-MICROCODE       := arch/x86_64/cpu/microcode.c kernel/cpu/microcode.c
files-CONSOLE         := kernel/console/console.c kernel/console/console_poll.c kernel/console/console_start.c \
	kernel/console/console_find.c kernel/console/serial.c kernel/work/console_interrupt.c kernel/work/nmi_try.c \
	drivers/uart8250.c
files-CONSOLE_TABLES  := kernel/acpi/spcr.c kernel/acpi/aml_uart.c kernel/console/console_tables.c
files-AML_RESOURCES   := kernel/acpi/aml_resource.c
files-CONSOLE_FOLLOWS := kernel/console/console_follow.c
files-LOG_TIME        := kernel/console/log_time.c
files-SHARED_LINE     := kernel/console/plain.c
files-SCREEN          := kernel/boot/bootinfo_screen.c kernel/console/raster.c kernel/console/screen.c \
	kernel/console/screen_text.c kernel/work/screen_idle.c
files-HWCHECK         := vmm/report/check_only.c vmm/report/hwcheck% kernel/acpi/acpi_noted.c \
	kernel/acpi/wdat.c kernel/console/check_wanted.c kernel/check/% \
	kernel/iommu/iommu_describe.c
files-CHECK_JSON      := vmm/report/hwcheck_json.c
files-REPORT          := vmm/report/report.c vmm/plan/place_report.c vmm/pci/pci_report.c
files-NUMA            := kernel/memory/numa.c kernel/acpi/srat.c kernel/acpi/slit.c vmm/acpi/guest_acpi_nodes.c
files-PCI             := kernel/pci/pci_core.c kernel/pci/pci_cap.c kernel/pci/pci_function.c kernel/acpi/mcfg.c
files-PCI_INFO        := kernel/pci/pci_info.c kernel/pci/pci_describe.c kernel/pci/pci_place.c kernel/pci/pci_platform.c \
	kernel/pci/pci_group.c kernel/pci/pci_acs_quirks.c kernel/pci/pci_reset_quirks.c kernel/pci/pci_usb.c \
	vmm/pci/pci_fitness.c vmm/pci/pci_report.c
files-PASSTHROUGH     := arch/x86_64/cpu/trap_device.asm arch/x86_64/cpu/ioapic_line.c \
	kernel/acpi/aml_pci.c kernel/acpi/aml_terms.c kernel/acpi/aml_value.c kernel/acpi/aml_walk.c \
	kernel/pci/pci_lines.c kernel/pci/pci_vectors.c kernel/pci/pci_host.c kernel/pci/pci_kept.c \
	kernel/pci/pci_path.c kernel/pci/pci_reset.c \
	kernel/pci/pci_route.c kernel/pci/pci_way.c vmm/acpi/acpi_pci.c vmm/acpi/aml_encode.c vmm/acpi/guest_acpi_pci.c \
	vmm/config/config_pci.c \
	vmm/pci/dma_windows.c vmm/pci/pci_assign.c vmm/pci/pci_bars.c vmm/pci/pci_config.c \
	vmm/pci/pci_config_path.c vmm/pci/pci_dma.c \
	vmm/pci/pci_end.c vmm/pci/pci_intx.c vmm/pci/pci_master.c vmm/pci/pci_msi.c vmm/pci/pci_reset.c \
	vmm/pci/pci_root.c vmm/pci/pci_rules.c vmm/pci/pci_segments.c vmm/pci/pci_stand_in.c vmm/pci/pci_wait.c \
	kernel/work/idle_work.c vmm/pci/pci_linger.c vmm/node/restart_pace.c vmm/node/start_functions.c
files-IOMMU           := arch/x86_64/iommu/vtd.c arch/x86_64/iommu/vtd_tables.c arch/x86_64/stage2/find.c \
	kernel/boot/cmdline_iommu.c kernel/iommu/iommu.c kernel/iommu/iommu_find.c kernel/iommu/iommu_start.c \
	kernel/pci/pci_acs.c kernel/iommu/dmar_scope.c kernel/iommu/faults.c kernel/iommu/interrupts.c kernel/iommu/reserved.c \
	vmm/memory/vm_domain.c vmm/pci/pci_iommu.c
files-SRIOV           := kernel/pci/pci_sriov_% vmm/acpi/acpi_sriov.c vmm/acpi/guest_acpi_sriov.c vmm/config/config_sriov.c \
	vmm/pci/pci_sriov.c vmm/pci/pci_sriov_shadow.c vmm/pci/pci_vfs.c
files-AMD_VI          := arch/x86_64/iommu/amdvi.c arch/x86_64/iommu/amdvi_tables.c kernel/iommu/ivrs_units.c
files-PCI_FACTS       := kernel/pci/pci_facts.c
files-BOOT_LOG        := kernel/boot/bootinfo_room.c kernel/own_memory.c vmm/load/load_check.c vmm/load/no_module.c \
	vmm/report/vm_shape.c
files-LOST_CPUS       := kernel/cpu/cpu_lost.c vmm/vm/abandon.c vmm/node/lost_cpus.c vmm/plan/place_abandon.c
files-VCPU_CALLS      := vmm/vm/vcpu_call.c
files-VCPU_LOOKS      := vmm/vm/looks.c
files-SLOT_STAGES     := vmm/slots/slot_stages.c
files-PARALLEL_ZERO   := kernel/memory/zeros.c kernel/work/zero_parallel.c
files-IOMMU_TABLES    := kernel/acpi/dmar.c kernel/acpi/ivrs.c
files-DIRECT_INTERRUPTS := arch/x86_64/cpu/apic_give.c arch/x86_64/cpu/apic_give.asm drivers/hpet_alarm.c \
	kernel/work/alarm_input.c kernel/time/alarm.c \
	kernel/work/guest_apic.c kernel/boot/cmdline_x2apic.c kernel/cpu/x2apic.c vmm/node/direct.c \
	vmm/exit/direct_messages.c vmm/exit/tsc_adjust.c vmm/config/config_direct.c vmm/load/kernel_facts.c \
	vmm/dev/apic/lapic_direct.c
files-VM_CST          := kernel/acpi/aml_cst.c kernel/work/cstates.c vmm/acpi/acpi_cst.c
files-VM_EMULATE_ALL  := vmm/emulate/arithmetic.c vmm/emulate/exchange.c vmm/emulate/strings.c \
			 vmm/emulate/vector.c arch/x86_64/cpu/vector.c
files-VM_SHARING      := vmm/config/config_set.c vmm/node/together.c
files-VM_RDT          := arch/x86_64/cpu/rdt.c kernel/work/rdt.c vmm/config/config_rdt.c vmm/console/cache_use.c vmm/vm/vcpu_rdt.c
files-VM_FOLLOW_UP    := vmm/acpi/acpi_pvpanic.c vmm/config/config_ends.c vmm/dev/board/pvpanic.c \
	vmm/slots/restart_limit.c vmm/node/restart_pace.c
files-VM_IOAPIC       := vmm/dev/apic/ioapic.c
files-VM_UART         := vmm/dev/board/uart16550.c
files-VM_LOG          := vmm/slots/output_log.c vmm/slots/output_stage.c vmm/config/config_console.c
files-VIRTIO          := vmm/dev/virtio/virtio.c vmm/dev/virtio/virtio_blk.c vmm/dev/virtio/virtio_console.c \
	vmm/dev/virtio/virtqueue.c vmm/dev/virtio/pieces.c vmm/pci/pci_virtual.c vmm/config/config_disk.c vmm/config/config_meta.c \
	vmm/config/meta_lines.c vmm/dev/virtio/cidata.c
files-MANAGEMENT_VM   := arch/x86_64/cpu/sha256.c vmm/management/% vmm/node/outcome.c vmm/vm/device_counts.c vmm/slots/slot_own.c \
	vmm/slots/node_events.c vmm/dev/virtio/virtio_management.c vmm/config/config_control.c \
	kernel/memory/modules_late.c kernel/console/log_copy.c
files-VIRTIO_NET      := vmm/dev/virtio/virtio_net% vmm/dev/virtio/net_% vmm/config/config_net.c
files-VM_PVCLOCK      := vmm/dev/cpu/poll_control.c vmm/dev/cpu/pvclock.c vmm/dev/cpu/pvclock_scale.c
files-VM_TSC_ONLY     := vmm/dev/apic/without_kvm.c vmm/slots/start_anew.c
files-VM_DEBUG_EXIT   := vmm/dev/board/debug_exit.c vmm/dev/board/debug_window.c
files-VM_POWER_BUTTON := vmm/acpi/acpi_button.c vmm/dev/board/power_button.c vmm/dev/board/wake_pin.c
files-VM_RTC          := vmm/acpi/acpi_rtc.c vmm/dev/board/rtc.c
files-VM_WATCHDOG     := vmm/dev/board/watchdog.c
files-VM_COUNTERS     := vmm/dev/cpu/counters.c
files-VM_MACHINE_CHECKS := vmm/dev/cpu/machine_check.c
files-VM_ACPI_DEVICES := vmm/acpi/acpi_devices.c
files-SMBIOS          := kernel/acpi/smbios.c kernel/acpi/smbios_node.c vmm/acpi/guest_smbios.c vmm/acpi/smbios_put.c \
	vmm/acpi/uuid.c
files-VMLINUX         := vmm/load/load_vmlinux.c
files-ELF             := vmm/load/elf.c
files-MULTIBOOT       := vmm/load/multiboot.c vmm/load/load_multiboot.c
files-MONITOR_CONSOLE := kernel/console/log_last.c kernel/work/idle_work.c kernel/console/log_keep.c vmm/console/% \
	vmm/node/control.c vmm/dev/board/nmi_button.c vmm/pci/pci_linger.c vmm/node/restart_pace.c vmm/node/start_functions.c
files-CORRECTED_ERRORS := arch/x86_64/cpu/mce_way.c kernel/boot/cmdline_corrected.c kernel/errors/mce_corrected.c
files-HEST            := kernel/acpi/hest.c kernel/errors/ghes.c
files-MACHINE_CHECKS  := arch/x86_64/cpu/mce_judge.c kernel/errors/mce.c kernel/memory/lost.c kernel/work/nmi_platform.c \
	vmm/memory/lost_memory.c
files-DUMPS           := kernel/errors/panic_dump.c vmm/report/inspect.c vmm/exit/exit_dump.c vmm/vmx/dump.c vmm/svm/dump.c
files-TELEMETRY       := vmm/report/telemetry.c
files-VM_PAUSE        := vmm/node/pause.c
files-GDB             := vmm/vm/debugger.c vmm/gdb/% kernel/console/gdb_port.c kernel/boot/cmdline_gdb.c
files-DEBUG_CLOCK     := kernel/time/clock_reference.c vmm/dev/board/debug_clock.c
files-DEBUG_FAULT     := vmm/dev/board/debug_fault.c
files-SYMBOLS         := kernel/errors/symbols.c

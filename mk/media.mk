# SPDX-License-Identifier: GPL-2.0-only
#
# What a node boots from, what is installed into a system, and a run in an emulator.

IMAGE = tools/margay-image --elf $(B)/margay.elf --vm configs/vm0.conf --module initrd=$(G)/initrd

# The hypervisor's command line on iso and netboot; an ISO's GRUB has its menu where its console= is.
CMDLINE ?=
$(B)/iso.cmdline: FORCE
	@mkdir -p $(B)
	@echo '$(CMDLINE)' | cmp -s - $@ || echo '$(CMDLINE)' >$@

$(B)/margay.iso: $(B)/margay.elf $(B)/margay-check $(GUEST) tools/margay-image configs/vm0.conf $(B)/iso.cmdline
	$(Q)$(IMAGE) --menu 3 --cmdline '$(CMDLINE)' --module kernel=$(G)/vmlinuz -o $@

# Bochs takes minutes to decompress a kernel: it gets the uncompressed one.
$(B)/margay-bochs.iso: $(B)/margay.elf $(B)/margay-check $(GUEST) tools/margay-image configs/vm0.conf
	$(Q)$(IMAGE) --module kernel=$(G)/vmlinux-short -o $@

iso: $(B)/margay.iso

netboot: $(B)/margay.elf $(B)/margay-check $(GUEST)
	$(Q)tools/margay-netboot --elf $(B)/margay.elf --vm configs/vm0.conf --module initrd=$(G)/initrd \
		--cmdline '$(CMDLINE)' --module kernel=$(G)/vmlinuz -o $(B)/netboot

# Into an existing system, which boots by GRUB: what is the operator's own, VM files and kernels, is not touched.
PREFIX ?= /usr/local

install: $(B)/margay.elf $(B)/margay-check
	$(Q)install -d $(DESTDIR)/boot/margay $(DESTDIR)/etc/grub.d $(DESTDIR)$(PREFIX)/bin
	$(Q)install -m 755 tools/grub.d/42_margay $(DESTDIR)/etc/grub.d/
	$(Q)install -m 755 $(B)/margay-check $(DESTDIR)$(PREFIX)/bin/
	$(Q)$(STRIP) -s -o $(DESTDIR)/boot/margay/margay.elf $(B)/margay.elf
	@echo 'installed: $(DESTDIR)/boot/margay/margay.elf, $(DESTDIR)/etc/grub.d/42_margay, $(DESTDIR)$(PREFIX)/bin/margay-check'
	@echo 'next: VM files, and the kernels, initrds and modules that they name, into $(DESTDIR)/boot/margay; then update-grub'

# As what, and by what, the node finds its image: FIRMWARE=bios|uefi, MEDIUM=cd|usb|net.
FIRMWARE ?= bios
MEDIUM   ?= cd
RUN_ISO := $(B)/margay$(if $(filter bochs% nested-vtx,$(MACHINE)),-bochs).iso
RUN_IMAGE := $(if $(filter net,$(MEDIUM)),$(B)/netboot,$(RUN_ISO))
CPUS    ?= 1
MEMORY  ?= $(if $(filter bochs% nested-%,$(MACHINE)),1G,2G)

# margay-run's status when the operator leaves with Ctrl-].
LEFT    := 9

run: $(if $(filter net,$(MEDIUM)),netboot,$(RUN_ISO)) $(if $(filter nested-%,$(MACHINE)),nested-host)
	@mkdir -p $(B)/logs
	@tools/margay-run --machine $(MACHINE) --firmware $(FIRMWARE) --medium $(MEDIUM) --cpus $(CPUS) --memory $(MEMORY) \
		$(if $(NUMA),--numa $(NUMA)) \
		--interactive --log $(B)/logs/run-$(MACHINE).log $(RUN_IMAGE) || [ $$? -eq $(LEFT) ]

# A head and two emulated nodes, an MPI job on them. Afterwards: tools/cluster --shell.
.PHONY: cluster
cluster: $(B)/margay.elf $(B)/margay-check $(B)/margay-check-dynamic $(B)/margay-dynamic $(GUEST) newer-qemu
	$(Q)mkdir -p $(B)/cluster
	$(Q)rm -rf $(B)/cluster/packages
	$(Q)tools/packages --elf $(B)/margay.elf --check $(B)/margay-check-dynamic --client $(B)/margay-dynamic \
		$(B)/cluster/packages >$(B)/cluster/packages.log
	$(Q)tools/cluster

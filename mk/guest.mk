# SPDX-License-Identifier: GPL-2.0-only
#
# Guests: the small one of `make run` and the tests, its kernels, the systems on disks; what emulates a node for them.

G     := $(B)/guest
GUEST := $(G)/vmlinuz $(G)/vmlinux $(G)/vmlinux-short $(G)/initrd

guest: $(GUEST)
$(GUEST) &: tools/guest-image tools/margay_initrd.py $(wildcard tests/system/guest/*) | $(B)/.config
	$(Q)tools/guest-image $(G)

# For single tests only, so that the guest itself stays small.
TOOLS := $(G)/initrd-topology $(G)/initrd-cyclictest
$(TOOLS): $(G)/initrd-%: $(G)/initrd tools/guest-image
	$(Q)tools/guest-image --$* $(G)

# For the tests of passthrough.
$(G)/initrd-drivers: $(G)/initrd tools/guest-image tools/guest-module include/margay/abi.h \
		$(wildcard guest-patches/margay-guest/* $(G)/vmlinuz-backports) | guest-backports
	$(Q)tools/guest-image --drivers $(G)

# The emulated host of the machines nested-svm and nested-vtx, with this system's QEMU.
.PHONY: nested-host
NESTED := $(G)/initrd-nested $(G)/vmlinuz-nested
nested-host: $(NESTED)
$(NESTED) &: $(G)/vmlinuz $(G)/vmlinux tools/nested-host $(wildcard tools/nested/*) tools/margay_initrd.py \
		/usr/bin/qemu-system-x86_64
	$(Q)tools/nested-host $(G)

# What the tests take from Debian's archive; what is made of it needs no network.
.PHONY: downloads
downloads: $(GUEST) guest-backports $(G)/initrd-drivers newer-qemu fast-bochs

# For the machines with an AMD IOMMU.
.PHONY: newer-qemu
newer-qemu:
	$(Q)tools/newer-qemu $(CURDIR)/build/qemu-11.1

# Kernels with it and its drivers built in, and some that are nobody's guest, for the full tier; an hour when they are not there.
.PHONY: guest-kernels
guest-kernels: $(GUEST)
	$(Q)tools/guest-kernel $(G) 6.1 6.12

# Kernels of other distributions and releases, for the full tier; ten minutes when they are not there yet.
.PHONY: other-kernels
other-kernels: | $(B)/.config
	$(Q)tools/other-kernels $(G)

# Kernels of Debian's source as RHEL 9 and SLES 15 configure theirs, for the full tier; half an hour when they are not there yet.
.PHONY: rhel-sles-kernels
rhel-sles-kernels: | $(B)/.config
	$(Q)tools/rhel-sles-kernels $(G)

# Systems as others install them, for the full tier; some minutes when they are not there yet.
.PHONY: guest-debian
guest-debian: | $(B)/.config
	$(Q)tools/guest-debian $(G)

# A second kernel for the tests. Without the file, which backports may not have, they are skipped.
.PHONY: guest-backports
guest-backports: $(GUEST)
	$(Q)tools/guest-image --backports $(G)

# For rtla in the bench, whose tracers Debian's other kernels lack.
.PHONY: guest-rt
guest-rt: $(GUEST)
	$(Q)tools/guest-image --rt $(G)

# For who runs Bochs often.
.PHONY: fast-bochs
fast-bochs:
	$(Q)tools/fast-bochs $(CURDIR)/build/bochs

# SPDX-License-Identifier: GPL-2.0-only
#
# Debian packages.

# The image as it is configured, its tools, and the guest module's source as Debian packages.
.PHONY: deb
deb: $(B)/margay.elf $(B)/margay-check-dynamic $(B)/margay-dynamic
	$(Q)tools/packages --elf $(B)/margay.elf --check $(B)/margay-check-dynamic --client $(B)/margay-dynamic $(B)
	$(Q)tools/guest-module --deb $(B)

.PHONY: guest-package
guest-package: | $(B)/.config
	$(Q)tools/guest-module --deb $(B)

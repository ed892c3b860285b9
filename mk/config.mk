# SPDX-License-Identifier: GPL-2.0-only
#
# The configuration of the image (Kconfig), and the one of unit tests, fuzzers and host tools, which has every feature.

export KCONFIG_CONFIG := $(B)/.config
kconfig = $(PYTHON) -m

# What an option was called before: a configuration of then goes on meaning it.
renamed = sed -E 's/^(\# )?CONFIG_COMMANDER\b/\1CONFIG_MANAGEMENT_VM/'

ifneq ($(CONFIG_GOALS),)
include $(B)/auto.conf

# Runs before anything else, since make has to have the included file.
.PHONY: needed
needed:
	@tools/setup $(SETUP_GROUPS)

$(B)/.config: Kconfig | needed
	@mkdir -p $(B)
	$(Q)if [ -e $@ ]; then $(renamed) -i $@ && $(kconfig) olddefconfig Kconfig; \
	else $(kconfig) defconfig --kconfig Kconfig configs/default_defconfig; fi >/dev/null
	@touch $@

# The same for make, for C, and as one file per option that is touched when that option changes (tools/fixdep).
$(B)/auto.conf: $(B)/.config
	$(call say,CONFIG,$@)
	$(Q)$(renamed) -i $<
	$(Q)$(kconfig) genconfig --config-out $@ --header-path $(B)/config.h --sync-deps=$(B)/config Kconfig
	@touch $@
endif

# Unit tests and fuzzers see every feature, whatever the image has.
$(B)/unit/config.h: Kconfig
	@mkdir -p $(@D)
	$(Q)export KCONFIG_CONFIG=$(B)/unit/.config; $(kconfig) allyesconfig Kconfig >/dev/null && \
		$(kconfig) genconfig --header-path $@ Kconfig
	@touch $@

%_defconfig: configs/%_defconfig | needed
	@mkdir -p $(B)
	$(Q)$(renamed) $< >$(B)/.config && $(kconfig) olddefconfig Kconfig

menuconfig: $(B)/.config
	$(Q)$(kconfig) menuconfig Kconfig

savedefconfig: $(B)/.config
	$(Q)$(kconfig) savedefconfig --kconfig Kconfig --out $(B)/defconfig
	@cat $(B)/defconfig

/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see hwcheck_proposal.h. The text is at most VM_CMDLINE_MAX and some short lines. */
#include "vmm/report/hwcheck_proposal.h"

#include <margay/string.h>

#include "vmm/config/config.h"

static __printf(2, 3) void add_text(char *text, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, PROPOSAL_MAX - n, fmt, ap);
	va_end(ap);
}

size_t proposal_write(char text[PROPOSAL_MAX], const struct vm_config *model, unsigned nodes)
{
	static_assert(PROPOSAL_MAX > VM_CMDLINE_MAX + 2 * VM_MODULE_MAX + 512, "room for all");
	text[0] = 0;
	if (!model)
		add_text(text, "# kernel, initrd: the names of your boot modules.\n");
	add_text(text, "name = node\n");
	add_text(text, "kernel = %s\n", model ? model->kernel : "vmlinuz");
	if (!model || model->initrd[0])
		add_text(text, "initrd = %s\n", model ? model->initrd : "initrd");
	/* Above two nodes Linux doubts the TSC as clock unless told otherwise. */
	if (model && model->cmdline[0])
		add_text(text, "cmdline = %s\n", model->cmdline);
	else if (!model)
		add_text(text, "cmdline = console=ttyS0%s\n", nodes > 2 ? " tsc=reliable" : "");
	add_text(text, "cpus = all\n");
	add_text(text, "memory = all\n");
	add_text(
		text,
		IS_ENABLED(CONFIG_VM_FOLLOW_UP)
			? "on_poweroff = poweroff_node\non_reboot = restart\non_crash = restart\nrestart_limit = 5 in 10m\n"
			: "on_end = poweroff_node\n");
	return strlen(text);
}

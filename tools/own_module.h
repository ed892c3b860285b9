/* SPDX-License-Identifier: GPL-2.0-only */
/* The hypervisor's own boot modules, microcode and facts of nodes, as margay-check judges them. */
#ifndef TOOLS_OWN_MODULE_H
#define TOOLS_OWN_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#define OWN_MODULE_TEXT 300

/* Is it one of these, and wrong? *why: the line that says so. */
bool own_module_wrong(const char *name, const char *data, size_t size, char why[OWN_MODULE_TEXT]);

#endif

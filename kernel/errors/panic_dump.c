/* SPDX-License-Identifier: GPL-2.0-only */
/* What a panic shows beside its reason: the log's last lines, and registers. */
#include "kernel/errors/panic_dump.h"

#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/console/console.h"
#include "kernel/log/printk.h"

#define LOG_LINES 12

static void show_log_line(enum loglevel level, const char *text, size_t length)
{
	char line[HOST_LOG_LINE + 1];
	int n = snprintf(line, sizeof(line), "log%s %.*s",
			 level == LOGLEVEL_DEBUG ? " (debug):" : ":", (int)length, text);

	console_log(line, MIN((size_t)n, sizeof(line) - 1));
}

void panic_dump_log(void)
{
	printk_last(&printk_log, LOG_LINES, show_log_line);
}

bool panic_dump_registers(const struct trap_frame *f)
{
	printk_error("  rax %016lx rbx %016lx rcx %016lx rdx %016lx", f->rax, f->rbx, f->rcx,
		     f->rdx);
	printk_error("  rsi %016lx rdi %016lx rbp %016lx rsp %016lx", f->rsi, f->rdi, f->rbp,
		     f->rsp);
	printk_error("  r8  %016lx r9  %016lx r10 %016lx r11 %016lx", f->r8, f->r9, f->r10, f->r11);
	printk_error("  r12 %016lx r13 %016lx r14 %016lx r15 %016lx", f->r12, f->r13, f->r14,
		     f->r15);
	printk_error("  cs %04lx ss %04lx rflags %08lx cr0 %08lx cr2 %016lx cr3 %016lx cr4 %08lx",
		     f->cs, f->ss, f->rflags, read_cr0(), read_cr2(), read_cr3(), read_cr4());
	return true;
}

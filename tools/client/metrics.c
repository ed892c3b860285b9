/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See metrics.h. The node's lines, of name=value that tabs part, become samples by the table below.
 * All that is asked is asked first: a metric's samples stand together, whatever answers they come
 * from.
 */
#include "metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABELS 4
#define NEW ".XXXXXX" /* node_exporter reads what ends in .prom only */

enum source { INFO, LIST, NODE, STATS, COUNTS, SOURCES };
/* Of a value: as it is; yes is 1; or 1, for what the labels say. */
enum value { NUMBER, YES, ONE };

#define NET { { "vm", "vm" }, { "net", "net" }, { "segment", "segment" } }
#define DISK { { "vm", "vm" }, { "disk", "disk" } }

/* clang-format off */
static const struct metric {
	const char *name;
	const char *type;
	const char *help;
	enum source source;
	const char *key; /* of the value; a line without it has no sample */
	enum value value;
	/* the line's, the metric's; a line without one has no sample, or an empty one */
	const char *label[LABELS][2];
} metrics[] = {
	{ "margay_build_info", "gauge", "The version of the node's image, always 1.", INFO,
		"margay", ONE,
	  { { "margay", "version" }, { "protocol", "protocol" } } },
	{ "margay_management_memory_bytes", "gauge",
		"Memory that the management VM may hand out.", INFO, "memory", NUMBER,
	  { { 0 } } },
	{ "margay_management_memory_used_bytes", "gauge",
		"Memory of that which its VMs and images have.",
	  INFO, "memory_used", NUMBER,
	  { { 0 } } },
	{ "margay_management_refused_messages_total", "counter",
		"Messages to the node that were none.", INFO, "refused", NUMBER,
	  { { 0 } } },
	/* as 0.2 called these, for alerts and dashboards of then */
	{ "margay_commander_memory_bytes", "gauge", "As margay_management_memory_bytes.", INFO,
		"memory", NUMBER,
	  { { 0 } } },
	{ "margay_commander_memory_used_bytes", "gauge",
		"As margay_management_memory_used_bytes.", INFO, "memory_used", NUMBER,
	  { { 0 } } },
	{ "margay_commander_refused_messages_total", "counter",
		"As margay_management_refused_messages_total.", INFO, "refused", NUMBER,
	  { { 0 } } },
	{ "margay_node_memory_bytes", "gauge", "Memory for guests of a NUMA node.", NODE, "memory",
		NUMBER,
	  { { "node", "node" } } },
	{ "margay_node_memory_free_bytes", "gauge", "Memory of it that no VM and no image has.",
		NODE, "free", NUMBER,
	  { { "node", "node" } } },
	{ "margay_node_memory_largest_free_bytes", "gauge", "Its largest piece of free memory.",
		NODE, "largest", NUMBER,
	  { { "node", "node" } } },
	{ "margay_hypervisor_memory_bytes", "gauge", "The hypervisor's own memory.", NODE, "own",
		NUMBER, { { 0 } } },
	{ "margay_hypervisor_memory_used_bytes", "gauge", "How much of that is in use.", NODE,
		"used", NUMBER, { { 0 } } },
	{ "margay_cpu_online", "gauge", "1 for a CPU that runs or can run VMs.", NODE, "online",
		YES,
	  { { "cpu", "cpu" }, { "node", "node" } } },
	{ "margay_cpu_owner_info", "gauge", "Which VM has a CPU, none: an empty label; always 1.",
		NODE, "owner", ONE,
	  { { "cpu", "cpu" }, { "owner", "vm" } } },
	{ "margay_vm_info", "gauge", "The state and the file of a VM, always 1.", LIST, "state",
		ONE,
	  { { "name", "vm" }, { "state", "state" }, { "file", "file" },
		{ "created", "created" } } },
	{ "margay_vm_cpus", "gauge", "CPUs of a VM; 0: all that are free, once it runs.", LIST,
		"cpus", NUMBER,
	  { { "name", "vm" } } },
	{ "margay_vm_memory_bytes", "gauge", "Memory of a VM; 0: all that is free, once it runs.",
		LIST, "memory", NUMBER,
	  { { "name", "vm" } } },
	{ "margay_vm_uptime_seconds", "gauge", "Since when a VM runs; 0: it does not.", LIST, "up",
		NUMBER, { { "name", "vm" } } },
	{ "margay_vm_starts_total", "counter", "How often a VM has been started.", LIST, "starts",
		NUMBER, { { "name", "vm" } } },
	{ "margay_vm_exits_total", "counter", "Exits of a vCPU by reason since its VM has started.",
		STATS, "count", NUMBER,
	  { { "vm", "vm" }, { "vcpu", "vcpu" }, { "exit", "reason" } } },
	{ "margay_vm_interrupts_injected_total", "counter",
		"Interrupts that a vCPU has been given since its VM has started.",
	  STATS,
	  "injected", NUMBER, { { "vm", "vm" }, { "vcpu", "vcpu" } } },
	{ "margay_vm_ends_total", "counter",
		"How often a VM has ended so, or not started, since it was made.", COUNTS, "count",
	  NUMBER, { { "vm", "vm" }, { "ended", "kind" } } },
	{ "margay_vm_net_sent_frames_total", "counter",
		"Frames that an interface has sent to its segment.", COUNTS, "sent", NUMBER,
	  NET },
	{ "margay_vm_net_sent_bytes_total", "counter", "Bytes of these.", COUNTS, "sent_bytes",
		NUMBER, NET },
	{ "margay_vm_net_received_frames_total", "counter", "Frames that an interface has got.",
		COUNTS, "received", NUMBER, NET },
	{ "margay_vm_net_received_bytes_total", "counter", "Bytes of these.", COUNTS,
		"received_bytes", NUMBER, NET },
	{ "margay_vm_net_dropped_frames_total", "counter",
		"Frames that it had no room for, or was paused for.", COUNTS, "dropped",
	  NUMBER, NET },
	{ "margay_vm_net_refused_frames_total", "counter",
		"What its guest sent and nobody got: too large, not its address or VLAN, no frame.",
	  COUNTS, "bad", NUMBER, NET },
	{ "margay_vm_net_drops_total", "counter",
		"Frames that were for an interface, or that its guest sent, and that are lost.",
	  COUNTS, "frames", NUMBER,
	  { { "vm", "vm" }, { "net", "net" }, { "segment", "segment" },
		{ "reason", "reason" } } },
	{ "margay_vm_disk_reads_total", "counter", "Requests that have read a virtual disk.",
		COUNTS, "reads", NUMBER, DISK },
	{ "margay_vm_disk_read_bytes_total", "counter", "Bytes of these.", COUNTS, "read_bytes",
		NUMBER, DISK },
	{ "margay_vm_disk_writes_total", "counter", "Requests that have written to it.", COUNTS,
		"writes", NUMBER, DISK },
	{ "margay_vm_disk_written_bytes_total", "counter", "Bytes of these.", COUNTS,
		"written_bytes", NUMBER, DISK },
	{ "margay_vm_disk_errors_total", "counter", "Requests that were refused.", COUNTS, "errors",
		NUMBER, DISK },
	{ "margay_machine_checks_corrected_total", "counter",
		"Errors of the machine that it has corrected.", COUNTS, "corrected",
	  NUMBER, { { 0 } } },
	{ "margay_machine_checks_uncorrected_total", "counter",
		"Errors of the machine that it has not corrected.", COUNTS,
	  "uncorrected", NUMBER, { { 0 } } },
	{ "margay_function_blocked_dma_total", "counter",
		"DMA of a function that the IOMMU has blocked since its VM has it.",
	  COUNTS, "blocked_dma", NUMBER, { { "function", "function" } } },
	{ "margay_function_blocked_interrupts_total", "counter",
		"Interrupts of a function that the IOMMU has blocked.", COUNTS,
	  "blocked_interrupts", NUMBER, { { "function", "function" } } },
};
/* clang-format on */

#define VALUE 256

/* ---- samples ------------------------------------------------------------------------------- */

/* What stands between quotation marks; the node's text is printable ASCII. */
static void put_label_value(FILE *to, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', to);
		if (*s == '\n')
			fputs("\\n", to);
		else
			fputc((unsigned char)*s < 0x80 ? *s : '?', to);
	}
}

static int has_labels(const struct metric *m, const char *line)
{
	char value[VALUE];

	for (unsigned i = 0; i < LABELS && m->label[i][0]; i++)
		if (!margay_value(line, m->label[i][0], value, sizeof(value)))
			return 0;
	return 1;
}

static void put_sample(FILE *to, const struct metric *m, const char *line)
{
	char value[VALUE], label[VALUE];

	/* A name that a later version has for something else is no number. */
	if (!margay_value(line, m->key, value, sizeof(value)) || !has_labels(m, line) ||
	    (m->value == NUMBER && (!*value || strspn(value, "0123456789") != strlen(value))))
		return;
	fputs(m->name, to);
	for (unsigned i = 0; i < LABELS && m->label[i][0]; i++) {
		margay_value(line, m->label[i][0], label, sizeof(label));
		fprintf(to, "%s%s=\"", i ? "," : "{", m->label[i][1]);
		put_label_value(to, label);
		fputc('"', to);
	}
	fputs(m->label[0][0] ? "} " : " ", to);
	if (m->value == NUMBER)
		fprintf(to, "%s\n", value);
	else
		fputs(m->value == ONE || !strcmp(value, "yes") ? "1\n" : "0\n", to);
}

static void put_metric(FILE *to, const struct metric *m, const char *lines)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		put_sample(to, m, lines);
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* Writes the lines that the node has of a VM that runs, each with its name. */
static int add_stats(struct margay *m, FILE *to, const char *name)
{
	char *lines;
	int err = margay_lines(m, MANAGEMENT_STATS, name, &lines);

	for (char *line = err ? NULL : lines; line && *line;
	     line += strcspn(line, "\n"), line += *line == '\n')
		fprintf(to, "vm=%s\t%.*s\n", name, (int)strcspn(line, "\n"), line);
	if (err >= 0)
		free(lines);
	/* One that does not run, or does not any more, has none. */
	return err == ENODEV || err == ENOENT ? 0 : err;
}

static int ask_stats(struct margay *m, const char *list, char **lines)
{
	char name[VALUE];
	size_t size;
	FILE *to = open_memstream(lines, &size);
	int err = to ? 0 : -1;

	for (; !err && *list; list += strcspn(list, "\n"), list += *list == '\n')
		if (margay_value(list, "name", name, sizeof(name)))
			err = add_stats(m, to, name);
	if (to && fclose(to))
		err = -1;
	return err;
}

/* An older node counts nothing of this. */
static int ask_counts(struct margay *m, char **lines)
{
	int err = margay_lines(m, MANAGEMENT_COUNTS, "", lines);

	if (err == ENOSYS)
		(*lines)[0] = 0;
	return err == ENOSYS ? 0 : err;
}

static int ask(struct margay *m, char *lines[SOURCES])
{
	int err = margay_lines(m, MANAGEMENT_HELLO, "", &lines[INFO]);

	if (!err)
		err = margay_lines(m, MANAGEMENT_LIST, "", &lines[LIST]);
	if (!err)
		err = margay_lines(m, MANAGEMENT_NODE, "", &lines[NODE]);
	if (!err)
		err = ask_stats(m, lines[LIST], &lines[STATS]);
	return err ? err : ask_counts(m, &lines[COUNTS]);
}

int metrics_write(struct margay *m, FILE *to)
{
	char *lines[SOURCES] = { NULL };
	int err = ask(m, lines);

	if (!err) {
		for (unsigned i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
			put_metric(to, &metrics[i], lines[metrics[i].source]);
		if (fflush(to) || ferror(to))
			err = -1;
	}
	for (unsigned i = 0; i < SOURCES; i++)
		free(lines[i]);
	return err;
}

/* ---- a file ----------------------------------------------------------------------------- */

static int write_and_close(int fd, const char *text, size_t n)
{
	/* Others read it: it is made for the user alone. */
	int err = fchmod(fd, 0644) || write(fd, text, n) != (ssize_t)n || fsync(fd);

	return close(fd) || err ? -1 : 0;
}

int metrics_write_file(struct margay *m, const char *path)
{
	size_t n = strlen(path) + sizeof(NEW);
	char *new = malloc(n), *text = NULL;
	int fd = -1, err = -1, why;
	size_t size = 0;
	/* First: one that does not answer leaves no file behind. */
	FILE *to = open_memstream(&text, &size);

	if (to && new) {
		err = metrics_write(m, to);
	}
	if (to && fclose(to) && !err)
		err = -1;
	if (!err) {
		snprintf(new, n, "%s" NEW, path);
		fd = mkstemp(new);
		err = fd < 0 ? -1 : 0;
	}
	if (fd >= 0) {
		err = write_and_close(fd, text, size);
		if (!err && rename(new, path))
			err = -1;
		why = errno;
		if (err)
			unlink(new);
		errno = why;
	}
	free(text);
	free(new);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* <margay/host.h> on the build host; see fake_host.h. */
#include "tests/unit/fake_host.h"

#include <margay/errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fake_host fake_host;

void fake_host_reset(void)
{
	memset(&fake_host, 0, offsetof(struct fake_host, log));
	fake_host.log[0] = '\0';
	fake_host.tsc_khz = 2000000;
	fake_host.tsc_stable = true;
	fake_host.nr_cpus = fake_host.nr_nodes = 1;
	fake_host.ram[0] = (struct host_extent){ .base = hpa(FAKE_RAM_BASE), .size = GIB(4) };
	fake_host.nr_ram = 1;
	fake_host.output_room = sizeof(fake_host.output);
	for (unsigned i = 0; i < FAKE_CPUS; i++)
		fake_host.cpus[i] = (struct host_cpu_info){ .apic_id = i, .online = true };
}

/* ---- memory ---- */

void *host_pages_alloc(unsigned count, int node)
{
	void *p;

	if (fake_host.pages_until_fail && --fake_host.pages_until_fail == 0)
		return NULL;
	p = aligned_alloc(PAGE_SIZE, count * PAGE_SIZE);
	if (p) {
		memset(p, 0, count * PAGE_SIZE);
		fake_host.pages_in_use += count;
		if (node >= 0 && node < FAKE_NODES)
			fake_host.pages_on[node] += count;
	}
	return p;
}

void host_pages_free(void *pages, unsigned count)
{
	if (pages)
		fake_host.pages_in_use -= count;
	free(pages);
}

void host_account(u64 *) { }

/* The first piece of free RAM from `from` on, with 2 MiB of nothing left behind each extent. */
static bool next_free(u64 from, struct host_extent *out)
{
	for (unsigned i = 0; i < fake_host.nr_ram; i++) {
		const struct host_extent *ram = &fake_host.ram[i];
		u64 at = MAX(from, ram->base.v), end = ram->base.v + ram->size;

		while (at < end) {
			const struct host_extent *over = NULL;
			u64 limit = end;

			for (unsigned k = 0; k < fake_host.nr_extents; k++) {
				const struct host_extent *e = &fake_host.extent[k];

				if (e->base.v <= at && at < e->base.v + e->size + PAGE_SIZE_2M)
					over = e;
				else if (e->base.v > at)
					limit = MIN(limit, e->base.v);
			}
			if (!over) {
				*out = (struct host_extent){ .base = hpa(at),
							     .size = limit - at,
							     .node = ram->node };
				return true;
			}
			at = over->base.v + over->size + PAGE_SIZE_2M;
		}
	}
	return false;
}

int host_extent_alloc(const struct host_extent_request *req, struct host_extent *out)
{
	u64 align = req->align ? req->align : PAGE_SIZE_2M;
	struct host_extent piece;

	for (u64 from = req->min_addr; next_free(from, &piece); from = piece.base.v + piece.size) {
		u64 start = ALIGN_UP(piece.base.v, align), end = piece.base.v + piece.size;

		if (req->max_addr)
			end = MIN(end, req->max_addr);
		if (start >= end || end - start < req->size ||
		    (req->node >= 0 && req->node != piece.node))
			continue;
		*out = (struct host_extent){ .base = hpa(start),
					     .size = req->size,
					     .node = piece.node,
					     .zero = fake_host.extents_zero };
		if (fake_host.nr_extents == FAKE_EXTENTS ||
		    mmap(host_hpa_to_virt(out->base), out->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) == MAP_FAILED)
			abort();
		fake_host.extent[fake_host.nr_extents++] = *out;
		return 0;
	}
	return -ENOMEM;
}

void host_extent_free(const struct host_extent *e)
{
	fake_host.freed_zero |= e->zero;
	for (unsigned i = 0; i < fake_host.nr_extents; i++) {
		if (fake_host.extent[i].base.v != e->base.v || fake_host.extent[i].size != e->size)
			continue;
		if (munmap(host_hpa_to_virt(e->base), e->size))
			abort();
		fake_host.extent[i] = fake_host.extent[--fake_host.nr_extents];
		return;
	}
	abort();
}

/* Pages that were never touched cost nothing, before and after. */
void host_extents_zero(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned,
		       bool (*unowned)(unsigned cpu))
{
	(void)cpu;
	(void)unowned;
	for (unsigned i = 0; i < count; i++)
		if (madvise(host_hpa_to_virt(e[i].base), e[i].size, MADV_DONTNEED))
			abort();
}

bool host_mem_piece(unsigned i, struct host_extent *out)
{
	u64 from = 0;

	do {
		if (!next_free(from, out))
			return false;
		from = out->base.v + out->size;
	} while (i--);
	return true;
}

u64 host_node_memory(unsigned node)
{
	u64 sum = 0;

	for (unsigned i = 0; i < fake_host.nr_ram; i++)
		sum += fake_host.ram[i].node == (int)node ? fake_host.ram[i].size : 0;
	return sum;
}

unsigned host_node_count(void)
{
	return fake_host.nr_nodes;
}

u64 host_mem_free(int node, u64 *largest)
{
	struct host_extent piece;
	u64 sum = 0, most = 0;

	for (unsigned i = 0; host_mem_piece(i, &piece); i++) {
		if (node >= 0 && piece.node != node)
			continue;
		sum += piece.size;
		most = MAX(most, piece.size);
	}
	if (largest)
		*largest = most;
	return sum;
}

u8 host_node_distance(unsigned from, unsigned to)
{
	return from == to ? 10 : (u8)(20 + 5 * from + to); /* there is not as far as back */
}

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa((uintptr_t)va);
}

void *host_hpa_to_virt(hpa_t pa)
{
	return (void *)(uintptr_t)pa.v;
}

/* ---- local APICs that are guests' ---- */

void host_apic_give(void)
{
	if (fake_host.given[fake_host.this_cpu])
		abort();
	fake_host.given[fake_host.this_cpu] = true;
}

void host_apic_reset(void)
{
	if (!fake_host.given[fake_host.this_cpu])
		abort();
	fake_host.apic_resets++;
}

int host_apic_svr(u64 value)
{
	if (!fake_host.given[fake_host.this_cpu])
		abort();
	return host_wrmsr(0x80f, value);
}

void host_apic_take_back(void)
{
	if (!fake_host.given[fake_host.this_cpu])
		abort();
	fake_host.given[fake_host.this_cpu] = false;
}

void host_apic_interrupt(unsigned cpu, u8 vector)
{
	if (fake_host.sending)
		fake_host.sending();
	if (!fake_host.given[cpu])
		abort();
	fake_host.sent[fake_host.nr_sent % ARRAY_SIZE(fake_host.sent)].cpu = cpu;
	fake_host.sent[fake_host.nr_sent++ % ARRAY_SIZE(fake_host.sent)].vector = vector;
}

/* ---- modules ---- */

const struct host_module *host_module(unsigned i)
{
	return i < fake_host.nr_modules ? &fake_host.modules[i] : NULL;
}

/* Of vmm/vm/vm.c, which few tests have. */
__attribute__((weak)) const struct host_module *vm_find_module(const char *name)
{
	for (unsigned i = 0; i < fake_host.nr_modules; i++)
		if (!strcmp(fake_host.modules[i].name, name))
			return &fake_host.modules[i];
	return NULL;
}

u64 host_module_room(void)
{
	return MIB(64);
}

u64 host_modules_release(void)
{
	u64 bytes = 0;

	for (unsigned i = 0; i < fake_host.nr_modules; i++)
		bytes += fake_host.modules[i].size;
	fake_host.nr_modules = 0;
	return bytes;
}

/* ---- CPUs ---- */

unsigned host_cpu_count(void)
{
	return fake_host.nr_cpus;
}

unsigned host_cpu_this(void)
{
	return fake_host.this_cpu;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	return cpu < fake_host.nr_cpus ? &fake_host.cpus[cpu] : NULL;
}

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	if (cpu >= fake_host.nr_cpus || !fake_host.cpus[cpu].online)
		return -ENODEV;
	if (fake_host.work[cpu] || (fake_host.running[cpu] && cpu != fake_host.this_cpu))
		return -EBUSY;
	fake_host.work[cpu] = work;
	return 0;
}

int host_cpu_assign_behind(unsigned cpu, struct host_work *work)
{
	return host_cpu_assign(cpu, work);
}

void host_idle_work(struct host_idle_work *work)
{
	fake_host.idle_work = work;
}

void host_cpu_kick(unsigned cpu)
{
	fake_host.kicks[cpu]++;
	fake_host.kick_word[cpu] = 1;
}

void host_interrupt_window(void)
{
	fake_host_window();
	if (fake_host.window)
		fake_host.window();
}

void host_cpu_lost(unsigned)
{
	abort();
}

bool host_cpu_kicked(void)
{
	bool kicked = fake_host.kick_word[fake_host.this_cpu];

	fake_host.kick_word[fake_host.this_cpu] = 0;
	return kicked;
}

const u32 *host_cpu_kick_word(void)
{
	return &fake_host.kick_word[fake_host.this_cpu];
}

/* Sleeping means that nothing happens until the next timer, but a kick is never slept over. */
void host_cpu_wait(void)
{
	u64 next = ~0ull;

	if (host_cpu_kicked())
		return;
	if (fake_host.wait) {
		fake_host.wait();
		return;
	}
	for (const struct host_timer *t = fake_host.timers; t; t = t->next)
		next = MIN(next, t->deadline);
	if (next != ~0ull)
		fake_host_advance(MAX(next, fake_host.tsc));
}

/* ---- instructions ---- */

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	if (fake_host.cpuid)
		fake_host.cpuid(leaf, subleaf, out);
}

const struct cstates *host_cstates(unsigned)
{
	return fake_host.cstates;
}

const void *host_smbios(u32 *size)
{
	*size = fake_host.smbios_size;
	return fake_host.smbios;
}

u64 host_tsc(void)
{
	return fake_host.tsc += fake_host.tsc_step;
}

static u64 *find_msr(u32 msr)
{
	for (unsigned i = 0; i < fake_host.nr_msrs; i++)
		if (fake_host.msrs[i].msr == msr)
			return &fake_host.msrs[i].value;
	return NULL;
}

int host_rdmsr(u32 msr, u64 *value)
{
	const u64 *found = find_msr(msr);

	*value = found ? *found : 0;
	return found ? 0 : -EFAULT;
}

int host_wrmsr(u32 msr, u64 value)
{
	u64 *found = find_msr(msr);

	if (!found)
		return -EFAULT;
	*found = value;
	return 0;
}

void host_counter_interrupt(u8 vector)
{
	fake_host.counter_vector[fake_host.this_cpu] = vector;
}

int host_xsetbv(u32 xcr, u64 value)
{
	return xcr == 0 && value & XCR0_X87 ? 0 : -EFAULT;
}

void host_fpu_reset(u64) { }

void host_vector_read(unsigned reg, unsigned size, void *bytes)
{
	memcpy(bytes, fake_host.vector_register[reg], size);
}

void host_vector_write(unsigned reg, unsigned size, bool vex, const void *bytes)
{
	memcpy(fake_host.vector_register[reg], bytes, size);
	if (vex && size < sizeof(fake_host.vector_register[reg]))
		memset(fake_host.vector_register[reg] + size, 0,
		       sizeof(fake_host.vector_register[reg]) - size);
}

void host_vector_read_zmm(unsigned reg, void *bytes)
{
	memcpy(bytes, fake_host.vector_register[reg], 64);
}

void host_vector_write_zmm(unsigned reg, const void *bytes)
{
	memcpy(fake_host.vector_register[reg], bytes, 64);
}

void host_wbinvd(void) { }

/* ---- time ---- */

u64 host_tsc_khz(void)
{
	return fake_host.tsc_khz;
}

bool host_tsc_stable(void)
{
	return fake_host.tsc_stable;
}

u64 host_wall_clock(u64 *tsc)
{
	*tsc = fake_host.tsc;
	return fake_host.wall_ns +
	       (u64)((unsigned __int128)fake_host.tsc * 1000000 / fake_host.tsc_khz);
}

bool host_mwait(void)
{
	return fake_host.mwait;
}

bool host_x2apic_off(void)
{
	return fake_host.x2apic_off;
}

bool host_alarm(void)
{
	return !fake_host.no_alarm;
}

static void disarm(struct host_timer *timer)
{
	for (struct host_timer **t = &fake_host.timers; *t; t = &(*t)->next) {
		if (*t == timer) {
			*t = timer->next;
			break;
		}
	}
	timer->armed = false;
}

/* It stands in the list of the CPU that has armed it, which no other may change. */
void host_timer_cancel(struct host_timer *timer)
{
	if (timer->armed && timer->cpu != fake_host.this_cpu) {
		fprintf(stderr, "CPU %u cancels a timer of CPU %u\n", fake_host.this_cpu,
			timer->cpu);
		abort();
	}
	disarm(timer);
}

void host_timer_arm(struct host_timer *timer, u64 tsc_deadline)
{
	host_timer_cancel(timer);
	timer->deadline = tsc_deadline;
	timer->armed = true;
	timer->cpu = fake_host.this_cpu;
	timer->next = fake_host.timers;
	fake_host.timers = timer;
}

u64 host_reference_ns(void)
{
	return fake_host.tsc / 2;
}

/* The armed timer with the lowest deadline up to `limit`, of one CPU or of all (-1), or NULL. */
static struct host_timer *first_due(u64 limit, int cpu)
{
	struct host_timer *first = NULL;

	for (struct host_timer *t = fake_host.timers; t; t = t->next)
		if (t->deadline <= limit && (cpu < 0 || t->cpu == (unsigned)cpu) &&
		    (!first || t->deadline < first->deadline))
			first = t;
	return first;
}

bool fake_host_timer_due(unsigned cpu)
{
	return first_due(fake_host.tsc, (int)cpu);
}

/* Who has asked for tx_room(); as the line's interrupt would, not in the caller. */
static void call_asked(void)
{
	struct host_console *con = fake_host.asked;

	fake_host.asked = NULL;
	if (con)
		con->tx_room(con);
}

void fake_host_window(void)
{
	struct host_timer *t;
	u64 now = fake_host.tsc;

	while ((t = first_due(now, (int)fake_host.this_cpu))) {
		disarm(t);
		t->fn(t);
		call_asked();
	}
}

void fake_host_advance(u64 tsc)
{
	struct host_timer *t;

	while ((t = first_due(tsc, -1))) {
		fake_host.tsc = MAX(fake_host.tsc, t->deadline);
		disarm(t);
		t->fn(t);
		call_asked();
	}
	fake_host.tsc = tsc;
}

/* ---- console and end ---- */

int host_no_memory(const char *who)
{
	host_log("margay: %s: no memory left for the hypervisor itself", who);
	return -ENOMEM;
}

void host_log(const char *fmt, ...)
{
	size_t n = strlen(fake_host.log);
	va_list ap;

	va_start(ap, fmt);
	if (fake_host.quiet) {
		char line[512];

		vsnprintf(line, sizeof(line), fmt, ap);
		va_end(ap);
		return;
	}
	vsnprintf(fake_host.log + n, sizeof(fake_host.log) - n, fmt, ap);
	va_end(ap);
	n = strlen(fake_host.log);
	snprintf(fake_host.log + n, sizeof(fake_host.log) - n, "\n");
}

void host_log_limited(struct log_limit *limit, const char *source, const char *fmt, ...)
{
	char text[512];
	u32 unsaid;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!log_limit_take(limit, fake_host.tsc, fake_host.tsc_khz, &unsaid))
		return;
	if (unsaid)
		host_log("%s: %s, %u more since the last line", source, text, unsaid);
	else
		host_log("%s: %s", source, text);
}

/* In the same text: what the line has not is marked. */
void host_log_quiet(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	host_log("(quiet) %s", line);
}

void host_console_add(struct host_console *con)
{
	if (!fake_host.console)
		fake_host.console = con;
}

void host_console_remove(struct host_console *con)
{
	if (fake_host.console == con)
		fake_host.console = NULL;
}

int host_console_foreground(struct host_console *con)
{
	fake_host.console = con;
	return 0;
}

const struct host_console *host_console_get_foreground(void)
{
	return fake_host.console;
}

u8 host_console_escape(struct host_console *con)
{
	fake_host.escape = con;
	return FAKE_ESCAPE;
}

size_t host_console_write(struct host_console *, const u8 *buf, size_t n)
{
	size_t fits =
		MIN(MIN(n, fake_host.output_room), sizeof(fake_host.output) - fake_host.output_len);

	if (fits)
		memcpy(fake_host.output + fake_host.output_len, buf, fits);
	fake_host.output_len += fits;
	fake_host.output_room -= fits;
	fake_host.output_short = fits < n;
	return fits;
}

void fake_host_type(const char *text)
{
	for (; *text; text++) {
		struct host_console *con = fake_host.escape && *text == FAKE_ESCAPE
						   ? fake_host.escape
						   : fake_host.console;

		if (con)
			con->rx(con, (u8)*text);
	}
}

void fake_host_drain(size_t room)
{
	fake_host.output_room = room;
	if (fake_host.output_short && fake_host.console)
		fake_host.console->tx_room(fake_host.console);
}

const char *host_version(void)
{
	return "fake";
}

bool host_memory_lost(unsigned i, u64 *page)
{
	*page = i < fake_host.nr_lost ? fake_host.lost[i] : ~0ull;
	return i < fake_host.nr_lost;
}

u64 host_memory_lost_in(u64 from, u64 to)
{
	u64 first = to;

	if (fake_host.lost_in && !--fake_host.lost_in)
		fake_host.nr_lost++;
	for (unsigned i = 0; i < fake_host.nr_lost; i++)
		if (fake_host.lost[i] >= from && fake_host.lost[i] < first)
			first = fake_host.lost[i];
	return first;
}

void host_on_memory_lost(void (*fn)(void))
{
	fake_host.on_memory_lost = fn;
}

u64 host_failed_page(void)
{
	return fake_host.failed_page;
}

const char *host_image(void)
{
	return "default +VIRTIO";
}

u64 host_machine_checks(u64 *lost)
{
	*lost = 0;
	return fake_host.corrected;
}

bool host_rdt_take(const void *, const struct host_rdt_wish *, const u16 *, unsigned, char *)
{
	return true;
}

void host_rdt_free(const void *) { }

void host_rdt_enter(const void *) { }

void host_rdt_leave(const void *) { }

u64 host_own_bytes(u64 *used)
{
	*used = 0;
	return 0;
}

struct host_mitigations host_mitigations(unsigned)
{
	return fake_host.mitigations;
}

void host_mitigations_report(void (*)(const char *fmt, ...)) { }

unsigned host_check_wanted(bool *stay, bool *dump, bool *json)
{
	*dump = *json = false;
	*stay = false;
	return 0;
}

void host_dump(host_dump_item) { }

void host_platform(struct host_platform *out)
{
	*out = (struct host_platform){ 0 };
}

unsigned host_watchdogs(struct host_watchdog[HOST_WATCHDOGS])
{
	return 0;
}

bool host_is_x2apic(void)
{
	return false;
}

void host_console_ask(struct host_console *con)
{
	fake_host.asked = con;
}

void host_console_drain(void) { }

void host_log_times(bool) { }

void host_node_poweroff(const char *vms)
{
	if (fake_host.poweroff)
		fake_host.poweroff();
	fprintf(stderr, "host_node_poweroff(%s)\n", vms);
	abort();
}

void host_node_reboot(void)
{
	abort();
}

void host_panic_report(void (*fn)(void))
{
	(void)fn;
}

void host_panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

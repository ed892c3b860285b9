/* SPDX-License-Identifier: GPL-2.0-only */
/* Start, console, command line, verdict and end of a tiny guest. */
#include "runtime.h"

#include <stdarg.h>

#define UART 0x3f8
#define DEBUG_EXIT 0xf4
#define FAILURES_SHOWN 20
#define FILLED 0xa5a55a5aa5a55a5aull

const u32 *boot_info;
u32 boot_magic;

static unsigned checks, failures;
static bool told;
static volatile char lock;

/* ---- console ---- */

static void put(char c)
{
	while (!(inb(UART + 5) & 0x20))
		cpu_relax();
	outb(UART, (u8)c);
}

static void puts(const char *s)
{
	while (*s)
		put(*s++);
}

static void put_number(u64 v, unsigned base, bool prefix)
{
	char buf[21], *p = buf + sizeof(buf);

	*--p = 0;
	do
		*--p = "0123456789abcdef"[v % base];
	while (v /= base);
	if (prefix)
		puts("0x");
	puts(p);
}

static void put_conversion(const char **fmt, va_list ap)
{
	const char *f = *fmt;
	bool wide = false, prefix = false;

	if (*f == '#' && f++)
		prefix = true;
	while (*f == 'l' && f++)
		wide = true;
	switch (*f) {
	case 's': puts(va_arg(ap, const char *)); break;
	case 'c': put((char)va_arg(ap, int)); break;
	case 'd': {
		s64 v = wide ? va_arg(ap, s64) : va_arg(ap, int);

		if (v < 0)
			put('-');
		put_number(v < 0 ? -(u64)v : (u64)v, 10, false);
		break;
	}
	default: put_number(wide ? va_arg(ap, u64) : va_arg(ap, u32), *f == 'x' ? 16 : 10, prefix);
	}
	*fmt = f;
}

static void vput(const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		if (*fmt == '%') {
			fmt++;
			put_conversion(&fmt, ap);
		} else {
			put(*fmt);
		}
	}
}

static void take(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		cpu_relax();
}

static void release(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

void print(const char *fmt, ...)
{
	va_list ap;

	take();
	va_start(ap, fmt);
	vput(fmt, ap);
	va_end(ap);
	puts("\r\n");
	release();
}

/* ---- verdict ---- */

bool check_result(bool ok, const char *file, int line, const char *fmt, ...)
{
	unsigned n;
	va_list ap;

	__atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
	if (ok)
		return true;
	n = __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
	if (n > FAILURES_SHOWN)
		return false;
	take();
	puts("tiny: failed: ");
	va_start(ap, fmt);
	vput(fmt, ap);
	va_end(ap);
	puts(" (");
	puts(file);
	put(':');
	put_number((u64)line, 10, false);
	puts(")\r\n");
	release();
	return false;
}

void result(void)
{
	if (__atomic_test_and_set(&told, __ATOMIC_ACQ_REL))
		return;
	if (!checks)
		check(false, "nothing was checked");
	if (failures)
		print("tiny: " TINY_NAME ": FAILED failed=%u checks=%u", failures, checks);
	else
		print("tiny: " TINY_NAME ": ok checks=%u", checks);
}

void exit_test(void)
{
	result();
	/* With all registers full, for the next VM to find if one stays. */
	asm volatile(
		"mov %1, %%rcx; mov %1, %%rdx; mov %1, %%rsi; mov %1, %%rdi; mov %1, %%r8; mov %1, %%r9; mov %1, %%r10\n\t"
		"mov %1, %%r11; mov %1, %%r12; mov %1, %%r13; mov %1, %%r14; mov %1, %%r15; out %0, %2"
		: : "a"(failures ? 1u : 0u), "b"(FILLED), "i"(DEBUG_EXIT)
		: "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		  "memory");
	/* Nobody there: Bochs on its own ends by this. */
	for (const char *p = "Shutdown"; *p; p++)
		outb(0x8900, (u8)*p);
	for (;;)
		asm volatile("cli; hlt");
}

/* ---- command line ---- */

const char *option(const char *key)
{
	const char *p = boot_info[0] & BIT(2) ? (const char *)(u64)boot_info[4] : "";

	while (*p) {
		const char *k = key;

		while (*p == ' ')
			p++;
		while (*k && *p == *k)
			p++, k++;
		if (!*k && *p == '=')
			return p + 1;
		while (*p && *p != ' ')
			p++;
	}
	return NULL;
}

u64 option_number(const char *key, u64 otherwise)
{
	const char *p = option(key);
	u64 v = 0;

	if (!p)
		return otherwise;
	while (*p >= '0' && *p <= '9')
		v = v * 10 + (u64)(*p++ - '0');
	return v;
}

static bool machine_is(char first)
{
	const char *m = option("machine");

	return m && *m == first;
}

bool on_bochs(void)
{
	return machine_is('b');
}

bool on_qemu(void)
{
	return machine_is('q');
}

bool on_kvm(void)
{
	const char *p = option("processor");

	return p && *p == 'k';
}

bool on_margay(void)
{
	return cpuid(0x40000000, 0).ebx == 0x6772614d; /* "Marg" */
}

void tiny_main(const u32 *info, u32 magic);
void tiny_main(const u32 *info, u32 magic)
{
	boot_info = info;
	boot_magic = magic;
	trap_init();
	cpu_init(&cpus[0]);
	test_main();
	exit_test();
}

/* What the compiler may call. */
void *memcpy(void *restrict d, const void *restrict s, size_t n);
void *memset(void *d, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict d, const void *restrict s, size_t n)
{
	void *to = d;

	asm volatile("rep movsb" : "+D"(to), "+S"(s), "+c"(n) : : "memory");
	return d;
}

void *memset(void *d, int c, size_t n)
{
	void *to = d;

	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return d;
}

int memcmp(const void *a, const void *b, size_t n)
{
	for (const u8 *p = a, *q = b; n--; p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vectors SECONDS: two processes hold different values in all vector registers
 * of the CPU (ZMM, YMM or XMM, whichever the kernel enabled), exit to the
 * hypervisor again and again (CPUID) and are switched by the timer; each checks
 * its registers every time. Prints "ok <zmm|ymm|xmm> <checks>".
 *
 * The registers are loaded and stored in one piece of assembly, so that no
 * code of the compiler touches them in between.
 */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REG_BYTES 64
#define NREGS 32

static uint8_t in[NREGS * REG_BYTES] __attribute__((aligned(64)));
static uint8_t out[NREGS * REG_BYTES] __attribute__((aligned(64)));

/* A CPUID exit and some hundred cycles in user mode, where a timer may fall. */
#define BETWEEN \
	"mov $0, %%eax\n\txor %%ecx, %%ecx\n\tcpuid\n\t" \
	"mov $200, %%ecx\n1:\n\tpause\n\tdec %%ecx\n\tjnz 1b\n\t"

#define ALL8(m, r) m(r, 0) m(r, 1) m(r, 2) m(r, 3) m(r, 4) m(r, 5) m(r, 6) m(r, 7)
#define ALL16(m, r) ALL8(m, r) m(r, 8) m(r, 9) m(r, 10) m(r, 11) m(r, 12) m(r, 13) m(r, 14) m(r, 15)
#define ALL32(m, r) \
	ALL16(m, r) \
	m(r, 16) m(r, 17) m(r, 18) m(r, 19) m(r, 20) m(r, 21) m(r, 22) m(r, 23) m(r, 24) m(r, 25) \
		m(r, 26) m(r, 27) m(r, 28) m(r, 29) m(r, 30) m(r, 31)

#define LOAD_XMM(r, n) "movdqu 64*" #n "(%0), %%" #r #n "\n\t"
#define STORE_XMM(r, n) "movdqu %%" #r #n ", 64*" #n "(%1)\n\t"
#define LOAD_YMM(r, n) "vmovdqu 64*" #n "(%0), %%" #r #n "\n\t"
#define STORE_YMM(r, n) "vmovdqu %%" #r #n ", 64*" #n "(%1)\n\t"
#define LOAD_ZMM(r, n) "vmovdqu64 64*" #n "(%0), %%" #r #n "\n\t"
#define STORE_ZMM(r, n) "vmovdqu64 %%" #r #n ", 64*" #n "(%1)\n\t"

#define CLOBBERS "rax", "rbx", "rcx", "rdx", "memory", "cc"

static void round_xmm(void)
{
	__asm__ volatile(ALL16(LOAD_XMM, xmm) BETWEEN ALL16(STORE_XMM, xmm) : : "S"(in), "D"(out)
			 : CLOBBERS);
}

static void round_ymm(void)
{
	__asm__ volatile(ALL16(LOAD_YMM, ymm) BETWEEN ALL16(STORE_YMM, ymm) "vzeroupper" :
			 : "S"(in), "D"(out) : CLOBBERS);
}

static void round_zmm(void)
{
	__asm__ volatile(ALL32(LOAD_ZMM, zmm) BETWEEN ALL32(STORE_ZMM, zmm) "vzeroupper" :
			 : "S"(in), "D"(out) : CLOBBERS);
}

struct kind {
	const char *name;
	void (*round)(void);
	int regs;
	int bytes;
};

static const struct kind kinds[] = {
	{ "xmm", round_xmm, 16, 16 },
	{ "ymm", round_ymm, 16, 32 },
	{ "zmm", round_zmm, 32, 64 },
};

/* What the kernel enabled in XCR0, not only what the CPU has. */
static const struct kind *widest(void)
{
	uint32_t a, b, c, d, xcr0, high;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE) || !(c & bit_AVX))
		return &kinds[0];
	__asm__("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
	if ((xcr0 & 0x6) != 0x6)
		return &kinds[0];
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) && (xcr0 & 0xe6) == 0xe6)
		return &kinds[2];
	return &kinds[1];
}

static int run(const struct kind *k, unsigned seed, unsigned seconds,
	       volatile unsigned long *checks)
{
	time_t end = time(NULL) + seconds;

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)((i + 1) * (2 * seed + 1) ^ (i >> 8));
	while (time(NULL) < end) {
		memset(out, 0, sizeof(out));
		k->round();
		for (int r = 0; r < k->regs; r++)
			if (memcmp(in + r * REG_BYTES, out + r * REG_BYTES, (size_t)k->bytes))
				return 1 + r;
		++*checks;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 3;
	const struct kind *k = widest();
	unsigned long *checks =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int wrong = 0;

	if (checks == MAP_FAILED)
		return 1;
	for (unsigned i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(run(k, 40 + i, seconds, &checks[i]));
	for (unsigned i = 0; i < 2; i++) {
		int status = 0;

		wait(&status);
		if (!WIFEXITED(status))
			wrong = -1;
		else if (WEXITSTATUS(status))
			wrong = WEXITSTATUS(status);
	}
	if (wrong) {
		printf("%s%d was lost or a process died\n", k->name, wrong - 1);
		return 1;
	}
	if (!checks[0] || !checks[1]) {
		printf("no check was made\n");
		return 1;
	}
	printf("ok %s %lu\n", k->name, checks[0] + checks[1]);
	return 0;
}

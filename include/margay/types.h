/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integer types, the two kinds of physical address, and the small macros that
 * every layer uses. Freestanding; also compiled on the build host by the tests.
 */
#ifndef MARGAY_TYPES_H
#define MARGAY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef static_assert
#define static_assert _Static_assert
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64; /* printed by %lu and %lx */
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/*
 * Host-physical and guest-physical addresses are distinct types, so that one
 * is never taken for the other; arithmetic goes through .v.
 */
typedef struct {
	u64 v;
} hpa_t;
typedef struct {
	u64 v;
} gpa_t;

static inline hpa_t hpa(u64 v)
{
	return (hpa_t){ v };
}

static inline gpa_t gpa(u64 v)
{
	return (gpa_t){ v };
}

#define KIB(n) ((u64)(n) << 10)
#define MIB(n) ((u64)(n) << 20)
#define GIB(n) ((u64)(n) << 30)

#define PAGE_SHIFT 12
#define PAGE_SIZE KIB(4)
#define PAGE_SIZE_2M MIB(2)
#define PAGE_SIZE_1G GIB(1)

#define BIT(n) ((u64)1 << (n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* align must be a power of two */
#define ALIGN_UP(x, align) (((x) + ((align) - 1)) & ~((u64)(align) - 1))
#define ALIGN_DOWN(x, align) ((x) & ~((u64)(align) - 1))
#define IS_ALIGNED(x, align) (((x) & ((u64)(align) - 1)) == 0)

/* Do [a, a + a_size) and [b, b + b_size) share a byte? Neither may wrap. */
static inline bool ranges_meet(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a < b + b_size && b < a + a_size;
}

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define __section(s) __attribute__((section(s)))
#define __used __attribute__((used))
#define __printf(f, a) __attribute__((format(printf, f, a)))
/* What is seldom called, or would cost its caller's short way the registers that it needs. */
#define noinline __attribute__((noinline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * True when the Kconfig option is y: config.h defines it as 1, an option that
 * is off is not defined at all. The unused branch is still compiled.
 */
#define MARGAY_ARG_PLACEHOLDER_1 0,
#define MARGAY_TAKE_SECOND(ignored, val, ...) val
#define MARGAY_IS_DEF3(arg1_or_junk) MARGAY_TAKE_SECOND(arg1_or_junk 1, 0, 0)
#define MARGAY_IS_DEF2(val) MARGAY_IS_DEF3(MARGAY_ARG_PLACEHOLDER_##val)
#define MARGAY_IS_DEF1(x) MARGAY_IS_DEF2(x)
#define IS_ENABLED(option) MARGAY_IS_DEF1(option)

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Who has which part of which L3 cache, and the registers of it: <margay/host_rdt.h>. SDM vol. 3, 18.19. */
#include "arch/x86_64/cpu/rdt.h"

#include <margay/host.h>
#include <margay/host_rdt.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#define SHARES 64

static struct spinlock lock;
static struct rdt_share share[SHARES];

static bool refuse(char *text, const char *why, unsigned number)
{
	snprintf(text, HOST_RDT_TEXT, why, number);
	return false;
}

static bool possible(const struct rdt_caps *caps, const struct host_rdt_wish *wish, char *text)
{
	if (wish->ways && !caps->ways)
		return refuse(text, "cache: these CPUs cannot divide their L3 cache", 0);
	if (wish->ways && wish->of != caps->ways)
		return refuse(text, "cache: the L3 cache has %u ways", caps->ways);
	if (wish->bandwidth && !caps->throttle_max)
		return refuse(text, "bandwidth: these CPUs cannot divide memory bandwidth by percents", 0);
	return true;
}

static u32 cache_of(const struct rdt_caps *caps, unsigned cpu)
{
	return host_cpu_info(cpu)->apic_id >> caps->id_shift;
}

/* The owner's share of a cache; owner NULL: any that is free. NULL: none. */
static struct rdt_share *find(const void *owner, u32 cache)
{
	for (unsigned i = 0; i < SHARES; i++)
		if (share[i].owner == owner && (!owner || share[i].cache == cache))
			return &share[i];
	return NULL;
}

static bool take_one(const void *owner, const struct rdt_caps *caps, const struct host_rdt_wish *wish, unsigned cpu)
{
	u32 cache = cache_of(caps, cpu), mask;
	struct rdt_share *s = find(owner, cache);
	unsigned class;

	if (!s) {
		s = find(NULL, 0);
		if (!s || !rdt_find(caps, share, SHARES, cache, wish->ways, &mask, &class))
			return false;
		*s = (struct rdt_share){
			.owner = owner, .cache = cache, .mask = mask, .class = class,
			.throttle = wish->bandwidth ? rdt_throttle(caps, wish->bandwidth) : 0,
		};
	}
	s->cpus++;
	return true;
}

bool host_rdt_take(const void *owner, const struct host_rdt_wish *wish, const u16 *cpu, unsigned nr_cpus, char *text)
{
	struct rdt_caps caps;
	unsigned n = 0;

	if (!wish->ways && !wish->bandwidth)
		return true;
	rdt_read(host_cpuid, &caps);
	if (!possible(&caps, wish, text))
		return false;
	spin_lock(&lock);
	while (n < nr_cpus && take_one(owner, &caps, wish, cpu[n]))
		n++;
	spin_unlock(&lock);
	if (n == nr_cpus)
		return true;
	host_rdt_free(owner);
	return refuse(text, wish->ways ? "cache: no such part of the cache of CPU %u is free" :
					 "bandwidth: others have all classes of service of CPU %u", cpu[n]);
}

/* Under the lock: the calling CPU's cache gets what is noted of it; whoever has no ways shares those that are left. */
static void store(const struct rdt_caps *caps, u32 cache)
{
	u32 rest = rdt_rest(caps, share, SHARES, cache);

	if (caps->cdp)
		host_wrmsr(MSR_L3_QOS_CFG, 0);
	if (caps->ways)
		host_wrmsr(MSR_L3_MASK, rest);
	if (caps->throttle_max)
		host_wrmsr(MSR_MBA_THROTTLE, 0);
	for (const struct rdt_share *s = share; s < share + SHARES; s++) {
		if (!s->owner || s->cache != cache)
			continue;
		if (caps->ways)
			host_wrmsr(MSR_L3_MASK + s->class, s->mask ? s->mask : rest);
		if (caps->throttle_max)
			host_wrmsr(MSR_MBA_THROTTLE + s->class, s->throttle);
	}
}

static void change(const void *owner, bool enter)
{
	struct rdt_share *s;
	struct rdt_caps caps;
	u32 cache;

	rdt_read(host_cpuid, &caps);
	cache = cache_of(&caps, host_cpu_this());
	spin_lock(&lock);
	s = find(owner, cache);
	if (s) {
		if (!enter && !--s->cpus)
			s->owner = NULL;
		store(&caps, cache);
		host_wrmsr(MSR_PQR_ASSOC, enter ? (u64)s->class << 32 : 0);
	}
	spin_unlock(&lock);
}

void host_rdt_enter(const void *owner)
{
	change(owner, true);
}

void host_rdt_leave(const void *owner)
{
	change(owner, false);
}

void host_rdt_free(const void *owner)
{
	spin_lock(&lock);
	for (unsigned i = 0; i < SHARES; i++)
		if (share[i].owner == owner)
			share[i].owner = NULL;
	spin_unlock(&lock);
}

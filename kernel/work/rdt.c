/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has which part of which cache, who is counted, and the registers of it: <margay/host_rdt.h>.
 * SDM vol. 3, 18.18 and 18.19.
 */
#include "arch/x86_64/cpu/rdt.h"

#include <margay/host.h>
#include <margay/host_rdt.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#define SHARES 64
#define COUNTED 64
#define NO_COUNT (BIT(63) | BIT(62)) /* of IA32_QM_CTR: error, and unavailable */

static struct spinlock lock; /* guards all of these */
static struct rdt_share share[SHARES];
static const void *counted[COUNTED]; /* by its number (RMID) - 1; NULL: nobody */

static bool refuse(char *text, const char *why, unsigned number)
{
	snprintf(text, HOST_RDT_TEXT, why, number);
	return false;
}

static bool possible(const struct rdt_caps *caps, const struct host_rdt_wish *wish, char *text)
{
	if (wish->ways && !caps->ways)
		return refuse(text, "cache: these CPUs cannot divide their caches", 0);
	if (wish->ways && wish->of != caps->ways)
		return refuse(text,
			      caps->level == 3 ? "cache: the L3 cache has %u ways"
					       : "cache: the L2 cache has %u ways",
			      caps->ways);
	if (!wish->bandwidth && !wish->gigabytes)
		return true;
	if (!caps->throttle_max && !caps->limit_bits)
		return refuse(text, "bandwidth: these CPUs cannot divide memory bandwidth", 0);
	if (wish->bandwidth && caps->limit_bits)
		return refuse(text,
			      "bandwidth: these CPUs divide it by GB/s: expected that, like 20G",
			      0);
	if (wish->gigabytes && caps->throttle_max)
		return refuse(
			text,
			"bandwidth: these CPUs divide it by percents: expected that, like 50%%", 0);
	if (wish->gigabytes && rdt_limit(caps, wish->gigabytes) >= rdt_limit(caps, 0))
		return refuse(text, "bandwidth: expected less than %uG on these CPUs",
			      rdt_limit(caps, 0) / RDT_LIMIT_UNITS_PER_GB);
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

static bool take_one(const void *owner, const struct rdt_caps *caps,
		     const struct host_rdt_wish *wish, unsigned cpu)
{
	u32 cache = cache_of(caps, cpu), mask;
	struct rdt_share *s = find(owner, cache);
	unsigned class;

	if (!s) {
		s = find(NULL, 0);
		if (!s || !rdt_find(caps, share, SHARES, cache, wish->ways, &mask, &class))
			return false;
		*s = (struct rdt_share){
			.owner = owner,
			.cache = cache,
			.mask = mask,
			.class = class,
			.bandwidth = wish->bandwidth ? rdt_throttle(caps, wish->bandwidth)
						     : rdt_limit(caps, wish->gigabytes),
		};
	}
	s->cpus++;
	return true;
}

bool host_rdt_take(const void *owner, const struct host_rdt_wish *wish, const u16 *cpu,
		   unsigned nr_cpus, char *text)
{
	struct rdt_caps caps;
	unsigned n = 0;

	if (!wish->ways && !wish->bandwidth && !wish->gigabytes)
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
	return refuse(text,
		      wish->ways ? "cache: no such part of the cache of CPU %u is free"
				 : "bandwidth: others have all classes of service of CPU %u",
		      cpu[n]);
}

/*
 * Under the lock: the calling CPU's cache gets what is noted of it; whoever has no ways shares
 * those that are left.
 */
static void store(const struct rdt_caps *caps, u32 cache)
{
	u32 rest = rdt_rest(caps, share, SHARES, cache),
	    bandwidth = caps->limit_bits ? MSR_AMD_BW_CONTROL : MSR_MBA_THROTTLE;
	bool divided = caps->throttle_max || caps->limit_bits;

	if (caps->cdp[0])
		host_wrmsr(MSR_L3_QOS_CFG, 0);
	if (caps->cdp[1])
		host_wrmsr(MSR_L2_QOS_CFG, 0);
	if (caps->ways)
		host_wrmsr(caps->masks, rest);
	if (divided)
		host_wrmsr(bandwidth, rdt_limit(caps, 0));
	for (const struct rdt_share *s = share; s < share + SHARES; s++) {
		if (!s->owner || s->cache != cache)
			continue;
		if (caps->ways)
			host_wrmsr(caps->masks + s->class, s->mask ? s->mask : rest);
		if (divided)
			host_wrmsr(bandwidth + s->class, s->bandwidth);
	}
}

/* Under the lock. The owner's number, a new one if `add`; 0: it is not counted. */
static unsigned number(const struct rdt_caps *caps, const void *owner, bool add)
{
	unsigned new = 0;

	for (unsigned i = 0; i < COUNTED && i < caps->ids; i++) {
		if (counted[i] == owner)
			return i + 1;
		if (!counted[i] && !new)
			new = i + 1;
	}
	if (!add)
		return 0;
	if (new)
		counted[new - 1] = owner;
	return new;
}

static void change(const void *owner, bool enter)
{
	struct rdt_share *s;
	struct rdt_caps caps;
	u32 cache;
	unsigned id;

	rdt_read(host_cpuid, &caps);
	cache = cache_of(&caps, host_cpu_this());
	spin_lock(&lock);
	s = find(owner, cache);
	id = number(&caps, owner, enter);
	if (s) {
		if (!enter && !--s->cpus)
			s->owner = NULL;
		store(&caps, cache);
	}
	if (s || id) {
		u64 class = s ? s->class : 0;

		host_wrmsr(MSR_PQR_ASSOC, enter ? class << 32 | id : 0);
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
	for (unsigned i = 0; i < COUNTED; i++)
		if (counted[i] == owner)
			counted[i] = NULL;
	spin_unlock(&lock);
}

u32 host_rdt_cache(unsigned cpu)
{
	struct rdt_caps caps;

	rdt_read(host_cpuid, &caps);
	return cache_of(&caps, cpu);
}

static bool count(const struct rdt_caps *caps, unsigned id, enum rdt_event event, u64 *value)
{
	return caps->events & BIT(event) && !host_wrmsr(MSR_QM_EVTSEL, (u64)id << 32 | event) &&
	       !host_rdmsr(MSR_QM_CTR, value) && !(*value & NO_COUNT);
}

bool host_rdt_use(const void *owner, const struct host_rdt_use *before, struct host_rdt_use *use)
{
	struct rdt_caps caps;
	unsigned id;
	u64 value;

	rdt_read(host_cpuid, &caps);
	spin_lock(&lock);
	id = number(&caps, owner, false);
	spin_unlock(&lock);
	if (!id)
		return false;
	use->held = count(&caps, id, RDT_HELD, &value) ? value * caps.unit : HOST_RDT_UNKNOWN;
	for (unsigned i = 0; i < 2; i++) {
		u64 *traffic = i ? &use->local : &use->traffic;

		use->counts[i] =
			count(&caps, id, RDT_TRAFFIC + i, &value) ? value : HOST_RDT_UNKNOWN;
		*traffic = HOST_RDT_UNKNOWN;
		if (before && before->counts[i] != HOST_RDT_UNKNOWN &&
		    use->counts[i] != HOST_RDT_UNKNOWN)
			*traffic = rdt_traffic(&caps, before->counts[i], use->counts[i]);
	}
	return true;
}

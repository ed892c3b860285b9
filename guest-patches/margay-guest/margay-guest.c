// SPDX-License-Identifier: GPL-2.0-only
/*
 * For guests of Margay with `dma = window`: devices know the host's addresses,
 * the kernel the guest's. As a driver binds to a PCI function this module
 * gives the function the windows between them (dev->dma_range_map), which
 * the kernel's direct mapping then applies, and says so to the hypervisor,
 * which until then lets the function do no DMA. The driver notices nothing.
 *
 * Whatever goes wrong, the function stays silent: it gets a DMA limit that
 * nothing is below, and the hypervisor no confirmation.
 * A module, or with linux-*.patch a part of the kernel.
 *
 * /sys/kernel/margay: version, vm, abi, dma, windows (GPA, bus address, length), functions.
 */
#include <linux/cpufeature.h>
#include <linux/dma-direct.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <asm/hypervisor.h>
#include <asm/processor.h>

#include <margay/abi.h>

/*
 * A test builds a module whose windows are wrong by this; one is MARGAY_UNTRANSLATED: the guest's
 * own addresses.
 */
#ifndef MARGAY_SKEW
#define MARGAY_SKEW 0
#endif
#define MARGAY_UNTRANSLATED (info->window[i].gpa - info->window[i].hpa)

static struct margay_info *info;
static struct kobject *dir;

/* ---- the hypervisor -------------------------------------------------------- */

static long hypercall(u64 number, u64 b, u64 c)
{
	long answer;

	/* VMMCALL on AMD and Hygon, VMCALL on Intel and Zhaoxin; the other one is undefined. */
	if (boot_cpu_data.x86_vendor == X86_VENDOR_AMD ||
	    boot_cpu_data.x86_vendor == X86_VENDOR_HYGON)
		asm volatile("vmmcall" : "=a"(answer) : "a"(number), "b"(b), "c"(c) : "memory");
	else
		asm volatile("vmcall" : "=a"(answer) : "a"(number), "b"(b), "c"(c) : "memory");
	return answer;
}

static bool on_margay(void)
{
	u32 eax, signature[3];

	if (!boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return false;
	cpuid(MARGAY_CPUID_BASE, &eax, &signature[0], &signature[1], &signature[2]);
	return !memcmp(signature, "MargayMargay", 12);
}

static int confirm(struct pci_dev *pdev, bool on)
{
	u32 function = (u32)pci_domain_nr(pdev->bus) << 16 | pdev->bus->number << 8 | pdev->devfn;

	return hypercall(MARGAY_HC_DMA_CONFIRM, function, on) ? -ENODEV : 0;
}

/* ---- windows ---------------------------------------------------------------- */

/*
 * struct bus_dma_region has a fourth member, the offset, in some kernels, which
 * need not be old ones: its size tells.
 */
static void set_offset(struct bus_dma_region *r, u64 offset)
{
	if (sizeof(*r) == 32)
		memcpy((char *)r + 24, &offset, sizeof(offset));
	else
		BUILD_BUG_ON(sizeof(*r) != 24 && sizeof(*r) != 32);
}

/* A zero length ends the map. The driver core frees it when the driver is gone. */
static struct bus_dma_region *make_map(void)
{
	struct bus_dma_region *map = kcalloc(info->windows + 1, sizeof(*map), GFP_KERNEL);
	u32 i;

	for (i = 0; map && i < info->windows; i++) {
		u64 bus = info->window[i].hpa +
			  (info->window[i].gpa != info->window[i].hpa ? MARGAY_SKEW : 0);

		map[i].cpu_start = info->window[i].gpa;
		map[i].dma_start = bus;
		map[i].size = info->window[i].length;
		set_offset(&map[i], info->window[i].gpa - bus);
	}
	return map;
}

/* Whether a map is what make_map() makes: another would send the device elsewhere. */
static bool is_ours(const struct bus_dma_region *map, const struct bus_dma_region *ours)
{
	u32 i;

	for (i = 0; i <= info->windows; i++)
		if (memcmp(&map[i], &ours[i], sizeof(*map)))
			return false;
	return true;
}

/* ---- functions ---------------------------------------------------------------- */

/* A function with windows, which the hypervisor lets do DMA. */
struct function {
	struct list_head list;
	struct pci_dev *pdev;
};

static LIST_HEAD(functions);
static DEFINE_MUTEX(lock); /* guards it */

/* These hand guest-physical addresses to user space, which no window translates. */
static bool drives_from_user_space(const struct device_driver *driver)
{
	return driver && (strstr(driver->name, "vfio") || strstr(driver->name, "uio"));
}

static const char *give_windows(struct pci_dev *pdev)
{
	struct bus_dma_region *map;
	const char *why = NULL;
	struct function *f;

	if (drives_from_user_space(pdev->dev.driver))
		return "this driver would give it addresses that are not the host's";
	/* Somebody must be there to take back what is confirmed. */
	if (!try_module_get(THIS_MODULE))
		return "margay-guest is being removed";
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	map = make_map();
	if (!f || !map)
		why = "no memory";
	else if (pdev->dev.dma_range_map && !is_ours(pdev->dev.dma_range_map, map))
		why = "somebody else translates its addresses";
	else if (confirm(pdev, true))
		why = "the hypervisor has no such function";
	if (why) {
		kfree(map);
		kfree(f);
		module_put(THIS_MODULE);
		return why;
	}
	/* An equal one that is there may be in use. */
	if (pdev->dev.dma_range_map)
		kfree(map);
	else
		pdev->dev.dma_range_map = map;
	f->pdev = pdev;
	mutex_lock(&lock);
	list_add_tail(&f->list, &functions);
	mutex_unlock(&lock);
	return NULL;
}

static void take_windows(struct pci_dev *pdev)
{
	struct function *f, *next;

	mutex_lock(&lock);
	list_for_each_entry_safe(f, next, &functions, list)
	{
		if (f->pdev != pdev)
			continue;
		confirm(pdev, false);
		list_del(&f->list);
		kfree(f);
		module_put(THIS_MODULE);
	}
	mutex_unlock(&lock);
}

/*
 * The driver core has freed the map by BUS_NOTIFY_UNBOUND_DRIVER, and frees it after
 * BUS_NOTIFY_DRIVER_NOT_BOUND.
 */
static int notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	const char *why;

	switch (action) {
	case BUS_NOTIFY_BIND_DRIVER:
		/* No address is below this: without windows the driver gets none at all. */
		why = give_windows(pdev);
		pdev->dev.bus_dma_limit = why ? 1 : 0;
		if (why)
			pci_err(pdev, "margay: no DMA: %s\n", why);
		break;
	case BUS_NOTIFY_UNBOUND_DRIVER:
	case BUS_NOTIFY_DRIVER_NOT_BOUND: take_windows(pdev); break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notify };

/* Drivers that were there first have had no DMA: they begin anew. */
static void bind_again(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev)
	{
		if (!pdev->dev.driver)
			continue;
		pci_info(pdev, "margay: bound before margay-guest was there: binding it again\n");
		if (device_reprobe(&pdev->dev))
			pci_err(pdev, "margay: cannot bind it again\n");
	}
}

/* ---- /sys/kernel/margay ----------------------------------------------------------- */

static ssize_t version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%.*s\n", (int)sizeof(info->version), info->version);
}

static ssize_t abi_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", info->abi);
}

static ssize_t vm_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%.*s\n", (int)sizeof(info->vm), info->vm);
}

static ssize_t dma_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	static const char *const name[] = { "none", "identity", "window", "iommu" };

	return sysfs_emit(buf, "%s\n", info->dma < ARRAY_SIZE(name) ? name[info->dma] : "unknown");
}

static ssize_t windows_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	int n = 0;
	u32 i;

	for (i = 0; i < info->windows; i++)
		n += sysfs_emit_at(buf, n, "%#llx %#llx %#llx\n", info->window[i].gpa,
				   info->window[i].hpa, info->window[i].length);
	return n;
}

static ssize_t functions_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct function *f;
	int n = 0;

	mutex_lock(&lock);
	list_for_each_entry(f, &functions, list) n +=
		sysfs_emit_at(buf, n, "%s\n", pci_name(f->pdev));
	mutex_unlock(&lock);
	return n;
}

static struct kobj_attribute version_attr = __ATTR_RO(version), abi_attr = __ATTR_RO(abi),
			     vm_attr = __ATTR_RO(vm), dma_attr = __ATTR_RO(dma),
			     windows_attr = __ATTR_RO(windows),
			     functions_attr = __ATTR_RO(functions);
static const struct attribute *attrs[] = {
	&version_attr.attr, &abi_attr.attr,       &vm_attr.attr, &dma_attr.attr,
	&windows_attr.attr, &functions_attr.attr, NULL,
};

/* ---- start and end ------------------------------------------------------------------ */

static int ask(void)
{
	long answer;

	BUILD_BUG_ON(sizeof(*info) > PAGE_SIZE);
	info = (void *)get_zeroed_page(GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	answer = hypercall(MARGAY_HC_INFO, virt_to_phys(info), MARGAY_ABI_VERSION);
	if (!answer && info->abi == MARGAY_ABI_VERSION && info->windows <= MARGAY_DMA_WINDOWS)
		return 0;
	pr_err("margay-guest: this hypervisor has no guest ABI of version %u (%ld)\n",
	       MARGAY_ABI_VERSION, answer);
	free_page((unsigned long)info);
	return -ENODEV;
}

static int __init margay_guest_init(void)
{
	int err;

	if (!on_margay())
		return -ENODEV;
	err = ask();
	if (err)
		return err;
	dir = kobject_create_and_add("margay", kernel_kobj);
	err = dir ? sysfs_create_files(dir, attrs) : -ENOMEM;
	if (!err && info->dma == MARGAY_DMA_WINDOW)
		err = bus_register_notifier(&pci_bus_type, &notifier);
	if (err) {
		kobject_put(dir);
		free_page((unsigned long)info);
		return err;
	}
	if (info->dma == MARGAY_DMA_WINDOW)
		bind_again();
	return 0;
}

/* No function is confirmed: each would hold the module. */
static void __exit margay_guest_exit(void)
{
	if (info->dma == MARGAY_DMA_WINDOW)
		bus_unregister_notifier(&pci_bus_type, &notifier);
	kobject_put(dir);
	free_page((unsigned long)info);
}

/*
 * Where it is built in (linux-*.patch): after the buses, before the first driver of a device. A
 * module has one such call.
 */
subsys_initcall_sync(margay_guest_init);
module_exit(margay_guest_exit);
MODULE_DESCRIPTION("DMA windows of the hypervisor Margay");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");

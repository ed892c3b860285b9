/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_pci_root.sources */
/*
 * A guest's configuration space by both mechanisms (PCI Local Bus 3.0, 3.2.2.3.2; PCI Express,
 * ECAM) on a machine with two buses that have the same device numbers: each access reaches its
 * function, stand-ins are of the right one, and the lock is held around it and given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_events.h"
#include "tests/unit/fake_stage.h"
#include "tests/unit/fake_vm.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/memory/shootdown.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

static unsigned bar_updates, locks;
static u64 kept;      /* of memory, as others know of it */
static unsigned lost; /* extents */
static bool locked;

void vm_stage2_lock(struct vcpu *vcpu)
{
	assert_ptr_equal(vcpu, vcpu->vm->vcpus[0]);
	assert_false(locked);
	locked = true;
	locks++;
}

void vm_stage2_unlock(struct vm *)
{
	assert_true(locked);
	locked = false;
}

/* ---- parts of a function that have tests of their own ---- */

static bool has_lines;

int pci_intx_create(struct vm *vm, unsigned n)
{
	vm->pci->intx[n].has_gsi = has_lines;
	return 0;
}

static unsigned closed;

void pci_intx_close(struct vm_pci *pci)
{
	assert_true(pci->nr_functions);
	closed++;
}

void pci_intx_destroy(struct vm_pci *) { }

int pci_bars_create(struct pci_device *d)
{
	/* A table of messages in one, a table and its pending bits in another. */
	d->bar[0].nr_traps = d->host->bar[0].size ? 1 : 0;
	d->bar[0].trap[0] = (struct pci_trap){ .end = 0x1000 };
	d->bar[2].nr_traps = d->host->bar[2].size ? 2 : 0;
	d->bar[2].trap[0] = (struct pci_trap){ .start = 0x4000, .end = 0x5000 };
	d->bar[2].trap[1] = (struct pci_trap){ .start = d->host->bar[2].size - 0x2000,
					       .end = d->host->bar[2].size };
	return 0;
}

void pci_bars_update(struct vcpu *, struct pci_device *)
{
	assert_true(locked);
	bar_updates++;
}

void pci_bars_open_ports(struct vcpu *, struct pci_device *) { }

int pci_msi_create(struct pci_device *)
{
	return 0;
}

void pci_msi_destroy(struct pci_device *) { }

void pci_msi_update(struct pci_device *) { }

void pci_msix_update(struct pci_device *) { }

static unsigned forgotten, cleaned; /* what the guest had of messages, and the device */

void pci_msi_reset(struct pci_device *)
{
	forgotten++;
}

void pci_msi_clean(const struct pci_device *)
{
	cleaned++;
}

static void (*called)(struct vcpu *vcpu);

int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu))
{
	assert_ptr_equal(vcpu, vcpu->vm->vcpus[0]);
	called = fn;
	return 0;
}

/* ---- the machine ---- */

extern const struct vdev *const __start_vdevs[];

static struct vm_config config;
static struct vcpu vcpu, *by_id[] = { &vcpu };
static struct vm_parts parts; /* of which every VM is one */
static void *device[1];       /* the root */

/* Function i of the host, on a bus in the order in which it was found. */
static void add(unsigned i, u8 bus, u8 devfn, u16 vendor, u16 device, u32 class_code)
{
	u8 *space = fake_host.pci_config[i];

	fake_host.pci[i] = (struct host_pci_function){ .address = { 0, bus, devfn },
						       .id = { vendor, device, class_code },
						       .node = -1 };
	memcpy(space, &vendor, 2);
	memcpy(space + 2, &device, 2);
	space[8] = (u8)(0x10 + i);
	memcpy(space + 9, &class_code, 3);
	memcpy(space + 0x2c, &vendor, 2);
	space[0x2e] = (u8)(0xa0 + i);
	fake_host.nr_pci = i + 1;
}

static void destroy(void)
{
	__start_vdevs[0]->destroy(&parts.vm, parts.vm.device[0]);
	parts.vm.device[0] = NULL;
}

static struct gpa_map map; /* of the next VM */
static const struct vm_config *whose;

static u16 host_cpu[1];

static int create(void)
{
	int err;

	memset(&parts, 0, sizeof(parts));
	strcpy(parts.vm.name, "vm0");
	parts.vm.config = whose;
	parts.vm.device = device;
	parts.map = map;
	vcpu.vm = &parts.vm;
	parts.vm.vcpus = by_id;
	parts.vm.nr_vcpus = 1;
	parts.vm.host_cpu = host_cpu;
	err = __start_vdevs[0]->create(&parts.vm, &parts.vm.device[0]);
	if (err)
		destroy();
	return err;
}

/*
 * Bus 20h comes first, and both have a device 0. The VM gets its network card and one of two
 * functions of 00:03.
 */
static int setup(void **)
{
	fake_host_reset();
	fake_host.nr_nodes = 2;
	locks = bar_updates = lost = 0;
	vcpu.pci_waits = vcpu.look = false;
	add(0, 0x20, 0x00, 0x1af4, 0x1041, 0x020000);
	add(1, 0x00, 0x00, 0x8086, 0x29c0, 0x060000);
	add(2, 0x00, 0x18, 0x8086, 0x1050, 0x030000);
	add(3, 0x00, 0x19, 0x1b36, 0x1043, 0x010802);
	fake_host.pci_config[1][0x0e] = fake_host.pci_config[2][0x0e] = 0x80;
	config = (struct vm_config){
		.name = "vm0",
		.nr_pci = 2,
		.pci = { { .by = VM_PCI_ADDRESS, .address.bus = 0x20 },
			 { .by = VM_PCI_ID, .vendor = 0x1b36, .device = 0x1043 } },
	};
	config.file = "vm0.conf";
	config.line_pci = 7;
	whose = &config;
	map.count = 0;
	return 0;
}

static int teardown(void **)
{
	destroy();
	assert_false(locked);
	return fake_host.pages_in_use != 0;
}

/* ---- the guest ---- */

static u32 by_ports(u8 bus, u8 devfn, u16 offset, unsigned size)
{
	guest_out(&parts.vm, 0xcf8, 4,
		  0x80000000u | (u32)bus << 16 | (u32)devfn << 8 | (offset & 0xfcu));
	return guest_in(&parts.vm, (u16)(0xcfc + (offset & 3)), size);
}

static u32 by_ecam(u8 bus, u8 devfn, u16 offset, unsigned size)
{
	return (u32)guest_load(&parts.vm, 0xb0000000 + ((u64)bus << 20 | (u64)devfn << 12) + offset,
			       size);
}

static void check_reads(u32 (*read)(u8 bus, u8 devfn, u16 offset, unsigned size))
{
	assert_int_equal(read(0x20, 0x00, 0, 4), 0x10411af4);
	assert_int_equal(read(0x20, 0x00, 8, 4), 0x02000010);
	assert_int_equal(read(0x00, 0x19, 0, 4), 0x10431b36);
	assert_int_equal(read(0x00, 0x19, 2, 2), 0x1043);
	assert_int_equal(read(0x00, 0x19, 0x0b, 1), 0x01);
	assert_int_equal(read(0x00, 0x19, 0x2e, 2), 0x00a3);
	/* Nobody's, or not this VM's. */
	assert_int_equal(read(0x20, 0x19, 0, 4), 0xffffffff);
	assert_int_equal(read(0x20, 0x18, 0, 4), 0xffffffff);
	assert_int_equal(read(0x40, 0x00, 0, 4), 0xffffffff);
	assert_int_equal(read(0x10, 0x00, 0, 2), 0xffff);
	assert_int_equal(read(0x00, 0x08, 0x0e, 1), 0xff);
	assert_false(locked);
}

static void test_reads(void **)
{
	assert_int_equal(create(), 0);
	check_reads(by_ports);
	check_reads(by_ecam);
	assert_int_equal(locks, 2 * 6);
}

/* Of advanced features (AF 2.2), by which it has an FLR: the guest's way to a reset. */
static void can_reset(unsigned i)
{
	fake_host.pci_cap[i][0] = (struct pci_cap){ PCI_CAP_AF, false, 0x40 };
	fake_host.nr_pci_caps[i] = 1;
	memcpy(&fake_host.pci_config[i][0x40], (const u8[]){ PCI_CAP_AF, 0, 6, 3 }, 4);
}

static void ask_reset(void)
{
	by_ports(0x20, 0x00, 0x44, 1);
	guest_out(&parts.vm, 0xcfc, 1, 1);
}

/*
 * What a function had of messages is gone before its VM sees it, and after a reset, whether the
 * device has one or is just quiet.
 */
static void test_reset(void **)
{
	can_reset(0);
	config.nr_pci = 1;
	cleaned = 0;
	assert_int_equal(create(), 0);
	assert_int_equal(cleaned, 1);
	for (unsigned i = 0; i < 2; i++) {
		fake_host.reset_says = i ? -ENODEV : 0;
		cleaned = forgotten = 0;
		ask_reset();
		assert_true(vcpu.pci_waits && vcpu.look);
		pci_wait_go_on(&vcpu);
		assert_false(vcpu.pci_waits);
		assert_int_equal(fake_host.pci_reset[0], i + 1);
		assert_true(cleaned == 1 && forgotten == 1);
		assert_int_equal(by_ports(0x20, 0x00, 0, 4), 0x10411af4);
	}
	/* One that does not come back is left alone. */
	fake_host.reset_says = -EIO;
	cleaned = 0;
	ask_reset();
	pci_wait_go_on(&vcpu);
	assert_int_equal(cleaned, 0);
	assert_int_equal(by_ports(0x20, 0x00, 0, 4), ~0u);
}

static unsigned windows;

static void count_window(void)
{
	assert_false(locked);
	windows++;
}

/*
 * A reset that takes its time: the write is over at once, who waits has windows and not the lock,
 * and the others find nothing there; once it is over the guest's is as it was, with what others
 * have said of its DMA meanwhile.
 */
static void test_slow_reset(void **)
{
	can_reset(0);
	config.dma = VM_DMA_WINDOW;
	assert_int_equal(create(), 0);
	assert_int_equal(pci_master_confirm(&vcpu, 0x0019, true), 0);
	fake_host.reset_waits = true;
	fake_host.window = count_window;
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	bar_updates = 0;
	ask_reset();
	assert_int_equal(bar_updates, 1);
	/* Nothing of it waits for a step. */
	assert_int_equal(fake_host.pci_config[0][4] & 4, 0);
	locks = windows = 0;
	for (unsigned i = 0; i < 1000; i++)
		pci_wait_go_on(&vcpu);
	assert_true(vcpu.pci_waits && windows == 1000 && !locks);
	assert_int_equal(by_ecam(0x20, 0x00, 0, 4), ~0u);
	ask_reset();
	guest_store(&parts.vm, 0xb0000000 + (0x20ull << 20) + 4, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4] & 4, 0);
	assert_int_equal(fake_host.pci_reset_begun[0], 1);
	/* The other function is as ever, and so is its wait. */
	assert_int_equal(by_ecam(0x00, 0x19, 0, 4), 0x10431b36);
	assert_int_equal(pci_master_confirm(&vcpu, 0x2000, true), 0);
	assert_int_equal(pci_master_confirm(&vcpu, 0x0019, false), 0);
	fake_host.reset_waits = false;
	pci_wait_go_on(&vcpu);
	assert_false(vcpu.pci_waits);
	assert_int_equal(by_ecam(0x20, 0x00, 0, 4), 0x10411af4);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 6);
	/*
	 * Its BARs are where they were: gone with the first word of it, there again with the last.
	 */
	assert_int_equal(bar_updates, 2 + 1);
	/* One whose guest has not confirmed its windows needs that word behind the reset, too. */
	assert_int_equal(pci_master_confirm(&vcpu, 0x2000, false), 0);
	ask_reset();
	pci_wait_go_on(&vcpu);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 2);
}

/*
 * A reset leaves line interrupts off: they are on again for a function that has one, and for no
 * other.
 */
static void test_line(void **)
{
	can_reset(0);
	for (unsigned lines = 0; lines < 2; lines++) {
		has_lines = lines;
		assert_int_equal(create(), 0);
		ask_reset();
		fake_host.pci_config[0][5] = 4;
		pci_wait_go_on(&vcpu);
		assert_int_equal(fake_host.pci_config[0][5], lines ? 0 : 4);
		destroy();
	}
	has_lines = false;
	assert_int_equal(create(), 0);
}

/*
 * One that another vCPU waits for is that one's; and what was said of DMA in vain as it began is
 * said again as it ends.
 */
static void test_whose_reset(void **)
{
	static struct vcpu second;

	can_reset(0);
	fake_host.iommu = true;
	config.dma = VM_DMA_IOMMU;
	assert_int_equal(create(), 0);
	second = vcpu;
	ask_reset();
	second.pci_waits = true;
	pci_wait_go_on(&second);
	assert_true(!second.pci_waits && vcpu.pci_waits && !fake_host.pci_reset[0]);
	parts.vm.pci->silent = 1;
	pci_wait_go_on(&vcpu);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	/* Its VM has ended meanwhile: it stays silent, too. */
	parts.vm.pci->silent = 0;
	ask_reset();
	parts.vm.end = VM_END_STOPPED;
	pci_wait_go_on(&vcpu);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	parts.vm.end = VM_RUNNING;
}

/* The VM ends in the middle of one: it is not begun anew, and all are waited for together. */
static void test_end_in_reset(void **)
{
	can_reset(0);
	assert_int_equal(create(), 0);
	fake_host.reset_waits = true;
	ask_reset();
	pci_wait_go_on(&vcpu);
	assert_true(vcpu.pci_waits);
	vcpu.pci_waits = false;
	fake_host.reset_waits = false;
	destroy();
	assert_true(fake_host.pci_reset_begun[0] == 1 && fake_host.pci_reset_begun[3] == 1);
	assert_true(fake_host.pci_taken_back[0] == 1 && fake_host.pci_taken_back[3] == 1 &&
		    !fake_host.pci_reset[0]);
}

static unsigned started; /* how often those who wait for functions */
static int running; /* who holds off the node's end */

void vm_keep_extents(const struct host_extent *e, unsigned count)
{
	while (count--)
		kept += e[count].size;
}

void vm_let_extents(const struct host_extent *e, unsigned count, bool to_others)
{
	while (count--) {
		kept -= e[count].size;
		if (to_others)
			host_extent_free(&e[count]);
		lost += !to_others;
	}
}

static void start_waiting(void)
{
	/* All is there, and it holds off the end still. */
	assert_true(fake_host.nr_extents == kept / MIB(2) + lost && running == 1);
	started++;
}

void monitor_get_running(void)
{
	running++;
}

void monitor_put_running(void)
{
	running--;
}

/* As vm_destroy() does it; the VM is no more then. */
static void end_vm(void)
{
	struct vm gone;

	vm_pci_on_free(start_waiting);
	destroy();
	fake_stage(STAGE_KEEP)->destroy(&parts.vm);
	if (parts.vm.quarantined)
		lost += parts.vm.nr_extents;
	while (!parts.vm.quarantined && parts.vm.nr_extents)
		host_extent_free(&parts.vm.extent[--parts.vm.nr_extents]);
	/* All that it needs of the VM from here on is that. */
	gone = (struct vm){ .pci_end = parts.vm.pci_end };
	memset(&parts.vm, 0xee, sizeof(parts.vm));
	fake_stage(STAGE_LINGER)->destroy(&gone);
}

static void take_memory(void)
{
	const struct host_extent_request want = { .size = MIB(2), .node = -1 };

	assert_int_equal(host_extent_alloc(&want, &parts.vm.extent[0]), 0);
	parts.vm.nr_extents = 1;
}

/*
 * A device that takes longer than the standard has it: its VM is taken down without it. Until it
 * has stopped nobody has it, nor the memory to which it might write; idle CPUs see to that, and
 * then those who waited are started.
 */
static void test_lingers(void **)
{
	char name[VM_NAME_MAX + 1];

	for (unsigned iommu = 0; iommu < 2; iommu++) {
		fake_host.iommu = iommu;
		fake_host.reset_waits = true;
		fake_host.tsc_step = fake_host.tsc_khz;
		fake_host.idle_work = NULL;
		started = 0;
		fake_host.log[0] = 0;
		assert_int_equal(create(), 0);
		take_memory();
		end_vm();
		assert_in_range(fake_host.tsc, 2000 * fake_host.tsc_khz, 10000 * fake_host.tsc_khz);
		assert_non_null(strstr(
			fake_host.log,
			iommu ? "20:00.0 is slow to reset: until that is over nobody has it\n"
			      : "20:00.0 is slow to reset: until that is over nobody has it, nor the VM's memory\n"));
		assert_int_equal(fake_host.nr_extents, !iommu);
		assert_int_equal(kept, iommu ? 0 : MIB(2));
		assert_true(running == 1 && vm_pci_owner(0, name) &&
			    vm_pci_resetting(&config, false));
		assert_false(vm_pci_resetting(&config, true));
		for (unsigned i = 0; i < 100; i++)
			assert_true(fake_host.idle_work->step(fake_host.idle_work));
		/* It is refused to its own VM, too, until then. */
		assert_int_equal(create(), -EINVAL);
		assert_non_null(
			strstr(fake_host.log, "20:00.0 is vm0's still: it is being reset\n"));
		fake_host.reset_waits = false;
		assert_false(fake_host.idle_work->step(fake_host.idle_work));
		assert_true(started == 1 && !running && !vm_pci_owner(0, name) &&
			    !vm_pci_resetting(&config, false));
		assert_int_equal(kept, 0);
		assert_non_null(strstr(fake_host.log,
				       "vm0: pci: 20:00.0 has been reset: others may have it\n"));
		assert_int_equal(fake_host.pages_in_use, 0);
		fake_host.tsc = 0;
	}
}

static void refused(const char *line);

/* The next step of idle CPUs finds function i so. True: they have more to do. */
static bool step_with(unsigned i, int result)
{
	fake_host.pci_reset_says[i] = result;
	return fake_host.idle_work->step(fake_host.idle_work);
}

/*
 * Functions 0 and 3 of a VM with memory are slow, or do not stop at once; the IOMMU blocks 3, and
 * cannot block 0.
 */
static void end_slowly(int last)
{
	pci_release(&(struct host_pci_function){ .index = 0 });
	pci_release(&(struct host_pci_function){ .index = 3 });
	fake_host.log[0] = 0;
	fake_host.tsc = 0;
	fake_host.tsc_step = fake_host.tsc_khz;
	fake_host.pci_reset_says[0] = -EBUSY;
	fake_host.pci_reset_says[3] = last;
	assert_int_equal(create(), 0);
	take_memory();
	fake_host.iommu_error = -ENXIO;
	end_vm();
	assert_true(kept == MIB(2) && fake_host.nr_extents == 1);
}

static bool said(const char *line)
{
	return strstr(fake_host.log, line);
}

/*
 * Of several functions: what may still write to the VM's memory keeps it, for as long as it may,
 * and nothing else does. That is had again, or lost, by what happens to these alone, and a line
 * says so.
 */
static void test_lingering_memory(void **)
{
	static const char free[] = "vm0: pci: others may have its memory\n",
			  gone[] = "vm0: pci: its memory is not used any more";

	fake_host.iommu = fake_host.extents_zero = true;
	/* 3 is slower. */
	end_slowly(-EBUSY);
	started = 0;
	assert_true(step_with(0, -EBUSY) && kept && !said(free) && !started);
	assert_true(step_with(0, 0) && started == 1 && !kept && !fake_host.nr_extents &&
		    said(free));
	assert_false(step_with(3, 0) || fake_host.nr_extents || said(gone));
	/* 3 never stops, before 0 does, or from the beginning. */
	end_slowly(-EBUSY);
	assert_true(step_with(3, -EIO) && kept &&
		    said("00:03.1 does not stop: it is not used any more\n") && !said(gone));
	assert_false(step_with(0, 0) || kept || fake_host.nr_extents || said(gone) || !said(free));
	/* Each is told once. */
	assert_null(strstr(strstr(fake_host.log, "00:03.1 does not stop") + 1,
			   "00:03.1 does not stop"));
	end_slowly(-EIO);
	assert_false(step_with(0, 0) || kept || fake_host.nr_extents || said(gone) || !said(free));
	/* 0 never stops. */
	end_slowly(-EBUSY);
	assert_true(step_with(0, -EIO) && !kept && lost == 1 && said(gone) && !said(free));
	assert_false(step_with(3, 0) || fake_host.nr_extents != 1);
	fake_host.extent[0].zero = false;
	host_extent_free(&fake_host.extent[0]);
	lost = 0;
	/* Without an IOMMU both may write. */
	fake_host.iommu = false;
	end_slowly(-EBUSY);
	assert_true(step_with(3, 0) && kept && fake_host.nr_extents == 1);
	assert_false(step_with(0, 0) || kept || fake_host.nr_extents || !said(free));
	/* One has not stopped in time: its VM's memory is lost from the beginning. */
	pci_release(&(struct host_pci_function){ .index = 0 });
	pci_release(&(struct host_pci_function){ .index = 3 });
	fake_host.pci_reset_says[0] = -EBUSY;
	fake_host.pci_reset_says[3] = -EIO;
	fake_host.log[0] = 0;
	assert_int_equal(create(), 0);
	take_memory();
	end_vm();
	assert_true(lost == 1 && fake_host.nr_extents == 1 && !kept);
	assert_true(!step_with(0, 0) && !said(free) && !said(gone) &&
		    said("00:03.1 does not stop: it and the VM's memory are"));
	/*
	 * Its guest, and then its functions, have written there, whatever was known of it before.
	 */
	assert_false(fake_host.freed_zero);
	host_extent_free(&fake_host.extent[0]);
	refused("00:03.1 is vm0's still: it did not stop");
	pci_release(&(struct host_pci_function){ .index = 3 });
}

/*
 * Who wants another function, which an IOMMU does not keep apart from one that is slow, waits for
 * that, too. Of its own start that has failed it would not; where no IOMMU is used, or the group is
 * another, it is not concerned.
 */
static void test_lingering_group(void **)
{
	static struct vm_config other;
	static struct vm_parts first;
	void *root;

	other = config;
	strcpy(other.name, "vm1");
	other.nr_pci = 1;
	other.pci[0] = config.pci[1];
	config.nr_pci = 1;
	fake_host.iommu = fake_host.reset_waits = true;
	fake_host.tsc_step = fake_host.tsc_khz;
	fake_host.pci_group[0] = fake_host.pci_group[3] = (struct pci_address){ 0, 0, 0x19 };
	assert_int_equal(create(), 0);
	assert_false(vm_pci_resetting(&other, false));
	end_vm();
	/* It does not answer: what its registers say then is not its group. */
	fake_host.pci_group[0] = (struct pci_address){ 0, 0x20, 0 };
	assert_true(vm_pci_resetting(&other, false) && vm_pci_resetting(&other, true));
	assert_true(vm_pci_resetting(&config, false) && !vm_pci_resetting(&config, true));
	fake_host.iommu = false;
	assert_false(vm_pci_resetting(&other, false));
	fake_host.iommu = true;
	fake_host.pci_group[3] = (struct pci_address){ 0, 0, 0x18 };
	assert_false(vm_pci_resetting(&other, false));
	/* A function that it has got does not count, nor is it asked. */
	whose = &other;
	fake_host.reset_waits = false;
	assert_int_equal(create(), 0);
	fake_host.pci_group[3] = (struct pci_address){ 0, 0, 0x19 };
	assert_false(vm_pci_resetting(&other, false));
	destroy();
	assert_true(vm_pci_resetting(&other, false));
	other.pci[0] = (struct vm_config_pci){ .by = VM_PCI_ADDRESS, .address = { 0, 0, 0x18 } };
	assert_false(vm_pci_resetting(&other, false));
	other.pci[0] = (struct vm_config_pci){ .by = VM_PCI_ADDRESS, .address = { 0, 0, 0x19 } };
	/* It is refused to who asks for it all the same. */
	refused("00:03.1 and 20:00.0 cannot be kept apart (no ACS), and that is vm0's still: it is being reset\n");
	other.pci[0] = (struct vm_config_pci){ .by = VM_PCI_ADDRESS, .address = { 0, 0x20, 0 } };
	refused("20:00.0 is vm0's still: it is being reset\n");
	assert_false(fake_host.idle_work->step(fake_host.idle_work));
	assert_false(vm_pci_resetting(&other, false));
	assert_int_equal(create(), 0);
	/* Of one that runs that is all. */
	destroy();
	whose = &config;
	assert_int_equal(create(), 0);
	first = parts;
	root = device[0];
	whose = &other;
	refused("20:00.0 is vm0's\n");
	parts = first;
	device[0] = root;
}

/*
 * One that never stops keeps the memory for good where nothing blocks it, and its VM's name; the
 * other one is had again.
 */
static void test_lingers_for_ever(void **)
{
	static struct vm_config other;
	char name[VM_NAME_MAX + 1];

	fake_host.reset_waits = true;
	fake_host.tsc_step = fake_host.tsc_khz;
	config.nr_pci = 1;
	config.pci[0] = (struct vm_config_pci){ .by = VM_PCI_ADDRESS, .address = { 0, 0, 0x18 } };
	assert_int_equal(create(), 0);
	take_memory();
	end_vm();
	fake_host.reset_waits = false;
	fake_host.take_back_says = -EIO;
	assert_false(fake_host.idle_work->step(fake_host.idle_work));
	assert_true(vm_pci_owner(2, name) && !vm_pci_resetting(&config, false));
	assert_non_null(strstr(fake_host.log,
			       "vm0: pci: 00:03.0 does not stop: it is not used any more\n"));
	assert_non_null(
		strstr(fake_host.log, "vm0: pci: its memory is not used any more, either\n"));
	refused("00:03.0 is vm0's still: it did not stop");
	/* To others, too. */
	other = config;
	strcpy(other.name, "vm1");
	whose = &other;
	fake_host.log[0] = 0;
	refused("00:03.0 is vm0's still: it did not stop");
	assert_int_equal(kept, 0);
}

/*
 * A CPU of the VM is lost, and may use all that the VM has: its functions are reset, and stay its
 * own.
 */
static void test_abandoned(void **)
{
	char name[VM_NAME_MAX + 1];

	assert_int_equal(create(), 0);
	fake_abandon(ABANDON_FUNCTIONS, &parts.vm);
	assert_true(fake_host.pci_taken_back[0] == 1 && fake_host.pci_taken_back[3] == 1);
	assert_true(vm_pci_owner(0, name) && vm_pci_owner(3, name) && parts.vm.pci);
}

/*
 * CONFIG_ADDRESS: only by 32 bits, bits 30:24 and 1:0 are 0, and without bit 31 there is no
 * configuration space.
 */
static void test_address_register(void **)
{
	assert_int_equal(create(), 0);
	guest_out(&parts.vm, 0xcf8, 4, 0xffffffff);
	assert_int_equal(guest_in(&parts.vm, 0xcf8, 4), 0x80fffffc);
	guest_out(&parts.vm, 0xcf8, 2, 0);
	guest_out(&parts.vm, 0xcf8, 1, 0);
	assert_int_equal(guest_in(&parts.vm, 0xcf8, 4), 0x80fffffc);
	guest_out(&parts.vm, 0xcf8, 4, 0x00200000);
	assert_int_equal(guest_in(&parts.vm, 0xcfc, 4), 0xffffffff);
	guest_out(&parts.vm, 0xcfc, 2, 0);
	assert_int_equal(locks, 0);
	guest_out(&parts.vm, 0xcf8, 4, 0x80200000);
	assert_int_equal(guest_in(&parts.vm, 0xcfc, 4), 0x10411af4);
}

/* A write reaches its function and no other, and gives the lock back whatever it was. */
static void test_writes(void **)
{
	assert_int_equal(create(), 0);
	by_ports(0x20, 0x00, 4, 2);
	assert_int_equal(bar_updates, 0);
	guest_out(&parts.vm, 0xcfc, 2, 4); /* bus master */
	assert_int_equal(fake_host.pci_config[0][4], 4);
	assert_int_equal(bar_updates, 1);
	assert_int_equal(by_ecam(0x20, 0x00, 4, 2), 4);
	guest_store(&parts.vm, 0xb0000000 + (0x19 << 12) + 4, 2, 6); /* and memory */
	assert_int_equal(fake_host.pci_config[3][4], 6);
	assert_int_equal(bar_updates, 2);
	assert_int_equal(by_ports(0x00, 0x19, 4, 2), 6);
	/* Not the VM's: neither the device nor the stand-in. */
	guest_store(&parts.vm, 0xb0000000 + (0x18 << 12) + 4, 2, 6);
	guest_store(&parts.vm, 0xb0000000 + 4, 2, 6);
	assert_int_equal(fake_host.pci_config[1][4] | fake_host.pci_config[2][4], 0);
	assert_int_equal(fake_host.pci_config[0][4], 4);
	assert_false(locked);
}

/*
 * 00:00.0 is the host bridge's, though bus 20h has such a number, too; 00:03.0 is there because
 * 00:03.1 is.
 */
static void test_stand_ins(void **)
{
	assert_int_equal(create(), 0);
	assert_int_equal(by_ecam(0x00, 0x00, 0, 4), 0x29c08086);
	assert_int_equal(by_ecam(0x00, 0x00, 8, 4), 0x06000011);
	assert_int_equal(by_ecam(0x00, 0x00, 0x0e, 1), 0x80);
	assert_int_equal(by_ecam(0x00, 0x00, 0x2e, 2), 0x00a1);
	assert_int_equal(by_ecam(0x00, 0x00, 0x10, 4), 0);
	/* Of the other: nothing that a driver would take. */
	assert_int_equal(by_ecam(0x00, 0x18, 0, 4), 0xffff8086);
	assert_int_equal(by_ecam(0x00, 0x18, 8, 4), 0xff000000);
	assert_int_equal(by_ecam(0x00, 0x18, 0x0e, 1), 0x80);
	assert_int_equal(by_ecam(0x00, 0x18, 0x2c, 4), 0);
}

/* pci_node is for all functions of one bus, and of no other. */
static void test_nodes(void **)
{
	config.pci_node =
		(struct vm_config_pci_facts){ .count = 1,
					      .of = { { .function.bus = 0x20, .value = 1 } } };
	assert_int_equal(create(), 0);
	assert_int_equal(parts.vm.pci->nr_functions, 2);
	assert_true(parts.vm.pci->function[0].address.bus == 0x20 &&
		    parts.vm.pci->function[0].node == 1);
	assert_true(parts.vm.pci->function[1].address.bus == 0x00 &&
		    parts.vm.pci->function[1].node == -1);
}

static void refused(const char *line)
{
	unsigned before = fake_host.pages_in_use;

	assert_int_equal(create(), -EINVAL);
	assert_non_null(strstr(fake_host.log, line));
	assert_null(parts.vm.pci);
	assert_int_equal(fake_host.pages_in_use, before);
}

static void test_refusals(void **)
{
	struct vm first;
	void *root;

	config.pci_node =
		(struct vm_config_pci_facts){ .count = 1,
					      .of = { { .function.bus = 0x20, .value = 2 } } };
	refused("vm0: vm0.conf:7: pci: pci_node: the machine has no node 2\n");
	config.pci_node.of[0] = (struct vm_config_pci_fact){ { 0, 0x20, 0x19 }, 0 };
	refused("pci_node is for 20:03.1, which is not passed through\n");
	config.pci_node.count = 0;
	config.pci[0].address.devfn = 0x10;
	refused("the machine has no function 20:02.0\n");
	config.pci[0] = (struct vm_config_pci){ .by = VM_PCI_CLASS, .class_code = 0x0c03 };
	refused("the machine has no function of class 0c03\n");
	config.pci[0] =
		(struct vm_config_pci){ .by = VM_PCI_ID, .vendor = 0x1b36, .device = 0x1042 };
	refused("the machine has no function 1b36:1042\n");
	config.pci[0] = config.pci[1];
	/* What was refused is nobody's. */
	config.nr_pci = 1;
	assert_int_equal(create(), 0);
	first = parts.vm;
	root = device[0];
	refused("00:03.1 is vm0's still");
	parts.vm = first;
	device[0] = root;
}

/*
 * Classes and IDs may meet each other and addresses: each function is there once, in the order of
 * the list.
 */
static void test_selectors_meet(void **)
{
	const struct vm_config_pci class = { .by = VM_PCI_CLASS, .class_code = 0x0200 };
	const struct vm_config_pci id = { .by = VM_PCI_ID, .vendor = 0x1af4, .device = 0x1041 };
	const struct vm_config_pci address = { .address = { 0, 0x20, 0 } };

	config.pci[0] = class;
	config.pci[1] = id;
	config.pci[2] = address;
	config.pci[3] = (struct vm_config_pci){ .address = { 0, 0, 0x19 } };
	config.nr_pci = 4;
	assert_int_equal(create(), 0);
	assert_int_equal(parts.vm.pci->nr_functions, 2);
	assert_true(parts.vm.pci->function[0].address.bus == 0x20 &&
		    parts.vm.pci->function[1].address.devfn == 0x19);
	destroy();
	config.pci[0] = address;
	config.pci[2] = class;
	assert_int_equal(create(), 0);
	assert_int_equal(parts.vm.pci->nr_functions, 2);
	destroy();
	/* The same address twice is a slip, whatever stands between. */
	config.pci[2] = address;
	refused("20:00.0 is vm0's already: named twice\n");
	config.nr_pci = 0;
	assert_int_equal(create(), 0);
}

/*
 * dma = window: a function is silent, and the log says so once, until its guest has said that it
 * uses the windows.
 */
static void test_silent(void **)
{
	static const char said[] =
		"pci: 20:00.0 stays silent: with dma = window its guest must load margay-guest";

	config.dma = VM_DMA_WINDOW;
	assert_int_equal(create(), 0);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 2);
	assert_null(strstr(fake_host.log, "silent"));
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	assert_int_equal(guest_in(&parts.vm, 0xcfc, 2), 6);
	assert_non_null(strstr(fake_host.log, said));
	by_ports(0x00, 0x19, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_null(strstr(strstr(fake_host.log, said) + strlen(said), "silent"));
	assert_int_equal(pci_master_confirm(&vcpu, 0x2019, true), -ENODEV);
	assert_int_equal(pci_master_confirm(&vcpu, 0x2000, true), 0);
	assert_int_equal(fake_host.pci_config[0][4], 6);
	assert_int_equal(fake_host.pci_config[3][4], 2);
	assert_int_equal(pci_master_confirm(&vcpu, 0x2000, false), 0);
	assert_int_equal(fake_host.pci_config[0][4], 2);
}

/*
 * A VM without functions: kernels find configuration space with the host bridge in it, and ACPI
 * hears of nothing.
 */
static void test_none(void **)
{
	config.nr_pci = 0;
	assert_int_equal(create(), 0);
	assert_null(parts.vm.pci);
	assert_int_equal(by_ports(0, 0, 0, 4), 0x29c08086);
	assert_int_equal(by_ports(0, 0, 8, 4) >> 16, 0x0600);
	assert_int_equal(by_ports(0, 0x19, 0, 4), ~0u);
	assert_int_equal(by_ports(0x20, 0, 0, 4), ~0u);
	assert_int_equal(by_ecam(0, 0, 0, 4), ~0u);
}

/*
 * A VM that has ended: whatever its guest still does, on another vCPU, its functions stay silent.
 */
static void test_ended(void **)
{
	config.dma = VM_DMA_IDENTITY;
	assert_int_equal(create(), 0);
	by_ports(0x20, 0x00, 4, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(fake_host.pci_config[0][4], 6);
	parts.vm.end = VM_END_STOPPED;
	closed = 0;
	pci_silence(&vcpu);
	assert_int_equal(closed, 1);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	/* What was under way has come by then. */
	assert_false(fake_host.pci_posted[0]);
	guest_out(&parts.vm, 0xcfc, 2, 2);
	guest_out(&parts.vm, 0xcfc, 2, 6);
	assert_int_equal(guest_in(&parts.vm, 0xcfc, 2), 6);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	assert_int_equal(pci_master_confirm(&vcpu, 0x2000, true), 0);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	pci_silence(&vcpu);
	assert_int_equal(fake_host.pci_config[0][4], 2);
	parts.vm.end = VM_RUNNING;
}

static void test_owner(void **)
{
	char name[VM_NAME_MAX + 1] = "";

	config.nr_pci = 1;
	assert_int_equal(create(), 0);
	assert_true(vm_pci_owner(0, name) && vm_pci_holds(&config));
	assert_string_equal(name, "vm0");
	assert_false(vm_pci_owner(3, name));
	assert_true(fake_host.pci_open[0] == 1 && !fake_host.pci_open[3]);
	assert_int_equal(fake_host.pci_taken_back[0], 0);
	destroy();
	assert_int_equal(fake_host.pci_taken_back[0], 1);
	assert_false(vm_pci_owner(0, name) || vm_pci_holds(&config));
	assert_null(parts.vm.pci);
}

static void expect_iommu(const char *log)
{
	assert_string_equal(fake_host.iommu_log, log);
	fake_host.iommu_log[0] = '\0';
}

/*
 * Each function reaches the VM's memory as its guest names it, and nothing once it is quiet; only
 * then is that memory another's.
 */
static void test_iommu(void **)
{
	static const enum vm_dma modes[] = { VM_DMA_IOMMU, VM_DMA_IDENTITY, VM_DMA_WINDOW };
	static struct vm_config other;

	fake_host.iommu = true;
	map = (struct gpa_map){ .count = 2,
				.region = {
					{ .gpa = 0, .hpa = 0x1000000, .size = 0x100000 },
					{ .gpa = 0x100000, .hpa = 0x5000000, .size = 0x800000 },
				} };
	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		config.dma = modes[i];
		memset(fake_host.pci_taken_back, 0, sizeof(fake_host.pci_taken_back));
		assert_int_equal(create(), 0);
		expect_iommu(
			modes[i] == VM_DMA_WINDOW
				? "create vm0; 0x1000000 is 0x1000000+0x100000; 0x5000000 is 0x5000000+0x800000; attach 0; attach 3;"
				: "create vm0; 0 is 0x1000000+0x100000; 0x100000 is 0x5000000+0x800000; attach 0; attach 3;");
		destroy();
		expect_iommu(" detach 0 after 1; detach 3 after 1; destroy;");
		assert_false(parts.vm.quarantined);
	}
	/*
	 * What does not stop is nobody's any more, but reaches nothing; only if that failed, too,
	 * the memory is lost.
	 */
	fake_host.take_back_says = -EIO;
	config.nr_pci = 1;
	assert_int_equal(create(), 0);
	destroy();
	assert_false(parts.vm.quarantined);
	assert_non_null(strstr(fake_host.log, "does not stop: it is not used any more\n"));
	assert_true(vm_pci_holds(&config));
	refused("20:00.0 is vm0's still: it did not stop");
	other = config;
	strcpy(other.name, "vm1");
	whose = &other;
	fake_host.log[0] = 0;
	refused("20:00.0 is vm0's still: it did not stop");
	whose = &config;
	config.pci[0] = config.pci[1];
	fake_host.iommu_log[0] = '\0';
	assert_int_equal(create(), 0);
	fake_host.iommu_error = -ENXIO;
	destroy();
	assert_true(parts.vm.quarantined);
	assert_non_null(strstr(fake_host.log,
			       "does not stop: it and the VM's memory are not used any more\n"));
	/* The unit may still look at its tables, and whoever had them is forgotten. */
	assert_non_null(strstr(fake_host.iommu_log, " abandon;"));
	assert_null(strstr(fake_host.iommu_log, "destroy"));
}

static void told(unsigned index, bool storm)
{
	const struct host_iommu_user *u = fake_host.iommu_user;

	called = NULL;
	u->blocked(u->arg, index, storm);
}

/*
 * The function whose interrupts are blocked again and again is no bus master any more, whatever its
 * guest writes and confirms.
 */
static void test_blocked(void **)
{
	static const enum vm_dma modes[] = { VM_DMA_IOMMU, VM_DMA_WINDOW };

	fake_host.iommu = true;
	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		config.dma = modes[i];
		fake_host.log[0] = '\0';
		assert_int_equal(create(), 0);
		if (modes[i] == VM_DMA_WINDOW)
			assert_int_equal(pci_master_confirm(&vcpu, 0x0019, true), 0);
		by_ports(0, 0x19, 4, 2);
		guest_out(&parts.vm, 0xcfc, 2, 6);
		assert_int_equal(fake_host.pci_config[3][4], 6);
		told(3, false);
		assert_null(called);
		assert_string_equal(event_told,
				    "0 fault 00:03.1 has reached for what is not the VM's");
		told(3, true);
		assert_int_equal(fake_host.pci_config[3][4], 6);
		assert_int_equal(parts.vm.end, VM_RUNNING);
		called(&vcpu);
		called(&vcpu);
		assert_int_equal(fake_host.pci_config[3][4], 2);
		guest_out(&parts.vm, 0xcfc, 2, 2);
		guest_out(&parts.vm, 0xcfc, 2, 6);
		assert_int_equal(guest_in(&parts.vm, 0xcfc, 2), 6);
		assert_int_equal(pci_master_confirm(&vcpu, 0x0019, true), 0);
		assert_int_equal(fake_host.pci_config[3][4], 2);
		/*
		 * One line, and none that the guest is to load a module. The other function is as
		 * it was.
		 */
		assert_non_null(
			strstr(fake_host.log, "pci: 00:03.1 goes on with what is blocked: "));
		assert_null(strstr(strstr(fake_host.log, "goes on") + 1, "00:03.1"));
		assert_int_equal(pci_master_confirm(&vcpu, 0x2000, true), 0);
		by_ports(0x20, 0x00, 4, 2);
		guest_out(&parts.vm, 0xcfc, 2, 6);
		assert_int_equal(fake_host.pci_config[0][4], 6);
		destroy();
	}
	/* The next start has it back. A VM whose vCPUs are not there yet is not called. */
	assert_int_equal(create(), 0);
	assert_int_equal(parts.vm.pci->silent, 0);
	parts.vm.nr_vcpus = 0;
	told(3, true);
	assert_null(called);
	destroy();
}

static void test_on_fault(void **)
{
	char text[100];

	config.dma = VM_DMA_IDENTITY;
	config.on_fault = ON_FAULT_STOP;
	refused("vm0.conf:7: pci: on_fault: the node has no IOMMU that blocks anything\n");
	assert_false(pci_iommu_text(0, text, sizeof(text)));
	fake_host.iommu = true;
	fake_host.cpus[0].node = 2;
	for (config.on_fault = ON_FAULT_REPORT; config.on_fault <= ON_FAULT_RESTART;
	     config.on_fault++) {
		assert_int_equal(create(), 0);
		assert_string_equal(fake_host.iommu_user->name, "vm0");
		assert_int_equal(fake_host.iommu_user->node, 2);
		assert_string_equal(fake_host.iommu_user->mode, "dma = identity");
		told(0, false);
		assert_int_equal(parts.vm.end,
				 config.on_fault == ON_FAULT_REPORT ? VM_RUNNING : VM_END_FAULT);
		parts.vm.end = VM_RUNNING;
		destroy();
	}
	/* What was blocked: for the monitor, and a line at the end. */
	config.on_fault = ON_FAULT_REPORT;
	assert_true(pci_iommu_text(3, text, sizeof(text)));
	assert_string_equal(text, "reaches nothing; blocked: DMA 0, interrupts 0");
	fake_host.iommu_state = (struct host_iommu_state){
		.domain = 4, .mode = "dma = window", .dma = 12, .interrupts = 7
	};
	assert_true(pci_iommu_text(3, text, sizeof(text)));
	assert_string_equal(text, "domain 7, dma = window; blocked: DMA 12, interrupts 7");
	assert_null(strstr(fake_host.log, "blocked-"));
	config.nr_pci = 1;
	assert_int_equal(create(), 0);
	fake_host.iommu_state.dma = 0;
	destroy();
	assert_non_null(
		strstr(fake_host.log, "vm0: pci: 20:00.0: blocked-dma=0 blocked-interrupts=7\n"));
}

/*
 * Functions of one VM reach each other's registers where the host has them, but no tables of
 * messages.
 */
static void test_registers(void **)
{
	struct pci_bar *first = fake_host.pci[0].bar, *second = fake_host.pci[3].bar;

	fake_host.iommu = true;
	config.dma = VM_DMA_IOMMU;
	first[0] = (struct pci_bar){ .base = 0xc0000000, .size = 0x4000 };
	first[1] = (struct pci_bar){ .base = 0xc0008000, .size = 0x100 };
	first[3] = (struct pci_bar){ .base = 0xc000, .size = 0x2000, .flags = 1 };
	first[PCI_ROM_BAR] = (struct pci_bar){ .base = 0xc0010000, .size = 0x10000 };
	second[2] = (struct pci_bar){ .base = GIB(64), .size = GIB(64) };
	second[4] = (struct pci_bar){ .base = 0, .size = 0x4000 };
	fake_host.log[0] = '\0';
	assert_int_equal(create(), 0);
	expect_iommu(
		"create vm0; 0xc0001000 is 0xc0001000+0x3000; 0x1000000000 is 0x1000000000+0x4000; "
		"0x1000005000 is 0x1000005000+0xfffff9000; attach 0; attach 3;");
	assert_non_null(strstr(
		fake_host.log,
		"DMA between 20:00.0 and 00:03.1 passes the root complex, if that lets it\n"));
	destroy();
	/*
	 * Of one that the IOMMU cannot address the rest is there; those of one group go no other
	 * way.
	 */
	fake_host.iommu_error = -ERANGE;
	fake_host.iommu_log[0] = fake_host.log[0] = '\0';
	fake_host.pci_group[0] = fake_host.pci_group[3] = (struct pci_address){ 0, 0, 0x19 };
	assert_int_equal(create(), 0);
	assert_non_null(
		strstr(fake_host.log,
		       "no DMA to BAR0 of 20:00.0: its address is the guest's RAM's, or beyond the "
		       "IOMMU's\n"));
	assert_non_null(strstr(fake_host.iommu_log, "+0xfffff9000; attach 0; attach 3;"));
	assert_null(strstr(fake_host.log, "root complex"));
	destroy();
	/* What is the platform's is in no function's map, though a BAR says that it is there. */
	fake_host.iommu_error = 0;
	fake_host.iommu_log[0] = fake_host.log[0] = '\0';
	fake_host.platform = 0xc0003fff;
	fake_host.platform_size = 1;
	assert_int_equal(create(), 0);
	assert_null(strstr(fake_host.iommu_log, "0xc000"));
	assert_non_null(strstr(fake_host.iommu_log, "0x1000000000 is 0x1000000000+0x4000;"));
	assert_non_null(strstr(fake_host.log, "no DMA to BAR0 of 20:00.0"));
	destroy();
	/* One alone needs nobody's. */
	fake_host.iommu_log[0] = '\0';
	config.nr_pci = 1;
	assert_int_equal(create(), 0);
	expect_iommu("create vm0; attach 0;");
	destroy();
}

static void test_iommu_refuses(void **)
{
	/* What a function may have been given is taken back, before the tables go. */
	static const struct config_line {
		int error;
		const char *line;
		const char *log;
	} errors[] = {
		{ -ENOSPC, "vm0.conf:7: pci: its IOMMUs hold no more VMs\n", "create vm0;" },
		{ -ERANGE,
		  "vm0.conf:7: pci: its memory ends beyond the address bits of the IOMMUs\n",
		  "create vm0; 0 is 0+0; destroy;" },
		{ -EIO, "vm0.conf:7: pci: the IOMMU of one of its functions does not work\n",
		  "create vm0; 0 is 0+0; attach 0; detach 0 after 1; destroy;" },
	};
	static struct vm_config other;
	static struct vm_parts first;
	void *root;
	extern int fake_vf_gone;

	config.dma = VM_DMA_IOMMU;
	refused("vm0.conf:7: pci: the node has no IOMMU, none that Margay knows, or it is off (iommu=off): "
		"dma = identity or window needs none\n");
	assert_string_equal(fake_host.iommu_log, "");
	fake_host.iommu = true;
	map.count = 1;
	for (unsigned i = 0; i < ARRAY_SIZE(errors); i++) {
		fake_host.iommu_error = errors[i].error;
		memset(fake_host.pci_taken_back, 0, sizeof(fake_host.pci_taken_back));
		refused(errors[i].line);
		expect_iommu(errors[i].log);
	}
	fake_host.iommu_unfit[0] = "its IOMMU does not work";
	refused("vm0.conf:7: pci: 20:00.0 cannot be passed through: its IOMMU does not work\n");
	/* Whatever else is to be said of a virtual function that has gone meanwhile. */
	fake_vf_gone = 0;
	refused("20:00.0 cannot be passed through: the VM that has its physical function has just switched it off\n");
	fake_vf_gone = -1;
	fake_host.iommu_unfit[0] = NULL;
	/* Two functions of one group are one VM's; without an IOMMU nobody asks. */
	fake_host.pci_group[0] = fake_host.pci_group[3] = (struct pci_address){ 0, 0, 0x19 };
	assert_int_equal(create(), 0);
	destroy();
	other = config;
	strcpy(other.name, "vm1");
	other.nr_pci = 1;
	whose = &other;
	assert_int_equal(create(), 0);
	first = parts;
	root = device[0];
	config.pci[0] = config.pci[1];
	config.nr_pci = 1;
	whose = &config;
	refused("pci: 00:03.1 and 20:00.0 cannot be kept apart (no ACS), and that is vm1's\n");
	fake_host.iommu = false;
	config.dma = VM_DMA_IDENTITY;
	assert_int_equal(create(), 0);
	destroy();
	parts = first;
	device[0] = root;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whose_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_in_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abandoned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lingers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lingering_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lingering_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_address_register, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stand_ins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_selectors_meet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blocked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_on_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_iommu_refuses, setup, teardown),
		/* From here on functions stay their VM's. */
		cmocka_unit_test_setup_teardown(test_lingers_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(test_iommu, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

# SPDX-License-Identifier: GPL-2.0-only
"""Kernels older and newer than Debian's of today, as their archives have them (tools/other-kernels), and as RHEL 9 and SLES 15
configure theirs (tools/rhel-sles-kernels): all CPUs come up, the log has nothing bad, and a disk's contents come through nvme.

Kernels that `make other-kernels` takes out of their archives with mmdebstrap; `make test` downloads none. Their own
nvme driver and margay-guest, built by the archive's compiler against its headers, come as an archive before the
tests' initrd.

Debian's source, configured as RHEL 9 (1000 ticks a second, time by interrupts and steal, no Xen PV, TDX, UV) and as
SLES 15 (no preemption, the IOMMU's passthrough, linked at 2 MiB, a scan of low memory), by `make rhel-sles-kernels`;
nvme is built in.

Each with four CPUs on QEMU and two on Bochs (flat: 5.10 and 5.15 start no second CPU by Bochs' own CPUID, which
contradicts itself), with a log without a bad line (`kernel_log.py`); a disk on QEMU's two nodes by checksums, at the
host's addresses and by DMA windows, or, where nvme is built in, behind VT-d. Three minutes on QEMU, five on Bochs.

On 2026-11-23 they were Debian 11's 5.10.0-46-amd64 (5.10.262, with its security updates), Ubuntu 22.04's
5.15.0-204-generic, and of Debian 13's backports 7.3.4+deb13-amd64, the newest of Debian's (sid had 7.2.13,
experimental 7.3-rc7). 5.15 stands in for RHEL 9's 5.14, which could not be had: the servers of CentOS, AlmaLinux,
Rocky, kernel.org and (Debian's 5.14) snapshot.debian.org could not be reached.
"""

import os
import re

import dma_windows
import iommu
import kernel_log
import node
import passthrough
import pytest
import smp

pytestmark = pytest.mark.full


def path(name, file):
    return os.path.join("other-" + name, file)


def made_by(goal, names):
    """These kernels; a test of one that is not there is skipped."""
    return [pytest.param(name, marks=pytest.mark.skipif(not os.path.exists(node.guest_file(path(name, "of"))),
                                                        reason="make " + goal)) for name in names]


FETCHED = made_by("other-kernels", ("5.10", "5.15", "newest"))
# How each shows on its first line that it is what it was configured to be.
PREEMPTION = {"rhel9": "SMP PREEMPT_DYNAMIC", "sles15": "SMP"}
BUILT = made_by("rhel-sles-kernels", PREEMPTION)
KERNELS = FETCHED + BUILT


def check_log(run, name):
    """It is that kernel's, whose clocksource this returns; what is bad in it: kernel_log.py."""
    with open(node.guest_file(path(name, "of")), encoding="ascii") as f:
        release = f.read().split()[0]
    log = "\n".join(run.dmesg)
    assert re.search(r"Linux version %s " % re.escape(release), log) and "Hypervisor detected: KVM" in log
    assert name not in PREEMPTION or re.search(r"Linux version .* #\d+ %s [A-Z][a-z][a-z] " % PREEMPTION[name], log)
    assert re.search(r"x86/PAT: Configuration \[0-7\]: WB +WC +UC- +UC", log)
    return re.findall(r"Switched to clocksource (\S+)", log)[-1]


@pytest.mark.parametrize("name", KERNELS)
def test_smp(name):
    run = node.run_guest("other-smp-" + name, "qemu", "margay.test=smp", kernel=path(name, "vmlinuz"), vm={"cpus": "4"}, cpus=4)
    smp.check_cpus(run, "qemu", 4, [0, 1, 2, 3], range(4))
    # QEMU's TSC is not known to be invariant.
    assert check_log(run, name) == "kvm-clock"
    # No kernel wants an MSR of which Margay has never heard.
    assert len(run.lines(r"^vm0: vcpu\d: .* unknown-msrs=0 ")) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_smp_on_bochs(name):
    """VT-x. Flat: Bochs' own CPUID has eight cores in leaf 4, one in leaf 1 and no level in leaf 0xB. 5.15 takes that for threads
    of one core and starts no second one, and 7.3 warns of it."""
    run = node.run_guest("other-smp-" + name, "bochs", "margay.test=smp", kernel=path(name, "vmlinux"),
                         vm={"cpus": "2", "topology": "flat"}, cpus=2)
    smp.check_cpus(run, "bochs", 2, [0, 1], range(2))
    assert check_log(run, name) == "tsc"


def nvme(name, memory, **options):
    """The disk is right on both nodes; returns the run."""
    keys = {"identity": {"dma": None, "memory_map": "identity"}, "iommu": {"dma": "iommu"}, "window": {}}[memory]
    done, image, before = dma_windows.run(
        "%s-%s" % (memory, name), "nvme", "no" if keys else "yes", dma_windows.NUMA, kernel=path(name, "vmlinuz"), cpus="0,1",
        memory="node0:256M,node1:256M", **keys, **options)
    dma_windows.check_disk(done, before, image)
    assert sum(passthrough.interrupts(done, "nvme0q")) > 10, done.lines("^margay-interrupt: ")
    assert done.dmesg and not kernel_log.bad(done.dmesg, "qemu")
    return done


def check_identity(done):
    ram = dma_windows.regions(done)
    assert len(ram) > 1 and all(gpa == hpa for gpa, hpa, _ in ram[1:])


@pytest.mark.parametrize("memory", ["identity", "window"])
@pytest.mark.parametrize("name", FETCHED)
def test_nvme(name, memory):
    """With memory on both nodes of the machine."""
    done = nvme(name, memory, module="drivers",
                modules={"initrd": node.guest_file("initrd"), "drivers": node.guest_file(path(name, "modules"))})
    if memory == "identity":
        check_identity(done)
    else:
        dma_windows.check_windows(done)
        assert re.fullmatch("0+1+0+", dma_windows.masters(done)) and not done.lines(dma_windows.SILENT)


@pytest.mark.parametrize("memory", ["identity", "iommu"])
@pytest.mark.parametrize("name", BUILT)
def test_nvme_built_in(name, memory):
    """With memory on both nodes of the machine; behind VT-d at the guest's own addresses."""
    done = nvme(name, memory, unit=iommu.UNIT["plain"] if memory == "iommu" else ())
    if memory == "identity":
        check_identity(done)
    else:
        assert done.has_line(iommu.ON) and not iommu.blocked(done)
        assert all(gpa != hpa for gpa, hpa, _ in dma_windows.regions(done))

# SPDX-License-Identifier: GPL-2.0-only
"""A Linux that does not use what the hypervisor has for KVM's guests starts with the defaults.

By words of its command line; as its image tells that it was built so; and one that does not tell, but shows it: that starts again,
once. The kernels are Debian's with KVM's signature, or with the words as well, made unreadable: as one without KVM_GUEST they look
for nothing. In the full tier are VT-x, and kernels that were built so (make guest-kernels).
"""

import os
import re

import node
import pytest

END = "margay.test=end margay.end=poweroff"
TOLD = r"vm0: kernel kernel: %s: it is told the rate of its TSC, \d+ kHz"
ANEW = r"vm0: the kernel %s: it starts again with interrupts: emulated%s"
SIGNATURE, HIDDEN = b"KVMKVMKV", b"XVMKVMKV"  # the rest of it the kernel compares apart
WORD, UNKNOWN = b"\0no-kvmclock\0", b"\0no-KVMclock\0"

BOCHS_IN_FULL = pytest.param("bochs", marks=pytest.mark.full)
SLOW = pytest.mark.slow


def changed(name, *changes):
    """The path of Debian's uncompressed kernel with these bytes in place of others."""
    path = os.path.join(node.BUILD, "iso", name)
    with open(node.guest_file(node.KERNEL), "rb") as f:
        image = f.read()
    for old, new in changes:
        assert len(old) == len(new) and old in image
        image = image.replace(old, new)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new-%d" % os.getpid(), "wb") as f:
        f.write(image)
    os.rename(f.name, path)
    return path


def boot(name, machine, cmdline="", kernel=None, interrupts=None, vm=None):
    """Boots it to the end of the node; that the machine's CPU does not tell the TSC's rate is a matter of each emulator."""
    words = "%s margay.log=tsc|kvm-clock|clocksource|Hypervisor %s" % (cmdline, END)
    run = node.run_guest("without-kvm-" + name, machine, words, kernel=kernel, vm=vm, interrupts=interrupts)
    assert run.outcome.status == 0, run.outcome.text
    assert run.has_line("vm0: end=poweroff") and run.has_line(r"margay: node: end=poweroff vms=1 failed=0")
    return run


def has_no_clock_of_kvms(run):
    """By its own log: it has taken the rate that it was told, and its TSC for a clock."""
    khz = re.search(r"told the rate of its TSC, (\d+) kHz", run.text)[1]
    assert run.lines(r"tsc: Detected %d\.%03d MHz" % divmod(int(khz), 1000)), run.text
    assert not run.lines("kvm-clock: ") and run.lines("clocksource: Switched to clocksource tsc")


@SLOW
@pytest.mark.parametrize("machine", ["qemu", BOCHS_IN_FULL])
def test_no_kvmclock(machine):
    run = boot("no-kvmclock", machine, "no-kvmclock", interrupts="direct")
    assert run.has_line(TOLD % "cmdline has no-kvmclock")
    has_no_clock_of_kvms(run)
    assert run.lines("Hypervisor detected: KVM")


@SLOW
@pytest.mark.parametrize("machine", ["qemu", BOCHS_IN_FULL])
def test_nopv(machine):
    run = boot("nopv", machine, "nopv", interrupts="emulated")
    assert run.has_line(TOLD % "cmdline has nopv") and run.has_line("vm0: interrupts: emulated: cmdline has nopv")
    has_no_clock_of_kvms(run)
    assert not run.lines("Hypervisor detected: KVM")


@pytest.mark.full
def test_with_kvm():
    """The control: nothing is told where nothing is wanted."""
    run = boot("control", "qemu", interrupts="direct")
    assert not run.lines("told the rate") and run.lines("kvm-clock: Using msrs") and run.lines("Hypervisor detected: KVM")


@SLOW
@pytest.mark.parametrize("machine", ["qemu", BOCHS_IN_FULL])
def test_image_tells(machine):
    kernel = changed("told-" + machine, (SIGNATURE, HIDDEN), (WORD, UNKNOWN))
    run = boot("told", machine, kernel=kernel, interrupts="emulated")
    assert run.has_line(TOLD % "built without KVM_GUEST")
    assert run.has_line("vm0: interrupts: emulated: the kernel is built without KVM_GUEST, and leaves x2APIC mode")
    has_no_clock_of_kvms(run)


def starts_again(run, line, why="the kernel took no x2APIC mode when it had it"):
    """Once, with that line."""
    said = [text for text in run.text.split("\n") if re.match(r"vm0: (the kernel|end=|restart|interrupts: e)", text)]
    wanted = [line, "vm0: end=anew", "vm0: restart 1", "vm0: interrupts: emulated: " + why, "vm0: end=poweroff"]
    assert len(said) == len(wanted) and all(map(re.fullmatch, wanted, said)), said
    has_no_clock_of_kvms(run)


@SLOW
@pytest.mark.parametrize("machine", ["qemu", BOCHS_IN_FULL])
def test_looks_for_a_pit(machine):
    """Where the CPU does not tell the TSC's rate that is the first that it does."""
    run = boot("pit", machine, kernel=changed("hidden-" + machine, (SIGNATURE, HIDDEN)))
    starts_again(run, ANEW % ("looks for a PIT, and not for KVM's clock", ", told the rate of its TSC"))
    assert run.has_line(TOLD % "it did not use KVM's clock")


@SLOW
@pytest.mark.parametrize("machine", ["qemu", BOCHS_IN_FULL])
def test_leaves_x2apic_mode(machine):
    """One that is told the rate by a word looks for a PIT all the same, and starts again only for its local APIC."""
    run = boot("x2apic", machine, "no-kvmclock", kernel=changed("hidden-x2apic-" + machine, (SIGNATURE, HIDDEN)))
    starts_again(run, ANEW % ("takes no x2APIC mode", ", told the rate of its TSC"))


def test_direct_is_refused():
    """Who asks for interrupts = direct gets no other start, but a line."""
    iso = node.margay_iso("without-kvm-direct", {"vm0.conf": node.vm_text("qemu", END, interrupts="direct")},
                          {"kernel": changed("hidden-direct", (SIGNATURE, HIDDEN)), "initrd": node.guest_file("initrd")})
    with node.start("without-kvm-direct", "qemu", iso, interrupts=None) as running:
        run = node.Run(running, running.wait())
    refused = "vm0: vm0.conf:6: interrupts = direct: the kernel took no x2APIC mode when it had it: use emulated"
    assert run.outcome.status == 1 and run.has_line(re.escape(refused)) and run.has_line("vm0: not started"), run.text


@pytest.mark.full
@SLOW
@pytest.mark.parametrize("machine, image", [("qemu", "vmlinuz"), ("qemu", "vmlinux"), ("bochs", "vmlinux")])
@pytest.mark.parametrize("version", [pytest.param(version, marks=pytest.mark.skipif(
    not os.path.exists(node.guest_file("vmlinuz-no-kvm-" + version)), reason="make guest-kernels")) for version in ("6.1", "6.12")])
def test_built_without(machine, image, version):
    """A kernel without HYPERVISOR_GUEST, and with x2APIC mode behind interrupt remapping, as for bare machines. Compressed it does
    not tell; else it does."""
    run = boot("built-%s-%s" % (image, version), machine, kernel=node.guest_file("%s-no-kvm-%s" % (image, version)))
    if image == "vmlinuz":
        starts_again(run, ANEW % ("looks for a PIT, and not for KVM's clock", ", told the rate of its TSC"))
    else:
        assert run.has_line(TOLD % "built without KVM_GUEST") and not run.lines("end=anew")
        has_no_clock_of_kvms(run)
    assert not run.lines("Hypervisor detected")

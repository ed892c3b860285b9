# SPDX-License-Identifier: GPL-2.0-only
"""Debian's kernel as a guest, to userspace and back: one long boot on each
machine, whose report many tests judge."""

import re
import time

import kernel_log
import margay_machines
import node
import pytest

TYPED = "the quick brown fox jumps over the lazy dog, 0123456789 times, and back again"
FORKS = {"qemu": 3000, "bochs": 300, "nested-svm": 300, "nested-vtx": 300}
# Bochs' clock starts at time0 of its configuration; QEMU's is the host's.
BOCHS_TIME0 = 1000000000


def boot_platform(machine, kernel=None, name="platform"):
    # Where each character costs a millisecond the log is only told at the end.
    quiet = "quiet " if machine in node.NESTED else ""
    cmdline = quiet + "margay.test=platform margay.forks=%d" % FORKS[machine]
    iso = node.margay_iso(
        "%s-%s" % (name, machine), {"vm0.conf": node.vm_text(machine, cmdline)},
        {"kernel": node.guest_file(kernel or node.KERNEL), "initrd": node.guest_file("initrd")},
    )
    with node.start(name, machine, iso) as running:
        running.expect(r"^margay-test: type\r?$")
        # One at a time, so that each can bring its own interrupt.
        for character in TYPED:
            running.send(character)
            time.sleep(0.05)
        running.send("\n")
        return node.finish(running)


@pytest.fixture(
    scope="module",
    params=[pytest.param(m, marks=[pytest.mark.xdist_group("platform-" + m), pytest.mark.slow]
                         + [pytest.mark.full] * (m in node.NESTED)) for m in node.MACHINES + node.NESTED],
)
def platform(request):
    run = boot_platform(request.param)
    run.machine = request.param
    return run


def test_node_ends_well(platform):
    assert platform.outcome.status == 0, platform.outcome.text
    assert platform.has_line("vm0: end=poweroff")
    assert platform.has_line(r"margay: node: end=poweroff vms=1 failed=0")


def test_script_came_to_its_end(platform):
    assert platform.has_line("margay-test: done")
    assert platform.facts["cpus"] == "1"


def test_hypervisor_found_its_machine(platform):
    """By what is known of each: of QEMU's CPU Margay takes xAPIC mode, and it has no TSC deadline timer; KVM offers both on it.
    Bochs' chipset has no ECAM."""
    apic, pci = {"qemu": ("xAPIC, timer one-shot", "ECAM"), "bochs": ("x2APIC, timer TSC deadline", "mechanism 1")}.get(
        platform.machine, ("x2APIC, timer TSC deadline", "ECAM"))
    assert platform.has_line("margay: CPU 0: APIC ID 0, " + apic)
    assert platform.has_line(r"margay: pci: \d+ functions, configuration by " + pci)
    assert platform.has_line("margay: virtualization: " + {"qemu": "SVM/NPT", "bochs": "VT-x/EPT"}[
        margay_machines.EMULATOR[platform.machine]])


def test_memory(platform):
    """Four fifths of what is available read back, twice."""
    result = platform.facts["memory"].split()
    total = int(platform.facts["memtotal-kib"]) >> 10
    assert result[0] == "ok", platform.facts["memory"]
    assert int(result[1]) > total / 2
    given = int(node.GUEST_MEMORY[platform.machine][:-1])
    assert given * 0.75 < total < given


def test_forks(platform):
    assert platform.facts["forks"] == "ok %d" % FORKS[platform.machine]


def test_vector_registers_survive(platform):
    """Both emulators have AVX; the guest must have it too, and lose none of it."""
    assert re.fullmatch(r"ok ymm \d+", platform.facts["vectors"]), platform.facts["vectors"]


def test_console_input_by_interrupt(platform):
    assert platform.facts["typed"] == TYPED
    assert int(platform.facts["serial-irqs-idle"]) == 0
    # The request for input is 20 characters, so at most as many transmit interrupts. What is typed while the build host
    # keeps the emulator from running comes by one interrupt for several.
    assert len(TYPED) / 8 + 20 < int(platform.facts["serial-irqs-typed"]) < len(TYPED) + 30


def test_clocksource(platform):
    """By what is known of each machine: Bochs' TSC is invariant, and QEMU's CPUID does not say so, nor does KVM's."""
    invariant, clocksource = (True, "tsc") if platform.machine == "bochs" else (False, "kvm-clock")
    assert ("nonstop_tsc" in platform.facts["flags"].split()) == invariant
    assert platform.facts["clocksource"] == clocksource


def test_wall_clock(platform):
    shown = int(platform.facts["wallclock"])
    now = BOCHS_TIME0 if margay_machines.EMULATOR[platform.machine] == "bochs" else time.time()
    assert abs(shown - now) < 900


def test_kernel_log_is_there(platform):
    """The control of the tests below: the log has what each boot has."""
    log = "\n".join(platform.dmesg)
    assert "Linux version" in log
    assert "Hypervisor detected: KVM" in log
    assert re.search(r"x86/PAT: Configuration \[0-7\]: WB +WC +UC- +UC", log)
    assert re.search(r"tsc: Detected [\d.]+ MHz processor", log)


@pytest.mark.parametrize("bad", kernel_log.BAD)
def test_kernel_log_has_no(platform, bad):
    assert platform.dmesg
    assert not kernel_log.bad(platform.dmesg, platform.machine, [bad])


def test_exit_counts_are_printed(platform):
    lines = platform.lines(r"^vm0: vcpu0: exits=\d+ ")
    assert len(lines) == 1
    counts = dict(re.findall(r"([a-z0-9-]+)=(\d+)", lines[0]))
    assert int(counts["cpuid"]) > 100
    assert int(counts["io"]) > 1000  # whether the counts are right: test_exit_counts.py


@pytest.mark.full
@pytest.mark.slow
def test_compressed_kernel_on_bochs():
    """bzImage where decompression takes minutes: only the loader's path differs from the boot above."""
    run = node.run_guest("bzimage", "bochs", "margay.test=end margay.end=poweroff", kernel="vmlinuz", timeout=3600)
    assert run.outcome.status == 0, run.outcome.text
    assert run.has_line("margay-test: done")


@pytest.mark.parametrize("kernel", ["vmlinuz", "vmlinux"])
def test_kernels_files_as_they_are(kernel):
    """Most other tests boot one without the zeros that end its segments."""
    run = node.run_guest(kernel, "qemu", "margay.test=end margay.end=poweroff", kernel=kernel)
    assert run.outcome.status == 0, run.outcome.text
    assert run.has_line("vm0: end=poweroff")

# SPDX-License-Identifier: GPL-2.0-only
"""The guest's clocks beside the node's HPET, which counts the emulator's
virtual time and is read natively by the LWK: images with DEBUG_CLOCK show it
to the guest at a port (vmm/dev/debug_clock.c), so that both are read within
microseconds of each other. What the test allows is 1 ppm, and no step.
"""

import re

import node
import pytest

LIMIT_PPM = 1
CLOCK = ("DEBUG_CLOCK=y", "DEBUG_CLOCK_SKEW=5000000")
# The control of the drift tests: the TSC is taken for 3 ppm faster than it is.
WRONG_PPM = 3
CLOCK_WRONG = CLOCK + ("DEBUG_CLOCK_PPM=%d" % WRONG_PPM,)
# One instruction is one nanosecond, and idle time is skipped.
ICOUNT = ["-icount", "shift=0,sleep=off"]
MONOTONIC, REALTIME = 1, 3  # columns of a sample; the window of each is in the next


def run_clocks(name, machine, commands, cmdline="", variant=("clock", CLOCK), **options):
    """The commands of tests/system/guest/clocks.c in a guest, on an image of that configuration."""
    words = " ".join("margay.clocks=" + command.replace(" ", ",") for command in commands)
    elf = node.variant(variant[0], *variant[1]) if variant else None
    run = node.run_guest(name, machine, "margay.test=clocks %s %s" % (words, cmdline), elf=elf, **options)
    assert run.outcome.status == 0, run.outcome.text
    return run


def samples(run):
    found = re.findall(r"^margay-test: \w+: clocks: (\d+) (\d+) (\d+) (\d+) (\d+)$", run.text, re.MULTILINE)
    return [tuple(int(word) for word in row) for row in found]


def drift_ppm(rows, clock):
    """By how much the clock ran faster than the reference between first and last sample, and the error of that."""
    elapsed = rows[-1][0] - rows[0][0]
    ahead = rows[-1][clock] - rows[0][clock] - elapsed
    return ahead / elapsed * 1e6, max(rows[0][clock + 1], rows[-1][clock + 1]) / elapsed * 1e6


def steps(rows, clock):
    """Intervals between samples in which the clock went further or less far than 1 ppm and the reading windows explain."""
    found = []
    for a, b in zip(rows, rows[1:]):
        elapsed = b[0] - a[0]
        if abs(b[clock] - a[clock] - elapsed) > elapsed * LIMIT_PPM / 1e6 + a[clock + 1] + b[clock + 1]:
            found.append((a, b))
    return found


def node_check(run):
    """What the node itself found at its end: ppb slow, and the bound."""
    found = re.search(r"^margay: clock: ([\d.]+) s since boot, (-?\d+) ppb slow by the HPET, \+-(\d+) ppb$", run.text, re.MULTILINE)
    assert found, "no clock line at the node's end"
    return float(found[1]), int(found[2]), int(found[3])


PAUSE_S = 100


@pytest.mark.parametrize("clock", ["follow", "freeze"])
def test_pause(clock):
    """Paused for longer than any watchdog waits, twice: time goes on or stands still, never back, and nobody barks."""
    run = run_clocks("pause-" + clock, "qemu", ["pause %d 2" % (PAUSE_S * 1000)], vm={"clock": clock}, kernel="vmlinux",
                     extra=ICOUNT)
    rows = samples(run)
    assert len(rows) == 3
    for a, b in zip(rows, rows[1:]):
        assert b[0] - a[0] >= PAUSE_S * 10**9
        for column in (MONOTONIC, REALTIME):
            lost = (b[0] - a[0]) - (b[column] - a[column])
            if clock == "follow":
                assert abs(lost) <= 1e-6 * PAUSE_S * 10**9
            else:
                assert abs(lost - PAUSE_S * 10**9) <= 10**6 and b[column] > a[column]
    assert not [line for line in run.dmesg if re.search("soft lockup|hard LOCKUP|stall|[Uu]nstable|WARNING", line)]
    assert [line for line in run.dmesg if "Linux version" in line]


RING = [
    pytest.param("qemu", 4, 10**6, {}),
    pytest.param("qemu", 4, 10**7, {}, marks=pytest.mark.full),
    pytest.param("bochs", 2, 10**6, {}, marks=pytest.mark.full),
]


@pytest.mark.parametrize("source", ["tsc", "kvm-clock"])
@pytest.mark.parametrize("machine, cpus, reads, options", RING)
def test_monotonic_across_vcpus(machine, cpus, reads, options, source):
    """Threads on all vCPUs pass a counter around and read the clock: no reading is before the last one."""
    run = run_clocks("ring-%s-%d" % (source, reads), machine, ["ring %d %d" % (cpus, reads)],
                     "clocksource=%s tsc=reliable" % source, variant=None, vm={"cpus": str(cpus)}, cpus=cpus, **options)
    assert run.facts["clocksource"] == source
    done = re.fullmatch(r"ok (\d+) (\d+)", run.facts["ring"])
    assert done, run.facts["ring"]
    # How often the counter changes hands is up to the emulator's host.
    assert int(done[1]) >= reads and int(done[2]) >= 1000


def skewed(model):
    """A machine of two CPUs, the TSC of one of which the image with DEBUG_CLOCK_SKEW puts ahead. QEMU's cannot be set."""
    return ["cpu: model=%s, count=2, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=0" % model]


HAS_TSC_ADJUST = "corei7_haswell_4770"
HAS_NO_TSC_ADJUST = "corei7_ivy_bridge_3770k"


def skew_lines(model):
    iso = node.margay_iso("skew-" + model, {"vm0.conf": "name = none\n"}, {}, check=False, elf=node.variant("clock", *CLOCK))
    with node.start("skew-" + model, "bochs", iso, cpus=2, extra=skewed(model), timeout=300) as running:
        run = node.Run(running, running.wait())
    assert run.has_line("margay: CPUs: 2 online of 2")
    return run.lines("^margay: CPU with APIC ID 1: its TSC")


def test_tsc_corrected():
    lines = skew_lines(HAS_TSC_ADJUST)
    assert len(lines) == 1
    found = re.search(r"its TSC was (\d+) ticks or more ahead of the boot CPU's: corrected by TSC_ADJUST$", lines[0])
    assert found and 4999000 < int(found[1]) <= 5000000


def test_tsc_not_corrected():
    lines = skew_lines(HAS_NO_TSC_ADJUST)
    assert len(lines) == 1
    found = re.search(r"its TSC is (\d+) ticks or more ahead of the boot CPU's: the TSC is not taken as one clock$", lines[0])
    assert found and 4999000 < int(found[1]) <= 5000000


@pytest.mark.full
@pytest.mark.slow
def test_guest_on_skewed_tscs():
    """TSCs that are 100 ms apart: the guest is kept from the TSC, and kvm-clock is one clock all the same."""
    commands = ["on 0 drift 1 2", "on 1 drift 1 2", "on 0 drift 1 2", "ring 2 100000", "use tsc", "ring 2 100000"]
    run = run_clocks("skewed", "bochs", commands, "tsc=reliable", vm={"cpus": "2"}, cpus=2,
                     extra=skewed(HAS_NO_TSC_ADJUST))
    # constant_tsc is what Linux itself thinks of an Intel CPU.
    assert "nonstop_tsc" not in run.facts["flags"].split()
    assert run.facts["clocksource"] == "kvm-clock"
    rows = samples(run)
    assert len(rows) == 9
    ahead = [row[MONOTONIC] - row[0] for row in rows]
    # What remains is half the time of an exchange between the CPUs, at 20 ns per instruction.
    assert max(ahead) - min(ahead) < 10000 + max(row[MONOTONIC + 1] for row in rows)
    good, bad = run.lines("^margay-test: ring: ")
    assert re.search(r"ring: ok \d{6} \d+$", good)
    # The control: the TSC itself does go back.
    assert run.facts["use"] == "tsc"
    assert re.search(r"ring: back by \d{8,} ns", bad)


def values(text):
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}


@pytest.mark.slow
def test_cost_and_lateness(record_property):
    """One vCPU beside the bare machine, in instructions: reading the clock costs the same; timers are never early."""
    commands = ["cost", "late 1000 2000"]
    words = " ".join("margay.clocks=" + command.replace(" ", ",") for command in commands)
    cmdline = "margay.test=clocks %s clocksource=tsc tsc=reliable" % words
    iso = node.image("clocks-native", "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd"),
                     "--cmdline", "console=ttyS0 panic=-1 " + cmdline)
    with node.start("clocks-native", "qemu", iso, native=True, extra=ICOUNT) as running:
        native = node.finish(running)
    assert native.outcome.status == 0, native.outcome.text
    guest = node.run_guest("clocks-guest", "qemu", cmdline, extra=ICOUNT)
    assert guest.outcome.status == 0, guest.outcome.text
    assert guest.facts["clocksource"] == native.facts["clocksource"] == "tsc"
    for fact in ("cost", "late"):
        record_property(fact, "native %s guest %s" % (native.facts[fact], guest.facts[fact]))
    for clock in ("monotonic", "realtime"):
        here, there = values(guest.facts["cost"])[clock], values(native.facts["cost"])[clock]
        assert there > 1000 and abs(here - there) <= there * 0.05
    for run in (native, guest):
        assert values(run.facts["late"])["early"] == 0
    # A timer and a wake-up out of HLT: two exits and some register accesses more.
    assert values(guest.facts["late"])["average"] < values(native.facts["late"])["average"] + 30000


DRIFT = [
    # machine, clock source, seconds between samples, samples, kernel, options
    pytest.param("qemu", "kvm-clock", 36, 100, {"kernel": "vmlinux", "extra": ICOUNT}, marks=pytest.mark.slow),
    pytest.param("qemu", "tsc", 36, 100, {"kernel": "vmlinux", "extra": ICOUNT}, marks=pytest.mark.slow),
    pytest.param("bochs", "tsc", 36, 100, {}, marks=pytest.mark.full),
    pytest.param("bochs", "kvm-clock", 36, 100, {}, marks=pytest.mark.full),
]


@pytest.mark.parametrize("machine, source, seconds, count, options", DRIFT)
def test_drift(machine, source, seconds, count, options):
    """An hour of virtual time."""
    run = run_clocks("drift-" + source, machine, ["drift %d %d" % (seconds, count)],
                     "clocksource=%s tsc=reliable" % source, **options)
    rows = samples(run)
    assert run.facts["clocksource"] == source
    assert len(rows) == count + 1
    assert rows[-1][0] - rows[0][0] >= seconds * count * 10**9
    for clock in (MONOTONIC, REALTIME):
        ppm, error = drift_ppm(rows, clock)
        assert abs(ppm) + error <= LIMIT_PPM
        assert not steps(rows, clock)
    since, slow, bound = node_check(run)
    assert since > seconds * count and abs(slow) <= LIMIT_PPM * 1000 + bound


@pytest.mark.full
@pytest.mark.slow
def test_drift_in_real_time():
    """Twenty minutes on QEMU without -icount, whose TSC is the build host's, under interrupts and exits."""
    run = run_clocks("drift-real", "qemu", ["load", "drift 60 20"], "clocksource=kvm-clock", vm={"cpus": "2"}, cpus=2,
                     timeout=3600)
    rows = samples(run)
    assert len(rows) == 21
    for clock in (MONOTONIC, REALTIME):
        ppm, error = drift_ppm(rows, clock)
        assert abs(ppm) <= LIMIT_PPM + error


def test_lost_ticks_control():
    """The control of the drift and pause tests: a clock that counts ticks falls behind where ticks are lost."""
    run = run_clocks("drift-ticks", "qemu", ["use jiffies", "pause 500 20"], "clocksource=jiffies highres=off nohz=off",
                     kernel="vmlinux", extra=ICOUNT)
    assert run.facts["use"] == "jiffies"
    ppm = drift_ppm(samples(run), MONOTONIC)[0]
    assert ppm < -100000


def test_drift_control():
    """A clock that is wrong by 3 ppm is noticed: by the guest's samples and by the node's own check."""
    run = run_clocks("drift-wrong", "qemu", ["drift 20 10"], "clocksource=kvm-clock", variant=("clock-wrong", CLOCK_WRONG),
                     kernel="vmlinux", extra=ICOUNT)
    rows = samples(run)
    for clock in (MONOTONIC, REALTIME):
        ppm, error = drift_ppm(rows, clock)
        assert abs(ppm) - error > LIMIT_PPM
        assert abs(ppm + WRONG_PPM) < 1 + error
        assert len(steps(rows, clock)) == len(rows) - 1
    slow = node_check(run)[1]
    assert abs(slow - WRONG_PPM * 1000) < 1000

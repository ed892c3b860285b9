#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""make bench: what a Linux guest costs under Margay, beside the same Linux
natively and in a KVM guest, by counts from outside (systems.py). Prints a
table and writes build/bench/results.json (docs/performance.md has its form),
results.md and a plot per part.

    bench.py [--parts boot,workloads,...] [--systems native,margay,kvm] [--runs N] [--loads idle,...]
             [--window MS] [--vms 4-filtered,...] [--hpcc N1,N2] [--npb CLONE [--npb-class W]]
"""

import argparse
import datetime
import functools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bochs  # noqa: E402
import npb  # noqa: E402
import report  # noqa: E402
import systems  # noqa: E402
import walk  # noqa: E402
import mitigations as forced  # noqa: E402

LOOPS = ("fork", "switch", "fault", "mmap", "compute", "memory")  # loops.sh
LOADS = ("cpuid", "idle", "compute", "fork", "switch", "timer", "console")  # loads.sh
CONTROL = "control: one CPUID"
# The part direct: a minute by a clock that takes 16 ns an instruction; vCPUs, and their `ipi =`.
DIRECT_LOADS = ("cpuid", "idle", "compute", "switch", "timer", "fork")
DIRECT_DEVICES = ("nvme", "igb")  # passed through, with all else that a load of them does
DIRECT_WINDOW, DIRECT_SHIFT = 60000, 4
DIRECT_VMS = ((1, "filtered"), (4, "filtered"), (4, "direct"))
PINNED = "^margay-test: vCPUs are pinned$"  # kvm.sh
UNMITIGATED = ("exits", "mitigations", "ipi", "net")  # the parts that ask KVM with mitigations=off, too, as Margay has none there
RUNS = {"ipi": report.MOST_RUNS}  # of parts that differ from boot to boot; of others one
EXIT_LOOPS = 1000
EXIT_SETTLE = 5000000  # ticks: a tenth of Bochs' second, in which its serial line takes 1,100 characters
NET_MIB, NET_TRIPS, NET_DATAGRAMS, NET_START = 16, 1000, 2000, 3
NET_TESTS = (("a MiB of a TCP stream", NET_MIB), ("a round trip by TCP", NET_TRIPS),
             ("a datagram, to a receiver that polls", NET_DATAGRAMS), ("a second in which nothing is sent", 1))  # pair.c's
ROUNDS = "further rounds of string instructions"
IPI_LOOPS, IPI_TIMEOUT, IPI_START = 200, 400, 5
DMA_READS, DMA_LOOPS, REGISTRATIONS = 8000, 10000, 100
# KVM's guest would need an IOMMU.
MARGAY_MODES = ("identity", "iommu", "window")
DMA_MODES = {"native": ("native",), "margay": MARGAY_MODES, "direct": MARGAY_MODES, "kvm": ()}
BOUNCED = "swiotlb=force"
DEVICES = ("read from nvme", "write to nvme", "TCP from igb to e1000e", "TCP from e1000e to igb")  # devices.sh
DEVICES_MEGABYTES = 64
# What hpcc measured of itself; under -icount a second is 10^9 instructions.
HPCC_RATES = ("HPL_Tflops", "StarDGEMM_Gflops", "StarSTREAM_Triad", "MPIRandomAccess_GUPs", "MPIFFT_Gflops", "PTRANS_GBs")
HPCC_N = 1500  # whose HPL ends within TIMEOUT; its work grows with the third power
# The columns of rtla's tables, in microseconds or numbers of what disturbed, and in nanoseconds.
RTLA_OSNOISE = ("runtime, us", "noise, us", "CPU available, %", "most noise of a period, us", "longest single, us", "by hardware",
                "by NMIs", "by IRQs", "by softirqs", "by threads")
RTLA_TIMERLAT = tuple("%s, %s, ns late" % (who, what) for who in ("IRQ", "thread", "user's return")
                      for what in ("last", "least", "mean", "most"))
# The tiny guest `noise`: a second in TSC ticks where a tick is an instruction; Bochs' ips.
SECOND = {"qemu": 1000000000, "bochs": 50000000}
MEGA = 1000000
ZEROING = ("take_part", "memset")  # kernel/work/zero_parallel.c, and what it calls; little else does before the guest runs
LINUX = "console=ttyS0 panic=-1 quiet nokaslr %smargay.test="
WORDS = ""  # --words
# The clock source that a kernel takes by itself natively, and in a guest wherever the TSC is invariant, which QEMU's cannot say.
TSC = "clocksource=tsc tsc=reliable"
# KVM on Bochs would need hours: a CPUID and an exit to user space as measured once by hand.
KVM_ON_BOCHS = {"cpuid": 963, "port-uart": 3074}
TELEMETRY = re.compile(r"^vm0: vcpu\d+: exits=(\d+)", re.MULTILINE)
# The machine of the memory part; the KVM host, whose guest has systems.GUEST_MEMORY, needs more.
MEMORY = {"native": "1G", "margay": "1G", "direct": "1G", "kvm": "2G"}
OWN = re.compile(r"^margay: own memory: .* held in all (\d+) KiB; boot modules (\d+) KiB apart$"
                 r".*^vm0: own memory: (\d+) KiB, and (\d+) KiB of tables", re.MULTILINE | re.DOTALL)


def rows(part, test, system, counts):
    """The results of one stretch of execution."""
    yield dict(part=part, test=test, system=system, metric="instructions", value=counts["total"])
    yield dict(part=part, test=test, system=system, metric="exits", value=counts["vmruns"])
    if system in systems.INTERRUPTS:
        yield dict(part=part, test=test, system=system, metric="in-hypervisor", value=counts["image"])
    if system != "native" and "guest" in counts:
        yield dict(part=part, test=test, system=system, metric="outside of the guest, ppm",
                   value=round((counts["total"] - counts["guest"]) * MEGA / counts["total"]))


def whole(part, system, exits, text):
    """All exits of a run, as the emulator counted them and as Margay did: they must agree."""
    for metric, value in (("exits", exits), ("exits by telemetry", sum(map(int, TELEMETRY.findall(text))))):
        yield dict(part=part, test="whole run", system=system, metric=metric, value=value)


def whole_run(part, system, counts, text):
    """The same where the emulator counts executed VMRUNs."""
    if system in systems.INTERRUPTS:
        yield from whole(part, system, counts.last("end", 0)["vmruns"], text)


def linux(system, script, initrd=systems.BUILD + "/initrd", name=None, kernel="vmlinuz", **options):
    if system == "direct" or options.get("x2apic"):
        options["alone"] = [int(address, 16) for address in entries("x2apic-read", kernel)]
    return systems.measure(system, name or script, os.path.join(systems.GUEST, kernel), initrd, LINUX % WORDS + script, **options)


def part_boot(system):
    counts, text = linux(system, "boot")
    yield from rows("boot", "kernel to userspace", system,
                    systems.difference(counts.last("at", systems.KERNEL_START), counts.last("marker", 1)))
    yield from whole_run("boot", system, counts, text)
    if system in systems.INTERRUPTS:
        own = counts.last("at", systems.KERNEL_START)
        yield dict(part="boot", test="the LWK itself", system=system, metric="instructions", value=own["image"])
        yield dict(part="boot", test="the LWK itself, without zeroing", system=system, metric="instructions",
                   value=own["image"] - sum(own.get(name, 0) for name in ZEROING))


def part_workloads(system):
    counts, text = linux(system, "loops", x2apic=True)
    for loop, counted in zip(LOOPS, counts.pairs(), strict=True):
        yield from rows("workloads", loop, system, counted)
    yield from whole_run("workloads", system, counts, text)


def entries(kind="interrupt", kernel="vmlinuz"):
    """Where the guest's kernel is entered for these: asked of it once, as nokaslr puts it at the same place each time."""
    path = os.path.join(systems.BUILD, "entries-" + kernel)
    pattern = r"^margay-test: entry: %s (\w+)$"
    if not os.path.exists(path) or os.path.getmtime(path) < max(map(os.path.getmtime, (
            os.path.join(systems.GUEST, kernel), systems.HERE + "/guest/entries.sh"))):
        text = linux("native", "entries", kernel=kernel)[1]
        found = [len(re.findall(pattern % k, text, re.MULTILINE)) for k in ("interrupt", "page-fault", "x2apic-read", "device")]
        if found[0] < 10 or found[1] != 1 or not found[2] or found[3] != 1:
            raise systems.BenchError("the kernel does not name its entries: %s" % text[-500:])
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
    with open(path, encoding="ascii") as f:
        return re.findall(pattern % kind, f.read(), re.MULTILINE)


def symbols(kernel="vmlinuz"):
    """A file with the functions of the guest's kernel, which it is asked for once, too."""
    path = os.path.join(systems.BUILD, "symbols-" + kernel)
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(os.path.join(systems.GUEST, kernel)):
        found = re.findall(r"^margay-test: function: (\w+) (\S+)$", linux("native", "symbols", kernel=kernel)[1], re.MULTILINE)
        if len(found) < 10000:
            raise systems.BenchError("the kernel does not name its functions")
        with open(path, "w", encoding="ascii") as f:
            f.writelines("%s t %s\n" % function for function in found)
    return path


def guest_functions(part, test, system, counted, of="interrupts"):
    """What the guest's kernel executes for each interrupt that was taken, or each of what else is counted, by function."""
    for function in counted.functions():
        each = round(counted[function] / max(counted[of], 1), 1)
        if each:
            yield dict(part=part, test=test, system=system, metric=report.IN_GUEST + function, value=each)


def loads_words(loads, window):
    """Of Linux' command line: these loads, each for so many milliseconds."""
    return "loads margay.window=%d margay.loads=%s" % (window, ",".join(loads))


def load_test(load, window):
    """The name of a load's test."""
    span = {1000: "a second", DIRECT_WINDOW: "a minute"}.get(window, "%d ms" % window)
    return CONTROL if load == "cpuid" else "%s, %s" % (span, load)


def part_rates(loads, window, system):
    """
    What a second of each load causes. Margay's own counters are read out of its memory by the emulator, at the markers
    between which it counts VMRUNs and the entries of the guest's handlers.
    """
    counts, text = linux(system, loads_words(loads, window), name="rates", interrupts=entries(), x2apic=True)
    yield from whole_run("rates", system, counts, text)
    for load, counted in zip(loads, counts.pairs(), strict=True):
        test = load_test(load, window)
        values = [("exits", counted["vmruns"]), ("interrupts", counted["interrupts"])]
        if system in systems.INTERRUPTS:
            values += [("exits by telemetry", counted["telemetry"]), ("interrupts by telemetry", counted["injected"])]
        if system == "direct":
            # None is Margay's to inject.
            values[-1] = ("injected", counted["injected"])
        for metric, value in values:
            yield dict(part="rates", test=test, system=system, metric=metric, value=value)


def direct_rows(test, ipi, cpus, counted):
    """
    Of a load where the guest owns its CPUs' local APICs: VMRUNs by the emulator, and exits by telemetry; of these the CPUIDs; the
    machine-check registers that it read, by the emulator's count of those RDMSRs, for which Linux polls them every five minutes;
    the messages that CPUs sent, by the emulator's count of WRMSRs of the ICR, which are exits where they are filtered; what is
    left, which is not known; and the messages that were taken, or with one CPU all interrupts.
    """
    filtered = ipi == "filtered"
    sent = counted["messages"] if filtered else 0
    values = [("exits", counted["vmruns"]), ("exits by telemetry", counted["telemetry"]), ("CPUIDs", counted.exits("cpuid")),
              ("machine-check registers read", counted["mc-reads"]), ("messages sent", counted["messages"])]
    if filtered:
        values.append(("messages sent by telemetry", counted.exits("wrmsr")))
    values += [(report.UNNAMED, counted["vmruns"] - counted.exits("cpuid") - counted["mc-reads"] - sent),
               ("messages" if cpus > 1 else "interrupts", counted["interrupts"]), ("injected", counted["injected"])]
    for metric, value in values:
        yield dict(part="direct", test=test, system="direct", metric=metric, value=value)
    print("bench: direct, %s: exits %s" % (test, counted.exits() or "none"))


def part_direct(vms, loads, system):
    """What exits in a minute of each load, on each of the vCPUs."""
    for cpus, ipi in vms if system == "direct" else ():
        after = ", %d vCPU%s, ipi = %s" % (cpus, "s" if cpus > 1 else "", ipi)
        for some, devices in ((DIRECT_LOADS, {}), (DIRECT_DEVICES, {**systems.nvme(1 << 30), **systems.network()})):
            some = [load for load in some if load in loads]
            if not some:
                continue
            words = loads_words(some, DIRECT_WINDOW) + (" margay.every=1" if cpus > 1 else "")
            options = dict(name="direct-%d-%s" % (cpus, ipi), cpus=cpus, shift=DIRECT_SHIFT, events=True,
                           interrupts=entries("message" if cpus > 1 else "interrupt"), vm_lines="ipi = %s\n" % ipi)
            if devices:
                options.update(name=options["name"] + "-devices", devices=sum(devices.values(), []), vm_lines=options["vm_lines"] +
                               "pci = %s\ndma = identity\n" % ", ".join(devices), initrd=systems.devices_initrd())
            counts, text = linux(system, words, **options)
            # Where a guest may send messages by itself, Margay's last VMRUN on each CPU is none of the guest's: it takes an INIT
            # that may be pending (direct_take_init()).
            last = cpus if ipi == "direct" else 0
            for row in whole("direct", system, counts.last("end", 0)["vmruns"] - last, text):
                yield dict(row, test=row["test"] + after + (", devices" if devices else ""))
            for load, counted in zip(some, counts.pairs(), strict=True):
                yield from direct_rows(load_test(load, DIRECT_WINDOW) + after, ipi, cpus, counted)


def part_rates_vtx(loads, window, system):
    """
    The same loads on Bochs, where its log names each exit; a second is SECOND["bochs"] instructions. Where the guest owns its CPU's
    local APIC, the log says of itself how many of the exits were for interrupts.
    """
    if system not in systems.INTERRUPTS:
        return
    stops, counts, text = bochs.measure("rates-vtx-" + system, systems.BUILD + "/initrd",
                                        LINUX % WORDS + loads_words(loads, window), systems.INTERRUPTS[system])
    if len(stops) != 2 * len(loads):
        raise systems.BenchError("rates-vtx: %d stops for %d loads" % (len(stops), len(loads)))
    yield from whole("rates-vtx", system, counts.exits, text)
    if system == "direct":
        yield dict(part="rates-vtx", test="whole run", system=system, metric="exits for interrupts", value=counts.external)
    for load, start, end in zip(loads, stops[::2], stops[1::2]):
        counted = systems.difference(start, end)
        # None is Margay's to inject where the guest owns its APIC.
        injected = "injected" if system == "direct" else "interrupts"
        for metric, name in (("exits", "exits"), ("exits by telemetry", "telemetry"), (injected, "injected"),
                             (injected + " by telemetry", "told"), ("instructions", "ticks")):
            yield dict(part="rates-vtx", test=load_test(load, window), system=system, metric=metric, value=counted[name])


def noise_rows(test, system, text, second):
    """What the tiny guest `noise` said, per second of TSC ticks."""
    for hz, detours, lost, span in re.findall(r"^noise: hz=(\d+) detours=(\d+) lost=(\d+) span=(\d+)", text, re.MULTILINE):
        for metric, value in (("detours/s", int(detours) * second / int(span)), ("lost ppm", int(lost) * MEGA / int(span))):
            yield dict(part="noise", test="%s, timer at %s Hz" % (test, hz), system=system, metric=metric, value=round(value, 1))
    for hz, best, mean, worst in re.findall(r"^noise: hz=(\d+) best=(\d+) mean=(\d+) worst=(\d+)", text, re.MULTILINE):
        for metric, value in (("fixed work, mean over best, ppm", mean), ("fixed work, worst over best, ppm", worst)):
            yield dict(part="noise", test="%s, timer at %s Hz" % (test, hz), system=system, metric=metric,
                       value=round((int(value) - int(best)) * MEGA / int(best)))


def part_noise(system):
    """
    A guest that sets no timer, one with 250 Hz, and Linux, which has a timer of 250 Hz while it computes, with the clock source
    TSC.
    """
    options = "cpus=1 span=%d second=%d settle=%d"
    text = systems.measure(system, "noise-tiny", systems.TOP + "/build/tests-guest/noise.elf", None,
                           "machine=qemu " + options % ((SECOND["qemu"],) * 3), done="tiny: noise: ok")[1]
    yield from noise_rows("tiny guest", system, text, SECOND["qemu"])
    if "kvm" not in system:
        text = systems.tiny_guest("bochs", system, "noise", options % ((SECOND["bochs"],) * 3))
        yield from noise_rows("tiny guest on Bochs", system, text, SECOND["bochs"])
    counts, text = linux(system, "noise " + TSC, systems.noise_initrd(), "noise", interrupts=entries(), symbols=symbols(),
                         x2apic=True)
    for test, counted in zip(("detours", "cyclictest"), counts.pairs(), strict=True):
        yield from guest_functions("noise", "Linux, " + test, system, counted)
    facts = dict(re.findall(r"^margay-test: ([a-z-]+): (.*)$", text, re.MULTILINE))

    def row(metric, value):
        return dict(part="noise", test="Linux", system=system, metric=metric, value=value)

    best, mean, worst = (int(word) for word in facts["work"].split())
    yield row("detours/s", int(facts["detours"]))
    yield row("lost ppm", int(facts["lost-ppm"]))
    yield row("fixed work, mean over best, ppm", (mean - best) * MEGA // best)
    yield row("fixed work, worst over best, ppm", (worst - best) * MEGA // best)
    late = {key: int(value) for key, value in re.findall(r"(\w+): *(-?\d+)", facts["cyclictest"])}
    longer = [(int(us), int(n)) for us, n in re.findall(r"^margay-test: oslat: (\d+) (\d+)$", text, re.MULTILINE)]
    if "Max" not in late or not longer:
        raise systems.BenchError("cyclictest or oslat said nothing")
    for key in ("Min", "Avg", "Max"):
        yield row("cyclictest, %s, ns late" % key, late[key])
    yield row("oslat, gaps of 2 us and more", sum(n for us, n in longer if us >= 2))
    yield row("oslat, longest gap, us", max(us for us, n in longer if n))
    yield from rtla_rows(system)


def rtla_rows(system):
    """What the tracers osnoise and timerlat say of Debian's PREEMPT_RT kernel; the others of Debian's have none."""
    kernel = "vmlinuz-rt"
    counts, text = linux(system, "rtla " + TSC, systems.noise_initrd(), "rtla", kernel=kernel, interrupts=entries(kernel=kernel),
                         symbols=symbols(kernel), x2apic=True)
    for test, counted in zip(("osnoise", "timerlat"), counts.pairs(), strict=True):
        yield from guest_functions("noise", "RT Linux, " + test, system, counted)

    def table(tracer, before, names, lengths):
        found = re.findall(r"^margay-test: %s: +0 #([1-9]\d*)((?:[ |]+[\d.]+)+)[ |]*$" % tracer, text, re.MULTILINE)
        values = found[0][1].replace("|", " ").split() if len(found) == 1 else []
        if len(values) not in lengths:
            raise systems.BenchError("rtla %s, %s: not understood:\n%s" % (tracer, system, text[-2000:]))
        for name, value in zip((before,) + names, (found[0][0], *values)):
            yield dict(part="noise", test="RT Linux, " + tracer, system=system, metric=name, value=float(value))

    yield from table("osnoise", "periods", RTLA_OSNOISE, {len(RTLA_OSNOISE)})
    # rtla 6.1 has no thread of the user's there.
    yield from table("timerlat", "wake-ups", RTLA_TIMERLAT, {8, len(RTLA_TIMERLAT)})


def part_hpcc(sizes, system):
    """
    Each of hpcc's benchmarks, between the markers that hpcc_marks.c executes at the lines of its report, with the page
    faults in it. All with the same clock source and the same addresses.
    """
    growth = max(1, *(int(size) / HPCC_N for size in sizes.split(","))) ** 3
    counts, text = linux(system, "hpcc %s norandmaps margay.hpcc=%s" % (TSC, sizes), systems.hpcc_initrd(), "hpcc",
                         interrupts=entries("page-fault"), x2apic=True, timeout=systems.TIMEOUT * growth)
    facts = dict(re.findall(r"^margay-test: (hpcc\S+): (.*)$", text, re.MULTILINE))
    yield from whole_run("hpcc", system, counts, text)
    sections = re.findall(r"^margay-test: section-(\d): (\S+)$", text, re.MULTILINE)
    whole_runs = [c for what, value, c in counts.events if (what, value) == ("marker", 3)]
    asked = [(n, size) for n, size in zip((1, 2), sizes.split(",")) if int(size)]
    if len(whole_runs) != 2 * len(asked):
        raise systems.BenchError("hpcc: %d markers around whole runs" % len(whole_runs))
    for (n, size), start, end in zip(asked, whole_runs[::2], whole_runs[1::2]):
        if facts.get("hpcc-%d" % n) != "ok" or facts.get("hpcc-%d-HPL_N" % n) != size:
            raise systems.BenchError("hpcc with %d processes found its results wrong, or took another size" % n)
        yield from rows("hpcc", "all, %d processes" % n, system, systems.difference(start, end))
        yield dict(part="hpcc", test="all, %d processes" % n, system=system, metric="HPL's N", value=int(size))
        for name in HPCC_RATES:
            rate = float(facts["hpcc-%d-%s" % (n, name)])
            if rate <= 0:
                raise systems.BenchError("hpcc with %d processes did not run: %s=%g" % (n, name, rate))
            yield dict(part="hpcc", test="%s, %d processes" % (name, n), system=system, metric="rate", value=rate)
    for (n, name), counted in zip(sections, counts.pairs(), strict=True):
        yield from rows("hpcc", "%s, %s processes" % (name, n), system, counted)
        yield dict(part="hpcc", test="%s, %s processes" % (name, n), system=system, metric="page faults",
                   value=counted["interrupts"])
    print("bench: Linux' clock source, %s: %s" % (system, re.search("^margay-test: clock: (.*)$", text, re.MULTILINE)[1]))


def part_npb(clone, size, system):
    """The serial NAS Parallel Benchmarks of the user's clone, each with its own verification of its results."""
    counts, text = linux(system, "npb", systems.npb_initrd(clone, size), x2apic=True)
    yield from whole_run("npb", system, counts, text)
    for (name, said), counted in zip(npb.said(text), counts.pairs(), strict=True):
        if not npb.successful(said):
            raise systems.BenchError("%s, %s: its verification says: %s" % (name, system, said.strip() or "nothing"))
        print("bench: npb, %s, class %s, %s: Verification SUCCESSFUL" % (name, size, system))
        yield from rows("npb", name, system, counted)


def part_exits(system):
    """The tiny guest exit_costs; what its empty loop takes is subtracted."""
    yield from exit_counts("exits", system)


def exit_counts(part, system, after="", **options):
    """What an exit takes as the emulator counts; after: what the tests' names end with; options: of systems.measure()."""
    log, guest = re.sub(r"\W+", "-", part + after), systems.TOP + "/build/tests-guest/exit_costs.elf"
    counts, text = systems.measure(system, log, guest, None, "machine=qemu cpus=1 loops=%d" % EXIT_LOOPS,
                                   done="tiny: exit_costs: ok", **options)
    names = re.findall(r"^exit-cost: (\S+) loops=%d " % EXIT_LOOPS, text, re.MULTILINE)
    pairs = counts.pairs()
    if len(names) != len(pairs) or names[0] != "loop":
        raise systems.BenchError("exit_costs: %d stretches between markers, %d named" % (len(pairs), len(names)))
    for row in whole_run(part, system, counts, text):
        yield dict(row, test=row["test"] + after)
    loop = pairs[0]["total"]
    for name, counted in zip(names[1:], pairs[1:]):
        for metric, value in (("instructions", counted["total"] - loop), ("exits", counted["vmruns"])):
            yield dict(part=part, test=name + after, system=system, metric=metric, value=round(value / EXIT_LOOPS, 1))
        for function in counted.functions() if system == "margay" and part == "exits" else ():
            each = round((counted[function] - pairs[0].get(function, 0)) / EXIT_LOOPS, 1)
            if each >= 1:
                yield dict(part=part, test=name, system=system, metric=report.IN + function, value=each)


def part_ipi(system):
    """The tiny guest ipi_costs on two CPUs, which -icount runs in turns: counts by CPU, no latency."""
    counts, text = systems.measure(system, "ipi", systems.TOP + "/build/tests-guest/ipi_costs.elf", None,
                                   "machine=qemu cpus=2 loops=%d" % IPI_LOOPS, done="tiny: ipi_costs: ok", cpus=2,
                                   timeout=systems.TIMEOUT if "kvm" in system else IPI_TIMEOUT,
                                   start=IPI_START if "kvm" in system else None)
    if "kvm" in system and not re.search(PINNED + ".*^ipi-costs: ready", text, re.MULTILINE | re.DOTALL):
        raise systems.BenchError("ipi: KVM's vCPUs were not on a CPU each before the guest sent")
    nothing, *sends = counts.pairs()
    if len(sends) != IPI_LOOPS:
        raise systems.BenchError("ipi_costs: %d of %d interrupts" % (len(sends), IPI_LOOPS))
    yield from whole_run("ipi", system, counts, text)
    all_of_it = systems.difference(counts.last("marker", 3), counts.last("marker", 4))
    sender, receiver = ("total1", "total2") if "kvm" in system else ("total0", "total1")
    for test, value in (("sender", sum(pair[sender] - nothing[sender] for pair in sends)),
                        ("halted receiver", all_of_it[receiver])):
        yield dict(part="ipi", test=test, system=system, metric="instructions", value=round(value / IPI_LOOPS, 1))
    yield dict(part="ipi", test="both", system=system, metric="exits", value=round(all_of_it["vmruns"] / IPI_LOOPS, 1))


def with_devices(system, mode, name, words, initrd, devices, **options):
    """Linux with PCI functions, {address: QEMU's arguments}: natively, or passed through with `dma =` that mode."""
    unit = systems.IOMMU if mode == "iommu" else []
    counts, text = linux(system, words, initrd, "%s-%s" % (name, mode), devices=unit + sum(devices.values(), []),
                         vm_lines="pci = %s\ndma = %s\n" % (", ".join(devices), mode), **options)
    if "margay-test: dma: " + mode not in text:
        raise systems.BenchError("%s, %s: the guest does not say that its mode is %s" % (name, system, mode))
    return counts, text


def part_devices(system):
    """
    What a disk and network cards of the guest's own cost it, with its exits and interrupts, and how far it is from the entry for
    one of theirs to its EOI: exits between count in full, and where Margay ends it by an exit that WRMSR is the end.
    """
    for mode in DMA_MODES[system]:
        counts, text = with_devices(system, mode, "devices", "devices margay.megabytes=%d" % DEVICES_MEGABYTES,
                                    systems.devices_initrd(), {**systems.nvme(DEVICES_MEGABYTES << 20), **systems.network()},
                                    interrupts=entries(), device=entries("device")[0], symbols=symbols(), x2apic=True)
        for row in whole_run("devices", system, counts, text):
            yield dict(row, test="whole run, " + mode)
        for load, counted in zip(DEVICES, counts.pairs(), strict=True):
            for test in ["%s, %s" % (load, name) for name in (DMA_MODES["margay"] if mode == "native" else (mode,))]:
                yield from rows("devices", test, system, counted)
                yield dict(part="devices", test=test, system=system, metric="interrupts", value=counted["interrupts"])
                if counted["device-ends"]:
                    yield dict(part="devices", test=test, system=system, metric=report.TO_EOI,
                               value=round(counted["device-instructions"] / counted["device-ends"], 1))
                    yield from guest_functions("devices", test + ", to the EOI", system, counted, "device-ends")


def part_dma(system):
    """
    A page mapped for an NVMe disk and unmapped, and direct reads of 4 KiB: natively, in a VM mapped at the host's
    addresses, and in one with DMA windows; natively and with windows once more where all goes by way of low memory, as
    with devices that reach no further. What DMA costs a request is what its mapping takes more than natively: the
    whole request also has the interrupt, whose path through the guest's idle loop is another in each run. Then memory
    registered for RDMA over a network card.
    """
    loads = (("a page mapped and unmapped", DMA_LOOPS), ("nvme, a read of 4 KiB", DMA_READS))
    for mode, words in [(mode, "") for mode in DMA_MODES[system]] + [(mode, BOUNCED) for mode in DMA_MODES[system][-1:]]:
        counts, _ = with_devices(
            system, mode, "dma" + ("-bounced" if words else ""),
            "dma margay.reads=%d margay.loops=%d margay.registrations=%d %s" % (DMA_READS, DMA_LOOPS, REGISTRATIONS, words),
            systems.dma_initrd(), {**systems.nvme(DMA_READS * 4096), **systems.network()}, interrupts=entries())
        pairs = counts.pairs()
        # Those that no interrupt fell into: the timer's come whatever the guest does.
        quiet = [pair for pair in pairs[len(loads):] if not pair["interrupts"]]
        if len(pairs) != len(loads) + REGISTRATIONS or len(quiet) < REGISTRATIONS // 2:
            raise systems.BenchError("dma, %s: %d stretches between markers, %d registrations without an interrupt" % (
                system, len(pairs), len(quiet)))
        registered = {name: sum(pair[name] for pair in quiet) for name in ("total", "image", "vmruns")}
        tests = ["window, through swiotlb"] if words else DMA_MODES["margay"] if mode == "native" else [mode]
        for (what, times), found in zip((*loads, ("RDMA, 1 MiB registered", len(quiet))), (*pairs[:len(loads)], registered),
                                        strict=True):
            for metric, value in (("instructions", found["total"] - found["image"]), ("exits", found["vmruns"]),
                                  ("in-hypervisor", found["image"])):
                for test in tests:
                    yield dict(part="dma", test="%s, %s" % (what, test), system=system, metric=metric,
                               value=round(value / times, 2))


def part_memory(system):
    """What is not the guest's: by the RAM that Linux finds natively and in a VM with `memory = all`, and by Margay's word."""
    def row(test, value):
        return dict(part="memory", test=test, system=system, metric="KiB", value=value)

    text = linux(system, "memory", memory=MEMORY[system], vm_memory="all", peer_arguments=systems.PREALLOC)[1]
    facts = {key: int(value) for key, value in re.findall(r"^margay-test: ([a-z-]+): (\d+)$", text, re.MULTILINE)}
    if system != "kvm":
        yield row("RAM that Linux finds on 1 GiB", facts["present"])
    if system in systems.INTERRUPTS:
        held, modules, vm, tables = map(int, OWN.search(text).groups())
        yield row("boot modules, kept for a restart", modules)
        yield row("hypervisor or host", held)
        yield row("a VM beyond its RAM", vm + tables)
    if system == "kvm":
        # The host's programs lie in memory here; on a disk they would not.
        yield row("hypervisor or host", facts["host-present"] - facts["host-available"] - facts["host-files"])
        yield row("a VM beyond its RAM", facts["host-available"] - facts["host-least"] - (int(systems.GUEST_MEMORY[:-1]) << 10))


def exit_ticks(part, machine, system, metric, after="", **options):
    """
    What an exit takes by the ticks of the guest's TSC; after: what the tests' names end with. No loop begins while Margay still
    feeds the serial line.
    """
    text = systems.tiny_guest(machine, system, "exit_costs", "loops=%d settle=%d" % (EXIT_LOOPS, EXIT_SETTLE), **options)
    ticks = {name: int(n) for name, n in re.findall(r"exit-cost: (\S+) loops=%d ticks=(\d+)" % EXIT_LOOPS, text)}
    loop = ticks.pop("loop")
    for name, value in ticks.items():
        yield dict(part=part, test=name + after, system=system, metric=metric, value=round((value - loop) / EXIT_LOOPS, 1))


def part_exits_vtx(system):
    """The same guest on Bochs, whose ticks are instructions."""
    if system != "kvm":
        yield from exit_ticks("exits-vtx", "bochs", system, "instructions")
    for name, value in KVM_ON_BOCHS.items() if system == "kvm" else ():
        yield dict(part="exits-vtx", test=name, system=system, metric="instructions", value=value)


def mitigations(machine):
    """What is told to Margay: none, what the CPU needs, and each beside that."""
    return ["off", "auto"] + [word for where, word in forced.WORDS if where == machine]


def part_mitigations(system):
    """The same for a guest that is not trusted, beside KVM as it comes, which does what its host's CPU needs, and with none."""
    for word in {"margay": mitigations("qemu"), "kvm": ["auto"], "kvm-off": ["off"]}.get(system, []):
        yield from exit_counts("mitigations", system, ", mitigate=" + word, **(
            {"trusted": False, "hypervisor": "mitigate=" + word} if system == "margay" else {}))


def part_mitigations_vtx(system):
    """The same on a model of Bochs that has all their registers."""
    for word in mitigations("bochs") if system == "margay" else ():
        yield from exit_ticks("mitigations-vtx", "bochs", system, "instructions", ", mitigate=" + word, log=word + "-",
                              trusted=False, cmdline="mitigate=" + word, extra=[forced.MODEL % 1])


def part_net(system):
    """
    TCP between two guests, whose only network is virtual: by Margay's switch, and by KVM's vhost and a bridge. Sender, receiver and
    what is between them are counted together, on a machine with a CPU for each guest.
    """
    if system == "native":
        return
    words = LINUX % WORDS + "pair margay.me=%d " + "margay.mib=%d margay.trips=%d margay.datagrams=%d" % (
        NET_MIB, NET_TRIPS, NET_DATAGRAMS)
    options = dict(initrd=systems.pair_initrd(), second=words % 2, memory="3G", start=NET_START, mend=entries())
    if system in systems.INTERRUPTS:
        options.update(by_function=system == "margay")
    if system == "direct":
        options["alone"] = [int(address, 16) for address in entries("x2apic-read")]
    counts, text = systems.measure(system, "net", os.path.join(systems.GUEST, "vmlinuz"), cmdline=words % 1, **options)
    if "margay-test: datagrams: %d of %d" % (NET_DATAGRAMS, NET_DATAGRAMS) not in text:
        raise systems.BenchError("net: datagrams were lost: %s" % text[-300:])
    for (test, times), counted in zip(NET_TESTS, counts.pairs(), strict=True):
        for metric, value in (("instructions", counted["total"] - counted["repeats"]), (ROUNDS, counted["repeats"]),
                              ("exits", counted["vmruns"]),
                              *([("in-hypervisor", counted["image"]), ("exits of the receiver", counted["vmruns1"])] * (
                                  system in systems.INTERRUPTS))):
            yield dict(part="net", test=test, system=system, metric=metric, value=round(value / times, 2))
        for function in counted.functions()[:report.LARGEST] if system == "margay" else ():
            yield dict(part="net", test=test, system=system, metric=report.IN + function, value=round(counted[function] / times, 1))


def part_exits_kvm(system):
    """The same guest in real cycles, where this host's KVM nests: natively it runs on KVM, and Margay does."""
    if system != "kvm":
        yield from exit_ticks("exits-kvm", "kvm", system, "cycles")


def part_walk(sizes, system):
    """
    Walks of the page tables and their references to memory, by a model of a processor's TLBs that sees each access
    (qemu_walk.c): of random updates of 64 MiB, which is the control as what they must miss is known, and of hpcc with one
    process. With programs' memory in 4 KiB, and in 2 MiB wherever Linux can.
    """
    if "kvm" in system:
        return
    for name, huge in ((walk.SMALL, "madvise"), ("huge pages", "always")):
        words = "walk no5lvl %s norandmaps margay.huge=%s margay.hpcc=%s,0" % (
            TSC, huge, sizes.split(",")[0])
        with tempfile.NamedTemporaryFile(prefix="margay-walk.", dir="/dev/shm") as ram:
            counts, text = linux(system, words, systems.hpcc_initrd(), "walk-" + huge, walks=ram.name, timeout=4 * systems.TIMEOUT)
        if "margay-test: hpcc-1: ok" not in text:
            raise systems.BenchError("walk: hpcc found its results wrong")
        sections = re.findall(r"^margay-test: section-1: (\S+)$", text, re.MULTILINE)
        for section, counted in zip([walk.CONTROL] + sections, counts.pairs(), strict=True):
            yield from walk.rows("%s, %s" % (section, name), system, counted)


PARTS = {"exits": part_exits, "exits-vtx": part_exits_vtx, "mitigations": part_mitigations,
         "mitigations-vtx": part_mitigations_vtx, "ipi": part_ipi, "rates": part_rates, "direct": part_direct,
         "rates-vtx": part_rates_vtx,
         "noise": part_noise, "boot": part_boot, "workloads": part_workloads, "hpcc": part_hpcc, "memory": part_memory,
         "walk": part_walk, "dma": part_dma, "devices": part_devices, "net": part_net}


def provenance():
    def first_line(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=systems.TOP).stdout.split("\n")[0]

    return dict(
        schema=2, date=datetime.date.today().isoformat(), commit=first_line("git", "describe", "--always", "--dirty"),
        emulator=first_line("qemu-system-x86_64", "--version"), machine="q35, TCG, -icount shift=0, 1 CPU",
        unit="instructions unless named otherwise",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", help="default: all")
    parser.add_argument("--systems", default=",".join(systems.SYSTEMS))
    parser.add_argument("--runs", type=int, choices=range(1, report.MOST_RUNS + 1), metavar="N",
                        help="repeats each part (at most %d; default: ipi so often, the others once): mean, and 97 %%%% confidence "
                        "where runs differ" % report.MOST_RUNS)
    parser.add_argument("--npb", metavar="CLONE", help="of the NAS Parallel Benchmarks, for the part npb")
    parser.add_argument("--npb-class", default="S", choices=("S", "W"), help="how large they are: %(default)s")
    parser.add_argument("--hpcc", default="1500,500", metavar="N1,N2",
                        help="HPL's N with one process and with two, 0: not that: %(default)s")
    parser.add_argument("--loads", help="of the parts rates, rates-vtx and direct; default: all")
    parser.add_argument("--vms", help="of the part direct, as in 4-filtered,4-direct: vCPUs, and their `ipi =`; default: all")
    parser.add_argument("--window", type=int, default=1000, metavar="MS", help="how long each of them is, by the guest's clock")
    parser.add_argument("--words", default="", help="further ones of Linux' command line, as no-kvmclock")
    parser.add_argument("--vm-lines", default="", metavar="LINES", help="further ones of Margay's VM file, as pvclock=no")
    args = parser.parse_args()
    global WORDS
    WORDS = args.words + " " * bool(args.words)
    systems.VM_LINES = args.vm_lines + "\n"
    if not re.fullmatch(r"\d+,\d+", args.hpcc):
        parser.error("--hpcc %s: expected two numbers, as in 1500,500, 0 for none" % args.hpcc)
    if args.window < 1:
        parser.error("--window %d: expected milliseconds" % args.window)
    for name in ("hpcc", "walk"):
        PARTS[name] = functools.partial(PARTS[name], args.hpcc)
    known_loads, known_vms = (*LOADS, *DIRECT_DEVICES), {"%d-%s" % vm: vm for vm in DIRECT_VMS}
    loads, vms = args.loads or ",".join(known_loads), args.vms or ",".join(known_vms)
    for name in ("rates", "rates-vtx"):
        PARTS[name] = functools.partial(PARTS[name], [load for load in loads.split(",") if load in LOADS], args.window)
    # Real cycles, where this host's KVM nests.
    try:
        systems.margay_machines.check_nested_kvm()
        PARTS["exits-kvm"] = part_exits_kvm
    except systems.margay_machines.MachineError as why:
        print("bench: no part exits-kvm, in real cycles: %s" % why)
    if args.npb or "npb" in (args.parts or "").split(","):
        wrong = npb.wrong(args.npb)
        if wrong:
            sys.exit("bench: " + wrong)
        PARTS["npb"] = functools.partial(part_npb, args.npb, args.npb_class)
    parts = args.parts or ",".join(PARTS)
    for what, known in ((parts, PARTS), (args.systems, systems.SYSTEMS), (loads, known_loads), (vms, known_vms)):
        for name in what.split(","):
            if name not in known:
                parser.error("%s: expected some of %s" % (name, ", ".join(known)))
    PARTS["direct"] = functools.partial(PARTS["direct"], [known_vms[vm] for vm in vms.split(",")], loads.split(","))
    systems.prepare()
    results, failed = [], []
    for part in parts.split(","):
        runs = args.runs or RUNS.get(part, 1)
        for system in args.systems.split(","):
            if system == "kvm-off" and part not in UNMITIGATED:
                continue
            for number in range(1, runs + 1):
                print("bench: %s, %s, run %d of %d ..." % (part, system, number, runs), flush=True)
                try:
                    results += [dict(row, run=number) for row in PARTS[part](system)]
                except systems.BenchError as error:
                    failed.append("%s, %s: %s" % (part, system, error))
    return report.write(provenance(), results, failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except systems.BenchError as error:
        sys.exit("bench: %s" % error)

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""make bench: what a Linux guest costs under Margay, beside the same Linux
natively and in a KVM guest, by counts from outside (systems.py). Prints a
table and writes build/bench/results.json (docs/performance.md has its form),
results.md and a plot per part.

    bench.py [--parts boot,workloads,...] [--systems native,margay,kvm] [--npb DIRECTORY]
"""

import argparse
import datetime
import functools
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report  # noqa: E402
import systems  # noqa: E402

LOOPS = ("fork", "switch", "fault", "mmap", "compute", "memory", "idle-loop")  # loops.sh; the last is detours.c
EXIT_LOOPS = 1000
# What hpcc measured of itself; under -icount a second is 10^9 instructions.
HPCC_RATES = ("HPL_Tflops", "StarDGEMM_Gflops", "StarSTREAM_Triad", "PTRANS_GBs", "MPIRandomAccess_GUPs", "MPIFFT_Gflops")
LINUX = "console=ttyS0 panic=-1 quiet nokaslr margay.test="
# KVM on Bochs would need hours: a CPUID and an exit to user space as measured once, shared/emulators.md.
KVM_ON_BOCHS = {"cpuid": 963, "port-uart": 3074}
TELEMETRY = re.compile(r"^vm0: vcpu\d+: exits=(\d+)", re.MULTILINE)
# The machine of the memory part; the KVM host, whose guest has systems.GUEST_MEMORY, needs more.
MEMORY = {"native": "1G", "margay": "1G", "kvm": "2G"}
OWN = re.compile(r"^margay: own memory: .* held in all (\d+) KiB; boot modules (\d+) KiB apart$"
                 r".*^vm0: own memory: (\d+) KiB, and (\d+) KiB of tables", re.MULTILINE | re.DOTALL)


def rows(part, test, system, counts):
    """The results of one stretch of execution."""
    yield dict(part=part, test=test, system=system, metric="instructions", value=counts["total"])
    yield dict(part=part, test=test, system=system, metric="exits", value=counts["vmruns"])
    if system == "margay":
        yield dict(part=part, test=test, system=system, metric="in-hypervisor", value=counts["image"])


def whole_run(part, system, counts, text):
    """All exits of a run, as Margay counted them and as the emulator executed VMRUN: they must agree."""
    if system == "margay":
        for metric, value in (("exits", counts.last("end", 0)["vmruns"]),
                              ("exits by telemetry", sum(map(int, TELEMETRY.findall(text))))):
            yield dict(part=part, test="whole run", system=system, metric=metric, value=value)


def linux(system, script, initrd=systems.BUILD + "/initrd"):
    return systems.measure(system, script, systems.GUEST + "/vmlinuz", initrd, LINUX + script)


def part_boot(system):
    counts, text = linux(system, "boot")
    yield from rows("boot", "kernel to userspace", system,
                    systems.difference(counts.last("at", systems.KERNEL_START), counts.last("marker", 1)))
    yield from whole_run("boot", system, counts, text)
    if system == "margay":
        yield dict(part="boot", test="the LWK itself", system=system, metric="instructions",
                   value=counts.last("at", systems.KERNEL_START)["image"])


def part_workloads(system):
    counts, text = linux(system, "loops")
    for loop, counted in zip(LOOPS, counts.pairs(), strict=True):
        yield from rows("workloads", loop, system, counted)
    yield from whole_run("workloads", system, counts, text)
    facts = dict(re.findall(r"^margay-test: ([a-z-]+): (.*)$", text, re.MULTILINE))
    yield dict(part="noise", test="one second", system=system, metric="detours", value=int(facts["detours"]))
    yield dict(part="noise", test="one second", system=system, metric="lost ppm", value=int(facts["lost-ppm"]))
    best, mean, worst = (int(word) for word in facts["work"].split())
    yield dict(part="noise", test="fixed work", system=system, metric="mean over best, ppm",
               value=(mean - best) * 1000000 // best)
    yield dict(part="noise", test="fixed work", system=system, metric="worst over best, ppm",
               value=(worst - best) * 1000000 // best)


def part_hpcc(system):
    counts, text = linux(system, "hpcc", systems.hpcc_initrd())
    facts = dict(re.findall(r"^margay-test: (hpcc\S+): (.*)$", text, re.MULTILINE))
    yield from whole_run("hpcc", system, counts, text)
    for n, counted in zip((1, 2), counts.pairs(), strict=True):
        if facts.get("hpcc-%d" % n) != "ok":
            raise systems.BenchError("hpcc with %d processes found its results wrong" % n)
        yield from rows("hpcc", "all, %d processes" % n, system, counted)
        for name in HPCC_RATES:
            yield dict(part="hpcc", test="%s, %d processes" % (name, n), system=system, metric="rate",
                       value=float(facts["hpcc-%d-%s" % (n, name)]))


def part_npb(directory, system):
    """The NAS Parallel Benchmarks that the user has built, serial or OpenMP, class as he likes."""
    counts, text = linux(system, "npb", systems.npb_initrd(directory))
    yield from whole_run("npb", system, counts, text)
    found = re.findall(r"^margay-test: npb: (\S+) (.*)$", text, re.MULTILINE)
    for (name, verified), counted in zip(found, counts.pairs(), strict=True):
        if verified != "SUCCESSFUL":
            raise systems.BenchError("%s, %s: its verification says '%s'" % (name, system, verified))
        yield from rows("npb", name, system, counted)


def part_exits(system):
    """The tiny guest exit_costs; what its empty loop takes is subtracted."""
    options = "machine=qemu cpus=1 loops=%d" % EXIT_LOOPS
    counts, text = systems.measure(system, "exits", systems.TOP + "/build/tests-guest/exit_costs.elf", None, options,
                                   done="tiny: exit_costs: ok")
    names = re.findall(r"^exit-cost: (\S+) loops=%d " % EXIT_LOOPS, text, re.MULTILINE)
    pairs = counts.pairs()
    if len(names) != len(pairs) or names[0] != "loop":
        raise systems.BenchError("exit_costs: %d stretches between markers, %d named" % (len(pairs), len(names)))
    yield from whole_run("exits", system, counts, text)
    loop = pairs[0]["total"]
    for name, counted in zip(names[1:], pairs[1:]):
        for metric, value in (("instructions", counted["total"] - loop), ("exits", counted["vmruns"])):
            yield dict(part="exits", test=name, system=system, metric=metric, value=round(value / EXIT_LOOPS, 1))


def part_memory(system):
    """What is not the guest's: by the RAM that Linux finds natively and in a VM with `memory = all`, and by Margay's word."""
    def row(test, value):
        return dict(part="memory", test=test, system=system, metric="KiB", value=value)

    text = systems.measure(system, "memory", systems.GUEST + "/vmlinuz", systems.BUILD + "/initrd", LINUX + "memory",
                           memory=MEMORY[system], vm_memory="all", peer_arguments=systems.PREALLOC)[1]
    facts = {key: int(value) for key, value in re.findall(r"^margay-test: ([a-z-]+): (\d+)$", text, re.MULTILINE)}
    if system != "kvm":
        yield row("RAM that Linux finds on 1 GiB", facts["present"])
    if system == "margay":
        held, modules, vm, tables = map(int, OWN.search(text).groups())
        yield row("boot modules, kept for a restart", modules)
        yield row("hypervisor or host", held)
        yield row("a VM beyond its RAM", vm + tables)
    if system == "kvm":
        # The host's programs lie in memory here; on a disk they would not.
        yield row("hypervisor or host", facts["host-present"] - facts["host-available"] - facts["host-files"])
        yield row("a VM beyond its RAM", facts["host-available"] - facts["host-least"] - (int(systems.GUEST_MEMORY[:-1]) << 10))


def part_exits_vtx(system):
    """The same guest on Bochs, by the ticks of its TSC."""
    if system == "kvm":
        ticks = dict(KVM_ON_BOCHS, loop=0)
        loops = 1
    else:
        loops = EXIT_LOOPS
        text = systems.bochs(system, "exit_costs", "machine=bochs cpus=1 loops=%d" % loops)
        ticks = {name: int(n) for name, n in re.findall(r"exit-cost: (\S+) loops=%d ticks=(\d+)" % loops, text)}
    loop = ticks.pop("loop")
    for name, value in ticks.items():
        yield dict(part="exits-vtx", test=name, system=system, metric="instructions", value=round((value - loop) / loops, 1))


PARTS = {"exits": part_exits, "exits-vtx": part_exits_vtx, "boot": part_boot, "workloads": part_workloads,
         "hpcc": part_hpcc, "memory": part_memory}


def provenance():
    def first_line(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=systems.TOP).stdout.split("\n")[0]

    return dict(
        schema=1, date=datetime.date.today().isoformat(), commit=first_line("git", "describe", "--always", "--dirty"),
        emulator=first_line("qemu-system-x86_64", "--version"), machine="q35, TCG, -icount shift=0, 1 CPU",
        unit="instructions unless named otherwise",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", help="default: all")
    parser.add_argument("--systems", default=",".join(systems.SYSTEMS))
    parser.add_argument("--npb", metavar="DIRECTORY", help="holds the programs of NPB, for the part npb")
    args = parser.parse_args()
    if args.npb:
        if not os.path.isdir(args.npb):
            parser.error("%s: no such directory" % args.npb)
        PARTS["npb"] = functools.partial(part_npb, args.npb)
    parts = args.parts or ",".join(PARTS)
    for what, known in ((parts, PARTS), (args.systems, systems.SYSTEMS)):
        for name in what.split(","):
            if name not in known:
                parser.error("%s: expected some of %s" % (name, ", ".join(known)))
    systems.prepare()
    results = []
    for part in parts.split(","):
        for system in args.systems.split(","):
            print("bench: %s, %s ..." % (part, system), flush=True)
            results += PARTS[part](system)
    return report.write(provenance(), results)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except systems.BenchError as error:
        sys.exit("bench: %s" % error)

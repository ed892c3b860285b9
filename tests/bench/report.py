# SPDX-License-Identifier: GPL-2.0-only
"""The report of make bench: goals, table, JSON, plots."""

import json
import math
import os
import statistics

import npb
import systems

IN = "instructions in "  # a metric: this and the name of a function of Margay's
IN_GUEST = "instructions an interrupt in "  # ... of the guest's kernel's
LARGEST = 12  # of the differences between functions
TO_EOI = "instructions from a device's interrupt to its EOI"  # a metric, and so is:
UNNAMED = "unnamed exits"
BY_TELEMETRY = " by telemetry"
# Student's t for two-sided 97 %, by the degrees of freedom from 1.
T97 = (21.205, 5.643, 3.896, 3.298, 3.003, 2.829, 2.715, 2.634, 2.574)
MOST_RUNS = len(T97) + 1

# part, test, metric: the most that Margay's value may be, as a ratio to another system's. For exits that is KVM with
# mitigations=off, as Margay's VMs are trusted.
GOALS = [
    ("exits", "cpuid", "instructions", "kvm-off", 0.2),
    ("exits", "hypercall", "instructions", "kvm-off", 0.2),
    ("exits", "rdmsr", "instructions", "kvm-off", 0.2),
    ("exits", "port-elcr", "instructions", "kvm-off", 0.2),
    ("exits", "port-uart", "instructions", "kvm-off", 0.2),
    ("exits", "mmio-lapic", "instructions", "kvm-off", 0.2),
    ("exits", "self-ipi", "instructions", "kvm-off", 0.2),
    ("exits", "timer-deadline", "instructions", "kvm-off", 0.2),
    ("exits-vtx", "cpuid", "instructions", "kvm", 0.25),
    ("exits-vtx", "port-uart", "instructions", "kvm", 0.25),
    ("ipi", "sender", "instructions", "kvm-off", 0.2),
    ("ipi", "halted receiver", "instructions", "kvm-off", 0.2),
    ("net", "a MiB of a TCP stream", "instructions", "kvm-off", 0.333),
    ("net", "a round trip by TCP", "instructions", "kvm-off", 0.333),
    ("boot", "kernel to userspace", "instructions", "native", 0.92),
    ("workloads", "compute", "instructions", "native", 1.01),
    ("workloads", "memory", "instructions", "native", 1.01),
    *(("devices", "%s, %s" % (load, mode), "instructions", "native", 1.04) for mode in ("identity", "iommu", "window") for load in (
        "read from nvme", "write to nvme", "TCP from igb to e1000e", "TCP from e1000e to igb")),
    *(("hpcc", name + ", 1 processes", "instructions", "native", 1.001) for name in (
        "all", "HPL", "StarDGEMM", "SingleDGEMM", "MPIRandomAccess", "StarRandomAccess", "SingleRandomAccess", "PTRANS",
        "StarSTREAM", "SingleSTREAM", "MPIFFT", "StarFFT", "SingleFFT")),
]
# The same for a guest that owns its CPUs' local APICs; without another system the value itself.
DIRECT_GOALS = [
    ("exits", "self-ipi", "instructions", "native", 1.0),
    ("exits", "timer-count", "instructions", "native", 1.0),
    ("ipi", "halted receiver", "instructions", "native", 1.0),
    *(("noise", "tiny guest, timer at 250 Hz", metric, "native", 1.01) for metric in ("detours/s", "lost ppm")),
    *(("noise", "Linux", metric, "native", 1.01) for metric in ("detours/s", "lost ppm", "cyclictest, Avg, ns late")),
    ("noise", "RT Linux, osnoise", "noise, us", "native", 1.01),
    ("noise", "RT Linux, timerlat", "IRQ, mean, ns late", "native", 1.01),
    ("noise", "RT Linux, timerlat", "thread, mean, ns late", "native", 1.01),
    *(("direct", "a minute, %s, %s" % (load, vm), "exits", None, 0) for load in (
        "idle", "compute", "switch", "timer", "nvme", "igb") for vm in ("1 vCPU, ipi = filtered", "4 vCPUs, ipi = direct")),
    # Of fork and exec all but the CPUIDs of the C library, and with filtered messages all but those.
    *(("direct", "a minute, fork, " + vm, UNNAMED, None, 0) for vm in ("1 vCPU, ipi = filtered", "4 vCPUs, ipi = direct")),
    *(("direct", "a minute, %s, 4 vCPUs, ipi = filtered" % load, UNNAMED, None, 0) for load in (
        "idle", "compute", "switch", "timer", "fork", "nvme", "igb")),
    ("rates-vtx", "whole run", "exits for interrupts", None, 0),
    *(("devices", load + ", identity", TO_EOI, "native", 1.0) for load in ("read from nvme", "TCP from e1000e to igb")),
    *(("npb", name, "instructions", "native", 1.0001) for name in npb.KERNELS),
    *((part, test, metric, base, 1.0001 if part == "hpcc" else most) for part, test, metric, base, most in GOALS
      if part in ("hpcc", "devices")),
]
# Direct: where runs differ natively, too, what is to lie within the interval of its ratio to native, of so many runs.
WITHIN = [("hpcc", name + ", 2 processes", "instructions", "native", 1.0) for name in (
    "all", "HPL", "StarDGEMM", "PTRANS", "MPIFFT")]
WITHIN_RUNS = 5


def table(results):
    """Rows of (part, test, metric) with a column per system: the mean of the runs."""
    found = {}
    for r in results:
        found.setdefault((r["part"], r["test"], r["metric"]), {}).setdefault(r["system"], []).append(r["value"])
    return {key: {system: values[0] if len(set(values)) == 1 else statistics.mean(values) for system, values in by.items()}
            for key, by in found.items()}


def intervals(results):
    """Where runs differ: the mean, and half the width of its 97 % confidence interval."""
    found = {}
    for r in results:
        found.setdefault((r["part"], r["test"], r["metric"], r["system"]), []).append(r["value"])
    for (part, test, metric, system), values in found.items():
        if len(set(values)) > 1:
            half = T97[len(values) - 2] * statistics.stdev(values) / math.sqrt(len(values))
            yield dict(part=part, test=test, metric=metric, system=system, runs=len(values),
                       mean=statistics.mean(values), half=half)


def disagreements(results):
    """What Margay and the emulator count differently in a run, and a control that is not 1."""
    seen = {(r["part"], r["test"], r["metric"], r["system"], r["run"]): r["value"] for r in results}
    for (part, test, metric, system, run), value in seen.items():
        if metric.endswith(BY_TELEMETRY):
            outside = seen[part, test, metric[:-len(BY_TELEMETRY)], system, run]
            if value != outside:
                yield "%s, %s: telemetry has %d %s, the emulator %d" % (part, test, value, metric.split()[0], outside)
        if test.startswith("control") and metric.startswith("exits") and value != (system != "native"):
            yield "%s, %s, %s: %d %s" % (part, test, system, value, metric)


def missing(lines):
    """Goals of parts that ran on both systems without what they are about."""
    ran = {(key[0], system) for key, values in lines.items() for system in values}
    for mine, (part, test, metric, base, _) in every_goal():
        if {(part, mine), (part, base or mine)} <= ran and ratio(lines.get((part, test, metric), {}), mine, base) is None:
            yield "%s, %s, %s: no result to compare with %s" % (part, test, metric, base)


def every_goal():
    return [("margay", goal) for goal in GOALS] + [("direct", goal) for goal in DIRECT_GOALS]


def ratio(values, system, base):
    if base is None:
        return values.get(system)
    return values[system] / values[base] if values.get(base) and system in values else None


def goals(lines, spread=()):
    """Each verdict; where runs differ, by the end of the intervals that is worse for Margay."""
    half = {(i["part"], i["test"], i["metric"], i["system"]): i["half"] for i in spread}
    for mine, (part, test, metric, base, most) in every_goal():
        values = lines.get((part, test, metric), {})
        found = ratio(values, mine, base)
        if found is not None:
            highest = values[mine] + half.get((part, test, metric, mine), 0)
            lowest = values[base] - half.get((part, test, metric, base), 0) if base else 1
            yield dict(part=part, test=test, metric=metric, system=mine, against=base, most=most, found=round(found, 4),
                       worst=round(highest / lowest, 4) if lowest > 0 else None, met=highest <= most * lowest)
    yield from within(spread)


def within(spread):
    """Verdicts of those ratios whose interval is to contain a value; none where there are too few runs."""
    by = {(i["part"], i["test"], i["metric"], i["system"]): i for i in spread if i["runs"] >= WITHIN_RUNS}
    for part, test, metric, base, value in WITHIN:
        mine, other = (by.get((part, test, metric, system)) for system in ("direct", base))
        if mine and other and other["mean"] > other["half"]:
            least, most = ((mine["mean"] + sign * mine["half"]) / (other["mean"] - sign * other["half"]) for sign in (-1, 1))
            yield dict(part=part, test=test, metric=metric, system="direct", against=base, most=value, least=round(least, 4),
                       found=round(mine["mean"] / other["mean"], 4), worst=round(most, 4), met=least <= value <= most)


def differences(lines):
    """Where the kernel of a guest that owns its local APIC executes more or less than natively, a line per test."""
    tests = {}
    for (part, test, metric), values in lines.items():
        if metric.startswith(IN_GUEST):
            more = values.get("direct", 0) - values.get("native", 0)
            tests.setdefault((part, test), ({}, set()))[0][metric[len(IN_GUEST):]] = more
            tests[part, test][1].update(values)
    for (part, test), (functions, ran) in tests.items():
        if {"native", "direct"} <= ran:
            largest = sorted((name for name in functions if functions[name]), key=lambda name: -abs(functions[name]))[:LARGEST]
            yield "- %s, %s: %+.1f in all: %s" % (part, test, sum(functions.values()), ", ".join(
                "%s %+.1f" % (name, functions[name]) for name in largest) or "none")


def profile(lines):
    """Where the instructions of an exit go, a line per test."""
    tests = {}
    for (_, test, metric), values in lines.items():
        if metric.startswith(IN):
            tests.setdefault(test, []).append("%s %g" % (metric[len(IN):], values["margay"]))
    for test, functions in tests.items():
        yield "- %s: %s" % (test, ", ".join(functions))


def markdown(head, lines, judged, spread):
    def number(value):
        return "-" if value is None else "{:,}".format(round(value, 1)) if value >= 1 else "%.3g" % value

    def times(value):
        return "-" if value is None else "%.3f" % value

    yield "# Benchmark of %s, %s" % (head["commit"], head["date"])
    yield ""
    yield "%s; %s; unit: %s." % (head["emulator"], head["machine"], head["unit"])
    yield ""
    yield ("| part | test | metric | native | Margay | Margay, direct | KVM | KVM, mitigations=off "
           "| Margay/native | Margay/KVM | Margay/KVM, off | direct/native |")
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (part, test, metric), values in lines.items():
        if metric.startswith((IN, IN_GUEST)):
            continue
        yield "| %s | %s | %s | %s | %s |" % (
            part, test, metric, " | ".join(number(values.get(s)) for s in systems.SYSTEMS),
            " | ".join(times(ratio(values, *pair)) for pair in (
                ("margay", "native"), ("margay", "kvm"), ("margay", "kvm-off"), ("direct", "native"))))
    for title, text in (
        ("Where an exit's instructions go in Margay:", list(profile(lines))),
        ("What the guest's kernel executes for an interrupt beside what it does natively, direct, by function:",
         list(differences(lines))),
        ("Where runs differ, the mean and its 97 % confidence interval:",
         ["- %(part)s, %(test)s, %(metric)s, %(system)s, %(runs)d runs: %(mean).1f +- %(half).1f" % i for i in spread]),
    ):
        if text:
            yield "\n".join(["", title, ""] + text)
    yield ""
    for g in judged:
        if "least" in g:
            yield "- %s: direct: %s, %s, %s: %.4f times %s, goal: %g between %.4f and %.4f" % (
                "met" if g["met"] else "MISSED", g["part"], g["test"], g["metric"], g["found"], g["against"], g["most"], g["least"],
                g["worst"])
            continue
        at_the_end = "" if g["worst"] in (None, g["found"]) else " (%.4f at the end of the intervals)" % g["worst"]
        yield "- %s: %s%s, %s, %s: %s%s, goal at most %s" % (
            "met" if g["met"] else "MISSED", "direct: " if g["system"] == "direct" else "", g["part"], g["test"], g["metric"],
            "%.4f times %s" % (g["found"], g["against"]) if g["against"] else g["found"], at_the_end,
            "%.4g" % g["most"] if g["system"] == "direct" else "%.3f" % g["most"])


def plot(part, lines, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    keys = [k for k in lines if k[0] == part and len(lines[k]) > 1 and not k[2].startswith((IN, IN_GUEST))]
    if not keys:
        return
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.45 * len(keys)))
    height = 0.8 / len(systems.SYSTEMS)
    for i, system in enumerate(systems.SYSTEMS):
        axes.barh([k + i * height for k in range(len(keys))], [lines[key].get(system, 0) for key in keys], height,
                  label=system)
    axes.set_yticks([k + height for k in range(len(keys))], ["%s, %s" % key[1:] for key in keys])
    axes.set_xscale("symlog")
    axes.invert_yaxis()
    axes.legend()
    axes.set_title(part)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def write(head, results, failed=()):
    """Writes all of it; the exit status: 1 when a goal was missed, or a part failed."""
    lines = table(results)
    spread = list(intervals(results))
    judged = list(goals(lines, spread))
    with open(os.path.join(systems.BUILD, "results.json"), "w", encoding="ascii") as f:
        json.dump(dict(head, results=results, intervals=spread, goals=judged), f, indent=1)
    text = "\n".join(markdown(head, lines, judged, spread)) + "\n"
    with open(os.path.join(systems.BUILD, "results.md"), "w", encoding="ascii") as f:
        f.write(text)
    for part in sorted({key[0] for key in lines}):
        plot(part, lines, os.path.join(systems.BUILD, part + ".png"))
    print(text, end="")
    wrong = [*failed, *disagreements(results), *missing(lines)]
    print("".join("bench: %s\n" % line for line in wrong), end="")
    return 0 if all(g["met"] for g in judged) and not wrong else 1

# SPDX-License-Identifier: GPL-2.0-only
"""The report of make bench: goals, table, JSON, plots."""

import json
import os

import systems

# part, test, metric: the most that Margay's value may be, as a ratio to another system's.
GOALS = [
    ("exits", "cpuid", "instructions", "kvm", 0.2),
    ("exits", "hypercall", "instructions", "kvm", 0.2),
    ("exits", "rdmsr", "instructions", "kvm", 0.2),
    ("exits", "port-elcr", "instructions", "kvm", 0.2),
    ("exits", "port-uart", "instructions", "kvm", 0.2),
    ("exits", "mmio-lapic", "instructions", "kvm", 0.2),
    ("exits", "self-ipi", "instructions", "kvm", 0.2),
    ("exits", "timer-deadline", "instructions", "kvm", 0.2),
    ("exits-vtx", "cpuid", "instructions", "kvm", 0.25),
    ("exits-vtx", "port-uart", "instructions", "kvm", 0.25),
    ("boot", "kernel to userspace", "instructions", "native", 1.05),
    ("workloads", "compute", "instructions", "native", 1.01),
    ("workloads", "memory", "instructions", "native", 1.01),
    ("hpcc", "all, 1 processes", "instructions", "native", 1.01),
]


def table(results):
    """Rows of (part, test, metric) with a column per system."""
    lines = {}
    for r in results:
        lines.setdefault((r["part"], r["test"], r["metric"]), {})[r["system"]] = r["value"]
    return lines


def disagreements(lines):
    """Runs whose exits Margay and the emulator count differently."""
    for (part, test, metric), values in lines.items():
        seen = lines.get((part, test, "exits"), {}).get("margay")
        if metric == "exits by telemetry" and values["margay"] != seen:
            yield "%s, %s: telemetry has %d exits, the emulator executed VMRUN %d times" % (part, test, values["margay"], seen)


def missing(lines):
    """Goals of parts that ran on both systems without what they are about."""
    ran = {(key[0], system) for key, values in lines.items() for system in values}
    for part, test, metric, base, _ in GOALS:
        if {(part, "margay"), (part, base)} <= ran and ratio(lines.get((part, test, metric), {}), "margay", base) is None:
            yield "%s, %s, %s: no result to compare with %s" % (part, test, metric, base)


def ratio(values, system, base):
    return values[system] / values[base] if values.get(base) and system in values else None


def goals(lines):
    for part, test, metric, base, most in GOALS:
        values = lines.get((part, test, metric), {})
        found = ratio(values, "margay", base)
        if found is not None:
            yield dict(part=part, test=test, metric=metric, against=base, most=most, found=round(found, 4),
                       met=found <= most)


def markdown(head, lines, judged):
    def number(value):
        return "-" if value is None else "{:,}".format(value)

    def times(value):
        return "-" if value is None else "%.3f" % value

    yield "# Benchmark of %s, %s" % (head["commit"], head["date"])
    yield ""
    yield "%s; %s; unit: %s." % (head["emulator"], head["machine"], head["unit"])
    yield ""
    yield "| part | test | metric | native | Margay | KVM | Margay/native | Margay/KVM |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for (part, test, metric), values in lines.items():
        yield "| %s | %s | %s | %s | %s | %s |" % (
            part, test, metric, " | ".join(number(values.get(s)) for s in systems.SYSTEMS),
            times(ratio(values, "margay", "native")), times(ratio(values, "margay", "kvm")))
    yield ""
    for g in judged:
        yield "- %s: %s, %s, %s: %.4f times %s, goal at most %.2f" % (
            "met" if g["met"] else "MISSED", g["part"], g["test"], g["metric"], g["found"], g["against"], g["most"])


def plot(part, lines, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    keys = [k for k in lines if k[0] == part and len(lines[k]) > 1]
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


def write(head, results):
    """Writes all of it; the exit status: 1 when a goal was missed."""
    lines = table(results)
    judged = list(goals(lines))
    with open(os.path.join(systems.BUILD, "results.json"), "w", encoding="ascii") as f:
        json.dump(dict(head, results=results, goals=judged), f, indent=1)
    text = "\n".join(markdown(head, lines, judged)) + "\n"
    with open(os.path.join(systems.BUILD, "results.md"), "w", encoding="ascii") as f:
        f.write(text)
    for part in sorted({key[0] for key in lines}):
        plot(part, lines, os.path.join(systems.BUILD, part + ".png"))
    print(text, end="")
    wrong = [*disagreements(lines), *missing(lines)]
    print("".join("bench: %s\n" % line for line in wrong), end="")
    return 0 if all(g["met"] for g in judged) and not wrong else 1

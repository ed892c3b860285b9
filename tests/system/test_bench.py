# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench makes of its counts, without a machine.

Counts that differ, and a control that is not one exit, fail; means and intervals; goals, by intervals where runs
differ, and the exit status.

The plugins: test_qemu_count.c, test_qemu_walk.c, test_tlb_model.c. Which counts, results of NPB's and clones of it
are taken: test_bench_walk.py, test_bench_npb.py. The benchmark's tiny guests, exit_costs and, in the full tier,
ipi_costs and noise, are run by test_tiny.py.
"""

import json
import os
import sys

import node
import pytest

sys.path.insert(0, os.path.join(node.TOP, "tests", "bench"))
import bench  # noqa: E402
import bochs  # noqa: E402
import report  # noqa: E402
import systems  # noqa: E402


def row(metric, value, system="margay", test="a second, idle", run=1):
    return dict(part="rates", test=test, metric=metric, system=system, value=value, run=run)


def test_counts_that_differ_fail():
    agreeing = [row("exits", 24), row("exits by telemetry", 24), row("exits", 25, run=2), row("exits by telemetry", 25, run=2)]
    assert list(report.disagreements(agreeing)) == []
    assert len(list(report.disagreements(agreeing[:3] + [row("exits by telemetry", 26, run=2)]))) == 1


def test_control_counts_one_exit():
    def control(exits, told, system="margay"):
        return [row("exits", exits, system, "control: one CPUID"), row("exits by telemetry", told, system, "control: one CPUID")]

    assert list(report.disagreements(control(1, 1))) == []
    assert len(list(report.disagreements(control(2, 2)))) == 2
    assert len(list(report.disagreements(control(0, 0)))) == 2
    assert list(report.disagreements([row("exits", 0, "native", "control: one CPUID")])) == []
    assert len(list(report.disagreements([row("exits", 1, "native", "control: one CPUID")]))) == 1


def test_mean_and_interval():
    runs = [row("exits", value, run=number) for number, value in enumerate((10, 12, 14), 1)]
    (found,) = report.intervals(runs)
    # t of 2 degrees of freedom for 97 % is 5.643, the deviation 2.
    assert found["mean"] == 12 and abs(found["half"] - 5.643 * 2 / 3**0.5) < 1e-9
    assert report.table(runs)["rates", "a second, idle", "exits"] == {"margay": 12}
    assert list(report.intervals([row("exits", 10, run=n) for n in (1, 2)])) == []


def test_counts_between_markers(tmp_path):
    path = tmp_path / "counts"
    path.write_text("marker 0x1 total 100 image 10 vmruns 1 guest 80\n  exit_io 4\n"
                    "marker 0x2 total 190 image 15 vmruns 3 guest 160\n  exit_io 9\n  loop 1\n"
                    "end 0 total 200 image 20 vmruns 4 guest 165\n", encoding="ascii")
    (stretch,) = systems.Counts(str(path)).pairs()
    assert (stretch["total"], stretch["vmruns"], stretch["guest"]) == (90, 2, 80)
    assert stretch.functions() == ["exit_io", "loop"] and stretch["exit_io"] == 5


def test_counts_of_bochs_log():
    log = (b"00001d[CPU0  ] VMEXIT reason = 10 (CPUID) qualification=0x0\n"
           b"00002d[CPU0  ] VMENTER: Injecting vector 0x0e (error_code 0x0002)\n"
           b"00003d[CPU0  ] VMENTER: Injecting vector 0x02 (error_code 0x0000)\n"
           b"00004d[CPU0  ] VMEXIT reason = 1 (External interrupt) qualification=0x0\n"
           b"00005d[CPU0  ] VMENTER: Injecting vector 0xec (error_code 0x0000)\n"
           b"00006d[CPU0  ] VMEXIT to x86-64 host\n")
    for size in (1, 7, 64, len(log)):
        counts = bochs.LogCounts()
        for at in range(0, len(log), size):
            counts.feed(log[at:at + size])
        assert (counts.exits, counts.injected, counts.complaint) == (2, 1, None)
    counts.feed(b"00007e[CPU0  ] VMENTER FAIL: VMCS guest invalid CR0\n00008d[CPU0  ] VMEXIT")
    assert counts.external == 1
    counts.feed(b"00006d[CPU0  ] VMEXIT reason = 7 (Interrupt Window) qualification=0x0\n")
    assert (counts.exits, counts.external) == (3, 2)
    assert counts.complaint == "VMENTER FAIL: VMCS guest invalid CR0" and counts.exits == 3


BOOT = ("boot", "kernel to userspace", "instructions")
SENDER = ("ipi", "sender", "instructions")


def measured(key, **values):
    """The results of one test: a value for each system, or a list of values, one for each run."""
    return [dict(zip(("part", "test", "metric"), key), system=system.replace("_", "-"), value=value, run=number)
            for system, runs in values.items() for number, value in enumerate(runs if isinstance(runs, list) else [runs], 1)]


def judge(results):
    """[(what, met)]"""
    return [(goal["test"], goal["met"]) for goal in report.goals(report.table(results), report.intervals(results))]


def test_goals_are_what_was_reached():
    most = {(part, test): most for part, test, _, _, most in report.GOALS}
    assert most[BOOT[:2]] == 0.92
    assert [most["devices", "TCP from e1000e to igb, " + mode] for mode in ("identity", "iommu", "window")] == [1.04] * 3
    assert {value for (part, _), value in most.items() if part == "hpcc"} == {1.001}
    assert {base for part, _, _, base, _ in report.GOALS if part in ("exits", "ipi")} == {"kvm-off"}


def test_goals():
    assert judge(measured(BOOT, native=1000, margay=920)) == [(BOOT[1], True)]
    assert judge(measured(BOOT, native=1000, margay=921)) == [(BOOT[1], False)]
    # Against the system that is named, and none without it.
    assert judge(measured(SENDER, kvm=9999, kvm_off=1000, margay=201)) == [(SENDER[1], False)]
    assert judge(measured(SENDER, kvm=9999, margay=201)) == [] == judge(measured(BOOT, native=1000))


def test_goals_of_direct():
    """Beside the emulated one's, and of a system alone."""
    ipi, idle = ("exits", "self-ipi", "instructions"), ("direct", "a minute, idle, 1 vCPU, ipi = filtered", "exits")
    assert judge(measured(ipi, native=68, margay=1317, direct=68)) == [(ipi[1], True)]
    assert judge(measured(ipi, native=68, margay=68, direct=69)) == [(ipi[1], False)]
    assert judge(measured(idle, direct=0)) == [(idle[1], True)] and judge(measured(idle, direct=1)) == [(idle[1], False)]
    others = measured((*idle[:2], "injected"), direct=0)
    assert judge(others) == [] and len(list(report.missing(report.table(others)))) == 21
    assert len(list(report.missing(report.table(others + measured(idle, direct=3))))) == 20


def test_goals_that_an_interval_contains():
    """Of five runs, and of both systems."""
    key = ("hpcc", "HPL, 2 processes", "instructions")

    def judged(native, direct):
        results = measured(key, native=native, direct=direct)
        return [g["met"] for g in report.goals(report.table(results), list(report.intervals(results)))]

    # Each mean +- 3.003 * 1.5811 / sqrt(5) = 2.12, by two ends 4.24 of 1000.
    runs = [998, 999, 1000, 1001, 1002]
    assert judged(runs, [n + 4 for n in runs]) == [True] and judged(runs, [n - 4 for n in runs]) == [True]
    assert judged(runs, [n + 5 for n in runs]) == [False] and judged(runs, [n - 5 for n in runs]) == [False]
    assert judged(runs[1:], runs[1:]) == [] == judged([1000] * 5, runs)


def test_exits_by_name():
    """What telemetry counts by reason, and what is left of a load's exits without a name."""
    counted = systems.difference({"vmruns": 1, "exit:io": 1}, {
        "vmruns": 31, "telemetry": 30, "exit:io": 1, "exit:cpuid": 20, "exit:cr": 2, "exit:wrmsr": 8, "messages": 9, "mc-reads": 2,
        "interrupts": 5, "injected": 0, "total": 7, "f": 3})
    assert counted.exits() == {"cpuid": 20, "cr": 2, "wrmsr": 8} and counted.exits("cr", "wrmsr", "hlt") == 10
    assert counted.functions() == ["f"]

    def values(ipi):
        return {r["metric"]: r["value"] for r in bench.direct_rows("t", ipi, 4, counted)}

    found = values("filtered")
    assert (found["messages sent"], found["messages sent by telemetry"], found[report.UNNAMED]) == (9, 8, 30 - 22 - 9)
    control = systems.Stretch({"vmruns": 1, "telemetry": 1, "exit:cpuid": 1, "messages": 0, "interrupts": 0, "injected": 0,
                               "mc-reads": 0})
    control = [dict(r, run=1) for r in bench.direct_rows(bench.CONTROL, "direct", 4, control)]
    assert list(report.disagreements(control)) == []
    # None is an exit where they are not filtered.
    found = values("direct")
    assert found[report.UNNAMED] == 8 and "messages sent by telemetry" not in found


def test_functions_of_an_interrupt():
    """By interrupts, and by those of devices alone."""
    counted = systems.Stretch({"interrupts": 4, "device-ends": 2, "total": 9, "f": 6, "g": 0})
    for of, each in (("interrupts", 1.5), ("device-ends", 3.0)):
        (row_,) = bench.guest_functions("devices", "t", "native", counted, of)
        assert (row_["metric"], row_["value"]) == (report.IN_GUEST + "f", each)


def test_differences_by_function():
    key = ("noise", "Linux, detours", report.IN_GUEST)
    results = measured((*key[:2], key[2] + "f"), native=10, direct=12.5) + measured((*key[:2], key[2] + "g"), native=7)
    results += measured((*key[:2], key[2] + "h"), direct=1, native=1)
    assert list(report.differences(report.table(results))) == ["- noise, Linux, detours: -4.5 in all: g -7.0, f +2.5"]
    assert list(report.differences(report.table(measured((*key[:2], key[2] + "f"), native=10)))) == []


def test_goals_by_the_interval():
    # t * deviation / sqrt(3) = 3.258 of KVM's mean.
    kvm = [999, 1000, 1001]
    assert judge(measured(SENDER, kvm_off=kvm, margay=[199] * 3)) == [(SENDER[1], True)]
    assert judge(measured(SENDER, kvm_off=kvm, margay=[200] * 3)) == [(SENDER[1], False)]
    assert judge(measured(SENDER, kvm_off=[1000] * 3, margay=[198, 199, 200])) == [(SENDER[1], False)]
    assert judge(measured(SENDER, kvm_off=[1, 1000, 1], margay=[1] * 3)) == [(SENDER[1], False)]
    wide = dict(zip(("part", "test", "metric"), SENDER), system="kvm-off", half=10, runs=2)
    (apart,) = report.goals({SENDER: {"margay": 1, "kvm-off": 10}}, [wide])
    assert apart["worst"] is None and not apart["met"]


@pytest.fixture
def status(tmp_path, monkeypatch, capsys):
    """The exit status for these results, and the last line that is printed."""
    def status(results, failed=()):
        head = dict(commit="c", date="d", emulator="e", machine="m", unit="u")
        code = report.write(head, results, failed)
        assert json.loads((tmp_path / "results.json").read_text())["results"] == results
        return code, capsys.readouterr().out.splitlines()[-1]

    monkeypatch.setattr(systems, "BUILD", str(tmp_path))
    monkeypatch.setattr(report, "plot", lambda *_: None)
    return status


def test_exit_status(status):
    met = measured(BOOT, native=1000, margay=900)
    assert status(met) == (0, "- met: boot, kernel to userspace, instructions: 0.9000 times native, goal at most 0.920")
    code, last = status(measured(BOOT, native=1000, margay=930))
    assert code == 1 and last.startswith("- MISSED: boot")
    code, last = status(measured(SENDER, kvm_off=[999, 1000, 1001], margay=200) + measured(
        ("ipi", "halted receiver", "instructions"), kvm_off=1000, margay=100))
    assert code == 1
    assert status(met, ["boot, kvm: QEMU ended"]) == (1, "bench: boot, kvm: QEMU ended")
    assert status(met + [row("exits", 24), row("exits by telemetry", 25)])[0] == 1
    # A part of which a goal's row is missing, on both systems.
    assert status(measured(("boot", "other", "instructions"), native=1, margay=1))[0] == 1

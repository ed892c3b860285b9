# SPDX-License-Identifier: GPL-2.0-only
"""The monitor console and several VMs on one node: an operator's day, and what he must not have to fear.

The operator at the monitor console beside tiny guests that tick, hang, flood, crash and end: each command, wrong
ones, garbage on the line, statistics by what the guest counts, 100 and 1,000 restarts, seven VMs, a panic. All of it
on QEMU; a guest that hangs, a flood and registers across restarts on Bochs, too; the rest on Bochs in the full tier.
"""

import calendar
import os
import re
import time

import margay_machines
import margay_run
import node
import pytest
import qemu_lost
import tiers
import tiny
from monitor_console import ESCAPE, PROMPT, Console, start, vm

with open(os.path.join(node.TOP, "docs", "operating.md"), encoding="utf-8") as f:
    OPERATING = f.read()
TICK = 0x40  # the vector of the timer of tests/guest/behave.c
BOTH = pytest.mark.parametrize("machine", node.MACHINES)
# What is the same code for both vendors: on VT-x in the full tier.
BOCHS = tiers.full("bochs")
VT_X_IN_FULL = pytest.mark.parametrize("machine", ["qemu", BOCHS])
HOST_BRIDGE = {"qemu": "8086:29c0", "bochs": "8086:1237"}


@BOTH
def test_guest_that_hangs(machine):
    """Interrupts off, for ever: paused, inspected, resumed, stopped."""
    with start("console-hang", machine, {"a.conf": vm("a", "hang", machine)}, 1) as running:
        at, middle, outer = (int(x, 16) for x in running.expect(r"^behave: hangs at (\w+) in (\w+) in (\w+)\r").groups())
        console = Console(running)
        console.call()
        assert console.answer("vm pause a") == ["a: paused"]
        assert console.state("a") == "paused"
        regs = console.answer("regs a", until="^exit -1:")
        paused = console.exits("a")
        assert console.exits("a") == paused, "a paused guest runs"
        assert console.answer("vm resume a") == ["a: running"]
        assert console.state("a") == "running"
        assert console.answer("vm stop a") == ["a: stops"]
        console.settle("a")
        assert console.state("a") == "stopped"
        outcome = console.end()
    text = "\n".join(regs)
    assert re.search(r"^runs, CPU 0, rip %016x, rflags " % at, text, re.MULTILINE)
    assert "rax 1122334455667788" in text and "rbx 00000000b0b0b0b0" in text
    assert re.search(r"^code eb fe ", text, re.MULTILINE)
    callers = [int(x, 16) for x in re.findall(r"^from (\w+)$", text, re.MULTILINE)]
    assert middle < callers[0] < middle + 32 and outer < callers[1] < outer + 32, text
    assert len(re.findall(r"^exit -\d: \w+", text, re.MULTILINE)) == 8
    assert outcome.status == margay_run.OK, outcome.text


@VT_X_IN_FULL
def test_commands(machine):
    """Each command; on VMs that do not exist, are in the wrong state, or whose files are wrong."""
    vms = {
        "a.conf": vm("a", "part", machine), "b.conf": vm("b", "tick", machine), "once.conf": vm("once", "once", machine),
        "twin.conf": vm("a", "tick", machine), "bad.conf": "colour = red\n",
    }
    with start("console-commands", machine, vms, 4) as running:
        running.expect("^once: end=exit status=0")
        console = Console(running)
        console.call()
        console.settle("once")
        for command, answer in (
            ("vm start a", "a: it runs or starts: vm list tells"),
            ("vm resume a", "a is running already"),
            ("vm pause once", "once does not run"),
            ("vm stop once", "once does not run"),
            ("vm console once", "once does not run, or has no UART"),
            ("regs once", "once does not run"),
            ("stats once", "once does not run"),
            ("regs a 1", "a has vCPUs 0-0"),
            ("stats a 7", "a has vCPUs 0-0"),
            ("vm start bad.conf", "bad.conf: its VM file was not understood: the log tells why"),
            ("vm stop bad.conf", "bad.conf does not run"),
            ("vm stop nobody", "no VM has the name 'nobody': vm lists them"),
            ("vm stop", "usage: vm stop VM"),
            ("vm stop a b", "'b' is too much: usage: vm stop VM"),
            ("vm reboot a", "no command 'vm reboot': vm has console, list, log, nmi, pause, press, restart, resume, start, stop"),
            ("regs a x", "expected a number, found 'x'"),
            ("reg a", "unknown command 'reg': help lists them"),
            ("poweroff", "VMs run: stop them first, or: poweroff now"),
            ("reboot", "VMs run: stop them first, or: reboot now"),
        ):
            assert console.answer(command) == [answer]
        listed = console.answer("vm")
        assert [line.split()[:2] for line in listed] == [
            ["a", "running"], ["b", "running"], ["once", "exit"], ["twin.conf", "bad-file"], ["bad.conf", "bad-file"]]
        helped = console.answer("help")
        assert console.answer("help vm") == [line for line in helped if line.startswith("vm ")]
        for command in ("vm start", "vm stop", "vm log", "vm pause", "vm resume", "vm restart", "vm console", "stats", "node",
                        "pci", "regs", "log", "poweroff"):
            assert any(line.startswith(command + " ") for line in helped), command
        for name in [line[:13].strip() for line in helped[:-1]]:
            assert "`%s" % name in OPERATING or "> %s" % name in OPERATING, "docs/operating.md: " + name
        answer = console.answer("node")
        cpus = [line for line in answer if line.startswith("cpu")]
        # The amount of the boot's line; more only by whole pieces, for VMs.
        booted = int(re.search(r"^margay: own memory: .* held in all (\d+) KiB;", running.text, re.MULTILINE)[1])
        held, used = map(int, re.fullmatch(r"hypervisor: (\d+)K held in all, (\d+)K of these in use", answer[-1]).groups())
        assert held >= booted and (held - booted) % 512 == 0 and booted // 4 < used <= held
        assert [line.split()[-1] for line in cpus] == ["a", "b", "free", "free"]
        assert any(re.match(r"0000:00:00\.0  %s  class 060000" % HOST_BRIDGE[machine], line) for line in console.answer("pci"))
        refused = r"twin\.conf:\d+: name = a: a\.conf has that name already"
        assert any(re.search(refused, line) for line in console.answer("log 60", log=True))
        assert len(console.answer("log 3", log=True)) == 3
        # Completion, and a line brought back.
        running.send("vm sta\tonc\t\r")
        running.expect("^once: starts")
        running.expect("^once: end=exit status=0")
        console.settle("once")
        running.send("=again\r\x1b[A\r")
        for _ in range(2):
            running.expect("^unknown command '=again'")
        # The unfinished line of a guest that gets the foreground; and back.
        assert console.answer("vm restart a") == ["a: restarts"]
        console.settle("a")
        running.send("vm console a\r")
        # Each of b's lines may cut it.
        running.expect("^" + r"(?:\r\n(?:\[b\] .*\r\n)+)?".join("an unfinished line"), prompt=True)
        console.call()
        running.send("vm restart b\r")
        running.expect("^b: restarts\r")
        running.expect(r"^\[b\] behave: ticks=50\r")
        outcome = console.end()
    run = node.Run(running, outcome)
    assert run.has_line(r"margay: bad\.conf:1: .*colour.*")
    assert run.has_line("margay: node: end=poweroff vms=5 failed=2")


@VT_X_IN_FULL
def test_foreground(machine):
    """Whose line it is: said where it changes hands and when its VM is over, shown by the list; the guest gets the key, too."""
    vms = {"a.conf": vm("a", "once", machine), "b.conf": vm("b", "keys", machine)}
    with start("console-foreground", machine, vms, 3) as running:
        running.expect(r"^margay: console: a had this line and is over: \^T calls the monitor console: vm start a, or "
                       r"vm console NAME for another\r")
        console = Console(running)
        console.call()
        assert not [line for line in console.answer("vm list") if "foreground" in line]
        running.send("vm console b\r")
        running.expect(r"^Console of b: \^T calls the monitor console, \^T\^T sends it \^T\.\r")
        running.send("x")
        running.expect("^behave: key 78\r")
        running.send(ESCAPE + ESCAPE + "y")
        running.expect(r"^Monitor console: help lists the commands, \^T goes back to b\.\r")
        running.expect("^behave: key 14\r\nbehave: key 79\r")
        console.call()
        assert [line.split()[0] for line in console.answer("vm list") if line.endswith("  foreground")] == ["b"]
        outcome = console.end()
    assert running.text.count("had this line") == 1 and running.text.count("behave: key 14") == 1
    assert outcome.status == margay_run.OK, outcome.text


@pytest.mark.parametrize("machine, crash", [("qemu", False), ("qemu", True), tiers.full("bochs", True)])
def test_counts_at_the_end(machine, crash):
    """A node that is switched off: what runs, and what waits for it, has not failed; what crashed has."""
    vms = {"a.conf": vm("a", "tick", machine), "next.conf": vm("next", "once", machine, after="a"),
           "b.conf": vm("b", "crash" if crash else "once", machine)}
    with start("console-counts-%d" % crash, machine, vms, 3) as running:
        running.expect("^b: end=")
        console = Console(running)
        console.call()
        console.settle("b")
        running.send("poweroff now\r")
        outcome = running.wait()
    assert re.search(r"^margay: node: end=poweroff vms=3 failed=%d running=1 unstarted=1\r" % crash, running.text, re.MULTILINE)
    assert outcome.status == (margay_run.VM_FAILED if crash else margay_run.OK), outcome.text


def test_starts_at_once():
    """
    Three VMs started one right after the other, by two CPUs that are nobody's: a's memory is still being zeroed, by the CPU that b
    gets. Who finds no CPU free starts when one is; nobody waits for a CPU whose item waits for his.
    """
    vms = {"keep.conf": vm("keep", "tick", cpus="0-0"), "a.conf": vm("a", "tick", cpus="3-3", memory="320M", after="keep"),
           "b.conf": vm("b", "tick", cpus="1-1", after="keep"), "c.conf": vm("c", "tick", cpus="2-2", after="keep")}
    with start("console-starts", "qemu", vms, 4) as running:
        running.expect("^behave: ticks=50")
        console = Console(running)
        console.call()
        before = free_memory(console)
        running.send("vm start a\r")
        running.expect("^a: starts")
        while free_memory(console) == before:
            pass
        running.send("vm start b\rvm start c\r")
        for name in "abc":
            running.expect(r"^\[%s\] behave: ticks=\d+\r?$" % name)
            console.settle(name)
        assert [console.state(name) for name in ("a", "b", "c", "keep")] == ["running"] * 4
        outcome = console.end()
    text = running.text.replace("\r", "")
    assert text.index("\na: vcpu0: CPU 3,") < text.index("\n[b] behave: begins\n")
    assert outcome.status == margay_run.OK, outcome.text


def test_stopped_in_its_start():
    """
    The operator's stop meets a VM whose memory is still being zeroed: its guest never runs, and it can start again. Memory that
    no guest has had since is not zeroed again: the later stops come right before or right after the guest's first instruction.
    """
    vms = {"keep.conf": vm("keep", "tick", cpus="0-0"), "a.conf": vm("a", "tick", cpus="1-1", memory="320M", after="keep")}
    with start("console-stopped", "qemu", vms, 2) as running:
        running.expect("^behave: ticks=50")
        console = Console(running)
        console.call()
        free = set()
        for again in range(8):
            running.send("vm start a\rvm stop a\r")
            running.expect("^a: end=stopped\r")
            console.settle("a")
            assert console.state("a") == "stopped"
            free.add(tuple(free_memory(console)))
            assert again or "[a] behave: " not in running.text
        assert len(free) == 1, free
        running.send("vm start a\r")
        running.expect(r"^\[a\] behave: ticks=50\r")
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text


def test_started_in_its_end():
    """
    The operator's start meets a VM that ends, or whose memory is being zeroed behind its end: it starts when that is done,
    once however often he asks, and not if he thinks better of it.
    """
    vms = {"keep.conf": vm("keep", "tick", cpus="0-0"), "a.conf": vm("a", "tick", cpus="1-1", memory="320M")}
    ticks = r"^\[a\] behave: ticks=\d+\r"
    with start("console-ending", "qemu", vms, 2) as running:
        running.expect("^behave: ticks=50")
        console = Console(running)
        console.call()

        def stop_and(*commands, wait):
            running.send("vm stop a\r")
            if wait:
                running.expect("^a: end=stopped\r")
            running.send("".join("vm %s a\r" % command for command in commands))

        for restart in range(1, 7):
            running.expect(ticks)
            stop_and("start", "start", wait=restart % 2)
            running.expect(r"^a: restart %d\r" % restart)
        running.expect(ticks)
        stop_and("start", "stop", wait=True)
        console.settle("a")
        assert re.search(r"^a +stopped .* starts 7 ", "\n".join(console.answer("vm")), re.MULTILINE)
        # What he took back does not come with the next end.
        running.send("vm start a\r")
        running.expect(ticks)
        stop_and(wait=True)
        console.settle("a")
        assert console.state("a") == "stopped"
        outcome = console.end()
    assert "it runs or starts" not in running.text
    assert outcome.status == margay_run.OK, outcome.text


def test_started_beyond_its_limit():
    """The operator's start meets a VM that has ended as often as its file allows: it starts, and its restarts count anew."""
    vms = {"keep.conf": vm("keep", "tick", cpus="0-0"),
           "a.conf": vm("a", "reset", cpus="1-1", memory="320M", on_reboot="restart", restart_limit="8 in 10h")}
    with start("console-limit", "qemu", vms, 2) as running:
        running.expect(r"^a: restart 1\r")
        console = Console(running)
        console.call()
        running.expect(r"^a: restart 8\r")
        running.expect(r"^a: end=reset-kbd\r")
        running.send("vm start a\r")
        running.expect(r"^a: restart_limit = 8 in 36000s is reached: it stays down\r")
        console.settle("a")
        outcome = console.end()
    said = re.findall(r"^a: (restart \d+|end=|restart_limit)", running.text, re.MULTILINE)
    # Eight by itself, one by the operator, eight again.
    assert said == [word for n in range(1, 18) for word in ("end=", "restart %d" % n)] + ["end=", "restart_limit"]
    assert outcome.status == margay_run.OK, outcome.text


ROW = re.compile(r"([a-z0-9-]+) +(\d+) +(\d+\.\d)% +(\d+\.\d) +(\d+|-) +(\d+|-) +(\d+|-)")


def statistics(lines):
    """{reason: count}, interrupts by vector, {reason: rate} and its ms, of one VM's part of what `stats` says."""
    rows = [m.groups() for m in map(ROW.fullmatch, lines) if m]
    total = int(re.fullmatch(r"all +(\d+); \d+ ms were spent on them", next(l for l in lines if l.startswith("all ")))[1])
    counts = {row[0]: int(row[1]) for row in rows}
    assert sum(counts.values()) == total
    for reason, count, share, _, least, mean, most in rows:
        assert abs(float(share) - 100 * int(count) / total) <= 0.1, reason
        # One exit of 251 is timed.
        assert (least, mean, most) == ("-", "-", "-") or 0 < int(least) <= int(mean) <= int(most), reason
    assert total < 251 or any(row[4] != "-" for row in rows)
    at = next(i for i, line in enumerate(lines) if line.startswith("interrupts "))
    vectors = {int(v, 16): int(n) for line in lines[at + 1:] for v, n in re.findall(r"  (0x[0-9a-f]+): (\d+)", line)}
    assert sum(vectors.values()) == int(lines[at].split()[1].rstrip(","))
    ms = int(re.search(r"rates over the last (\d+) ms$", lines[0])[1])
    return counts, vectors, {row[0]: float(row[3]) for row in rows}, ms


@VT_X_IN_FULL
def test_statistics(machine):
    """The interrupts are those that the guest counts; a rate is of the time since the last look; each vCPU has its own."""
    vms = {"a.conf": vm("a", "tick", machine, cpus="2"), "b.conf": vm("b", "tick", machine)}
    with start("console-stats", machine, vms, 3) as running:
        # Those of a, which is in the foreground, b's cut.
        running.expect(r"^\[b\] behave: ticks=50\r")
        console = Console(running)
        console.call()
        looks = []
        for _ in range(2):
            before = int(running.expect(r"^\[a\] behave: ticks=(\d+)\r")[1])
            looks.append(statistics(console.answer("stats a")))
            after = int(running.expect(r"^\[a\] behave: ticks=(\d+)\r")[1])
            assert set(looks[-1][1]) == {TICK} and before <= looks[-1][1][TICK] <= after
        first, second = looks
        for reason, count in second[0].items():
            assert abs(second[2][reason] - (count - first[0].get(reason, 0)) * 1000 / second[3]) < 0.11, reason
        other = console.answer("stats a 1")
        every = console.answer("stats")
        outcome = console.end()
    assert other[0].startswith("a: one vCPU, 2 vCPUs, ") and statistics(other)[1] == {}
    assert [line.split(":")[0] for line in every if " vCPUs, up " in line] == ["a", "b"]
    assert outcome.status == margay_run.OK, outcome.text


@VT_X_IN_FULL
def test_garbage(machine):
    """Floods, binary, half lines and endless lines on the serial port disturb neither the console nor the guest."""
    much = {"qemu": 40, "bochs": 4}[machine]  # Bochs gets a byte at a time
    with start("console-garbage", machine, {"a.conf": vm("a", "tick", machine)}, 2, "escape=^a") as running:
        running.expect("^behave: ticks=50")
        running.send(bytes(range(2, 256)) * much)
        running.expect("^behave: ticks=100")
        running.send("\x01")
        running.expect("^Monitor console")
        for junk in (bytes(b for b in range(256) if b != 1) * much, b"x" * 125 * much, b"\xff\x00" * 50 * much,
                     b"\x1b[" * 12 * much, b"\x1b[A" * 100, b"\t" * 200, b"vm stop a"):
            running.send(junk)
            running.send("\x03")
        console = Console(running)
        assert console.answer("nothing") == ["unknown command 'nothing': help lists them"]
        assert console.state("a") == "running"
        running.send("\x01")
        first = int(running.expect(r"^behave: ticks=(\d+)\r")[1])
        assert int(running.expect(r"^behave: ticks=(\d+)\r")[1]) == first + 50
    assert "end=panic" not in running.text


@BOTH
def test_flood(machine):
    """A guest that prints without end: all of it is whole and in order, so is the other's, and the operator gets through."""
    vms = {"flood.conf": vm("flood", "flood", machine), "b.conf": vm("b", "tick", machine)}
    with start("console-flood", machine, vms, 2, timeout=400) as running:
        running.expect(r"^\[b\] behave: ticks=50\r")
        console = Console(running)
        console.call()
        console.answer("vm list")
        running.expect(r"^\[b\] behave: ticks=100\r")
        assert console.answer("vm pause flood") == ["flood: paused"]
        ticks = int(running.expect(r"^\[b\] behave: ticks=(\d+)\r")[1])
        running.expect(r"^\[b\] behave: ticks=%d\r" % (ticks + 50))
        assert console.answer("vm resume flood") == ["flood: running"]
        resumed = int(running.expect(r"^\[flood\] flood (\d+) of a guest")[1])
        running.expect(r"^\[flood\] flood %d of a guest" % (resumed + 100))
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    text = running.text.replace("\r", "")
    # What is said while b starts may cut a line, too.
    text = text[text.index("[b] behave: ticks=50\n"):]
    # A line of b may stand in the middle of one of the foreground's, which goes on behind it.
    whole = re.sub(r"\n\[b\] behave: ticks=\d+\n(?!\[|flood \d|\n|margay)", "", text)
    said = re.findall(r"^(?:\[flood\] )?flood (\d+) of a guest that never stops to say what nobody wants to know$", whole,
                      re.MULTILINE)
    # The monitor cuts the one line that was in the foreground when it was called.
    numbers = [int(n) for n in said]
    gaps = [b for a, b in zip(numbers, numbers[1:]) if b != a + 1]
    assert len(numbers) > 100 and len(gaps) <= 1, gaps
    others = [int(n) for n in re.findall(r"^\[b\] behave: ticks=(\d+)$", text, re.MULTILINE)]
    assert others == list(range(50, 50 * len(others) + 1, 50))


@VT_X_IN_FULL
def test_line_among_others(machine):
    """What others say neither repeats the line that is being typed, nor does to the terminal what it asks for."""
    vms = {"a.conf": vm("a", "part", machine), "b.conf": vm("b", "tick", machine), "w.conf": vm("w", "wild", machine)}
    with start("console-among", machine, vms, 4) as running:
        running.expect(r"^\[w\] red \?7m \?\?\?\? Käse\r")
        console = Console(running)
        console.call()
        begin = len(running.text)
        running.send("vm li")
        # One comes in less than a second; each of the five keys may have been cut from the next.
        for _ in range(9):
            running.expect(r"^\[b\] behave: ticks=\d+\r")
        assert running.text[begin:].count(PROMPT) <= 5, running.text[begin:]
        # With a key it comes back, and still is what was typed.
        running.send("st\r")
        running.expect("^a +running ")
        assert console.answer("vm pause b") == ["b: paused"]
        # Cut by the lines of a VM's start, and then there are no more.
        running.send("vm restart w\r")
        running.send("stat")
        running.expect(r"^\[w\] red ")
        running.expect("^" + PROMPT + "stat", prompt=True)
        running.send("\x03")
        outcome = console.end()
    assert b"\x1b[1;31m" not in running.text.encode() and "\x9b" not in running.text
    assert outcome.status == margay_run.OK, outcome.text


@VT_X_IN_FULL
def test_output_is_kept(machine):
    """Of a VM that is over, across its restarts, and of one that runs, without what a terminal obeys; of one that wants it not."""
    vms = {"a.conf": vm("a", "tick", machine), "crash.conf": vm("crash", "crash", machine), "w.conf": vm("w", "wild", machine),
           "no.conf": vm("no", "once", machine, console_log="0")}
    with start("console-log", machine, vms, 4) as running:
        for name in ("crash", "no"):
            running.expect("^%s: end=" % name)
        console = Console(running)
        console.call()
        console.settle("crash")
        running.expect(r"^\[a\] behave: ticks=\d+\r")
        assert console.answer("vm log crash") == ["behave: begins"]
        running.send("vm start crash\r")
        running.expect("^crash: end=")
        console.settle("crash")
        assert console.answer("vm log crash") == ["behave: begins", "--- starts again ---", "behave: begins"]
        assert console.answer("vm log crash 1") == ["behave: begins"]
        assert console.answer("vm log w")[-1] == "red ?7m ???? Käse"
        ticks = [line for line in console.answer("vm log a 1000") if line.startswith("behave: ticks=")]
        assert [int(line[14:]) for line in ticks] == list(range(50, 50 * len(ticks) + 1, 50)) and ticks
        assert console.answer("vm log no") == ["no: nothing of its output is kept: it never ran, or console_log = 0"]
        outcome = console.end()
    assert outcome.status == margay_run.VM_FAILED, outcome.text


@pytest.mark.parametrize("firmware", ["bios", tiers.full("uefi")])
def test_log_survives_a_reset(firmware):
    """By the machine's reset button, in the middle of what the node does, and by a reboot: the next boot has the log, all of it."""
    with start("console-reset-" + firmware, "qemu", {"a.conf": vm("a", "tick")}, 2, "loglevel=debug",
               boot=margay_machines.Boot(firmware)) as running:
        running.expect("^behave: ticks=50")
        assert "of the boot before" not in running.text
        console = Console(running)
        console.call()
        assert console.answer("log before")[0].startswith("nothing is left of the log of the boot before: ")
        first = console.answer("log 100000", log=True)
        # Without an operation of the hypervisor's, and though -no-reboot is among QEMU's arguments.
        with qemu_lost.Monitor(running.qmp) as monitor:
            monitor.ask("set-action", reboot="reset")
            monitor.ask("system_reset")
        running.expect(r"^margay: log: %d lines of the boot before this one are left: log before shows them\r" % len(first))
        running.expect("^behave: ticks=50")
        console.call()
        assert console.answer("log before 100000", log=True) == first
        assert console.answer("log before 2", log=True) == first[-2:]
        running.send("reboot now\r")
        running.expect(r"^margay: node: end=reboot\r")
        running.expect("^behave: ticks=50")
        console.call()
        assert console.answer("log before 1", log=True) == ["margay: node: end?reboot"]
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text


@VT_X_IN_FULL
def test_times(machine):
    """In front of each line of the log, never less than before, at the pace of the world outside; the machine's date, once."""
    with start("console-times", machine, {"a.conf": vm("a", "tick", machine)}, 2) as running:
        running.expect("^behave: ticks=100\r")
        console = Console(running)
        console.call()
        raw = running.raw[running.raw.index("margay: Margay "):].replace("\r", "")
        shown = console.answer("log 3", log=True)
        outcome = console.end()
    lines = re.findall(r"^(.*?)((?:margay|a): .*)$", raw, re.MULTILINE)
    stamped = [float(re.fullmatch(r"\[ *(\d+\.\d{3})\] ", at)[1])
               for at, line in lines if not line.startswith("margay: Margay ")]
    assert len(stamped) > 10 and stamped == sorted(stamped) and 0 < stamped[-1] < 3600, lines
    assert len(shown) == 3 and all(re.match("(margay|a): ", line) for line in shown)
    clocks = re.findall(r"^\[ *\d+\.\d{3}\] margay: clock: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$", raw, re.MULTILINE)
    seen = [calendar.timegm(time.strptime(clock, "%Y-%m-%d %H:%M:%S")) for clock in clocks]
    began = {"qemu": time.time(), "bochs": 1000000000}[machine]  # Bochs' time0
    assert len(seen) == 1 and abs(seen[0] - began) < 600, clocks
    assert outcome.status == margay_run.OK, outcome.text


NODE = re.compile(r"node 0: (\d+)M for guests, free (\d+)M \((\d+) bytes\), largest piece (\d+)M"
                  r"(?:\n    (\d+)M taken, (\d+)M kept)?")


def memory(console):
    """What `node` says of it: the node's line, and {VM: MiB}."""
    lines = console.answer("node")
    at = next(i for i, line in enumerate(lines) if line.startswith("node 0: "))
    taken = {name: int(size) for size, name in re.findall(r"^ +(\d+)M (\S+)$", "\n".join(lines), re.MULTILINE)}
    return [int(n or 0) for n in NODE.match("\n".join(lines[at:])).groups()], taken


@BOTH
def test_adds_up(machine):
    """What the node has for guests is taken by whom it says, free or kept; the list says what each VM has, and since when."""
    vms = {"a.conf": vm("a", "tick", machine, cpus="2", memory="64M"), "b.conf": vm("b", "once", machine)}
    with start("console-adds-up", machine, vms, 3) as running:
        running.expect("^b: end=")
        console = Console(running)
        console.call()
        console.settle("b")
        (total, free, exact, largest, taken, kept), by = memory(console)
        assert total == free + taken + kept and free == exact >> 20 and 0 < largest <= free and kept < 64
        assert (taken, by) == (64, {"a": 64})
        row = r"^%s +%s +vCPUs %d +memory %dM +up (-|(?:\d+m)?\d+s) +starts 1  file %s\.conf(  foreground)?$"
        listed = console.answer("vm list")
        assert re.match(row % ("b", "exit", 1, 32, "b"), listed[1])[1] == "-"
        first = re.match(row % ("a", "running", 2, 64, "a"), listed[0])
        assert first[1] != "-" and first[2]
        assert console.answer("vm stop a") == ["a: stops"]
        console.settle("a")
        after, nobody = memory(console)
        assert (after[0], after[1], after[4], nobody) == (total, free + 64, 0, {}) and after[5] == kept
        assert re.match(row % ("a", "stopped", 2, 64, "a"), console.answer("vm list")[0])[1] == "-"
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text


def stop(console, name):
    """One that is restarted all the time as well, which seldom runs when it is told to."""
    assert console.answer("vm stop " + name) == [name + ": stops"]
    console.settle(name)
    assert console.state(name) == "stopped"


def free_memory(console):
    lines = [line for line in console.answer("node") if "bytes" in line or line.startswith("hypervisor: ")]
    assert len(lines) == 2
    return lines


@pytest.mark.parametrize("machine, restarts", [
    ("qemu", 100), pytest.param("qemu", 1000, marks=pytest.mark.full), pytest.param("bochs", 100, marks=pytest.mark.full),
    *(pytest.param(machine, 20, marks=pytest.mark.full) for machine in node.NESTED)])
def test_restarts(machine, restarts):
    """Restarted again and again: not a byte of memory is missing afterwards; a thousand fill the log more than once."""
    vms = {"keep.conf": vm("keep", "tick", machine),
           "r.conf": vm("r", "once", machine, on_end="restart", restart_limit="9999 in 1h")}
    with start("console-restarts-%d" % restarts, machine, vms, 2, timeout=node.TIMEOUT[machine] + 4 * restarts) as running:
        running.expect("^r: restart 3")
        console = Console(running)
        console.call()
        stop(console, "r")
        before = free_memory(console)
        starts = int(re.search(r"^r .* starts (\d+) ", "\n".join(console.answer("vm")), re.MULTILINE)[1])
        running.send("vm start r\r")
        running.expect("^r: restart %d\r" % (starts + restarts))
        stop(console, "r")
        assert free_memory(console) == before
        assert console.state("keep") == "running"
        last = console.answer("log 3", log=True)
        assert len(last) == 3 and last[-1] == "r: end?stopped", last
        if machine == "qemu":  # all of it takes a real line 6 s
            assert ("loaded at" in "".join(console.answer("log 100000", log=True))) == (restarts < 1000)
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text


@VT_X_IN_FULL
def test_restarts_without_a_limit(machine):
    """Sixteen at once; then it waits, and is started again ten seconds later by itself. What the operator types meanwhile is
    done at once; the node does not end by a VM that waits, though nothing runs."""
    waits = r"^r: starts too often by itself: again within 10 s\r"
    with start("console-too-often", machine, {"r.conf": vm("r", "once", machine, on_end="restart")}, 2) as running:
        running.expect(waits)
        assert len(re.findall("^r: restart ", running.text, re.MULTILINE)) == 16
        console = Console(running)
        console.call()
        assert console.state("r") == "waiting"
        running.expect(waits)
        assert len(re.findall("^r: restart ", running.text, re.MULTILINE)) == 17
        starts = int(re.search(r"^r .* starts (\d+) ", "\n".join(console.answer("vm")), re.MULTILINE)[1])
        assert starts == 18
        # Counted anew: sixteen more at once.
        running.send("vm start r\r")
        running.expect("^r: restart %d\r" % (starts + 16))
        running.expect(waits)
        assert console.state("r") == "waiting"
        # It is over, as it had ended.
        assert console.answer("vm stop r")[-1] == "r: stops" and console.state("r") == "exit"
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert running.text.count("again within 10 s") == 3


@BOTH
def test_registers_do_not_outlive_a_restart(machine):
    """Each run finds the registers as after power-on, and leaves all of them filled."""
    guest = tiny.Guest("leak_c_restart", machine)
    iso = node.margay_iso("leak-restart-" + machine, {"leak.conf": guest.vm() + "on_end = restart\n"},
                          {guest.name: tiny.elf(guest.name)})
    with node.start("leak-restart", machine, iso, memory="256M", timeout=300) as running:
        last = running.expect("^leak_c_restart: restart 10\r")
    # What came behind that line is the eleventh run's.
    text = running.text[:last.end()].replace("\r", "")
    assert not re.findall("^tiny: failed: .*$", text, re.MULTILINE)
    assert len(re.findall("^tiny: leak_c_restart: ok ", text, re.MULTILINE)) == 10
    assert len(re.findall("^leak_c_restart: end=exit status=0$", text, re.MULTILINE)) == 10


@pytest.mark.parametrize("case, cmdline, keys, freed", [
    ("console", "", {}, False), ("none", "escape=none", {}, True), ("restart", "escape=none", {"on_end": "restart"}, False)])
def test_modules_are_freed(case, cmdline, keys, freed):
    """When neither the operator nor a restart can want them again."""
    with start("console-modules-" + case, "qemu", {"a.conf": vm("a", "tick", **keys)}, 1, cmdline) as running:
        running.expect("^behave: ticks=50")
        assert bool(re.search(r"^margay: boot modules: \d+ KiB freed\r", running.text, re.MULTILINE)) == freed


def next_ticks(running):
    # The first of them may have been said before.
    for _ in range(2):
        running.expect(r"^\[t1\] behave: ticks=")


@VT_X_IN_FULL
def test_six_vms(machine):
    """Others end, crash, hang, are stopped and restarted; those that run on are not even interrupted."""
    modes = {"vm0": "part", "once": "once", "crash": "crash", "hang": "hang", "t1": "tick", "still": "hang", "t3": "tick"}
    vms = {name + ".conf": vm(name, mode, machine) for name, mode in modes.items()}
    with start("console-six", machine, vms, 8, timeout=600) as running:
        running.expect(r"^\[t3\] behave: ticks=50\r")
        console = Console(running)
        console.call()
        before = {name: console.exits(name) for name in ("t1", "still")}
        for command in ("vm start crash", "vm start once", "vm stop hang", "vm start hang", "vm restart t3", "vm pause hang"):
            if command == "vm pause hang":
                # Its CPU has the line's interrupt from what it has printed on, until another VM prints.
                while running.text.count("[hang] behave: hangs ") < 2:
                    running.expect(r"^\[hang\] behave: hangs ")
                next_ticks(running)
                printed = console.exits("hang")
            assert len(console.answer(command)) >= 1
            name = command.split()[-1]
            while name in ("crash", "once") and console.state(name) == "running":
                pass
            console.settle(name)
        next_ticks(running)
        after = {name: console.exits(name) for name in ("t1", "still")}
        kicked = console.exits("hang")
        states = [console.state(name) for name in modes]
        console.end()
    assert after["t1"]["hlt"] > before["t1"]["hlt"] + 10
    # It loops with interrupts off, so that whatever reaches its CPU is an exit: nothing did. The pause of `hang` was one.
    assert after["still"] == before["still"]
    assert kicked["nmi"] == printed.get("nmi", 0) + 1
    assert states == ["running", "exit", "panicked", "paused", "running", "running", "running"]
    # The death of a guest is explained.
    text = running.text.replace("\r", "")
    assert re.search(r"^crash: vcpu0: triple fault at RIP 0x\w+$", text, re.MULTILINE)
    code = {"qemu": "0x7f", "bochs": "0x2"}[machine]  # SHUTDOWN (APM vol. 2, appendix C); SDM vol. 3, appendix C
    assert re.search(r"^crash: vcpu0: exit -1: triple-fault, code %s, at rip \w+$" % code, text, re.MULTILINE)
    assert re.search(r"^crash: vcpu0: rax \w{16}  rcx ", text, re.MULTILINE)
    assert re.search(r"^crash: vcpu0: code 0f 0b ", text, re.MULTILINE)


@VT_X_IN_FULL
@pytest.mark.parametrize("word, restarts", [("", False), ("panic=1", True)])
def test_panic(word, restarts, machine):
    vms = {name + ".conf": vm(name, mode, machine) for name, mode in {"a": "tick", "b": "hang", "once": "once"}.items()}
    with start("console-panic-%d" % restarts, machine, vms, 4, word) as running:
        running.expect("^once: end=exit")
        console = Console(running)
        console.call()
        console.settle("once")
        console.answer("vm pause b")
        running.send("panic now\r")
        running.expect("^margay: node: end=panic")
        if restarts:
            running.expect("^margay: the node restarts in 1 s")
            running.process.wait(120)  # QEMU's -no-reboot; Bochs' BIOS gives up at the keyboard when it starts again
        outcome = running.wait()
        text = running.text.replace("\r", "")
    assert outcome.status == margay_run.PANIC, outcome.text
    if machine == "qemu":
        assert (running.process.returncode == 0) == restarts
    else:
        with open(running.bochs_log, encoding="utf-8", errors="replace") as log:
            assert log.read().count("reset of 'serial' plugin device") == 1 + restarts
    report = text[re.search(r"margay: panic on CPU \d: asked for on the monitor console", text).start():]
    assert re.search(r"^margay:   from \w{16} command_panic\+0x\w+$", report, re.MULTILINE)
    assert re.search(r"^log: \[ *\d+\.\d{3}\] once: end=exit status=0$", text, re.MULTILINE)
    for line in ("a: state=running starts=1", "b: state=paused starts=1", "once: state=exit starts=1"):
        assert re.search("^%s$" % line, report, re.MULTILINE)

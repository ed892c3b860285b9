# SPDX-License-Identifier: GPL-2.0-only
"""interrupts = direct: guests that own the local APICs of their CPUs. What they do by that, what they cannot do, what they
leave; and that no interrupt makes an exit, by telemetry and by the emulator.

Debian's kernel, by telemetry and the VMCB in QEMU's memory: no interrupt and no HLT is intercepted, and none exits.

Wherever all VMs of a node are or may be such ones, QEMU logs each exit (`node.py`: `exit_log()`), and `node.finish()`
and `test_tiny.py` want none by an interrupt or HLT, and as many as by telemetry; on Bochs its own log says so of a
Linux.

The tiny guest `direct`, which leaves all it can pending, twice after each other, and those of IPIs behind and beside
it; an operator beside guests that hang, tick and sleep (on VT-x by MWAIT), and VMs with the monitor's APIC that are
paused, restarted, stopped and crash beside them; what `auto` chooses, and why: `test_config.c` and
`test_direct_decide.c` have each reason.

`test_lapic_direct.c`: every register, and to whom an ICR's message goes; `test_guest_apic.c`, with a model of an
APIC: how one changes hands, what arrives late, LINT1.

On VT-x (Bochs, with its TSC deadline) Debian's kernel with one CPU, which idles by `intel_idle`, and by Bochs' log,
which names each exit, a tiny guest that takes 25 timer interrupts: none exits, as each does of the same guest when it
is emulated; in the full tier, without the deadline, the rate that it finds of the APIC's timer, to 100 ppm of Bochs'
own (QEMU's time is the build host's: some percent there).

Restarts with all that a guest can leave pending (`direct` with `again=1`), 20 and in the full tier 1,000 of them on
each emulator: it finds its APICs at reset each time, and `witness`, with its own APIC and on QEMU with the monitor's
as well, hears nothing.

Deliveries that an exit cuts: the tiny guest `cut`, on Bochs, with its own APIC and (`test_tiny.py`) the monitor's. A
delivery to ring 3 with a misaligned stack raises #AC, which is intercepted: 10,000 interrupts, and a million in the
full tier, are each cut and come once, in order, beside another CPU's and NMIs. It is the one exit in a delivery after
which a guest goes on; TCG has no #AC, and where a delivery accesses memory that is not there the VM ends
(`idt_mmio`).

The alarm: watchdogs of VMs that have all CPUs, all but the boot CPU, and that alone, bite guests that hang with
interrupts off, on QEMU and Bochs, by one NMI each; a node without an HPET. `test_alarm.c`, over a model of an HPET:
the choice of an input, and why there is none; several CPUs, TSCs that differ, a slow bus, the counter's wrap, an NMI
that meets the next setting.

`ipi = direct`: the tiny guest `icr`, by telemetry beside `ipi = filtered`: interrupts to and fro and to itself,
12,000 of them, are no exit; 100 NMIs are one each where they arrive; on QEMU and on Bochs.
"""

import collections
import re

import margay_run
import node
import passthrough
import pytest
import qemu_monitor
import tiers
import tiny
from direct_guest import check_no_interrupt_exits, counts_of, guest_vm
from monitor_console import PROMPT, Console, start, vm, whole_lines

# SVM: intercepts at offset 0x00c and V_INTR_MASKING at 0x060 of the VMCB (APM vol. 2, appendix B).
INTERCEPT_INTR, INTERCEPT_HLT, V_INTR_MASKING = 1 << 0, 1 << 24, 1 << 24
EXIT_EXTINT, EXIT_INTERRUPT_WINDOW, EXIT_CPUID = 1, 7, 10  # VT-x (SDM vol. 3, appendix C)
BOCHS_MHZ = 50  # ips of tools/margay_machines.py: its TSC, and what its APIC timers count
DIRECT = "vm%d: interrupts: direct"
CONSOLE_VM = {"interrupts": "direct", "topology": "node", "allow_smt_sharing": "no"}


def up(console, name):
    """Seconds, as vm list shows them."""
    line = next(line for line in console.answer("vm list") if line.split()[0] == name)
    parts = re.findall(r"(\d+)([smh])", line.split(" up ")[1].split()[0])
    return sum(int(n) * {"s": 1, "m": 60, "h": 3600}[unit] for n, unit in parts)


def test_tiny_guests():
    """What a guest can do, and what it leaves: twice the same, then another's IPIs, then the monitor's APIC on these CPUs; and
    beside all of them one whose IPIs are counted, too."""
    direct, ipi = (tiny.Guest(name, "qemu") for name in ("direct", "ipi"))
    vms = {
        "a.conf": guest_vm(direct, "a"), "b.conf": guest_vm(direct, "b", "a"), "c.conf": guest_vm(ipi, "c", "b"),
        "d.conf": guest_vm(ipi, "d", "c", False, on_end="poweroff_node"), "witness.conf": guest_vm(ipi, "witness", None, False),
    }
    run = tiny.run("direct-tiny", "qemu", None, 4, vms)
    assert run.outcome.status == margay_run.OK, run.text[-6000:]
    assert run.has_line("margay: node: end=poweroff vms=5 failed=0")
    assert not re.search("unexpected interrupt|tiny: failed", run.text), run.text[-6000:]
    # By the ends, not by the guests' own lines: the witness' may cut those of who has the foreground.
    ends = re.findall(r"^(\w+): end=exit status=0$", run.text, re.MULTILINE)
    assert sorted(ends) == ["a", "b", "c", "d", "witness"], run.text[-6000:]
    for name in "abc":
        check_no_interrupt_exits(run, name, 2)
        assert run.has_line(name + ": interrupts: direct")
    assert any("irq-window" in counts or counts["injected"] for counts in counts_of(run, "d", 2))


def icr_vm(ipi, ipis, after=None, name=None, **keys):
    return guest_vm(tiny.Guest("icr", "qemu"), name or ipi, after, ipi=ipi, **keys).replace(" direct=1", " ipis=%d" % ipis)


def check_ipis(run, ipis):
    """With filtered ICRs each message is an exit; with direct ones one by each CPU is, once all have started."""
    assert not re.search("unexpected interrupt|tiny: failed", run.text), run.text[-6000:]
    assert run.lines("direct: ipi: direct$") and not run.lines("filtered: ipi: direct$")
    filtered, direct = (sorted(counts_of(run, name, 2), key=lambda counts: -counts["wrmsr"]) for name in ("filtered", "direct"))
    for vcpu, sent in ((0, 2 * ipis + 50), (1, ipis + 50)):
        assert sent <= filtered[vcpu]["wrmsr"] < sent + 100, filtered
    for name in ("filtered", "direct"):
        check_no_interrupt_exits(run, name, 2)
    return filtered, direct


def test_ipis():
    """Twice direct, before and behind filtered: what is open for one VM is closed for the next."""
    ipis = 2000
    vms = {"a.conf": icr_vm("direct", ipis), "b.conf": icr_vm("filtered", ipis, "direct"),
           "c.conf": icr_vm("direct", ipis, "filtered", name="again", on_end="poweroff_node"),
           "d.conf": icr_vm("direct", ipis, "again", name="part", cpus=1)}
    run = tiny.run("direct-ipis", "qemu", None, 2, vms)
    assert run.has_line("part: d.conf:8: ipi = direct: it has 1 of the node's 2 CPUs, and could send to all: use filtered")
    assert run.has_line("margay: node: end=poweroff vms=4 failed=1")
    filtered, direct = check_ipis(run, ipis)
    for counts in direct + counts_of(run, "again", 2):
        assert counts["wrmsr"] < 50 and counts["exits"] < 600, (filtered, direct)


@pytest.mark.slow
def test_ipis_on_vt_x():
    """The same."""
    ipis = 1000
    vms = {"a.conf": icr_vm("direct", ipis, cmdline="machine=bochs cpus=2 ipis=%d" % ipis),
           "b.conf": icr_vm("filtered", ipis, "direct", cmdline="machine=bochs cpus=2 ipis=%d" % ipis, on_end="poweroff_node")}
    run = tiny.run("direct-ipis-vtx", "bochs", None, 2, vms)
    assert run.has_line("margay: node: end=poweroff vms=2 failed=0")
    _, direct = check_ipis(run, ipis)
    assert all(counts["wrmsr"] < 50 and counts["exits"] < 600 for counts in direct), direct


@pytest.mark.slow
@pytest.mark.parametrize("events", [10000, pytest.param(1000000, marks=pytest.mark.full)])
def test_cut_deliveries(events):
    """Interrupts whose delivery an exit cuts come once, by the guest's count; and each is an exit by #AC, and one by the window
    in which it comes again. No interrupt that was not cut is any exit. Bochs alone has #AC."""
    cut = tiny.Guest("cut", "bochs")
    vms = {"cut.conf": guest_vm(cut, "cut", on_end="poweroff_node").replace("events=1000 ", "events=%d " % events)}
    run = tiny.run("direct-cut-%d" % events, "bochs", None, 2, vms, timeout=300 + events // 500)
    assert tiny.judge(cut, run.text) == [], run.text[-4000:]
    assert run.has_line("cut: interrupts: direct") and run.has_line("margay: node: end=poweroff vms=1 failed=0")
    interrupts, cuts = map(int, re.search(r"^cut: interrupts=(\d+) cuts=(\d+) ", run.text, re.MULTILINE).groups())
    counts = max(counts_of(run, "cut", 2), key=lambda counts: counts["exits"])
    assert cuts >= events and interrupts >= events and counts["exception"] == cuts, counts
    # What the CPU has given back and got again; the rest was its own. Where a kick of the host's is an exit at the very point at
    # which the window opens, it comes again there.
    assert cuts - counts["irq-window"] <= cuts // 1000 and counts["injected"] == 0 and not {"extint", "hlt"} & counts.keys(), counts


def test_linux_beside_an_emulated_one():
    """Debian's kernel with 2 CPUs of its own beside one with the monitor's APIC: both do the same work."""
    text = node.vm_text("qemu", "margay.test=smp", cpus="2-3", name="vm0", interrupts="direct", on_end="stop", memory="256M")
    other = node.vm_text("qemu", "margay.test=smp", cpus="0-1", name="vm1", memory="256M", after=None, interrupts="emulated")
    iso = node.margay_iso("direct-mixed", {"vm0.conf": text, "vm1.conf": other},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    with node.start("direct-mixed", "qemu", iso, cpus=4) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line(DIRECT % 0) and not run.has_line(DIRECT % 1)
    check_no_interrupt_exits(run, "vm0", 2)
    for counts in counts_of(run, "vm1", 2):
        assert counts["extint"] > 100
    for one in run.of("vm0"), run.of("vm1"):
        assert one.facts["cpus"] == "2" and one.facts["lines"].split() == ["20000"]


@pytest.mark.parametrize("cpus", [1, pytest.param(4, marks=pytest.mark.full)])
def test_linux(cpus, tmp_path):
    """As auto chooses it. QEMU's log has every exit, and its memory the control block: no interrupt and no HLT is intercepted, and
    none exits."""
    extra = qemu_monitor.arguments(tmp_path)
    iso = node.margay_iso(
        "direct-linux-%d" % cpus,
        {"vm0.conf": node.vm_text("qemu", "margay.test=smp", cpus=cpus)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    with node.start("direct-linux-%d" % cpus, "qemu", iso, cpus=cpus, interrupts="direct", exits=True, extra=extra) as running:
        running.expect(r"^margay-test: cpus: ")
        with open(running.exits, encoding="utf-8", errors="replace") as log:
            vmcb = int(re.search(r"vmrun! ([0-9a-f]+)", log.read())[1], 16)
        monitor = qemu_monitor.Monitor(tmp_path)
        intercepts, masking = monitor.words(vmcb + 0xc, 1)[0], monitor.words(vmcb + 0x60, 1)[0]
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert not intercepts & (INTERCEPT_INTR | INTERCEPT_HLT) and intercepts and not masking & V_INTR_MASKING
    check_no_interrupt_exits(run, "vm0", cpus)
    assert run.has_line(DIRECT % 0) and run.facts["cpus"] == str(cpus)
    timer = re.search(r"^margay-interrupts: LOC: +(\d+)", run.text, re.MULTILINE)
    assert int(timer[1]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("by_the_log", [False, tiers.full(True)])
def test_linux_on_vt_x(by_the_log):
    """One CPU, whose timer has a TSC deadline, and which sleeps in MWAIT; and by Bochs' own log of exits, of which it writes a
    gigabyte."""
    run = node.run_guest("direct-vtx" + "-log" * by_the_log, "bochs", "margay.test=smp", vm={"interrupts": "direct"},
                         exits=by_the_log)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    check_no_interrupt_exits(run, "vm0", 1)
    assert run.has_line("vm0: interrupts: direct") and run.facts["lines"].split() == ["20000"]
    driver, *states = run.facts["idle"].split()
    assert driver == "intel_idle", run.facts["idle"]
    assert sum(int(state.split("=")[1]) for state in states if state[0] == "C") > 3, run.facts["idle"]
    assert "mwait" not in counts_of(run, "vm0", 1)[0]
    assert not [line for line in run.dmesg if "unchecked MSR" in line], run.dmesg


def reasons_by_the_log(interrupts):
    """A tiny guest with a timer of 250 Hz for a tenth of a second (the log has a line for each RDTSC, too): the interrupts that it
    took, and its exits by telemetry and by Bochs' log, which has the number of each one's reason."""
    name = "direct-log-" + interrupts
    config = guest_vm(tiny.Guest("noise", "bochs"), "noise", None, interrupts == "direct", on_end="poweroff_node",
                      cpus=1, cmdline="machine=bochs cpus=1 span=%d second=%d" % (BOCHS_MHZ * 100000, BOCHS_MHZ * 1000000))
    run = tiny.run(name, "bochs", None, 1, {"a.conf": config}, extra=["debug: action=ignore, cpu0=report"])
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    taken = int(re.search(r"^noise: hz=250 .* interrupts=(\d+)$", run.text, re.MULTILINE)[1])
    with open(node.LOGS + "/%s-bochs.log.bochs.log" % name, encoding="ascii", errors="replace") as f:
        reasons = collections.Counter(int(found[1]) for line in f if (found := re.search(r"VMEXIT reason = (\d+) \(", line)))
    return taken, counts_of(run, "noise", 1)[0], reasons


@pytest.mark.slow
def test_no_interrupt_exit_by_the_log():
    """Bochs' log has no exit for an interrupt or its window, where it has them of the same guest without its own local APIC."""
    taken, counts, reasons = reasons_by_the_log("emulated")
    assert taken >= 24 and reasons[EXIT_EXTINT] >= taken and reasons[EXIT_EXTINT] >= counts["extint"] > 0, reasons
    taken, counts, reasons = reasons_by_the_log("direct")
    assert taken >= 24 and reasons[EXIT_EXTINT] == reasons[EXIT_INTERRUPT_WINDOW] == 0, reasons
    assert reasons[EXIT_CPUID] >= counts["cpuid"] > 0, (reasons, counts)


@pytest.mark.slow
@pytest.mark.full
def test_timer_rate():
    """Linux without a TSC deadline finds the rate of its CPU's APIC timer by the TSC, to 100 ppm. Bochs' counts its `ips`; QEMU's
    runs by the build host's time, which the reading of it costs, too."""
    run = node.run_guest("direct-rate", "bochs", "margay.test=smp apic=verbose lapic=notscdeadline", vm={"interrupts": "direct"})
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("vm0: interrupts: direct")
    check_no_interrupt_exits(run, "vm0", 1)
    mhz = [float(found) for line in run.dmesg for found in re.findall(r"host bus clock speed is (\d+\.\d+) MHz", line)]
    assert len(mhz) == 1 and abs(mhz[0] - BOCHS_MHZ) <= BOCHS_MHZ * 1e-4, mhz


@pytest.mark.full
def test_disk():
    """A real device's interrupts, by MSI-X, are none of them an exit."""
    image = passthrough.make_disk("direct")
    before = passthrough.sha256(image)
    done = passthrough.run(
        "direct-disk", ["-drive", "if=none,id=data,format=raw,file=" + image, "-device", "nvme,drive=data,serial=margay,addr=6"],
        {"pci": "00:06.0", "cpus": "2", "interrupts": "direct"}, "margay.test=pci margay.drivers=nvme margay.disk=nvme0n1")
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(image, 4 << 20) == done.facts["wrote"].split()[0] == done.facts["read"].split()[0]
    assert sum(passthrough.interrupts(done, "nvme0q")) > 10, done.lines("^margay-interrupt: ")
    assert done.has_line(DIRECT % 0) and not re.search("unexpected interrupt", done.text)
    check_no_interrupt_exits(done, "vm0", 2)


@pytest.mark.parametrize("machine, restarts", [
    ("qemu", 20), pytest.param("bochs", 20, marks=pytest.mark.slow), pytest.param("qemu", 1000, marks=pytest.mark.full),
    pytest.param("bochs", 1000, marks=[pytest.mark.full, pytest.mark.slow])])
def test_restarts(machine, restarts):
    """A guest that resets with all that it can leave pending, on two CPUs: each time it finds nothing of it, nor do those beside
    it, with its own APIC and (where there is a core more) with the monitor's."""
    again, witness = (tiny.Guest(name, machine) for name in ("direct", "witness"))
    # 1,000 times a second, by QEMU's clock, by Bochs' a little more, and by the monitor's.
    ticks = {period: "%s period=%d" % (witness.cmdline(), period) for period in (1000000, 20000, 1000)}
    # The first has the foreground, where others' lines may cut its own. Tiny guests' CPUs have the APIC IDs 0 and 1.
    vms = {"1.conf": guest_vm(witness, "b", cpus="2-2", cmdline=ticks[1000000 if machine == "qemu" else 20000]),
           "2.conf": guest_vm(again, "a", cpus="0-1", cmdline=again.cmdline() + " again=1", on_end="restart",
                              restart_limit="%d in 24h" % restarts)}
    if machine == "qemu":
        vms["3.conf"] = guest_vm(witness, "c", None, False, cpus="3-3", cmdline=ticks[1000])
    iso = node.margay_iso("direct-restarts-%d-%s" % (restarts, machine), vms, {n: tiny.elf(n) for n in ("direct", "witness")})
    with node.start("direct-restarts-%d" % restarts, machine, iso, cpus=4, memory="256M", timeout=300 + 4 * restarts) as running:
        running.expect("^a: restart_limit = %d in 86400s is reached: it stays down" % restarts)
        after = []
        for name in ("", r"\[c\] ")[:len(vms) - 1]:
            after += [running.expect(r"^%switness: ticks=(\d+) foreign=(\d+)\r" % name) for _ in range(2)]
        console = Console(running)
        console.call()
        outcome = console.end()
    text = running.text
    assert outcome.status == margay_run.OK, outcome.text
    assert not re.search("unexpected interrupt|failed: ", text), text[-6000:]
    assert len(re.findall(r"^\[a\] tiny: direct: ok checks=\d+\r?$", text, re.MULTILINE)) == restarts + 1
    assert len(re.findall(r"^a: end=reset-kbd\r?$", text, re.MULTILINE)) == restarts + 1
    assert all(int(found[1]) > 0 and found[2] == "0" for found in after), text[-6000:]
    assert "a: interrupts: direct" in text and "b: interrupts: direct" in text and "c: interrupts: direct" not in text


def test_refused():
    """Each reason, with file and line; what is not refused starts."""
    wrong = {
        "flat": ("topology = flat\n", "topology = flat"), "freeze": ("clock = freeze\n", "clock = freeze"),
        "shared": ("allow_smt_sharing = yes\n", "allow_smt_sharing"), "word": (None, "expected auto, direct or emulated"),
    }
    base = "kernel = behave\nmemory = 32M\ndebug_exit = yes\ncmdline = machine=qemu mode=once\n"
    vms = {name + ".conf": "name = %s\n%sinterrupts = %s\n%s" % (name, base, "direct" if more else "never", more or "")
           for name, (more, _) in wrong.items()}
    vms["good.conf"] = "name = good\n%sinterrupts = auto\non_end = poweroff_node\n" % base
    iso = node.margay_iso("direct-refused", vms, {"behave": tiny.elf("behave")}, check=False)
    with node.start("direct-refused", "qemu", iso, cpus=1, memory="256M") as running:
        run = node.Run(running, running.wait())
    for name, (_, reason) in wrong.items():
        assert run.lines(r"^\w+: %s\.conf:6: interrupts.*%s" % (name, reason)), run.text[-3000:]
    assert run.has_line("margay: node: end=poweroff vms=5 failed=4") and not run.lines("interrupts: direct")
    assert run.has_line("good: interrupts: emulated: a multiboot kernel gets its local APIC in xAPIC mode")


def test_no_x2apic():
    text = "name = a\nkernel = behave\nmemory = 32M\ninterrupts = direct\n"
    good = vm("b", "once", on_end="poweroff_node", topology="node", allow_smt_sharing="no")
    iso = node.margay_iso("direct-no-x2apic", {"a.conf": text, "b.conf": good}, {"behave": tiny.elf("behave")})
    with node.start("direct-no-x2apic", "qemu", iso, cpus=1, memory="256M", extra=["-cpu", "max,-x2apic"]) as running:
        run = node.Run(running, running.wait())
    assert run.has_line("a: a.conf:4: interrupts = direct: the CPUs have no x2APIC mode: use emulated")
    assert run.has_line("b: interrupts: emulated: the CPUs have no x2APIC mode")
    assert run.has_line("margay: node: end=poweroff vms=2 failed=1")


def test_x2apic_off():
    """As a firmware may want it, and no emulator's does: no CPU is put into x2APIC mode; a VM that must have it is refused."""
    text = "name = a\nkernel = behave\nmemory = 32M\ninterrupts = direct\n"
    good = vm("b", "once", on_end="poweroff_node", topology="node", allow_smt_sharing="no")
    iso = node.margay_iso("direct-x2apic-off", {"a.conf": text, "b.conf": good}, {"behave": tiny.elf("behave")}, "x2apic=off")
    with node.start("direct-x2apic-off", "qemu", iso, cpus=1, memory="256M") as running:
        run = node.Run(running, running.wait())
    assert run.has_line("margay: x2APIC mode stays off, and interrupts = direct with it: x2apic=off")
    why = "x2APIC mode is off, as the firmware wishes it, or by x2apic=off"
    assert run.has_line("a: a.conf:4: interrupts = direct: %s: use emulated" % why)
    assert run.has_line("b: interrupts: emulated: " + why)
    assert run.has_line("margay: node: end=poweroff vms=2 failed=1")


def test_operator():
    """A guest that hangs with interrupts off, one that ticks, one that sleeps: paused, looked at, stopped, started again, by NMIs
    alone; the node's only other CPU has a VM with the monitor's APIC."""
    vms = {"a.conf": vm("a", "hang", **CONSOLE_VM), "b.conf": vm("b", "tick", cmdline="machine=qemu mode=tick period=20000000",
                                                                 **CONSOLE_VM), "c.conf": vm("c", "tick")}
    with start("direct-operator", "qemu", vms, 3) as running:
        whole_lines(running)
        console = Console(running)
        # Its first words were perhaps cut by others'. It says them once, perhaps before the command's answer has ended.
        running.send("vm restart a\r")
        running.expect(r"^\[a\] behave: hangs at .* in ")
        for name in "ab":
            assert console.answer("vm pause " + name) == [name + ": paused"]
            assert console.state(name) == "paused"
            paused = console.exits(name)
            assert console.exits(name) == paused, "a paused guest runs"
            assert console.answer("vm resume " + name) == [name + ": running"]
        assert re.search(r"^runs, CPU 0, rip ", "\n".join(console.answer("regs a", until="^exit -1:")), re.MULTILINE)
        running.expect(r"^\[b\] behave: ticks=\d+")
        for name in "ab":
            assert not {"extint", "hlt"} & console.exits(name).keys()
        for _ in range(5):
            for name in "ab":
                assert console.answer("vm stop " + name) == [name + ": stops"]
                console.settle(name)
                assert console.state(name) == "stopped"
                console.answer("vm start " + name)
        # How long a VM is up is not what its TSC says, which is the CPU's.
        while up(console, "c") < 3:
            pass
        console.answer("vm restart a")
        console.settle("a")
        assert up(console, "a") < up(console, "c")
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert not re.search("unexpected interrupt", running.text)


# Of tests/guest/behave.c from the check of what is waited for to the instruction behind MWAIT, at most.
LOOP_BYTES = 64


@pytest.mark.slow
def test_mwait():
    """Guests that sleep in MWAIT, the one till its timer's next interrupt, the other till nothing but a kick: no exit all the
    while; paused, looked at, counted, stopped, started again. Bochs alone has an MWAIT that sleeps."""
    line = "machine=bochs mode=mwait period=%d"
    keys = dict(CONSOLE_VM, machine="bochs")
    vms = {"a.conf": vm("a", "mwait", cpus="0-0", cmdline=line % 0, **keys),
           "b.conf": vm("b", "mwait", cpus="2-2", cmdline=line % 100000, **keys)}
    with start("direct-mwait", "bochs", vms, 3) as running:
        # They are one program; the lines of the two may cut each other.
        asleep = int(running.expect(r"^\[b\] behave: sleeps at ([0-9a-f]+)")[1], 16)
        running.expect(r"^\[b\] behave: ticks=\d+")
        console = Console(running)
        console.call()
        before = console.exits("a")
        running.expect(r"^\[b\] behave: ticks=\d+")
        # Looking is a kick, and nothing else is an exit.
        after = console.exits("a")
        assert {reason for reason in after if after[reason] != before.get(reason, 0)} <= {"nmi"}, (before, after)
        for name in "ab":
            assert console.answer("vm pause " + name) == [name + ": paused"]
            paused = console.exits(name)
            assert console.exits(name) == paused, "a paused guest runs"
            assert console.answer("vm resume " + name) == [name + ": running"]
            assert not {"extint", "hlt", "mwait"} & paused.keys(), paused
        regs = "\n".join(console.answer("regs a", until="^exit -1:"))
        rip = re.search(r"^runs, CPU 0, rip ([0-9a-f]+)", regs, re.MULTILINE)
        # Or on its way back there: MWAIT may end for no reason that software knows (SDM vol. 2, MWAIT).
        assert asleep - LOOP_BYTES < int(rip[1], 16) <= asleep
        for name in "ab":
            assert console.answer("vm stop " + name) == [name + ": stops"]
            console.settle(name)
            assert console.state(name) == "stopped"
            console.answer("vm start " + name)
        running.expect(r"^\[b\] behave: ticks=\d+")
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert not re.search("unexpected interrupt|tiny: failed", running.text)


def test_emulated_ones_beside():
    """VMs with the monitor's APIC are paused, restarted, stopped and crash; beside them those that own their CPUs' APICs compute:
    one that hangs makes no exit at all, one goes on ticking."""
    ticks = {"cmdline": "machine=qemu mode=tick period=20000000"}
    vms = {"a.conf": vm("a", "hang", **CONSOLE_VM), "b.conf": vm("b", "tick", **ticks, **CONSOLE_VM), "c.conf": vm("c", "tick"),
           "d.conf": vm("d", "part", interrupts="emulated")}
    crash = {"e.conf": vm("e", "crash", on_end="restart", restart_limit="5 in 24h")}
    with start("direct-beside", "qemu", vms | crash, 5) as running:
        running.expect("^e: restart_limit = 5 in 86400s is reached: it stays down")
        console = Console(running)
        console.call()
        # CPU 0 has the console's NMIs.
        hangs = console.exits("a") | {"nmi": 0}
        for command, state in (("pause", "paused"), ("resume", "running"), ("restart", "running"), ("stop", "stopped"),
                               ("start", "running")):
            console.answer("vm %s c" % command)
            console.settle("c")
            assert console.state("c") == state
            running.expect(r"^\[b\] behave: ticks=\d+")
        running.send("vm start e\r")
        running.expect("^e: restart_limit = 5 in 86400s is reached: it stays down")
        running.expect(r"^\[b\] behave: ticks=\d+")
        running.expect(r"^\[c\] behave: ticks=\d+")
        assert console.exits("a") | {"nmi": 0} == hangs and not {"extint", "hlt"} & console.exits("b").keys()
        check_redrawn(running, console)
        assert console.exits("a") | {"nmi": 0} == hangs
        console.end()
    assert len(re.findall("^e: end=triple-fault", running.text, re.MULTILINE)) == 12
    assert not re.search("unexpected interrupt", running.text)


def check_redrawn(running, console):
    """The line that is being typed comes again two seconds after others' have cut it, though CPU 0, whose the line is, has neither
    an exit then nor a timer of the hypervisor's."""
    for name in "bc":
        assert console.answer("vm pause " + name) == [name + ": paused"]
    assert "runs, CPU 0," in "\n".join(console.answer("regs a", until="^exit -1:"))
    running.send("vm restart d\r")
    running.send("stat")
    running.expect(r"^d: own memory: ")
    running.expect("^" + PROMPT + "stat", prompt=True)
    running.send("\x03")


def check_bites(machine):
    """One VM with all CPUs, one without the boot CPU, one on that alone; beside them one whose timer is its CPU's APIC's. Their
    guests have stopped with interrupts off; nothing but the bite ends them."""
    dog = tiny.Guest("dog", machine)
    base = "kernel = dog\ncmdline = %s\nmemory = 32M\ndebug_exit = yes\n" % dog.cmdline()
    direct = base + "interrupts = direct\n"
    vms = {"a.conf": "name = a\ncpus = 0-1\n" + direct, "b.conf": "name = b\ncpus = 1-1\nafter = a\n" + direct,
           "c.conf": "name = c\ncpus = 0-0\nafter = b\n" + direct, "d.conf": "name = d\ncpus = 2-2\n" + base,
           "e.conf": "name = e\ncpus = 0-1\nafter = c\non_end = poweroff_node\n" + base + "interrupts = emulated\n"}
    run = tiny.run("direct-dog", machine, None, 3, vms)
    assert run.has_line("margay: HPET: timer 0, NMI by input 8")
    assert run.has_line("margay: node: end=poweroff vms=5 failed=5"), run.text[-4000:]
    assert not re.search("unexpected interrupt|tiny: failed|watchdog needs", run.text), run.text[-6000:]
    for name, vcpus in (("a", 2), ("b", 1), ("c", 1), ("d", 1), ("e", 2)):
        assert run.has_line(name + ": its watchdog was not fed for 0.2 s") and run.has_line(name + ": end=watchdog")
        assert bool(run.lines("^%s: interrupts: direct" % name)) == (name in "abc")
        if name in "abc":
            # Of two CPUs the second has never started.
            counts = max(counts_of(run, name, vcpus), key=lambda of_vcpu: of_vcpu["exits"])
            assert not {"extint", "hlt", "irq-window"} & counts.keys() and counts["injected"] == 0, counts
            # Who runs has the console's NMIs, too: one for 16 bytes of the lines that begin it, and that ended the one before.
            assert 1 <= counts["nmi"] < len(run.text) / 16 / 3, counts


def test_watchdog():
    """It bites guests that own all their CPUs' timers, by the HPET."""
    check_bites("qemu")


@pytest.mark.slow
def test_watchdog_on_vt_x():
    """The same."""
    check_bites("bochs")


def test_no_hpet():
    """Who asks for direct on a node without one has no watchdog, and is told; who does not has emulated interrupts."""
    one = vm("a", "once", on_end="poweroff_node", **CONSOLE_VM)
    iso = node.margay_iso("direct-no-hpet", {"a.conf": one}, {"behave": tiny.elf("behave")})
    with node.start("direct-no-hpet", "qemu", iso, cpus=1, memory="256M", extra=["-machine", "hpet=off"]) as running:
        run = node.Run(running, running.wait())
    assert not run.lines("margay: HPET: timer")
    assert run.has_line("a: interrupts: direct")
    assert run.has_line(r"a: its watchdog needs an HPET that interrupts \(watchdog = no\)")
    assert run.has_line("margay: node: end=poweroff vms=1 failed=0")
    run = node.run_guest("direct-no-hpet-auto", "qemu", "margay.test=smp", interrupts="emulated", extra=["-machine", "hpet=off"])
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line(r"vm0: interrupts: emulated: its watchdog needs an HPET that interrupts \(watchdog = no\)")

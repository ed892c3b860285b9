# SPDX-License-Identifier: GPL-2.0-only
"""Every tiny guest of tests/guest on each machine: nodes with the guests of one
vCPU, nodes with the others, each guest a VM that starts when the one before
has ended.

Some three boots for each emulator run them all, two or three more those that can have `interrupts = direct`:
tests/guest/direct-mode has each guest, with the test that runs it so or the reason why none does. A guest that is
missing there fails.

Each guest's mode is checked by the line that says it and by its exits, among which are no interrupt and no HLT then.
So is every Linux guest's that node.finish() waits for: `auto` must have chosen `direct` unless the VM file or the
machine forbids it.

On `bochs-svm` the guests of tests/guest/bochs-svm run apart, and must fail: faults of that emulator's own cost them.

In the full tier: the machines of KVM, and of `bochs-svm` all but two guests; a million kicks to each of two loops, on QEMU by
second-level flushes, 7 minutes, on Bochs by NMIs between the vCPUs, 6 minutes.

mmio and periodic have passed in the full tier on both emulators and go into the fast tier when they have done so more
often.
"""

import itertools
import os
import re

import margay_run
import node
import pytest
import tiny

NODE_CPUS = {"qemu": 4, "bochs": 2, "bochs-svm": 2, "nested-svm": 2, "nested-vtx": 2}

# Of a guest that takes the node with it; the others end in seconds.
LOST_PATIENCE = 180

MODES = {False: "", True: "-direct"}


def runs_here(guest, direct):
    direct_here = guest.direct == "yes" and guest.machine != node.BOCHS_SVM
    return guest.cpus <= NODE_CPUS[guest.machine] and not guest.skipped and not guest.lost and (direct_here or not direct)


def guests_of(machine, several, full, direct=False):
    found = [tiny.Guest(n, machine) for n in tiny.names()]
    return [g for g in found if runs_here(g, direct) and (g.cpus > 1) == several and (full or not g.full)]


def marks_of(machine, several, direct):
    marks = [pytest.mark.xdist_group("tiny-%s-%s%s" % (machine, several, MODES[direct]))]
    return marks + [pytest.mark.full, pytest.mark.slow] * (machine in node.NESTED)


def cases():
    for machine in node.ALL:
        for name, direct in itertools.product(tiny.names(), MODES):
            guest = tiny.Guest(name, machine)
            marks = marks_of(machine, guest.cpus > 1, direct) + [pytest.mark.full] * guest.full
            if runs_here(guest, direct):
                yield pytest.param(guest, direct, marks=marks, id="%s-%s%s" % (name, machine, MODES[direct]))


@pytest.fixture(scope="module")
def runs(request):
    """The runs of a machine and a kind of node, each with its guests, made when first asked for."""
    made = {}

    def runs_of(machine, several, direct):
        key = machine, several, direct
        if key not in made:
            guests = guests_of(machine, several, request.config.getoption("--full"), direct)
            name, cpus = ("several", NODE_CPUS[machine]) if several else ("one", 1)
            shares = [guests[first:first + tiny.MOST] for first in range(0, len(guests), tiny.MOST)]
            made[key] = [(g, tiny.run("tiny-%s%s-%d" % (name, MODES[direct], n), machine, g, cpus, direct=direct))
                         for n, g in enumerate(shares)]
        return made[key]

    return runs_of


@pytest.mark.parametrize("guest, direct", cases())
def test_guest(runs, guest, direct):
    run = next(run for guests, run in runs(guest.machine, guest.cpus > 1, direct) if guest.name in [g.name for g in guests])
    text = tiny.part(guest, run.text)
    assert tiny.judge(guest, text) + tiny.judge_mode(guest, text, direct) == [], text[-4000:] or run.outcome.text


def nodes():
    for machine in node.ALL:
        for several, direct in itertools.product((False, True), MODES):
            if guests_of(machine, several, True, direct):
                marks = marks_of(machine, several, direct) + [pytest.mark.full] * (not guests_of(machine, several, False, direct))
                yield pytest.param(machine, several, direct, marks=marks, id="%s-%s%s" % (machine, several, MODES[direct]))


@pytest.mark.parametrize("machine, several, direct", nodes())
def test_node(runs, machine, several, direct):
    """Each node came to its end, and says rightly how many of its VMs ended well."""
    for guests, run in runs(machine, several, direct):
        failed = sum(1 for g in guests if not g.good)
        assert run.outcome.status == (margay_run.VM_FAILED if failed else margay_run.OK), run.outcome.text
        assert run.has_line("margay: node: end=poweroff vms=%d failed=%d" % (len(guests), failed))
        assert (run.codes is not None) == (direct and machine == "qemu")
        if run.codes is not None:
            node.check_exits(run, machine, run.codes)


def test_direct_table():
    """None is on neither side: each runs with interrupts = direct, here or by the test that is named, or a reason says why not."""
    table = tiny.direct_table()
    assert sorted(table) == tiny.names()
    for name, (how, reason) in table.items():
        if how.startswith("test_"):
            with open(os.path.join(os.path.dirname(__file__), how + ".py"), encoding="utf-8") as f:
                text = f.read()
            assert re.search(r"""["']%s["']""" % name, text) and "direct" in text, (name, how, reason)
        # Who runs on no machine by itself cannot say yes.
        assert how != "yes" or any(not tiny.Guest(name, machine).skipped for machine in node.MACHINES), name


def test_lost_table():
    """Each would run there but for the fault."""
    for name in tiny.lost_table():
        guest = tiny.Guest(name, node.BOCHS_SVM)
        assert guest.cpus <= NODE_CPUS[guest.machine] and not guest.skipped, name
        assert name not in tiny.BOCHS_SVM_FAST and guest.full, name


@pytest.fixture(scope="module")
def lost_runs():
    """What a node with this guest said: one for each that takes its node with it, one for the others of each kind of node, behind
    a guest that leaves its registers full."""
    nodes_of, made = {}, {}
    for name, how in sorted(tiny.lost_table().items()):
        guest = tiny.Guest(name, node.BOCHS_SVM)
        nodes_of.setdefault((guest.cpus, name if how == "node" else "others"), []).append(guest)

    def text_of(guest):
        key = next(key for key, guests in nodes_of.items() if guest.name in [g.name for g in guests])
        if key not in made:
            guests = [tiny.Guest("leak_a_fill", guest.machine), *nodes_of[key]]
            made[key] = tiny.run("tiny-lost-%d-%s" % key, guest.machine, guests, guest.cpus, timeout=LOST_PATIENCE).text
        return made[key]

    return text_of


@pytest.mark.full
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group("lost")) for name in sorted(tiny.lost_table())])
def test_lost_to_bochs_svm(lost_runs, name):
    """Each fails, as the table says. Who passes must leave the table."""
    guest = tiny.Guest(name, node.BOCHS_SVM)
    text = lost_runs(guest)
    assert tiny.how_lost(guest, tiny.part(guest, text)) == guest.lost, text[-4000:]


def alone(name, machine, cpus, cmdline="", **options):
    """One guest with another number of vCPUs, or with more work, on a node of its own."""
    guest = tiny.Guest(name, machine)
    guest.cpus = cpus
    text = guest.vm(last=True).replace("cmdline = ", "cmdline = %s " % cmdline)
    run = tiny.run("tiny-%s-%d" % (name, cpus), machine, None, cpus, {name + ".conf": text}, **options)
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    assert run.outcome.status == margay_run.OK, run.outcome.text
    return run


@pytest.mark.full
@pytest.mark.parametrize("machine, cpus", [("qemu", 1), ("qemu", 4), ("qemu", 12), ("bochs", 1)])
def test_ipis_of_other_vm_sizes(machine, cpus):
    alone("ipi", machine, cpus)


@pytest.mark.full
@pytest.mark.parametrize("machine", node.MACHINES)
def test_apic_random_for_longer(machine):
    alone("apic_random", machine, 1, "rounds=8000")


@pytest.mark.full
def test_a_vm_of_160_cpus():
    alone("smp", "qemu", 160, timeout=3000)


# What makes a kick cheapest on each. On one thread of QEMU a flush costs a quarter of a millisecond, on two that wait for each
# other, on a busy machine, much more. Bochs would log each NMI.
KICKS = {
    "qemu": ("kicks=1000 flushes=1000000 relax=1", {"one_thread": True}),
    "bochs": ("kicks=1000 nmis=1000000 flushes=1000 x2apic=1", {"extra": ["info: action=ignore"]}),
}


@pytest.mark.full
@pytest.mark.parametrize("machine", node.MACHINES)
def test_a_million_kicks(machine):
    """To each of two loops; counted from three sides: the guest, the hypervisor, and the VM's end, which a lost one would
    keep away."""
    cmdline, options = KICKS[machine]
    run = alone("kicks", machine, 2, cmdline, timeout=7200, **options)
    counts = re.findall(r"^kicks: vcpu1: exits=.* nmi=(\d+) .* kicked=(\d+)", run.text, re.MULTILINE)
    # Most of a CPUID loop's meet it outside of guest mode and leave no count.
    assert len(counts) == 1 and sum(map(int, counts[0])) > 1000000


def test_interrupt_is_delivered_once():
    """A handler of 80 million instructions, in which the emulator's time slices end."""
    alone("once", "qemu", 1, "loops=40000000", extra=["-icount", "shift=0"])


def test_silence_is_an_error():
    """What judge() makes of a guest's lines, without a machine."""
    good, dies, control = (tiny.Guest(n, "qemu") for n in ("boot", "triple", "control"))
    end = "boot: end=exit status=0\n"
    ok = "tiny: boot: ok checks=3\n" + end
    assert tiny.judge(good, ok) == []
    assert tiny.judge(good, "")
    assert tiny.judge(good, end)
    assert tiny.judge(good, "tiny: boot: ok checks=3\n")
    assert tiny.judge(good, ok + end)
    assert tiny.judge(good, ok.replace("status=0", "status=1"))
    assert tiny.judge(good, ok.replace("exit status=0", "triple-fault"))
    assert tiny.judge(good, ok.replace("ok checks=3", "FAILED failed=1 checks=3"))
    assert tiny.judge(good, "tiny: failed: something\n" + ok)
    assert tiny.judge(good, ok.replace("boot", "other"))
    assert tiny.judge(dies, "tiny: triple: ok checks=1\ntriple: end=triple-fault\n") == []
    assert tiny.judge(dies, "triple: end=triple-fault\n")
    assert tiny.judge(control, "tiny: failed: x\ntiny: control: FAILED failed=1 checks=2\ncontrol: end=exit status=1\n") == []
    assert tiny.judge(control, "tiny: control: ok checks=2\ncontrol: end=exit status=1\n")
    assert tiny.how_lost(good, ok) == "passes" and tiny.how_lost(good, ok[:-len(end)]) == "node"
    assert tiny.how_lost(good, ok.replace("status=0", "status=1")) == "checks"
    assert tiny.how_lost(good, ok.replace("exit status=0", "entry-failed")) == "entry-failed"

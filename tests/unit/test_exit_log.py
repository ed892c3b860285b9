# SPDX-License-Identifier: GPL-2.0-only
"""How a run is judged by whose local APICs its VMs had (tests/system: vm_file.py, exit_log.py, node.py), without an emulator."""

import exit_log
import margay_run
import node
import pytest
import vm_file
from boot_image import Image

LINUX = vm_file.vm_text("qemu", "quiet")
SAYS = {
    "direct": "vm0: interrupts: direct\nvm0: vcpu0: exits=9 cpuid=7 io=2 injected=0\n",
    "emulated": "vm0: interrupts: emulated: its watchdog needs an HPET\nvm0: vcpu0: exits=9 extint=5 io=4 injected=5\n",
    "nothing": "vm0: vcpu0: exits=9 extint=5 io=4 injected=5\n",
}
QEMUS_LOG = "vmexit(00000072, 0, 0, 1)!\n" * 9


@pytest.mark.parametrize("line, has", (
    ("", "direct"), ("interrupts = auto", "direct"), ("interrupts = direct", "direct"), ("interrupts = emulated", "asked"),
    ("topology = flat", "emulated"), ("clock = freeze", "emulated"), ("allow_smt_sharing = yes", "emulated"),
    ("counters = yes", "emulated"), ("topology=flat", "emulated"),
    # Not these keys, or not these values.
    ("topology = node", "direct"), ("allow_smt_sharing = no", "direct"), ("# counters = yes", "direct"),
    ("pci = class:0c03, counters = yes", "direct"), ("interrupts = direct\ntopology = flat", "direct"),
))
def test_keys(line, has):
    assert vm_file.interrupts_of(LINUX + line + "\n") == has


@pytest.mark.parametrize("words, has", (("nox2apic", "emulated"), ("quiet nox2apic ro", "emulated"), ("a=nox2apic", "direct"),
                                         ("nopv", "emulated")))
def test_command_line(words, has):
    assert vm_file.interrupts_of(vm_file.vm_text("qemu", words)) == has


def test_several_vms():
    """Of those that do not say it, it depends on more than their files."""
    direct = LINUX + "interrupts = direct\n"
    assert vm_file.interrupts_of_all([direct, direct]) == "direct"
    assert vm_file.interrupts_of_all([direct, LINUX]) is vm_file.interrupts_of_all([]) is None
    assert vm_file.interrupts_of_all([LINUX]) == "direct"


class Judged(node.Node):
    """A run that is over."""

    def __init__(self, said, vms=(LINUX,), elf=None, **options):
        self.said = "margay-test: done\n" + SAYS[said]
        super().__init__(Image("none", vms, elf), **{"machine": "qemu", "log": "log", **options})

    def expect(self, pattern):
        assert "done" in pattern

    def hurry(self, seconds):
        pass

    def wait(self):
        return margay_run.Outcome(margay_run.OK, "")


@pytest.fixture(name="judge")
def fixture_judge(monkeypatch, tmp_path):
    """judge(said, qemus_log, ...): finish() of such a run."""

    def started(self, path, machine, log, extra):
        self.machine, self.text, self.extra = machine, self.said, extra
        self.process = type("Process", (), {"returncode": 0})

    monkeypatch.setattr(margay_run.Node, "__init__", started)

    def judge(said, log=QEMUS_LOG, **options):
        one = Judged(said, log=str(tmp_path / "log"), **options)
        if one.exits:
            with open(one.exits, "w", encoding="ascii") as f:
                f.write(log)
        node.finish(one)
        return one

    return judge


EMULATED, FLAT = LINUX + "interrupts = emulated\n", LINUX + "topology = flat\n"


@pytest.mark.parametrize("said, options", (
    ("direct", {}), ("direct", {"interrupts": "direct"}), ("direct", {"exits": True}), ("direct", {"elf": "other"}),
    ("emulated", {"interrupts": "emulated"}), ("emulated", {"vms": [FLAT]}), ("nothing", {"vms": [EMULATED]}),
    ("nothing", {"elf": "cannot"}), ("emulated", {"vms": [LINUX, LINUX]}), ("emulated", {"machine": "nested-svm"}),
    ("emulated", {"machine": "bochs-svm"}), ("nothing", {"machine": "nested-svm", "vms": [EMULATED]}),
))
def test_right(judge, said, options):
    judge(said, **options)


@pytest.mark.parametrize("said, options", (
    # A guest that may be direct is not; or the test is wrong.
    ("emulated", {}), ("nothing", {}), ("nothing", {"interrupts": "direct", "elf": "cannot"}),
    ("emulated", {"interrupts": "direct"}), ("emulated", {"elf": "other"}), ("direct", {"interrupts": "emulated"}),
    ("nothing", {"interrupts": "emulated"}), ("direct", {"vms": [FLAT]}), ("direct", {"vms": [EMULATED]}),
    ("emulated", {"vms": [EMULATED]}), ("emulated", {"vms": [LINUX + "interrupts = direct\n"] * 2}),
    ("direct", {"machine": "nested-svm"}), ("direct", {"machine": "bochs-svm"}),
))
def test_wrong_mode(judge, said, options):
    with pytest.raises(AssertionError):
        judge(said, **options)


@pytest.mark.parametrize("log", ("", QEMUS_LOG * 2, QEMUS_LOG.replace("72", "60"), QEMUS_LOG.replace("72", "78")))
def test_wrong_log(judge, log):
    """None, another number than by telemetry, an interrupt, a HLT."""
    with pytest.raises(AssertionError):
        judge("direct", log)
    # Who wants it looked at gets that, whatever the VMs say; and nobody looks where the test says so.
    with pytest.raises(AssertionError):
        judge("emulated", log.replace("72", "60"), vms=[LINUX, LINUX], exits=True)
    judge("direct", log, exits=False)


def test_telemetry(judge, monkeypatch):
    monkeypatch.setitem(SAYS, "direct", SAYS["direct"].replace("io=2", "hlt=2"))
    with pytest.raises(AssertionError, match="hlt=2"):
        judge("direct")


def test_started_again(judge, monkeypatch):
    """With interrupts emulated: the numbers are of that."""
    monkeypatch.setitem(SAYS, "direct", SAYS["direct"] + SAYS["emulated"])
    judge("direct", interrupts=None, exits=False)
    with pytest.raises(AssertionError):
        judge("direct", exits=False)


def test_no_telemetry(judge, monkeypatch):
    """An image without it says no number; the log must have some all the same."""
    monkeypatch.setitem(SAYS, "direct", "vm0: interrupts: direct\n")
    judge("direct")
    with pytest.raises(AssertionError):
        judge("direct", "")


def test_who_logs(judge):
    """QEMU in a file beside the log, where all may be direct; Bochs, in its own log, where the test wants it."""
    assert judge("direct").extra[-2:] == ["-D", judge("direct").exits] and judge("direct").exits.endswith("/log.exits")
    assert judge("emulated", interrupts="emulated").exits is judge("direct", machine="bochs").exits is None
    bochs = judge("direct", "VMEXIT reason = 10 (x)\n" * 9, machine="bochs", exits=True)
    assert bochs.exits.endswith("/log.bochs.log") and bochs.extra == exit_log.arguments("bochs", None)
    with pytest.raises(AssertionError):
        judge("direct", "VMEXIT reason = 1 (x)\n" * 9, machine="bochs", exits=True)


@pytest.mark.parametrize("words", (["-trace", "pci_cfg_write,file=x"], ["-d", "int"]))
def test_one_log(judge, words):
    """QEMU has but one: a test that wants it says so."""
    with pytest.raises(AssertionError, match="exits=False"):
        judge("direct", extra=words)
    assert judge("direct", extra=words, exits=False).extra == words
    with pytest.raises(AssertionError, match="keeps no log"):
        judge("direct", machine="nested-svm", exits=True)

# SPDX-License-Identifier: GPL-2.0-only
"""What is the node's doing, and what the emulator's: tools/margay_run.py, tools/qemu_lost.py.

Which bad ends are the emulator's. In the full tier gdb makes QEMU lose an interrupt. What is repeated, and that a
third repeated test fails the run: tests/unit/test_retries.py.
"""

import os
import re
import signal
import subprocess

import margay_run
import node
import pytest
import qemu_lost
import tiers
from monitor_console import start, vm

POLL = 0x10  # CPU_INTERRUPT_POLL of QEMU: its CPU shall look at the local APIC
# Another thread's request to the CPU, once, does nothing.
SWALLOW = ["set confirm off", "set language c", "break cpu_interrupt if $esi == %#x" % POLL, "continue", "return", "detach"]


@pytest.mark.parametrize("native", [False, tiers.full(True)])
def test_emulator_dies(native):
    """A machine that is killed, or ended before its time, is told from a node that fails."""
    iso = node.margay_iso("killed-%s" % native, {"vm0.conf": node.vm_text("qemu", "")},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    for number, kind in (signal.SIGKILL, margay_run.EmulatorDied), (signal.SIGTERM, None):
        with node.start("killed-%s" % native, "qemu", iso, native=native) as running:
            running.expect("Margay", prompt=True)
            # All of it understood, and nothing lost.
            assert [qemu_lost.judge(found) for found in qemu_lost.samples(running.qmp).values()] == [None]
            with pytest.raises(margay_run.NodeError, match="did not come in time"):
                running.expect("never", 1)
            with open(os.path.join(node.BUILD, "logs", "killed-%s-qemu.log.machine" % native), encoding="ascii") as f:
                assert re.search(r"^CPU 0, look 2\n.*^IRR\t", f.read(), re.MULTILINE | re.DOTALL)
            os.kill(running.process.pid, number)
            with pytest.raises(margay_run.NodeError, match=number.name if kind else "exit status 0") as seen:
                running.expect("never")
            assert seen.type is (kind or (margay_run.EmulatorDied if native else margay_run.NodeError))
            if kind:
                with pytest.raises(kind, match=number.name):
                    running.wait()


@pytest.mark.full
def test_lost_interrupt():
    """QEMU is made to lose one, by gdb. A tick that does not come is the test of that."""
    with start("lost", "qemu", {"a.conf": vm("a", "tick")}, 1) as running:
        running.expect("^behave: ticks=50")
        assert qemu_lost.lost_interrupt(running.qmp, running.process.pid) is None
        # It does understand this QEMU: no request, or whichever, and GIF.
        assert qemu_lost.words(running.process.pid, 0)[1] & qemu_lost.HF2_GIF
        gdb = ["gdb", "-q", "-batch", "-p", str(running.process.pid), *(word for c in SWALLOW for word in ("-ex", c))]
        done = subprocess.run(gdb, capture_output=True, text=True, check=False, timeout=100)
        assert "hit Breakpoint 1" in done.stdout, done.stdout + done.stderr
        with pytest.raises(margay_run.EmulatorsFault, match="QEMU has lost an interrupt: CPU 0 "):
            running.expect("^never", 20)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 1000])
def test_times_are_taken_away(size):
    """In whatever pieces the text comes; and nothing else is."""
    said = ("GRUB\r\n\x1b[2J\x1b[1;1H[    0.000] margay: Margay\r\n[    0.000000] Linux\r\n[vm1] [    1.234] x\r\n"
            "[12345.678] vm0: end=poweroff\r\n\r\n"
            "[ 1.5] [  OK  ] Started\r\n  [    1.234] \r\n[    1.2345] y\r\nguest# [    1.234] z\n[    9.876] last\r\n[    1.23")
    lines = margay_run.Lines()
    got = "".join(lines.take(said[at:at + size]) for at in range(0, len(said), size))
    clean = said.replace("[    0.000] m", "m").replace("[12345.678] ", "").replace("[    9.876] ", "")
    assert got == clean[:-len("[    1.23")]
    assert got + lines.take("", last=True) == clean


def test_bad_entries():
    """What Bochs says of one, on VT-x and on SVM; and what it says of guests."""
    bad = margay_run.BOCHS_BAD_ENTRY.search
    for line in ("VMENTER FAIL: VMCS guest invalid CR0", "VMFAIL: VMCS host state", "VMABORT: ", "VMRUN: Guest EFER.SVME = 0",
                 "VMRUN(): NCR3 reserved bits set !", "SVM: VMRUN CR4 is broken !"):
        assert bad("00112233445e[CPU0  ] " + line), line
    for line in ("VMRUN: with CPL!=0 cause #GP(0)", "SVM VMEXIT: I/O port 0x03f8", "VMEXIT reason = 10 (CPUID)"):
        assert not bad("00112233445e[CPU0  ] " + line), line
    assert not bad("00112233445d[CPU0  ] VMRUN: Starting Nested Paging Mode !")


def test_panic_is_no_good_end():
    """What margay-run makes of last lines, without a machine."""
    judge = margay_run.judge
    ok = "margay: node: end=poweroff vms=1 failed=0\r\n"
    assert judge(ok, True, None, None, False).status == margay_run.OK
    assert judge(ok, False, None, None, False).status == margay_run.NOT_OFF
    assert judge(ok, True, None, "VMFAIL", False).status == margay_run.BAD_ENTRY
    assert judge("margay: node: end=panic\r\n", False, None, None, False).status == margay_run.PANIC
    assert judge("margay: node: end=reboot\r\n", True, None, None, False).status == margay_run.OK
    assert judge("margay: node: end=reboot\r\n", False, None, None, False).status == margay_run.NOT_OFF
    assert judge("vm0: end=poweroff\r\n", True, None, None, False).status == margay_run.DIED
    assert judge(ok.replace("end=", "\rend="), True, None, None, False).status == margay_run.DIED
    assert judge("x" + ok, True, None, None, False).status == margay_run.DIED
    assert judge(ok + ok.replace("failed=0", "failed=1"), True, None, None, False).status == margay_run.VM_FAILED
    assert judge("margay: node: end=idle vms=1 failed=0\n", False, None, None, False).status == margay_run.NOT_OFF
    stays = judge("margay: node: end=idle vms=2 failed=0 unstarted=2\r\n", False, None, None, False)
    assert stays == (margay_run.NOT_OFF, "no VM was told to start, and the node stays on for its operator")
    ran = judge("margay: node: end=poweroff vms=3 failed=0 running=1 unstarted=2\r\n", True, None, None, False)
    assert ran == (margay_run.OK, "3 VMs, none failed; 1 still ran; 2 never started")
    failed = judge("margay: node: end=poweroff vms=3 failed=1 running=2\r\n", True, None, None, False)
    assert failed == (margay_run.VM_FAILED, "1 of 3 VMs failed; 2 still ran")

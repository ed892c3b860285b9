# SPDX-License-Identifier: GPL-2.0-only
"""`make run` as a person uses it: margay-run on a terminal, a shell, the leave key."""

import os
import sys
import termios

import margay_run
import monitor_console
import node
import pytest
import tiny
from terminal import Terminal

LEAVE = b"\x1d"


def interactive(machine, iso, log):
    """margay-run --interactive on a terminal of its own."""
    return Terminal([sys.executable, os.path.join(node.TOP, "tools", "margay-run"), "--machine", machine, "--interactive",
                     "--timeout", str(node.TIMEOUT[machine]), "--log", os.path.join(node.LOGS, log), iso])


def run_iso(name, machine):
    """What `make run` boots: configs/vm0.conf."""
    return node.image(
        "%s-%s" % (name, machine), "--vm", os.path.join(node.TOP, "configs", "vm0.conf"),
        "--module", "kernel=" + node.guest_file(node.KERNEL),
        "--module", "initrd=" + node.guest_file("initrd"),
    )


def emulators_of(process):
    """Process ids of what margay-run started."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


@pytest.mark.slow
@pytest.mark.parametrize("machine", [pytest.param("qemu"), pytest.param("bochs", marks=pytest.mark.full)])
def test_shell(machine):
    patience = node.TIMEOUT[machine]
    with interactive(machine, run_iso("shell", machine), "shell-%s.log" % machine) as terminal:
        terminal.expect("busybox. poweroff ends the node, reboot starts this VM again.\r", patience)
        terminal.expect("guest# ", patience)
        os.write(terminal.master, b"echo $((6*7)) | tr 42 ab\r")
        terminal.expect(r"\nab\r[^#]*guest# ", patience)
        # Job control: Ctrl-C ends what runs, not the shell. The job itself says so when it has the terminal.
        os.write(terminal.master, b"sh -c 'echo runs-$((6*7)); exec sleep 100000'\r")
        terminal.expect("\nruns-42\r", patience)
        os.write(terminal.master, b"\x03")
        terminal.expect("guest# ", patience)
        os.write(terminal.master, b"poweroff\r")
        assert terminal.wait(patience) == 0, terminal.text[-2000:]
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_idle_node_stays():
    """The operator can go on with it, until he leaves."""
    iso = node.margay_iso("shell-idle", {"a.conf": monitor_console.vm("a", "once")}, {"behave": tiny.elf("behave")}, check=False)
    with interactive("qemu", iso, "shell-idle-qemu.log") as terminal:
        for _ in range(2):
            terminal.expect(r"\n\[ *\d+\.\d{3}\] margay: node: end=idle ", node.TIMEOUT["qemu"])
            assert terminal.wait(2 * margay_run.GRACE_HALT) is None
            os.write(terminal.master, b"\x14vm start a\r")
        os.write(terminal.master, LEAVE)
        assert terminal.wait(120) == 9, terminal.text[-2000:]


def test_leave_key_and_signal():
    """Ctrl-] leaves, and SIGTERM ends: with a status, no emulator left, and the terminal as it was."""
    iso = run_iso("leave", "qemu")
    for how in ("key", "signal"):
        with interactive("qemu", iso, "leave-qemu.log") as terminal:
            terminal.expect("margay:|Linux version|GRUB|guest", node.TIMEOUT["qemu"])
            children = emulators_of(terminal.process)
            assert len(children) == 1
            if how == "key":
                os.write(terminal.master, LEAVE)
            else:
                terminal.process.terminate()
            assert terminal.wait(120) == 9, terminal.text[-2000:]
            assert not os.path.exists("/proc/%d" % children[0])
            assert termios.tcgetattr(terminal.slave) == terminal.before

# SPDX-License-Identifier: GPL-2.0-only
"""A BREAK on the node's serial line is one for the guest in the foreground: Debian's kernel takes the key behind it for a SysRq.

QEMU sends the BREAK, which is what a terminal server's does; on Bochs nothing can. That a key alone does nothing is the control.
"""

import margay_run
import node
import pytest
import qemu_lost
from monitor_console import Console


@pytest.mark.slow
def test_sysrq():
    """Key h behind a BREAK has the kernel print its help, once; in front of it the key is a letter."""
    iso = node.margay_iso("break-qemu", {"vm0.conf": node.vm_text("qemu", "", on_end=None)},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")}, check=False)
    with node.start("break", "qemu", iso) as running:
        running.expect("^guest# ", prompt=True)
        running.send("echo 1 >/proc/sys/kernel/sysrq; echo h$((6*7))h\r")
        running.expect("^h42h\r?$")
        assert "sysrq: " not in running.text
        with qemu_lost.Monitor(running.qmp) as monitor:
            monitor.ask("chardev-send-break", id="console")
        running.send("h")
        running.expect(r"sysrq: HELP : loglevel\(0-9\) ")
        running.send("echo it goes on\r")
        running.expect("^it goes on\r?$")
        console = Console(running)
        console.call()
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert running.text.count("sysrq: ") == 1

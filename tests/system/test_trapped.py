# SPDX-License-Identifier: GPL-2.0-only
"""What an exception of the hypervisor's own says, by a defect on purpose (CONFIG_DEBUG_FAULT): one report, wherever it comes.

On SVM where the short way of an exit is gone with the guest's GS base and TR still in the CPU (`svm/lean.c`), and on both when the
stack ends, which only a stack of its own can report. At each instruction of the world switch: test_world_switch.py.
"""

import margay_run
import node
import pytest
import tiny


@pytest.mark.parametrize("deep, what", [(False, r"#UD invalid opcode \(vector 6\)"),
                                        (True, r"#DF double fault \(stack overflow\?\) \(vector 8\)")], ids=["trap", "stack"])
@pytest.mark.parametrize("machine", node.MACHINES)
def test_reported(machine, deep, what):
    vms = {"a.conf": tiny.Guest("trapped", machine).vm(last=True)}
    if deep:
        vms["a.conf"] = vms["a.conf"].replace("cmdline = ", "cmdline = deep=1 ")
    run = tiny.run("trapped-" + ("stack" if deep else "trap"), machine, None, 1, vms, image=node.variant("fault", "DEBUG_FAULT=y"))
    assert run.outcome.status == margay_run.PANIC, run.text[-4000:]
    assert len(run.lines("panic")) == 2 and run.lines("^margay: panic on CPU 0: %s" % what), run.text[-4000:]
    assert run.has_line("margay: node: end=panic") and "the guest goes on" not in run.text
    where = "deeper" if deep else "debug_trap_read"
    assert run.lines(r"^margay:   rip  \w+ %s\+" % where), run.text[-4000:]
    assert deep or bool(run.lines(r"^margay:   from \w+ svm_")) == (machine == "qemu"), run.text[-4000:]

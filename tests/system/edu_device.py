# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's device edu, which does DMA at a word and takes 100 ms for it: VMs that end meanwhile."""

import tiny

BUS_MASTER, NO_INTX = 1 << 2, 1 << 10  # of the command register

EDU = ["-device", "edu,addr=9,dma_mask=0xffffffff"]
# Each instruction is 4 ns: edu's 100 ms are so many in every run, and more than the node takes from one VM to the next.
ICOUNT = ["-icount", "shift=2,sleep=off"]


def kill_under_dma(name, pairs, words="", extra=(), change=("", "")):
    """So often: a VM ends, by itself or by a triple fault, while edu writes to its memory; the next VM has that memory.
    words: more for the one that looks at it; change: what to replace in the VM files, and by what."""
    vms, before = {}, None
    guest = tiny.Guest("dma_flight", "qemu")
    for n in range(pairs):
        for role, more in ("victim", "triple=%d" % (n & 1)), ("checker", words):
            text = guest.vm(before, last=(n, role) == (pairs - 1, "checker")).replace(*change)
            before = "%s%d" % (role, n)
            vms[before + ".conf"] = text.replace("name = dma_flight", "name = " + before).replace(
                "cmdline = ", "cmdline = %s=1 %s " % (role, more))
    run = tiny.run(name, "qemu", None, 1, vms, extra=[*extra, *EDU, *ICOUNT])
    # What was begun in one VM was due in the next.
    assert len(run.lines("^checker: under way at first: 1, after [0-9]+ looks: 0$")) == pairs, run.text[-4000:]
    return run


def check_killed(run, pairs):
    assert run.has_line("margay: node: end=poweroff vms=%d failed=%d" % (2 * pairs, pairs // 2)), run.text[-4000:]
    assert len(run.lines("^tiny: dma_flight: ok ")) == 2 * pairs, run.text[-4000:]

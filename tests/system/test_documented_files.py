# SPDX-License-Identifier: GPL-2.0-only
"""Each VM file of README.md and docs/, in the image that people build: all that it asks for is there, and its guest
begins, or, where that has no console, Margay is about to run it. A GiB of the file is 4 MiB here, at least what Linux takes; what
is in one node on its page is in one node."""

import os
import re

import amdvi
import margay_pages
import node
import pytest
import sriov
import tiny

# Its function is made by what is typed in another guest: test_pages_emulated.py does.
LATER = ("passthrough", "t0.conf")
FILES = {(block.page, block.name): block.text for block in margay_pages.all_blocks()
         if block.kind == "conf" and (block.page, block.name) != LATER}
TOGETHER = [("cluster-in-a-node", "node1.conf", "gate.conf"), ("configuration", "left.conf", "right.conf")]
NODES = TOGETHER + [file for file in FILES if not any(file[0] == names[0] and file[1] in names for names in TOGETHER)]
# What the pages' nodes have beside two NUMA nodes: an NVMe disk, a card behind a port, and one with VFs.
DEVICES = ["-drive", "if=none,id=disk,driver=null-co,size=1M", "-device", "nvme,serial=1,drive=disk,addr=6",
           "-device", "pcie-root-port,id=above,chassis=1,addr=7", "-device", "e1000e,bus=above", *sriov.ROOT.card]


def scaled(text):
    """Its amounts of memory, each as much as this machine has for it."""
    return re.sub(r"\b(\d+)G\b", lambda found: "%dM" % max(4 * int(found[1]), 256), text)


def modules(texts):
    """Whatever they name. Without an initrd a kernel is a tiny guest."""
    found = {}
    for text in texts:
        for key, name in re.findall(r"^(kernel|initrd|disk) *= *(\S+)$", text, re.MULTILINE):
            if key == "disk" and not name.startswith("scratch:"):
                found[name] = __file__
            elif key == "initrd":
                found[name] = node.guest_file("initrd")
            elif key == "kernel":
                found[name] = node.guest_file("vmlinuz") if "initrd" in text else tiny.elf(name)
    return found


def line(name, text):
    """What its guest says first; of a guest that has no console what Margay says last before it runs."""
    vm = dict(re.findall(r"^(\w+) *= *(\S+)$", text, re.MULTILINE)).get("name", os.path.splitext(name)[0])
    if "cmdline" not in text:
        return "%s: own memory: .*" % vm
    return r"(\[%s\] )?(\[ +0\.0+\] Linux version.*|tiny: (?!failed: |\S+: FAILED).*)" % vm


def machine(texts):
    """(CPUs, QEMU's words) for the CPUs that they name."""
    named = [int(last) for text in texts for last in re.findall(r"^cpus *=.*\b(\d+)$", text, re.MULTILINE)]
    cpus = max([4, *(number + 1 for number in named)])
    words = []
    for number, range_ in enumerate(("0-%d" % (cpus // 2 - 1), "%d-%d" % (cpus // 2, cpus - 1))):
        words += ["-object", "memory-backend-ram,id=m%d,size=768M" % number, "-numa", "node,memdev=m%d,cpus=%s" % (number, range_)]
    return cpus, [*words, *DEVICES, *amdvi.UNIT]


@pytest.mark.full
@pytest.mark.parametrize("page, names", [pytest.param(page, names, id="-".join([page, *names])) for page, *names in NODES])
def test_starts(page, names):
    vms = {name: scaled(FILES[page, name]) for name in names}
    label = "documented-%s-%s" % (page, names[0])
    iso = node.margay_iso(label, vms, modules(vms.values()))
    cpus, words = machine(vms.values())
    with node.start(label, "qemu", iso, cpus=cpus, memory="1536M", extra=words, exits=False) as running:
        # In any order.
        running.expect("".join(r"(?=[\s\S]*^%s\r?$)" % line(name, vms[name]) for name in names))

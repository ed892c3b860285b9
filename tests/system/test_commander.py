# SPDX-License-Identifier: GPL-2.0-only
"""A VM commands its node: Debian's kernel with its own virtio_console and the program `margay`, which sends images, makes VMs of
them, starts, watches and ends them."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import cluster  # noqa: F401  (for its path)
import margay_run
import node
import systems
import tiny

RIGHTS = "create, destroy, console, cpus:1-2, memory:512M"
BEHAVE = "name = %s\nkernel = behave\nmemory = 32M\ndebug_exit = yes\ncmdline = machine=qemu mode=%s\n"


def elf():
    return node.variant("commander", "VIRTIO=y", "VIRTIO_NET=y", "COMMANDER=y")


def initrd(name, script, files):
    """Behind initrd-drivers: the client, and what the script needs, in /commander."""
    directory = os.path.join(node.BUILD, "commander")
    os.makedirs(directory, exist_ok=True)
    target = os.path.join(directory, name)
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "bin"))
        os.makedirs(os.path.join(root, "commander"))
        shutil.copy(os.path.join(node.BUILD, "margay"), os.path.join(root, "bin"))
        for file, content in {"script": script, **files}.items():
            path = os.path.join(root, "commander", file)
            if os.path.exists(content):
                shutil.copy(content, path)
            else:
                with open(path, "w", encoding="ascii") as f:
                    f.write(content)
        systems.archive(root, target + ".cpio")
    systems.join(target, node.guest_file("initrd-drivers"), target + ".cpio")
    return target


def start(name, script, files, rights=RIGHTS, cpus=3, others=(), modules=None, memory="1G", **keys):
    text = node.vm_text("qemu", "margay.test=commander", name="service", cpus="0-0", memory="256M", control="yes",
                        control_may=rights, **keys)
    vms = {"service.conf": text, **dict(others)}
    iso = node.margay_iso(name, vms, {"kernel": node.guest_file(node.KERNEL["qemu"]), "initrd": initrd(name, script, files),
                                      **(modules or {})}, elf=elf())
    return node.start(name, "qemu", iso, cpus=cpus, memory=memory)


FIRST = """
run() { echo "margay-test: $1: $(shift; "$@" 2>&1 | tr '\\n' '|')"; }
run info margay info
run put margay image put behave
run images margay image list
run create margay create one.conf
run list margay list
run start margay start one
run wait margay wait one
run show margay --json show one
run console margay console one </dev/null
run destroy margay destroy one
run node margay --json node
run rm margay image rm behave
run log margay log 5
"""


def test_first():
    with start("commander-first", FIRST, {"behave": tiny.elf("behave"), "one.conf": BEHAVE % ("one", "once")}) as running:
        run = node.Run(running, running.wait())
    print(run.text[-6000:])
    assert run.outcome.status == margay_run.OK, run.text[-4000:]

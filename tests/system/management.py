# SPDX-License-Identifier: GPL-2.0-only
"""A management VM: its initrd with the client, the script that it runs there, and what that said."""

import json
import os
import re
import shutil
import struct
import tempfile

import client_json
import cluster  # noqa: F401  (for its path)
import margay_initrd
import margay_pages
import node
import systems

TIMEOUT = {"qemu": 1200, "bochs": 1800}
RIGHTS = "create, destroy, console, cpus:1-2, memory:512M"


def modules_of_the_guest():
    """(the folder of its kernel's modules, that kernel's release): beside them there may be those of backports. The release stands
    in a bzImage's header (Documentation/arch/x86/boot.rst: kernel_version)."""
    with open(node.guest_file("vmlinuz"), "rb") as f:
        image = f.read(1 << 16)
    release = image[struct.unpack_from("<H", image, 0x20e)[0] + 0x200:].split(b" ", 1)[0].decode("ascii")
    return os.path.join(node.BUILD, "guest", "modules-" + release), release


def add_drivers(root, names):
    """Debian's own drivers, and what they need, where modprobe finds them: initrd-drivers has three times as much in it as this."""
    source, release = modules_of_the_guest()
    # Debian 13's kernel has these two built in.
    os.makedirs(os.path.join(root, "lib", "modules", release))
    with tempfile.TemporaryDirectory() as whole:
        modules = os.path.join(whole, "lib", "modules", release)
        shutil.copytree(source, modules)
        margay_initrd.depmod(whole, release)
        for path in margay_initrd.needed_modules(modules, names):
            os.makedirs(os.path.join(root, "lib", "modules", release, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(modules, path), os.path.join(root, "lib", "modules", release, path))
    margay_initrd.depmod(root, release)


def initrd(name, script, files, drivers=()):
    """Behind initrd: the client, drivers, and what the script needs, in /management."""
    directory = os.path.join(node.BUILD, "management")
    os.makedirs(directory, exist_ok=True)
    target = os.path.join(directory, name)
    with tempfile.TemporaryDirectory() as root:
        add_drivers(root, ("virtio_pci", "virtio_console", *drivers))
        os.makedirs(os.path.join(root, "bin"))
        os.makedirs(os.path.join(root, "management"))
        shutil.copy(os.path.join(node.BUILD, "margay"), os.path.join(root, "bin"))
        for file, content in {"script": script, **files}.items():
            path = os.path.join(root, "management", file)
            if os.path.exists(content):
                shutil.copy(content, path)
            else:
                with open(path, "w", encoding="ascii") as f:
                    f.write(content)
        systems.archive(root, target + ".cpio")
    systems.join(target, node.guest_file("initrd"), target + ".cpio")
    return target


def start(name, script, files, rights=RIGHTS, machine="qemu", others=(), modules=None, node_memory="1536M", node_cpus=3, extra=(),
          times=1, elf=None, **keys):
    keys = {"name": "management", "cpus": "0-0", "memory": "512M", "control": "yes", "control_may": rights, **keys}
    text = node.vm_text(machine, "margay.test=management", **keys)
    vms = {"management.conf": text, **dict(others)}
    iso = node.margay_iso(name, vms, {"kernel": node.guest_file(node.KERNEL), "initrd": initrd(name, script, files),
                                      **(modules or {})}, elf=elf)
    return node.start(name, machine, iso, cpus=node_cpus, memory=node_memory, timeout=times * TIMEOUT[machine], extra=list(extra))


# For scripts: what a command says, | for each line's end, in pieces that the node's line does not cut; and its status.
RUN = r"""
run() { what=$1; shift; said=$("$@" 2>&1 </dev/null); status=$?
	echo "$said" | tr '\n' '|' | fold -w 180 | sed "s/^/margay-test: $what: $status: /"; echo; }
port=$(grep -l 'margay.3' /sys/class/virtio-ports/*/name | cut -d/ -f5)
"""


def answers(run, same_version=True):
    return read_answers(run.of("management").text, same_version)


def read_answers(printed, same_version=True):
    """By the names of the script's commands: what was said, and the status. What is JSON is as this version's schema has it."""
    said, status = {}, {}
    for what, code, text in re.findall(r"^margay-test: ([a-z0-9.-]+): (\d+): (.*?)\r?$", printed, re.MULTILINE):
        said[what] = said.get(what, "") + text
        status[what] = int(code)
    said = {what: text.rstrip("|").replace("|", "\n") for what, text in said.items()}
    if same_version:
        for text in said.values():
            client_json.judge_answers(text)
    return said, status


def free(text):
    """Bytes free for guests, by what the client says of the node."""
    return sum(row["free"] for row in json.loads(text)["nodes"])


def own(text):
    """Bytes that the hypervisor holds for itself."""
    return json.loads(text)["hypervisor"]["own"]


def is_back(before, after, size):
    """So much more is free. One piece of 2 MiB may be the hypervisor's own now, for what more VMs take, in chunks of 512 KiB."""
    more = free(after) - free(before)
    return more == size or (more == size - (2 << 20) and own(after) > own(before))


# Types a line into a guest's shell when it shows its prompt for the n-th time.
TYPING = r"""
prompts() { margay console $1 </dev/null | grep -c '^guest# '; }
type_in() { until [ "$(prompts $1)" -ge "$2" ]; do sleep 0.2; done; echo "$3" | margay console $1 >/dev/null; }
"""


def tenant(*modules):
    """A small initrd of a guest with these drivers in its root: the management VM has not room for a large one."""
    target = os.path.join(node.BUILD, "management", "tenant-" + os.path.basename(modules[0]))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory() as root:
        for name in modules:
            shutil.copy(os.path.join(modules_of_the_guest()[0], "kernel/drivers", name), root)
        systems.archive(root, target + ".cpio")
    systems.join(target, node.guest_file("initrd"), target + ".cpio")
    return target


# Sends a message of its own, to who has opened a port as 3.
MESSAGE = r"""
octal() { printf '\\%03o' $1; }
message() { # WHAT FILE: as one write
	size=$(stat -c %s $2)
	size="$(octal $((size % 256)))$(octal $((size / 256)))"
	printf "\\115\\122\\107\\131\\001\\000$(octal $1)\\000\\001\\000\\000\\000$size\\000\\000" >/tmp/message
	cat $2 >>/tmp/message
	dd if=/tmp/message bs=64k >&3 2>/dev/null
}
"""


def of_page(page, kind, name):
    """The blocks of a page that are marked so (tools/margay_pages.py)."""
    return [block.text for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == (page, kind, name)]

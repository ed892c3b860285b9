# SPDX-License-Identifier: GPL-2.0-only
"""What the pages let their reader type on systems that need an emulator or a network: README.md's `make run`, the packages of
docs/first-hour.md, docs/cluster-in-a-node.md from mmdebstrap to an MPI program of four VMs and to its gate, the card of
docs/passthrough.md, docs/images.md with a whole Debian, and the session of docs/operating.md. All is taken from the pages, and
typed as it stands.
"""

import os
import re
import shlex

import iommu
import margay_pages
import monitor_console
import node
import pytest
import sriov
import throwaway
import tree_copy
from terminal import Terminal

pytestmark = [pytest.mark.full, pytest.mark.slow]
PATIENCE = 3600
NETWORK = ["-netdev", "user,id=net0", "-device", "e1000e,netdev=net0,addr=6"]


def text_of(page, place):
    """What a page has typed on one system, its blocks one behind the other."""
    return "".join(block.text for block in margay_pages.all_blocks()
                   if (block.page, block.kind, block.name, block.reason) == (page, "sh", place, None))


def file_of(page, name):
    text, = (block.text for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == (page, "conf", name))
    return text


def typed(running, text, answer=r"^typed 0\r?$"):
    """Types a page's lines, and sees that each command has succeeded; what they have said."""
    begin = len(running.text)
    # A line that goes on: behind a backslash, or in a loop.
    for command in re.split(r"(?<!\\)\n(?! |done)", text.rstrip("\n")):
        running.send(command.split("  # ")[0].rstrip().replace("\n", "\r") + "\r")
        running.send("echo typed $?\r")
        running.expect(answer, timeout=PATIENCE)
    return running.text[begin:].replace("\r", "")


def built(tmp_path, page, *places):
    """A copy of the tree in which a page's files lie, and what is typed there was typed."""
    tree = tree_copy.make(str(tmp_path / "tree"))
    said, status = throwaway.run("\n".join(margay_pages.script(page, *places)), str(tmp_path), tree, tree_copy.environment(),
                                 PATIENCE)
    assert status == 0, said[-4000:]
    return tree


def test_make_run(tmp_path):
    """README's first command, at a terminal; and with two NUMA nodes, all of which the guest has. `poweroff` there ends it."""
    tree = tree_copy.make(str(tmp_path / "tree"))
    line = text_of("README", "terminal").split("#")[0].strip()
    assert line == "make run"
    for more, cpus, nodes in ("", 1, 1), (" CPUS=4 NUMA=2", 4, 2):
        with Terminal(["bash", "-c", line + more], cwd=tree, env=tree_copy.environment()) as terminal:
            terminal.expect("guest# ", PATIENCE)
            os.write(terminal.master, b"echo $(nproc) of $(ls -d /sys/devices/system/node/node* | wc -l)\r")
            terminal.expect(r"\n%d of %d\r" % (cpus, nodes), PATIENCE)
            os.write(terminal.master, b"poweroff\r")
            assert terminal.wait(PATIENCE) == 0, terminal.text[-2000:]


@throwaway.ALLOWED
def test_packages(tmp_path):
    """first-hour.md's first step: the packages of the next ones are there."""
    tree = built(tmp_path, "first-hour", "build")
    names = os.listdir(os.path.join(tree, "build"))
    for package in "margay", "margay-tools":
        assert [name for name in names if re.fullmatch(package + r"_[^_]+_amd64\.deb", name)], names


@throwaway.ALLOWED
def test_images(tmp_path):
    """images.md with a real Debian."""
    links = "mkdir bin; ln -s %s bin/; PATH=$PWD/bin:$PATH" % " ".join(
        shlex.quote(os.path.join(node.TOP, "tools", name)) for name in ("margay-build", "margay-image-store", "margay-mpi-root"))
    text = "\n".join([links, *margay_pages.script("images", "images"), "margay-image-store verify /srv/images"])
    (tmp_path / "work").mkdir()
    said, status = throwaway.run(text, str(tmp_path), str(tmp_path / "work"), dict(os.environ), PATIENCE)
    assert status == 0, said[-4000:]


def test_monitor_session():
    """operating.md's session at the monitor console: each command is one, is not refused, and the node ends by the last."""
    session, = (block.text for block in margay_pages.all_blocks() if block.kind == "monitor")
    commands = re.findall(r"^margay> (.+)$", session, re.MULTILINE)
    assert len(commands) > 10 and commands[-1] == "poweroff now"
    vms = {name + ".conf": monitor_console.vm(name, "tick") for name in ("db0", "db1")}
    with monitor_console.start("pages-monitor", "qemu", vms, 3) as running:
        console = monitor_console.Console(running)
        console.call()
        # As it begins there.
        assert console.answer("vm stop db1") == ["db1: stops"]
        console.settle("db1")
        for command in commands[:-1]:
            if command.startswith("vm console "):
                running.send(command + "\r")
                running.expect("^Console of db0: ")
                console.call()
                continue
            said = console.answer(command, log=command.startswith("log"))
            assert said and not re.search("unknown command|usage:|no VM has|does not run|no command", said[0]), (command, said)
            if command.split()[1:2] in (["start"], ["restart"], ["stop"]):
                console.settle(command.split()[2])
        running.send(commands[-1] + "\r")
        running.expect("^margay: node: end=poweroff ", timeout=PATIENCE)


def log_in(running, name):
    running.expect(name + " login: ", timeout=PATIENCE, prompt=True)
    running.send("root\r")
    running.expect("Password: ", timeout=PATIENCE, prompt=True)
    running.send("secret\r")
    running.expect("root@%s:~# " % name, timeout=PATIENCE, prompt=True)


@throwaway.ALLOWED
def test_cluster(tmp_path):
    """The four VMs of docs/cluster-in-a-node.md, by the ISO that its commands make: an MPI program runs on all of them, what root
    writes is in a layer, and the scratch disk is there. The page's own margay-run is at a terminal."""
    tree = built(tmp_path, "cluster-in-a-node", "images")
    line = text_of("cluster-in-a-node", "emulator").strip()
    assert line.startswith("tools/margay-run ") and line.endswith(" cluster.iso")
    options = dict(re.findall(r"--(machine|cpus|memory) (\S+)", line))
    with node.start("pages-cluster", options["machine"], os.path.join(tree, "cluster.iso"), cpus=int(options["cpus"]),
                    memory=options["memory"], timeout=2 * PATIENCE) as running:
        log_in(running, "node1")
        said = typed(running, text_of("cluster-in-a-node", "node1"))
        assert all(re.search("^node%d$" % n, said, re.MULTILINE) for n in range(1, 5)), said
        said = typed(running, "touch /here /scratch/here\nfindmnt -n -o FSTYPE /\nfindmnt -n -o SOURCE,FSTYPE /scratch\n")
        assert re.search("^overlay$", said, re.MULTILINE) and re.search(r"^/dev/vdb +ext4$", said, re.MULTILINE), said
        outcome = monitor_console.Console(running).end()
    assert node.Run(running, outcome).has_line("margay: node: end=poweroff vms=4 .*")


@throwaway.ALLOWED
def test_gate(tmp_path):
    """Its gate, with a card of QEMU's at another address than the page's: the bridge has the network's own address by DHCP."""
    tree = built(tmp_path, "cluster-in-a-node", "images")
    other = file_of("cluster-in-a-node", "node1.conf").replace("node1", "node2").replace("10.0.9.1", "10.0.9.2")
    vms = {"gate.conf": file_of("cluster-in-a-node", "gate.conf").replace("01:00.0", "00:06.0"), "node2.conf": other}
    modules = {name: os.path.join(tree, "cluster", name) for name in ("kernel", "initrd", "root.squashfs")}
    iso = node.margay_iso("pages-gate", vms, modules)
    with node.start("pages-gate", "qemu", iso, cpus=4, memory="8G", extra=NETWORK, timeout=2 * PATIENCE) as running:
        log_in(running, "gate")
        typed(running, text_of("cluster-in-a-node", "gate"))
        said = typed(running, "ip -4 -o addr show br0\n")
        assert re.search(r" inet 10\.0\.2\.\d+/24 ", said), said
        monitor_console.Console(running).end()


def test_card():
    """passthrough.md's card: its VM switches four VFs on, and sets address and VLAN of each, by the page's lines."""
    keys = "kernel = kernel\ninitrd = initrd\n"
    text = file_of("passthrough", "card.conf")
    assert keys in text
    with sriov.start("pages-card", {"card.conf": text}, iommu.UNIT["caching"], cpus=2, timeout=PATIENCE) as running:
        running.expect("guest# ", timeout=PATIENCE, prompt=True)
        # The page's guest is Debian's, whose ip knows VFs; busybox' does not.
        typed(running, "PATH=/sbin:/usr/sbin:$PATH; alias ip=/bin/ip\n" + text_of("passthrough", "card"))
        said = typed(running, "/bin/ip link show eth0\n")
        assert all(re.search(r"vf %d .*02:00:00:00:09:0%d.* vlan %d," % (n, n, 100 + n), said) for n in range(4)), said
        monitor_console.Console(running).end()

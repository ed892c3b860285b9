# SPDX-License-Identifier: GPL-2.0-only
"""Nodes boot over the network: PXE by SeaBIOS and by OVMF, from what
tools/margay-netboot wrote and an operator's hand added, to a guest that ends.
QEMU's own DHCP and TFTP serve; HTTP is Python's server, whose record of
requests is what says that files came that way.
"""

import functools
import http.server
import os
import subprocess
import sys
import threading

import margay_machines
import margay_run
import node
import pytest

GOOD_END = "margay.test=end margay.end=poweroff"
OWN, OTHER = "52:54:00:aa:bb:01", "52:54:00:aa:bb:02"
NODE_LINES = 'vms="special.conf"\nmodules="kernel initrd"\n'


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def own_file(root, text):
    write(os.path.join(root, "margay", "nodes", OWN.replace(":", "-") + ".cfg"), text)


@pytest.fixture
def root(tmp_path):
    """A boot server's directory: default.conf for every node, and special.conf for who asks for it."""
    vm = str(tmp_path / "default.conf")
    write(vm, node.vm_text("qemu", GOOD_END, name="default"))
    facts = str(tmp_path / "rack.facts")
    write(facts, "tables = 0\nend = 0\n")
    directory = str(tmp_path / "netboot")
    done = subprocess.run(
        [sys.executable, os.path.join(node.TOP, "tools", "margay-netboot"), "--vm", vm, "-o", directory,
         "--module", "kernel=" + node.guest_file("vmlinuz"), "--module", "initrd=" + node.guest_file("initrd"),
         "--module", "facts:rack=" + facts],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    write(os.path.join(directory, "margay", "vms", "special.conf"), node.vm_text("qemu", GOOD_END, name="special"))
    return directory


@pytest.fixture
def web(root):
    """(port, list of paths asked for) of an HTTP server of the directory."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], asked
    server.shutdown()
    server.server_close()


def start(name, root, firmware, mac, file=None, **options):
    boot = margay_machines.Boot(firmware, "net", file, mac)
    return node.start("netboot-%s-%s" % (name, firmware), "qemu", root, boot=boot, **options)


def boots(name, root, firmware, mac, vm, file=None):
    with start(name, root, firmware, mac, file) as running:
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line(".*margay: Margay .*, loaded at 0x[0-9a-f]+ by GRUB .*, firmware " + firmware.upper())
    assert run.has_line(vm + ": end=poweroff")
    assert run.has_line("margay: node: end=poweroff vms=1 failed=0")
    # Nothing went wrong, and nothing is said as if it had, or twice: the firmware's console may be the serial line.
    before = run.text[:run.text.index("margay: Margay ")]
    assert "error" not in before, before
    assert before.count("margay netboot: nodes/") == 1, before
    return run


@pytest.mark.parametrize("firmware", ["bios", pytest.param("uefi", marks=pytest.mark.full)])
def test_own_file_and_http(root, web, firmware):
    port, asked = web
    own_file(root, NODE_LINES.replace("initrd", "initrd facts:rack") + 'files="(http,10.0.2.2:%d)/margay"\n' % port)
    run = boots("http", root, firmware, OWN, "special")
    assert not run.lines("taking nodes/default.cfg")
    # What has a colon in its name is named so in the folder, too.
    assert run.has_line("margay: facts:rack:1: not of this machine: .*")
    files = ("margay.elf", "vms/special.conf", "modules/kernel", "modules/initrd", "modules/facts:rack")
    assert {"/margay/" + f for f in files} <= set(asked)


@pytest.mark.parametrize("firmware", ["uefi", pytest.param("bios", marks=pytest.mark.full)])
def test_default(root, firmware):
    """Another node's file is of no concern."""
    own_file(root, NODE_LINES)
    run = boots("default", root, firmware, OTHER, "default")
    said = "margay netboot: no nodes/%s.cfg: taking nodes/default.cfg" % OTHER.replace(":", "-")
    assert len(run.lines(said)) == 1, run.text[:2000]


@pytest.mark.full
def test_chained_from_ipxe_script(root):
    own_file(root, NODE_LINES)
    boots("ipxe", root, "bios", OWN, "special", "margay/boot.ipxe")


def test_hardware_check(root):
    """Its file, copied for a node, on a server that has no VM file yet."""
    directory = os.path.join(root, "margay")
    os.unlink(os.path.join(directory, "vms", "default.conf"))
    with open(os.path.join(directory, "nodes", "check.cfg"), encoding="ascii") as f:
        own_file(root, f.read())
    with start("check", root, "bios", OWN) as running:
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("check: result: able=yes .*") and run.has_line("# end of the VM file")
    assert run.has_line("margay: node: end=poweroff vms=0 failed=0")


# {name: (text of the node's file, files that are not there, the line expected)}
WRONG = {
    "typo": ('vms = "special.conf"\nmodules="kernel initrd"\n', [], 'nodes/{mac}.cfg: wrong: no vms='),
    "quote": ('vms="special.conf\nmodules="kernel initrd\n', [], "nodes/{mac}.cfg: "),
    "vm": ('vms="absent.conf"\nmodules="kernel initrd"\n', [], "nodes/{mac}.cfg: vms/absent.conf cannot be loaded"),
    "module": ('vms="special.conf"\nmodules="kernel absent"\n', [], "nodes/{mac}.cfg: modules/absent cannot be loaded"),
    "nothing": (None, ["nodes/default.cfg"], "neither nodes/{mac}.cfg nor nodes/default.cfg is there"),
    "image": (NODE_LINES, ["margay.elf"], ".*/margay/margay.elf cannot be loaded"),
    "folder": (NODE_LINES, ["grub.cfg"], "no .*/margay/grub.cfg: the folder margay must be"),
}


@pytest.mark.parametrize("case", [
    pytest.param(case, marks=() if case in ("typo", "folder") else pytest.mark.full) for case in WRONG])
def test_wrong_is_one_clear_line(root, case):
    """And the node does not start with half of what it was to run."""
    text, absent, line = WRONG[case]
    if text:
        own_file(root, text)
    for file in absent:
        os.unlink(os.path.join(root, "margay", file))
    with start("wrong-" + case, root, "bios", OWN, timeout=200) as running:
        # GRUB breaks its lines at 80 columns.
        running.expect(("margay netboot: " + line.format(mac=OWN.replace(":", "-"))).replace(" ", r"\s+"))
        if case != "folder":
            running.expect("margay netboot: node .* stops; it tries again")
        assert "margay: " not in running.text


def test_dnsmasq_takes_the_snippet(root):
    def check(path):
        return subprocess.run(["/usr/sbin/dnsmasq", "--test", "-C", path], capture_output=True, text=True, check=False)

    path = os.path.join(root, "dnsmasq.conf")
    assert check(path).returncode == 0, check(path).stderr
    with open(path, "a", encoding="ascii") as f:
        f.write("dhcp-match=set:x,option:no-such-option,7\n")
    assert check(path).returncode != 0

# SPDX-License-Identifier: GPL-2.0-only
"""How `margay` finds its port (tools/client/port.c), and what it says where there is none: below a /sys of the test's own, in a
mount namespace."""

import json
import os
import subprocess

import pytest
from client_node import CLIENT

NOT_HERE = "this is not the management VM: no port in /sys/class/virtio-ports is margay's"
CONSOLE = "pci:v00001AF4d00001043sv00001AF4sd00001043bc07sc80i00\n"
DISK = "pci:v00001AF4d00001042sv00001AF4sd00001042bc01sc80i00\n"
QEMU = "pci:v00001AF4d00001043sv00001AF4sd00001100bc07sc80i00\n"
FUNCTION, DRIVER, PORTS = "bus/pci/devices/0000:00:0%d.0/modalias", "bus/pci/drivers/virtio-pci/bind", "class/virtio-ports"


def said(tmp_path, files, *words):
    sys = tmp_path / "sys"
    sys.mkdir()
    for name, text in files.items():
        (sys / name).parent.mkdir(parents=True, exist_ok=True)
        (sys / name).mkdir() if text is None else (sys / name).write_text(text, encoding="ascii")
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run([*unshare, "sh", "-c", 'mount --bind "$0" /sys && exec "$@"', str(sys), CLIENT, *words],
                          env={name: value for name, value in os.environ.items() if name != "MARGAY_PORT"},
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("files,why", [
    # No virtual machine; one of Margay's with a disk; one of QEMU's.
    ({}, NOT_HERE),
    ({FUNCTION % 1: DISK, DRIVER: ""}, NOT_HERE),
    ({FUNCTION % 1: QEMU, DRIVER: ""}, NOT_HERE),
    # Linux has the driver, as a module or built in, and the ports are not the node's.
    ({FUNCTION % 1: CONSOLE, DRIVER: "", PORTS: None}, NOT_HERE),
    ({FUNCTION % 1: CONSOLE, DRIVER: "", PORTS + "/vport0p1/name": "org.qemu.guest_agent.0\n"}, NOT_HERE),
    ({FUNCTION % 1: DISK, FUNCTION % 2: CONSOLE, DRIVER: ""}, "virtio_console is not loaded: modprobe virtio_console"),
    ({FUNCTION % 1: CONSOLE}, "virtio_pci is not loaded: modprobe -a virtio_pci virtio_console"),
    # A console without ports is another device.
    ({FUNCTION % 1: CONSOLE, DRIVER: "", PORTS + "/vport0p0/name": "", PORTS + "/vport1p2/name": "margay.2\n"},
     "/dev/vport1p2: No such file or directory")])
def test_no_port(tmp_path, files, why):
    assert said(tmp_path, files, "list") == (3, "", "margay: %s\n" % why)


def test_no_port_as_json(tmp_path):
    status, out, _ = said(tmp_path, {FUNCTION % 1: CONSOLE, DRIVER: ""}, "--json", "list")
    assert status == 3 and json.loads(out)["error"]["message"] == "virtio_console is not loaded: modprobe virtio_console"

# SPDX-License-Identifier: GPL-2.0-only
"""A VM that is told who it is: Debian with cloud-init and the kernel of cloud images (tools/guest-debian), and nothing of it
made for this VM.

Debian 12's cloud-init finds the disk of `meta =` lines: the guest has its host name, its ssh key, a file of its user data,
and systemd a credential; the same Debian without such lines has none of them. `test_cidata.c`: the disk, byte by byte.
"""

import os

import debian_guest
import margay_run
import node
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
CLOUD = os.path.join(node.GUEST, "debian-cloud")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqUhUXhh0QHXUvDNRcVIQ6rC3zmkZBXbhVJVXbHxBVu me@desk"
META = ("local-hostname=web1", "public-keys=" + KEY, "role=front \"end\"", "user-data=#cloud-config",
        # This Debian was made without the data of locales.
        "user-data=locale: C.UTF-8", "user-data=write_files: [{path: /etc/told, content: by user data}]",
        "io.systemd.credential:site.note=hello there")
VM = {"name": "first", "kernel": "kernel", "initrd": "initrd", "cmdline": debian_guest.CMDLINE, "memory": "1G",
      "memory_map": "identity", "pci": "00:06.0", "on_end": "poweroff_node"}


def start(name, meta):
    text = "".join("%s = %s\n" % line for line in VM.items()) + "".join("meta = %s\n" % line for line in meta)
    files = {"kernel": os.path.join(CLOUD, "vmlinuz"), "initrd": os.path.join(CLOUD, "initrd")}
    return node.start(name, "qemu", node.margay_iso(name, {"vm0.conf": text}, files), memory="1536M",
                      extra=debian_guest.disk(CLOUD), timeout=60 * debian_guest.MINUTES)


def finish(console, running):
    console.leave("systemctl poweroff")
    outcome = running.wait()
    assert outcome.status == margay_run.OK, outcome.text


def test_told():
    """By the disk: name, key, user data, what else there is; by the SMBIOS tables: a credential, and the serial number."""
    with start("cloud-told", META) as running:
        console = debian_guest.Console(running, "web1")
        assert console.do("cloud-init status --wait").endswith("status: done")
        assert console.do("cloud-id") == "nocloud"
        assert console.do("hostname") == "web1"
        assert console.do("cat /home/debian/.ssh/authorized_keys").split("\n") == [KEY]
        assert console.do("cat /etc/told; echo") == "by user data"
        assert console.do("cloud-init query ds.meta_data.role") == 'front "end"'
        assert console.do("cloud-init query instance_id") == "first"
        assert console.do("systemd-creds --system cat site.note") == "hello there"
        assert console.do("cat /sys/class/dmi/id/product_serial") == "ds=nocloud;dsmode=net;h=web1;i=first"
        assert console.do("blkid -o value -s TYPE /dev/disk/by-label/cidata") == "vfat"
        assert console.do("lsblk -dno RO /dev/disk/by-label/cidata").strip() == "1"
        finish(console, running)


def test_not_told():
    """The control: without `meta =` lines cloud-init finds nothing, and does nothing."""
    with start("cloud-not-told", ()) as running:
        console = debian_guest.Console(running)
        assert "disabled" in console.do("cloud-init status")
        assert console.do("ls /dev/disk/by-label") == "root"
        assert console.do("test -e /home/debian -o -e /etc/told || echo none") == "none"
        finish(console, running)

# SPDX-License-Identifier: GPL-2.0-only
"""A guest hibernates to a disk that is its own, and goes on from there in a VM that is started anew.

Debian's kernel writes its memory to an NVMe that it has by passthrough and powers off; the VM file starts it again; the new boot
finds the image, and what goes on is the old shell, with what it had in memory.
"""

import margay_run
import monitor_console
import node
import passthrough
import pytest
import remapping

DISK = 1 << 30  # sparse; the image is a part of the guest's memory


@pytest.mark.full
def test_hibernate(tmp_path):
    disk = tmp_path / "disk"
    disk.touch()
    with open(disk, "r+b") as f:
        f.truncate(DISK)
    text = node.vm_text("qemu", "", initrd="initrd", memory="512M", pci="00:06.0", dma="iommu", on_end=None, on_poweroff="restart")
    iso = node.margay_iso("hibernate", {"vm0.conf": text},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")})
    extra = remapping.WIDE + passthrough.DEVICES["nvme"][0] + ["-drive", "if=none,id=data,format=raw,file=%s" % disk]
    with node.start("hibernate", "qemu", iso, memory="1G", extra=extra, timeout=900) as running:
        running.expect("^guest# ", prompt=True)
        running.send("modprobe nvme; until [ -b /dev/nvme0n1 ]; do sleep 1; done; mkswap /dev/nvme0n1 && swapon /dev/nvme0n1\r")
        running.send("echo first >/tmp/which; echo shutdown >/sys/power/disk; echo ready $((6 * 7))\r")
        running.expect(r"^ready 42\r?$")
        # The second half is typed before it sleeps, and done after.
        running.send("echo disk >/sys/power/state; echo back $? $((6 * 7)) $(cat /tmp/which)\r")
        running.expect("^vm0: end=poweroff")
        # The new kernel, which knows nothing of that.
        running.expect("^guest# ", prompt=True)
        running.send("cat /tmp/which; modprobe nvme; until [ -b /dev/nvme0n1 ]; do sleep 1; done; echo anew $((6 * 7))\r")
        running.expect(r"^anew 42\r?$")
        running.send("cat /sys/block/nvme0n1/dev >/sys/power/resume; echo not resumed\r")
        running.expect(r"^back 0 42 first\r?$")
        # It still has its disk.
        running.send("dd if=/dev/nvme0n1 of=/dev/null bs=64k count=64 && echo reads $((6 * 7))\r")
        running.expect(r"^reads 42\r?$")
        console = monitor_console.Console(running)
        console.call()
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert "No such file" in running.text and "\nnot resumed" not in running.text

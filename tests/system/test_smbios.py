# SPDX-License-Identifier: GPL-2.0-only
"""A guest's SMBIOS tables, as Debian's kernel reads them and as the build host's dmidecode does: with the node's maker and serial
numbers and without, over a restart, by BIOS and by UEFI.

SMBIOS tables as Debian's kernel and the build host's dmidecode read them, on a QEMU whose tables have known strings:
two guests, with and without the node's, one of them started twice; UUIDs by Python's `uuid5()`; UEFI; Bochs in the
full tier. `test_guest_smbios.c`: each field, and nodes whose tables are wrong.
"""

import base64
import os
import re
import subprocess
import uuid

import margay_machines
import node
import pytest

NODE = uuid.UUID("4c4c4544-0044-3510-8056-b2c04f4d3532")
# QEMU's words for the node's tables, and where a guest with dmi = node has them.
STRINGS = {
    "type=0,vendor=": ("bios_vendor", "FirmwareMaker"), "type=0,version=": ("bios_version", "F1.2"),
    "type=0,date=": ("bios_date", "01/02/2020"), "type=1,manufacturer=": ("sys_vendor", "NodeMaker"),
    "type=1,product=": ("product_name", "NodeModel"), "type=1,version=": ("product_version", "NodeVersion"),
    "type=1,serial=": ("product_serial", "NODE-SERIAL"), "type=1,sku=": ("product_sku", "NODE-SKU"),
    "type=1,family=": ("product_family", "NodeFamily"), "type=2,manufacturer=": ("board_vendor", "BoardMaker"),
    "type=2,product=": ("board_name", "BoardModel"), "type=2,serial=": ("board_serial", "BOARD-SERIAL"),
    "type=2,asset=": ("board_asset_tag", "BOARD-TAG"), "type=3,manufacturer=": ("chassis_vendor", "ChassisMaker"),
    "type=3,serial=": ("chassis_serial", "CHASSIS-SERIAL"), "type=3,asset=": ("chassis_asset_tag", "CHASSIS-TAG"),
    "type=4,manufacturer=": ("Processor Information", "CpuMaker"), "type=4,version=": ("Processor Information", "CpuModel"),
    "type=4,serial=": (None, "CPU-SERIAL"), "type=17,manufacturer=": ("Memory Device", "DimmMaker"),
    "type=17,part=": ("Memory Device", "DIMM-PART"), "type=17,serial=": (None, "DIMM-SERIAL"),
}


def qemu_tables():
    by_type = {}
    for word, (_, text) in STRINGS.items():
        kind, field = word.split(",")
        by_type.setdefault(kind, []).append(field + text)
    by_type["type=1"].append("uuid=%s" % NODE)
    return [word for kind, fields in by_type.items() for word in ("-smbios", ",".join([kind] + fields))]


class Guest:
    """One start of a guest: its files of /sys/class/dmi/id, what its kernel said, its tables by dmidecode."""

    def __init__(self, said, name, directory):
        self.said = said
        entry, self.table = (base64.b64decode(said[key]) for key in ("smbios_entry_point", "DMI"))
        assert entry[:5] == b"_SM3_" and sum(entry) & 0xFF == 0 and len(entry) == 24
        assert int.from_bytes(entry[12:16], "little") == len(self.table)
        # As dmidecode dumps it: the table is 32 bytes into the file.
        entry = bytearray(entry)
        entry[16:24] = (32).to_bytes(8, "little")
        entry[5] = (entry[5] - sum(entry)) & 0xFF
        path = os.path.join(directory, name)
        with open(path, "wb") as f:
            f.write(bytes(entry).ljust(32, b"\0") + self.table)
        done = subprocess.run(["/usr/sbin/dmidecode", "--from-dump", path], capture_output=True, text=True, check=True)
        assert not done.stderr
        assert not re.search("BAD INDEX|OUT OF SPEC|TRUNCATED|Wrong|broken|Invalid|Unknown Type", done.stdout)
        self.decoded = done.stdout
        # [(heading, {field: value})]
        self.parts = [(part.split("\n")[1], dict(re.findall(r"^\t([^\t:]+): (.*)$", part, re.MULTILINE)))
                      for part in done.stdout.split("\n\n") if part.startswith("Handle ")]

    def all(self, heading):
        return [fields for name, fields in self.parts if name == heading]

    def check_platform(self, cores, threads, memory):
        """cores, threads: by socket; memory: MB by NUMA node."""
        assert [(p["Core Count"], p["Thread Count"], p["Socket Designation"]) for p in self.all("Processor Information")] == [
            (str(c), str(t), "CPU %d" % i) for i, (c, t) in enumerate(zip(cores, threads))]
        assert [(d["Size"], d["Locator"]) for d in self.all("Memory Device")] == [
            ("%d MB" % m, "RAM %d" % i) for i, m in enumerate(memory)]
        (array,) = self.all("Physical Memory Array")
        assert array["Maximum Capacity"] == "%d MB" % sum(memory) and array["Number Of Devices"] == str(len(memory))
        mapped = self.all("Memory Array Mapped Address")
        assert [(m["Starting Address"], m["Ending Address"]) for m in mapped][:2] == [
            ("0x00000000000", "0x0000009FFFF"), ("0x00000100000", "0x%011X" % ((memory[0] << 20) - 1))]
        assert self.all("System Boot Information") == [{"Status": "No errors detected"}]
        assert self.all("End Of Table") == [{}] or self.decoded.rstrip().endswith("End Of Table")
        assert "System is a virtual machine" in self.decoded

    def check_own(self):
        assert (self.said["sys_vendor"], self.said["product_name"], self.said["bios_vendor"]) == ("Margay", "VM", "Margay")
        assert self.said["kernel"].startswith("DMI: Margay VM, BIOS 1")
        for text in (text for _, text in STRINGS.values()):
            assert text.encode() not in self.table
        assert NODE.bytes_le not in self.table

    def check_node(self, fewer=()):
        for where, text in STRINGS.values():
            if where in fewer:
                continue
            if where is None:
                assert text not in self.decoded
            elif where[0].isupper():
                assert all(text in part.values() for part in self.all(where)) and self.all(where)
            else:
                assert self.said[where] == text
        assert NODE.bytes_le not in self.table and self.said["product_uuid"] != str(NODE)


def starts(text, directory):
    """Of each start of a guest, in order."""
    found = []
    for n, part in enumerate(re.findall(r"((?:^margay-dmi: (?!end).*\n)+)margay-dmi: end", text.replace("\r", ""), re.MULTILINE)):
        found.append(Guest(dict(re.findall(r"^margay-dmi: (\w+): (.*)$", part, re.MULTILINE)), "dump%d" % n, str(directory)))
    return found


def run(name, machine, vms, **options):
    iso = node.margay_iso("%s-%s" % (name, machine), vms, {
        "kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    with node.start(name, machine, iso, **options) as running:
        return node.Run(running, running.wait())


def test_two_guests(tmp_path):
    """One with the node's, twice, then one without; a machine of two sockets, by BIOS."""
    vms = {
        "left.conf": node.vm_text("qemu", "margay.test=dmi", name="left", cpus="3", memory="node0:256M, node1:128M", dmi="node",
                                  on_end=None, on_poweroff="restart", restart_limit="1 in 10h"),
        "right.conf": node.vm_text("qemu", "margay.test=dmi", name="right", memory="128M", after="left"),
    }
    done = run("smbios", "qemu", vms, cpus=4, extra=[*qemu_tables(), *margay_machines.numa_arguments("qemu", 2, 4, "1G")])
    assert done.outcome.status == 0, done.outcome.text
    first, again, right = starts(done.text, tmp_path)
    for guest in (first, again):
        guest.check_node()
        guest.check_platform((2, 1), (2, 1), (256, 128))
        # What uuidgen --sha1 makes of the node's and the VM's name: the same at each start, of the node too.
        assert guest.said["product_uuid"] == str(uuid.uuid5(NODE, "left"))
    assert first.table == again.table
    right.check_own()
    right.check_platform((1,), (1,), (128,))
    assert right.said["product_uuid"] == str(uuid.uuid5(NODE, "right"))


@pytest.mark.full
@pytest.mark.parametrize("firmware", ["uefi"])
def test_firmware(firmware, tmp_path):
    """UEFI says elsewhere where the tables are."""
    done = run("smbios-" + firmware, "qemu", {"vm0.conf": node.vm_text("qemu", "margay.test=dmi", dmi="node")},
               extra=qemu_tables(), boot=margay_machines.Boot(firmware))
    assert done.outcome.status == 0, done.outcome.text
    (guest,) = starts(done.text, tmp_path)
    guest.check_node()
    guest.check_platform((1,), (1,), (int(node.GUEST_MEMORY["qemu"][:-1]),))
    assert guest.said["product_uuid"] == str(uuid.uuid5(NODE, "vm0"))


@pytest.mark.full
def test_bochs(tmp_path):
    """On VT-x, with what Bochs' BIOS says of itself."""
    done = run("smbios", "bochs", {"vm0.conf": node.vm_text("bochs", "margay.test=dmi", dmi="node")})
    assert done.outcome.status == 0, done.outcome.text
    (guest,) = starts(done.text, tmp_path)
    guest.check_platform((1,), (1,), (256,))
    assert uuid.UUID(guest.said["product_uuid"]).version == 5

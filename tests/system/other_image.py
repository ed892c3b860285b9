# SPDX-License-Identifier: GPL-2.0-only
"""Images of other versions than this tree's: margay.elf changed in place."""

import os
import re
import subprocess

import node

# Of the boot's path, late enough for a panic to know the time.
PART_OF_THE_BOOT = "modules_init"
UD2 = b"\x0f\x0b"


def other_version(elf, version):
    """A byte of its name is another; the new name."""
    other = version[:-1] + "!"
    data = elf.read_bytes()
    assert version.encode() in data
    elf.write_bytes(data.replace(version.encode(), other.encode()))
    return other


def broken(elf):
    """It panics while it boots."""
    def found(pattern, *command):
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [int(number, 16) for number in re.search(pattern, said, re.MULTILINE).groups()]

    # The package's has no symbols.
    at, = found(r"^([0-9a-f]+) T %s$" % PART_OF_THE_BOOT, "nm", os.path.join(node.BUILD, "margay.elf"))
    offset, start = found(r"^ +LOAD +(\w+) (\w+) .* R E ", "readelf", "-lW", elf)
    with open(elf, "r+b") as f:
        f.seek(offset + at - start)
        f.write(UD2)

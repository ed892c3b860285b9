# SPDX-License-Identifier: GPL-2.0-only
"""What lspci shows of a PCI function on the bare machine and in a guest, and all by what the two may differ.

The reasons are docs/passthrough.md's; a difference that is not here is a defect of one of the three.
"""

import difflib
import re

# What is made the same on both sides: in the words of lspci -vvv, and what is left of it.
WORDS = [
    (r"(\tInterrupt: pin . routed to IRQ )\d+", r"\1N", "each kernel numbers its interrupts itself"),
    (r"(\t\tAddress: )[0-9a-f]+(  Data: )[0-9a-f]+", r"\1A\2D", "a guest's messages stay in the hypervisor, and are its own"),
    (r"\tCapabilities: \[\w+ v\d\] Single Root I/O Virtualization.*(\n\t\t.*)*\n", "", "nobody has assigned virtual functions"),
]

# The same in the bytes of lspci -xxxx: by vendor and device, from where to where.
BYTES = {
    "8086:2922": [(0x84, 0x8e, "address and data of MSI")],
    "8086:10c9": [(0x153, 0x154, "where the next capability is: SR-IOV is left out"), (0x160, 0x1a0, "SR-IOV")],
}


def block(text, tag, function):
    """The lines of one function behind a tag."""
    lines = [line[len(tag) + 2:] for line in text.replace("\r", "").split("\n") if line.startswith(tag + ": ")]
    found = [b for b in re.split(r"\n(?=[0-9a-f]{2}:[0-9a-f]{2}\.\d )", "\n".join(lines)) if b.startswith(function + " ")]
    assert len(found) == 1, "%s of %s: %d times" % (tag, function, len(found))
    return found[0].rstrip() + "\n"


def words(text, function):
    shown = block(text, "margay-lspci", function)
    for pattern, instead, _ in WORDS:
        shown = re.sub(pattern, instead, shown)
    return shown.splitlines()


def registers(text, function):
    """Each byte as "offset: value" but for those that may differ."""
    shown = block(text, "margay-bytes", function)
    values = bytes.fromhex("".join(re.findall(r"^[0-9a-f]+:((?: [0-9a-f]{2})+)$", shown, re.MULTILINE)))
    ids = re.search(r"\[(\w{4}:\w{4})\]", re.sub(r"\[\w{4}\]", "", block(text, "margay-lspci", function)))[1]
    left_out = [offset for start, end, _ in BYTES.get(ids, []) for offset in range(start, end)]
    assert len(values) in (256, 4096), "%s: %d bytes" % (function, len(values))
    return ["%03x: %02x" % pair for pair in enumerate(values) if pair[0] not in left_out]


def compare(native, guest, function):
    """The differences as lines of a diff; empty: there are none but those above."""
    return [line for show in (words, registers)
            for line in difflib.unified_diff(show(native, function), show(guest, function), "native", "guest", lineterm="", n=0)]

# SPDX-License-Identifier: GPL-2.0-only
"""VM files: those of Debian's kernel, and what the keys of one say."""

import os

GUEST_MEMORY = {"qemu": "256M", "bochs": "256M", "bochs-svm": "256M", "nested-svm": "256M", "nested-vtx": "256M"}
# Keys by which interrupts = auto is emulated; vmm/config/config_direct.c has all reasons.
EMULATED_BY = {"topology": "flat", "clock": "freeze", "allow_smt_sharing": "yes", "counters": "yes"}
EMULATED_BY_WORD = {"nox2apic", "nopv"}  # of cmdline; config_linux.c
QUIET = "console=ttyS0 panic=-1 loglevel=%s " % os.environ.get("MARGAY_GUEST_LOGLEVEL", "5")


def vm_text(machine, cmdline, **keys):
    """A VM file of Debian's kernel; keys replace or add lines, None leaves one out. The kernel says what is worth a warning (its
    whole log is in dmesg): each character costs two exits, all of its usual log a sixth of an emulator's time to userspace."""
    lines = {
        "kernel": "kernel", "initrd": "initrd", "cmdline": QUIET + cmdline,
        "memory": GUEST_MEMORY[machine], "on_end": "poweroff_node",
    }
    lines.update(keys)
    return "".join("%s = %s\n" % item for item in lines.items() if item[1] is not None)


def keys_of(text):
    """{key: value}; of a key that may come again the last."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            found[key.strip()] = value.strip()
    return found


def interrupts_of(text):
    """What a VM with this file has where the node has all that direct needs: direct, emulated, or asked: it wants them emulated."""
    keys = keys_of(text)
    wanted = keys.get("interrupts", "auto")
    if wanted != "auto":
        return "asked" if wanted == "emulated" else wanted
    by_key = any(keys.get(key) == value for key, value in EMULATED_BY.items())
    by_word = EMULATED_BY_WORD.intersection(keys.get("cmdline", "").split())
    return "emulated" if by_key or by_word else "direct"


def interrupts_of_all(texts):
    """The same of all VMs of a node: what its one VM has, or direct where each file asks for that; else None, as it depends."""
    if len(texts) == 1:
        return interrupts_of(texts[0])
    return "direct" if texts and all(keys_of(text).get("interrupts") == "direct" for text in texts) else None

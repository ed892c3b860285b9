# SPDX-License-Identifier: GPL-2.0-only
"""What becomes of a nested machine's arguments and kernel, and when its node has ended well, without a machine."""

import importlib.machinery
import importlib.util
import io
import os
import struct
import types

import margay_machines
import margay_nested
import margay_run
import pytest


def test_end():
    """The host's last word, exactly once, is what shows that the node's QEMU ended well."""
    good = "[    5.0] x\r\nnested: QEMU ended with status 0\r\n[   60.2] reboot: Power down\r\n"
    assert margay_nested.host_complaint(good) is None
    assert "QEMU ended with status 1" in margay_nested.host_complaint(good.replace("status 0", "status 1"))
    assert "no /dev/kvm" in margay_nested.host_complaint("nested: no /dev/kvm\r\n")
    assert margay_nested.host_complaint("[    5.0] Kernel panic - not syncing\r\n")
    assert margay_nested.host_complaint("")
    assert margay_nested.host_complaint(good + good)
    assert margay_nested.host_complaint(good.replace("status 0", "status 01"))
    assert margay_nested.host_complaint(good.replace("nested: ", "x nested: "))


def test_emulators_last_words(tmp_path):
    """They are told, however much the host has said: what it says goes on to the end."""
    host = tmp_path / "host.log"
    host.write_text("".join("[    5.0] line %d\n" % n for n in range(5)), encoding="ascii")
    node = object.__new__(margay_run.Node)
    node._stderr, node._closed_by = io.BytesIO(b"qemu: **\nERROR:x.c:1:f: assertion failed\n"), []
    node.bochs_log, node.host_log, node.process = None, str(host), types.SimpleNamespace(poll=lambda: -6)
    assert node._complaint() == ("qemu: **; ERROR:x.c:1:f: assertion failed; [    5.0] line 2; [    5.0] line 3; "
                                 "[    5.0] line 4; SIGABRT")


def test_arguments():
    text = margay_nested.cmdline("/dev/sr0", margay_machines.Boot(), 2, "256M", ["-device", "igb,addr=6"])
    host, node = text.split(" -- ")
    assert "console=ttyS1" in host
    assert " " not in node
    words = node.split("@")
    assert words[0] == "/dev/sr0" and words[-2:] == ["-device", "igb,addr=6"]
    assert words[words.index("-accel") + 1] == "kvm" and words[words.index("-cpu") + 1] == "host"
    assert words[words.index("-smp") + 1] == "2" and words[words.index("-m") + 1] == "256M"
    assert any(word.endswith("file=/dev/sr0") for word in words)


@pytest.mark.parametrize("extra", [["a b"], ["a'b"], ["a@b"], ["a" * 2048]])
def test_what_the_kernels_command_line_cannot_carry(extra):
    with pytest.raises(margay_machines.MachineError):
        margay_nested.cmdline("/dev/sr0", margay_machines.Boot(), 1, "256M", extra)


def test_arguments_of_the_host(tmp_path, monkeypatch):
    """Those of the QEMU below are not the node's."""
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(margay_nested, "KERNEL", {"nested-svm": str(tmp_path / "file")})
    monkeypatch.setattr(margay_nested, "INITRD", str(tmp_path / "file"))
    monkeypatch.setattr(margay_machines, "find", lambda program, package: program)
    words = margay_nested.command("nested-svm", "x.iso", margay_machines.Boot(), 1, "256M", 1, ["-device", "igb"],
                                  str(tmp_path), "", None, False, "tcg", ["-icount", "shift=0"])
    assert words[-2:] == ["-icount", "shift=0"] and "-device@igb" in words[words.index("-append") + 1]
    assert "icount" not in words[words.index("-append") + 1]


def test_drive(tmp_path):
    whole, odd = tmp_path / "whole", tmp_path / "odd"
    whole.write_bytes(bytes(margay_nested.GEOMETRY))
    odd.write_bytes(bytes(512))
    word = "if=none,id=data,format=raw,file=%s"
    assert margay_nested.host_drive(["-device", "x,addr=6"]) == (["-device", "x,addr=6"], None)
    assert margay_nested.host_drive(["-drive", word % whole]) == (["-drive", word % "/dev/sda"], str(whole))
    for bad in ([word % odd], [word % whole, word % whole]):
        with pytest.raises(margay_machines.MachineError):
            margay_nested.host_drive(bad)


@pytest.mark.parametrize("boot", [margay_machines.Boot("uefi"), margay_machines.Boot(medium="usb")])
def test_no_other_media(boot):
    with pytest.raises(margay_machines.MachineError):
        margay_nested.command("nested-svm", "x.iso", boot, 1, "256M", 1, [], "", "", None, False, "tcg")


def nested_host():
    path = os.path.join(margay_machines.TOP, "tools", "nested-host")
    loader = importlib.machinery.SourceFileLoader("nested_host", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("nested_host", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("offset", [0, 0xc43])
def test_kernels_entry(offset):
    """Linux 6.12 is not entered at its first byte: where entry.asm is told to go, the kernel's entry is in the new bzImage."""
    tool = nested_host()
    kernel = bytes(offset) + b"here" + bytes(0x1000)
    vmlinux = struct.pack("<16x2HI3Q", 2, 62, 1, 0x1000000 + offset, 0x40, 0).ljust(0x36, b"\0") + struct.pack("<2H", 0x38, 1)
    vmlinux = vmlinux.ljust(0x40, b"\0") + struct.pack("<2I6Q", 1, 7, 0x78, 0, 0x1000000, len(kernel), 0x3000, 0x1000) + kernel
    made = tool.uncompressed(bytes([0] * tool.SETUP_SECTS + [1]).ljust(0x400, b"\0"), vmlinux, b"entry")
    body = made[0x400:]
    assert body.startswith(b"entry")
    assert body[tool.ENTRY_SIZE + tool.entry_offset(vmlinux):].startswith(b"here")
    assert struct.unpack_from("<Q", made, tool.PREF_ADDRESS)[0] == 0x1000000 - tool.ENTRY_SIZE

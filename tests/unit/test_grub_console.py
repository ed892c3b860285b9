# SPDX-License-Identifier: GPL-2.0-only
"""GRUB's menu on an ISO is where Margay's console will be, and can be used there: margay_boot.grub_menu_console(), and what
`make iso CMDLINE=` and `make netboot CMDLINE=` pass on. By network its port is there, too, before and behind the server's grub.cfg.
"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import margay_boot  # noqa: E402

PLACES = {
    "": "--unit=0 --speed=115200",
    "check": "--unit=0 --speed=115200",
    "console=com1": "--unit=0 --speed=115200",
    "console=com2,57600 check=dump": "--unit=1 --speed=57600",
    "loglevel=debug console=com2": "--unit=1 --speed=115200",
    "console=com2,irq=none": "--unit=1 --speed=115200",
    "console=com2,9600,irq=3": "--unit=1 --speed=9600",
    "console=0x3e8,19200": "--port=0x3e8 --speed=19200",
    # What GRUB does not know, and words that only look so.
    "console=mmio:0xfe030000": "--unit=0 --speed=115200",
    "console=none": "--unit=0 --speed=115200",
    "x2apic=off myconsole=com2": "--unit=0 --speed=115200",
    "console=com23": "--unit=0 --speed=115200",
}


@pytest.mark.parametrize("cmdline", PLACES)
def test_place(cmdline, tmp_path):
    text = margay_boot.grub_menu_console(cmdline)
    assert text.startswith("if serial %s; then\n" % PLACES[cmdline])
    # It listens only where there is a port.
    assert text.index("then\n") < text.index("\tterminal_input console serial\n") < text.index("\nfi\n")
    cfg = tmp_path / "grub.cfg"
    cfg.write_text(text)
    assert subprocess.run(["grub-script-check", str(cfg)], check=False).returncode == 0


@pytest.fixture(name="netboot")
def fixture_netboot():
    loader = importlib.machinery.SourceFileLoader("margay_netboot", os.path.join(TOP, "tools", "margay-netboot"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("margay_netboot", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("cmdline", PLACES)
def test_place_by_network(netboot, cmdline, tmp_path):
    text = netboot.grub_cfg(cmdline)
    assert "\tif serial %s; then terminal_output console serial; fi\n" % PLACES[cmdline] in text and "@" not in text
    cfg = tmp_path / "grub.cfg"
    cfg.write_text(text)
    assert subprocess.run(["grub-script-check", str(cfg)], check=False).returncode == 0
    # UEFI's own console is where its setup says.
    said = "serial %s\nterminal_output console serial\n" % PLACES[cmdline]
    assert netboot.start("i386-pc-pxe", cmdline) == said + netboot.start("x86_64-efi", cmdline)


def planned(target, *words):
    done = subprocess.run(["make", "-n", "--no-print-directory", "B=/nowhere", target, *words], cwd=TOP, capture_output=True,
                          text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("tool, target", [("margay-image", "/nowhere/margay.iso"), ("margay-netboot", "netboot")])
def test_make_passes_it_on(tool, target):
    lines = [line for line in planned(target, "CMDLINE=console=com2 check").replace("\\\n", "").splitlines() if tool in line]
    assert lines and all("--cmdline 'console=com2 check'" in line for line in lines), lines

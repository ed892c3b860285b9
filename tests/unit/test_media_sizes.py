# SPDX-License-Identifier: GPL-2.0-only
"""What margay-image and margay-netboot say of the modules' room: margay_boot.say(), on files that take none here."""

import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import margay_boot  # noqa: E402


def module(folder, name, size):
    with open(folder / name, "wb") as f:
        f.truncate(size)
    return name, str(folder / name)


@pytest.mark.parametrize("tool", ["margay-image", "margay-netboot"])
@pytest.mark.parametrize("more", [0, 1])
def test_sum(tool, more, tmp_path, capsys):
    """All together count; the largest is named. At 300 MiB any firmware has the room that was seen."""
    sizes = {"kernel": 10 << 20, "root.img": 250 << 20, "initrd": (40 << 20) + more}
    modules = [module(tmp_path, name, size) for name, size in sizes.items()]
    margay_boot.say(tool, "node.iso", modules)
    said = capsys.readouterr()
    assert said.out == "%s: node.iso; 3 modules, 314.6 MB\n" % tool
    assert said.err == more * (
        "%s: warning: some firmware has less than 300 MiB for modules, which must lie below 4 GiB; the largest is root.img, "
        "262.1 MB: docs/booting.md, Large images\n" % tool)


def test_none(capsys):
    margay_boot.say("margay-image", "linux.iso", [])
    assert capsys.readouterr() == ("margay-image: linux.iso\n", "")

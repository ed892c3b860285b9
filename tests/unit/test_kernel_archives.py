# SPDX-License-Identifier: GPL-2.0-only
"""What tools/other-kernels does around a fetch, which these tests put something else for: what is kept, and left out."""

import importlib.machinery
import importlib.util
import os

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = "5.10.0-46-amd64"


@pytest.fixture(name="tool")
def fixture_tool():
    loader = importlib.machinery.SourceFileLoader("other_kernels", os.path.join(TOP, "tools", "other-kernels"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("other_kernels", loader))
    loader.exec_module(module)
    return module


def kept(tool, directory, digest=None):
    """As an earlier run has left it."""
    folder = os.path.join(directory, "other-5.10")
    os.mkdir(folder)
    with open(os.path.join(folder, "of"), "w", encoding="ascii") as f:
        f.write("%s %s\n" % (RELEASE, digest or tool.digest(tool.KERNELS["5.10"])))


def left(directory):
    return sorted(os.listdir(directory)), os.listdir(os.path.join(directory, "other-5.10"))


def test_what_is_there_is_kept(tool, tmp_path, monkeypatch):
    kept(tool, tmp_path)
    monkeypatch.setattr(tool, "fetch", lambda *_: pytest.fail("it was fetched again"))
    tool.make("5.10", str(tmp_path))


def test_another_module_is_another_kernel(tool, tmp_path, monkeypatch):
    """By its source, what is in the archive, or where the kernel is from."""
    first = tool.digest(tool.KERNELS["5.10"])
    assert tool.digest(tool.KERNELS["5.15"]) != first
    monkeypatch.setattr(tool.guest_module, "ABI", os.path.join(TOP, "include", "margay", "host.h"))
    assert tool.digest(tool.KERNELS["5.10"]) != first
    monkeypatch.undo()
    assert tool.digest(tool.KERNELS["5.10"]) == first
    monkeypatch.setattr(tool, "DRIVERS", ("ahci",))
    assert tool.digest(tool.KERNELS["5.10"]) != first


def test_archive_out_of_reach(tool, tmp_path, monkeypatch, capsys):
    """The tests have what was there before, and the other kernels are fetched all the same."""
    kept(tool, tmp_path, "old")
    asked = []
    monkeypatch.setattr(tool, "fetch", lambda kernel, _: asked.append(kernel.suite))
    for name in tool.KERNELS:
        tool.make(name, str(tmp_path))
    assert asked == ["bullseye", "jammy", "trixie"]
    assert "newest is left out" in capsys.readouterr().out
    assert left(tmp_path) == (["other-5.10"], ["of"])


def test_module_that_does_not_compile(tool, tmp_path, monkeypatch):
    """It is ours, and no reason to go on."""
    kept(tool, tmp_path, "old")

    def fetch(_, directory):
        made = os.path.join(directory, "margay")
        os.makedirs(os.path.join(made, "source"))
        with open(os.path.join(made, "log"), "w", encoding="ascii") as f:
            f.write("margay-guest.c:1: error")
        return made

    monkeypatch.setattr(tool, "fetch", fetch)
    with pytest.raises(SystemExit, match="(?s)5.10: cannot build the module:.*margay-guest.c:1: error"):
        tool.make("5.10", str(tmp_path))
    assert left(tmp_path) == (["other-5.10"], ["of"])

# SPDX-License-Identifier: GPL-2.0-only
"""`margay-build --test`: what is read of a console, what is run, and that an image which does not come up is none. The tools that
boot one are made up here; test_image_boot.py has the real ones. And what a build says that it took.
"""

import os
import re
import subprocess

import pytest

import image_roots as roots
from margay_images import effort, initrd, trial
from margay_images.errors import ImageError

UP = "up: running, 5.1 s; memory: 1 KiB, 1 used, 1 cached"
GOOD = "[    5.1] margay-image: %s\r\nvm login: [    5.2] margay-image: end: good\r\n" % UP


@pytest.mark.parametrize("text, said, why", [
    (GOOD, [UP, "end: good"], None),
    ("x margay-image: failed unit: a.service\nx margay-image: end: bad: units have failed\nKernel panic - not syncing: x\n",
     ["failed unit: a.service", "end: bad: units have failed"], "units have failed"),
    ("[ 1.0] initrd: there is no disk /dev/vda\r\n", [], "initrd: there is no disk /dev/vda"),
    ("[ 1.0] Kernel panic - not syncing: No working init found.\r\n", [], "Kernel panic - not syncing: No working init found."),
    ("image: image.conf:5: memory: not so much\n", [], "image: image.conf:5: memory: not so much"),
    ("", [], "it has not come up")])
def test_what_a_console_says(text, said, why):
    assert trial.read(text) == (said, why)


def fake_tools(tmp_path, monkeypatch, console, status):
    """margay-image and margay-run, which note their arguments."""
    tools = tmp_path / "tools"
    tools.mkdir()
    note = "import sys; open(%r, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n" % str(tmp_path / "asked")
    copy = "import shutil; shutil.copy(sys.argv[sys.argv.index('--vm') + 1], %r)\n" % str(tmp_path / "vm.conf")
    (tools / "margay-image").write_text(note + copy)
    log = "" if console is None else "open(sys.argv[sys.argv.index('--log') + 1], 'w', newline='').write(%r)\n" % console
    (tools / "margay-run").write_text(note + log + "print('margay-run: how it ended'); sys.exit(%d)\n" % status)
    monkeypatch.setattr(trial, "TOOLS", str(tools))
    monkeypatch.setattr(trial, "HYPERVISORS", (str(tools / "margay-run"),))


class Options:
    hypervisor = None
    patience = 77

    def __init__(self, log):
        self.log = str(log)


VALUE = {"name": "test", "cmdline": "console=ttyS0 quiet", "needs": {"memory_mib": 700},
         "files": {"kernel": {"size": 10 << 20}, "initrd": {"size": 1}, "root.squashfs": {"size": 90 << 20}}}


def test_what_is_run(tmp_path, monkeypatch):
    """The image's three files, with its command line and memory, on a node that has room for them."""
    fake_tools(tmp_path, monkeypatch, GOOD, 0)
    lines = []
    trial.run("image", VALUE, Options(tmp_path / "log"), lines.append)
    assert lines == ["test: " + UP, "test: end: good"]
    made, run = (tmp_path / "asked").read_text().splitlines()
    assert all("--module %s=image/%s" % (file, file) in made for file in VALUE["files"])
    assert "--memory %dM --timeout 77 " % (700 + 2 * 100 + trial.NODE_MIB) in run
    vm = (tmp_path / "vm.conf").read_text()
    assert "memory = 700M\n" in vm and "cmdline = console=ttyS0 quiet margay.self-test " in vm and "disk = root.squashfs\n" in vm


@pytest.mark.parametrize("console, status, why", [
    (GOOD, 1, "how it ended"), ("margay-image: end: bad: x\n", 1, "x"), ("", 4, "it has not come up"), (None, 8, "how it ended"),
    ("margay-image: end: bad: x\n", 0, "x")])
def test_what_is_not_good(tmp_path, monkeypatch, console, status, why):
    fake_tools(tmp_path, monkeypatch, console, status)
    with pytest.raises(ImageError, match="^--test: test: %s [(].*/log has its console[)]$" % why):
        trial.run("image", VALUE, Options(tmp_path / "log"), lambda line: None)


def test_no_hypervisor(tmp_path, monkeypatch):
    """One line, before anything is booted; the same where one is named that is not there."""
    monkeypatch.setattr(trial, "HYPERVISORS", ("/none",))
    for path, named in (None, "/none"), ("/other", "/other"):
        with pytest.raises(ImageError, match="--test: %s: no hypervisor to try it with" % named):
            trial.hypervisor(path)
    tree = roots.make(tmp_path / "tree")
    out, lines = roots.build(tree, tmp_path / "image", "--test", "--hypervisor", "/none", status=1)
    assert len(lines) == 1 and "no hypervisor" in lines[0] and not os.path.exists(tmp_path / "image")
    assert out == [], "it is found before the root is read"


def test_self_test_is_shell(tmp_path):
    """POSIX's, as any root's /bin/sh; and in the initrd."""
    for shell in ["/bin/sh"], ["/bin/busybox", "sh"]:
        subprocess.run([*shell, "-n", initrd.SELF_TEST], check=True)
    with open(initrd.SELF_TEST, "rb") as f:
        assert f.read() in initrd.make([])


def test_what_it_took(tmp_path):
    """The most of all looks; blocks of the disk, and a file with two names once."""
    (tmp_path / "a").write_bytes(os.urandom(1 << 20))
    os.link(tmp_path / "a", tmp_path / "b")
    with open(tmp_path / "holes", "wb") as f:
        f.truncate(1 << 30)
    cost = effort.Effort(str(tmp_path))
    cost.look()
    os.unlink(tmp_path / "a")
    os.unlink(tmp_path / "b")
    cost.look()
    assert 1 << 20 <= cost.most < 1.2 * (1 << 20)
    assert re.fullmatch(r"took \d+\.\d s, and at most 1\.[012] MB of disk", cost.text())


def test_a_build_says_it(tmp_path):
    out, _ = roots.build(roots.make(tmp_path / "tree"), tmp_path / "image")
    assert out[-2].startswith("margay-build: took ") and out[-2].endswith(" MB of disk"), out

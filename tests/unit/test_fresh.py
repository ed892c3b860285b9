# SPDX-License-Identifier: GPL-2.0-only
"""tools/fresh without a new Debian: its options, what it takes of this machine, what it mounts, and what it will not remove."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import fresh_root  # noqa: E402


def load(path):
    loader = importlib.machinery.SourceFileLoader("fresh", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
    loader.exec_module(module)
    return module


fresh = load(os.path.join(TOP, "tools", "fresh"))
MOUNTINFO = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:5 / /dev rw,relatime - devtmpfs devtmpfs rw
90 22 0:5 / %s rw,relatime - devtmpfs devtmpfs rw
"""


def names(args):
    return [step.name for step in fresh.steps(fresh.parse(args))]


def test_what_is_run():
    assert names(["12"]) == ["make run", "make test"]
    assert names(["--short", "13"]) == ["make setup", "collection", "make unit"]
    # Options behind the release are the command's.
    (step,) = fresh.steps(fresh.parse(["--keep", "13", "make", "--short", "-n"]))
    assert step.words == ["make", "--short", "-n"] and not step.typed


@pytest.mark.parametrize("args", ([], ["11"], ["trixie"], ["--short", "12", "make"], ["--offline", "12"], ["--no-such", "12"]))
def test_usage(args, capsys):
    with pytest.raises(SystemExit) as ended:
        fresh.parse(args)
    assert ended.value.code == 2 and "usage: tools/fresh" in capsys.readouterr().err


def test_nothing_of_this_machine_is_mounted():
    script = fresh_root.entering()
    mounts = [line for line in script.splitlines() if line.startswith("mount ")]
    # The root upon itself, then file systems of the kernel's own; no bind of anything else.
    assert mounts[0] == 'mount --bind "$1" "$1"' and not any("bind" in line for line in mounts[1:])
    assert {line.split()[2] for line in mounts[1:]} == {"proc", "tmpfs", "devpts"}
    assert all("newinstance" in line for line in mounts if "devpts" in line)
    # The old root is gone before the command begins.
    assert script.index("pivot_root . .\numount -l .\n") < script.index('exec "$@"')
    words = fresh_root.command("/r", ["make"])
    assert {"--mount", "--pid", "--kill-child", "--uts", "--ipc"} <= set(words) and words[-2:] == ["/r", "make"]
    assert words[:3] == ["setpriv", "--pdeathsig", "KILL"]
    assert words[words.index("--propagation") + 1] == "private" and "--net" not in words
    assert "--net" in fresh_root.command("/r", ["make"], network=False)


def test_environment():
    outer = {"HTTP_PROXY": "http://p:1", "https_proxy": "http://p:2", "MAKEFLAGS": "-j9", "MARGAY_BUILD": "/x", "PYTHONPATH": "/y"}
    inner = fresh_root.environment(outer)
    assert inner["HTTP_PROXY"] == "http://p:1" and inner["https_proxy"] == "http://p:2"
    assert set(inner) - {"HTTP_PROXY", "https_proxy"} == {"PATH", "HOME", "USER", "LANG", "TERM"}


def test_apt_settings():
    dump = """\
Acquire::http::Proxy "http://p:3128";
Acquire::http::Proxy::deb.debian.org "DIRECT";
Acquire::http::Proxy-Auto-Detect "/usr/bin/mine";
Acquire::Check-Date "false";
Acquire::https::Proxy "";
DPkg::Post-Invoke:: "rm -f /mine";
APT::Install-Recommends "0";
"""
    assert fresh_root.apt_settings(dump).splitlines() == dump.splitlines()[:2] + dump.splitlines()[3:4]


@pytest.mark.parametrize("point", ("", "/dev", "/proc/sys/fs", "/a\\040b"))
@pytest.mark.parametrize("name", ("fresh", "a fresh tr\u00e9e", "back\\slash"))
def test_mounted_is_not_removed(name, point, tmp_path):
    root = tmp_path / name / "debian-12"
    root.mkdir(parents=True)
    written = str(root).replace("\\", "\\134").replace(" ", "\\040")
    with pytest.raises(fresh_root.RootError, match="is mounted: unmount it"):
        fresh_root.may_remove(str(root), str(tmp_path / name), MOUNTINFO % (written + point))
    # One whose name only begins like it is none of ours.
    fresh_root.may_remove(str(root), str(tmp_path / name), MOUNTINFO % (written + "-old" + point))
    assert fresh_root.mounted_below("/", MOUNTINFO % "/mnt") == ["/", "/dev", "/mnt"]


def test_elsewhere_is_not_removed(tmp_path):
    below, other = tmp_path / "fresh", tmp_path / "other"
    below.mkdir()
    other.mkdir()
    (other / "file").write_text("kept", encoding="ascii")
    (below / "link").symlink_to(other)
    for root in (other, below, below / "link", below / ".." / "other", below / "link" / "file", below.parent / "fresh-2"):
        with pytest.raises(fresh_root.RootError, match="not removed"):
            fresh_root.may_remove(str(root), str(below), "")
    with pytest.raises(fresh_root.RootError):
        fresh_root.remove(str(below / "link"), str(below))
    assert (other / "file").read_text(encoding="ascii") == "kept"
    (below / "debian-13" / "a").mkdir(parents=True)
    fresh_root.remove(str(below / "debian-13"), str(below))
    fresh_root.remove(str(below / "debian-13"), str(below))
    assert os.listdir(below) == ["link"]


def session(tmp_path, script, wrap=lambda words: words):
    process = subprocess.Popen(wrap(["sh", "-c", script]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return fresh.Session(process, open(tmp_path / "log", "wb"))  # pylint: disable=consider-using-with


def test_typing(tmp_path, capfd):
    typed = session(tmp_path, "printf 'guest# '; read a; echo got $a; printf 'guest# '; read b; [ $b = poweroff ]")
    typed.expect(rb"guest# $", 30)
    typed.type(b"x\n")
    # The prompt of before is no answer.
    typed.expect(rb"guest# $", 30)
    assert typed.text == b"got x\nguest# "
    typed.type(b"poweroff\n")
    typed.finish(30)
    assert (tmp_path / "log").read_bytes() == b"guest# got x\nguest# " == capfd.readouterr().out.encode()


def test_terminal(tmp_path):
    """The command has a terminal, its status is told, and the first process, which gets all orphans, is not `script`."""
    typed = session(tmp_path, "'test -t 0 && test -t 1 && echo ready && read a && exit 7'", fresh.in_terminal)
    typed.expect(rb"ready", 30)
    with open("/proc/%d/comm" % typed.process.pid, encoding="ascii") as f:
        assert f.read() == "sh\n"
    typed.type(b"x\n")
    with pytest.raises(fresh.StepError, match="^status 7$"):
        typed.finish(30)


@pytest.mark.parametrize("script, why", (
    ("echo no", "it ended, status 0, before it said 'guest# "),
    ("exit 3", "it ended, status 3, "),
    ("exec sleep 100", "it takes too long"),
))
def test_no_prompt(tmp_path, script, why):
    ended = session(tmp_path, script)
    begin = time.monotonic()
    with pytest.raises(fresh.StepError, match=re.escape(why)):
        ended.expect(rb"guest# $", 2)
    ended.process.kill()
    ended.process.wait()
    assert time.monotonic() - begin < 60


def test_a_bad_status_is_a_failure(tmp_path):
    with pytest.raises(fresh.StepError, match="^status 2$"):
        session(tmp_path, "echo all fine; exit 2").finish(30)


def test_closing_line():
    good = ("make run", 61.5, 2000, None, "build/fresh/a.log")
    assert fresh.closing("12", "abc", [good]) == "Debian 12 at abc: passed: make run (61 s, 2000 MB)"
    bad = ("make test", 5, 1, "status 2", "build/fresh/b.log")
    assert fresh.closing("13", "abc", [good, bad]) == \
        "Debian 13 at abc: FAILED: make test: status 2 (build/fresh/b.log); passed: make run (61 s, 2000 MB)"


def test_logs():
    assert fresh.log_name("12", 2, "make test") == "debian-12-2-make-test.log"
    assert re.fullmatch(r"debian-12-1-[a-z-]{1,40}\.log", fresh.log_name("12", 1, "sh -c '../../x /y " + "z" * 99))

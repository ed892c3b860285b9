# SPDX-License-Identifier: GPL-2.0-only
"""Completion of `margay` in bash: no name is run as a command, whatever it is, and each comes to the program as it is.

A terminal with bash, whose `margay` writes down its arguments: what TAB completes is sent off.
"""

import os
import pty
import re
import select
import subprocess
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build")), "margay")
COMPLETION = os.path.join(TOP, "packaging", "margay-tools", "margay.bash")
PATIENCE = 60
# Each would make the file "ran" if it, or a part of it, were run, or is more than one word.
NAMES = ("a$(touch ran)", "a`touch ran`", "a;touch ran;", "a&touch ran", "a|touch ran", "a b  c", "a'b", 'a"b', "a\\b", "a\nb",
         "a*", "a$HOME", "a${IFS}b", "a!b", "a>ran", "a<(touch ran)", "a#b", "a~", "a{b,c}", "a=b", "a:b", "a-plain")
FAKE = r"""#!/bin/sh
case "$*" in
--help) cat help ;;
list) printf 'name state created\n'; cat names ;;
"image list") printf 'name used boot\n'; cat names ;;
"net show") printf 'segment vm net\n'; cat names ;;
*) printf '%s\0' "$@" >arguments.new; mv arguments.new arguments ;;
esac
"""


class Terminal:
    """An interactive bash in a folder, with the completion."""

    def __init__(self, folder):
        self.folder = folder
        binary = folder / "bin" / "margay"
        binary.parent.mkdir()
        binary.write_text(FAKE)
        binary.chmod(0o755)
        (folder / "names").write_text("")
        (folder / "help").write_text(subprocess.run([CLIENT, "--help"], capture_output=True, text=True, check=True).stdout)
        # As bash-completion has it: `=` and `:` part no words.
        (folder / "rc").write_text(". %s\nPS1='ready> '\nset +H\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}\n" % COMPLETION)
        master, slave = pty.openpty()
        environment = {"PATH": "%s:%s" % (binary.parent, os.environ["PATH"]), "TERM": "dumb", "HOME": str(folder),
                       "INPUTRC": "/dev/null"}
        self.shell = subprocess.Popen(["bash", "--rcfile", "rc", "-i"], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
                                      env=environment, start_new_session=True)
        os.close(slave)
        self.master, self.text = master, b""
        self.wait(b"ready> ")

    def wait(self, what):
        end = time.monotonic() + PATIENCE
        while what not in self.text:
            assert select.select([self.master], [], [], max(0, end - time.monotonic()))[0], self.text
            self.text += os.read(self.master, 4096)

    def run(self, line):
        """The arguments that `margay` got from a line, in which \\t completes; None: it was not called."""
        self.text = b""
        os.write(self.master, line.encode() + b"\r")
        self.wait(b"ready> ")
        path = self.folder / "arguments"
        if not path.exists():
            return None
        arguments = path.read_bytes().decode().split("\0")[:-1]
        path.unlink()
        return arguments

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    one = Terminal(tmp_path)
    yield one
    one.close()
    assert not (tmp_path / "ran").exists(), "a name was run"


@pytest.mark.parametrize("name", NAMES)
def test_files(terminal, name):
    """`create FILE`, `image put`, `dump VM FILE`, `metrics --output`: as text, with what is behind a blank."""
    (terminal.folder / name).write_text("")
    for before in (["create"], ["image", "put"], ["dump", "vm0"], ["metrics", "--output"], ["--json", "create"]):
        assert terminal.run("margay " + " ".join(before) + " a\t") == before + [name]


@pytest.mark.parametrize("name", [name for name in NAMES if " " not in name and "\n" not in name] + ["a$(touch${IFS}ran)"])
def test_names(terminal, name):
    """Of VMs and images, which another may have named: as text, too, when the line is sent off."""
    for before, state in ((["start"], "poweroff yes"), (["image", "rm"], "no no"), (["dump"], "crashed no"),
                          (["stop"], "paused no"), (["console"], "x x"), (["stats"], "running no"), (["--json", "info-of"], "x x")):
        (terminal.folder / "names").write_text("%s %s\n" % (name, state))
        assert terminal.run("margay " + " ".join(before) + " a\t") == before + [name]


def test_words(terminal):
    (terminal.folder / "names").write_text("vm0 poweroff yes\n")
    assert terminal.run("margay im\tp\tt\t") == ["image", "put"]
    assert terminal.run("margay --j\tstar\tv\t") == ["--json", "start", "vm0"]
    assert terminal.run("margay stop --t\t") == ["stop", "--timeout"]
    assert terminal.run("margay console --r\tv\t") == ["console", "--raw", "vm0"]
    assert terminal.run("margay metrics --o\t") == ["metrics", "--output"]
    assert terminal.run("margay start --w\tv\t") == ["start", "--wait", "vm0"]
    assert terminal.run("margay start v\t--j\t") == ["start", "vm0", "--json"]
    assert terminal.run("margay image put --r\t") == ["image", "put", "--replace"]
    assert terminal.run("margay stats -f\t") == ["stats", "-f"]
    (terminal.folder / "names").write_text("lan0 a 0\nlan0 b 0\n")
    assert terminal.run("margay ne\ts\tl\t") == ["net", "show", "lan0"]
    assert terminal.run("margay net show --j\t") == ["net", "show", "--json"]
    # What is a pattern to the shell is none here.
    assert terminal.run("margay start '*\t'") == ["start", "*"]


# Which commands take a VM in a state: where one is refused it is not offered.
TAKEN = {
    "running": "pause press nmi stats stop kill restart wait show console dump", "paused": "resume press nmi stats stop kill dump",
    "crashed": "dump stop kill restart wait", "poweroff": "start destroy wait restart", "waiting": "start stop kill wait",
    "changing": "stop kill wait",
}


@pytest.mark.parametrize("state", TAKEN)
def test_states(terminal, state):
    (terminal.folder / "names").write_text("vm0 %s yes\n" % state)
    for command in ("start", "destroy", "pause", "resume", "press", "nmi", "stats", "stop", "kill", "dump"):
        offered = command in TAKEN[state].split() or (command, state) == ("destroy", "waiting")
        assert terminal.run("margay %s v\t" % command) == [command, "vm0" if offered else "v"], command


def test_what_is_not_its_own(terminal):
    """A VM of the boot is not destroyed, nor an image that is used or the boot's removed."""
    (terminal.folder / "names").write_text("vm0 poweroff no\n")
    assert terminal.run("margay destroy v\t") == ["destroy", "v"]
    for row, offered in (("yes no", False), ("no yes", False), ("no no", True)):
        (terminal.folder / "names").write_text("image %s\n" % row)
        assert terminal.run("margay image rm i\t") == ["image", "rm", "image" if offered else "i"]


def test_all_options_are_offered(terminal):
    """Each that the program says it takes."""
    for command, options in re.findall(r"^  ([a-z]+(?: [a-z]+)?) +(\[.*?)  ", (terminal.folder / "help").read_text(), re.MULTILINE):
        for option in re.findall(r"\[(--[a-z0-9-]+)", options):
            assert terminal.run("margay %s %s\t" % (command, option[:-1])) == [*command.split(), option]

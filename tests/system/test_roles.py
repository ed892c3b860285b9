# SPDX-License-Identifier: GPL-2.0-only
"""Who may use margay(1) without being root: sudo itself says so, of the rules that margay-tools ships, for a member of each group
and for one of none. On this machine, where /etc and /usr/bin are thrown away."""

import os
import re
import shutil
import subprocess

import node
import pytest
import throwaway

RULES = os.path.join(node.TOP, "packaging", "margay-tools", "sudoers")
GROUPS = {"looker": "margay-look", "starter": "margay-operate", "other": None}
LOOK = ["info", "list", "node", "pci", "net show", "net show lan-0", "image list", "metrics", "log", "log 100", "log -f",
        "log -f 5", "events", "events -f", "show a", "show --file a", "wait a-b_1", "stats a", "stats -f a", "stats -f 0.5 a",
        "--json list", "--json show a"]
OPERATE = ["start a", "start --wait a", "stop a", "stop --timeout 5 a", "restart a", "press a", "kill a", "pause a", "resume a",
           "--json start a"]
# With words behind them that would be right.
ROOT = ["create a.conf", "destroy a", "nmi a", "console a", "console --raw a", "dump a core", "watch", "journal", "apply /etc",
        "image put x", "image put --replace x", "image pull x", "image rm x",
        "metrics --output /etc/passwd", "--json metrics --output x"]
# What looks like one that is allowed, and is none.
TRICKS = ["", "list --output x", "show a b", "show --file --output", "start", "start a b", "start -- a", "start --wait",
          "stop --timeout a", "start a; create b", "list\nstart a", "log 100 a", "log -1", "log -f -f", "events a", "events -f 1",
          "show $(id)", "show a/../b", "show *", "--version list", "--json --json list", "image listx", "xlist", "list ", " list",
          "net show --output", "net show a b", "net"]
SCRIPT = r"""
mkdir -p %(layer)s/upper %(layer)s/work
mount -t overlay layer -o lowerdir=/usr/bin,upperdir=%(layer)s/upper,workdir=%(layer)s/work /usr/bin
cp %(client)s /usr/bin/margay
visudo -c -f %(rules)s
mkdir -p /etc/sudoers.d
install -m 0440 -o root -g root %(rules)s /etc/sudoers.d/margay
printf 'root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n' >/etc/sudoers
chmod 440 /etc/sudoers
visudo -c
"""


def test_sysusers_has_the_groups():
    with open(os.path.join(os.path.dirname(RULES), "sysusers.conf"), encoding="ascii") as f:
        assert set(re.findall(r"^g (\S+) -$", f.read(), re.MULTILINE)) == {group for group in GROUPS.values() if group}


def test_each_command_has_its_place():
    """Of the program: a new one is somebody's."""
    done = subprocess.run([os.path.join(node.BUILD, "margay"), "--help"], capture_output=True, text=True, check=True)
    known = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", done.stdout, re.MULTILINE)
    places = {"look": LOOK, "operate": OPERATE, "root": ROOT}
    for command in known:
        named = [place for place, lines in places.items() if any((line + " ").startswith(command + " ") for line in lines)]
        assert named in (["look"], ["operate"], ["root"]) or (command, named) == ("metrics", ["look", "root"]), (command, named)


@throwaway.ALLOWED
def test_who_may_what(tmp_path):
    lines = LOOK + OPERATE + ROOT + TRICKS
    script = [SCRIPT % {"layer": tmp_path / "layers" / "usr-bin", "client": os.path.join(node.BUILD, "margay"), "rules": RULES}]
    for user, group in GROUPS.items():
        if group:
            script.append("groupadd --system %s" % group)
        script.append("useradd --no-create-home %s %s" % ("--groups %s" % group if group else "", user))
        for number, line in enumerate(lines):
            # As a shell would have the words; all that is odd in them is one word's.
            words = [line] if re.search(r"[\n;$*]|^ | $", line) else line.split()
            quoted = " ".join("'%s'" % word for word in words)
            asked = "sudo -n -l -U %s /usr/bin/margay %s >/dev/null 2>&1" % (user, quoted)
            script.append("if %s; then echo may %s %d; fi" % (asked, user, number))
    assert shutil.which("visudo", path=os.environ["PATH"] + ":/usr/sbin"), "tools/setup test"
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    said, status = throwaway.run("\n".join(script) + "\n", str(tmp_path), str(tmp_path), environment, 600)
    assert status == 0, said
    may = {user: [lines[int(number)] for number in re.findall(r"^may %s (\d+)$" % user, said, re.MULTILINE)] for user in GROUPS}
    assert may == {"looker": LOOK, "starter": LOOK + OPERATE, "other": []}


@throwaway.ALLOWED
def test_rules_that_are_none(tmp_path):
    """The control of visudo's judgement."""
    with open(RULES, encoding="ascii") as f:
        (tmp_path / "rules").write_text(f.read().replace("NOPASSWD:", "NOPASSWD"), encoding="ascii")
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    _, status = throwaway.run("visudo -c -f %s\n" % (tmp_path / "rules"), str(tmp_path), str(tmp_path), environment, 60)
    assert status != 0


@pytest.mark.parametrize("group", [group for group in GROUPS.values() if group])
def test_no_rule_has_a_blank_cheque(group):
    """Each command of a group's is pinned from its first to its last word."""
    with open(RULES, encoding="ascii") as f:
        text = f.read()
    assert "%%%s ALL=(root) NOPASSWD: " % group in text
    commands = re.findall(r"/usr/bin/margay([^,\n\\]*)", text)
    assert len(commands) == 6 and all(re.fullmatch(r" \^.*\$", command) for command in commands)

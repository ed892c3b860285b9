# SPDX-License-Identifier: GPL-2.0-only
"""A node whose hypervisor and whose management VM are of neighbouring versions, as in the middle of an upgrade: the program
`margay` of the last commit of the version before, with this hypervisor, and the reverse. Both are built from the history."""

import fcntl
import json
import os
import subprocess

import management
import margay_run
import monitor_console
import node
import pytest
import tiny

pytestmark = [pytest.mark.full, pytest.mark.slow]
BEHAVE = "name = %s\nkernel = behave\nmemory = 32M\ncpus = 1-1\ncmdline = machine=qemu mode=%s\n"
FILES = {"once.conf": BEHAVE % ("once", "once") + "debug_exit = yes\n", "halts.conf": BEHAVE % ("halts", "part"),
         "wrong.conf": BEHAVE % ("wrong", "once") + "cpu = 1\n"}
# What both versions have. Statuses of `wait` are another from 0.3 on.
SCRIPT = "cp margay /bin/margay\n" + management.RUN + r"""
run version margay --version
run info margay --json info
run put margay image put behave
run create margay create once.conf
run start margay start once
run wait margay wait once
run console margay console once
run create-halts margay create halts.conf
run start-halts margay start halts
run wrong margay create wrong.conf
run list margay --json list
run stats margay --json stats halts
run pause margay pause halts
run resume margay resume halts
run kill margay kill halts
run wait margay wait halts
for vm in once halts; do run destroy margay destroy $vm; done
run rm margay image rm behave
run at-last margay --json list
run node margay --json node
run pci margay --json pci
run images margay --json image list
run metrics margay metrics
run log margay log 3
"""
# Behind it, what only this version's program has. It asks an older node ...
ASKS_OLDER = r"""
margay image put behave
margay create halts.conf
mkdir -p /run
margay watch &
watch=$!
for n in $(seq 100); do [ -S /run/margay/watch.sock ] && break; sleep 0.1; done
run socket test -S /run/margay/watch.sock
run start-wait margay start --wait halts
{ sleep 2; margay kill halts; } &
run watched margay wait halts
run still-watches kill $watch
run replace margay image put --replace wrong.conf behave
run events margay events
run net margay net show
run follow margay log -f
run file margay show --file halts
"""
REFUSED = {
    "replace": "margay: expected a name, a size in bytes, and a SHA-256 in hexadecimal digits",
    "events": "margay: events: this node keeps none", "follow": "margay: log -f: this node cannot go on with it",
    "net": "margay: net show: this node is of an older version, which does not know it",
    "file": "margay: this node is of an older version, or built without this: request 27: this node does not know it"}
# ... or looks at its own node, of which the older one has asked all of that.
LOOKS_BESIDE = r"""
cp newer /bin/margay
run events margay --json events
run net margay --json net show
margay log -f 5 >/tmp/log &
follows=$!
sleep 2
run goes-on kill $follows
run follow cat /tmp/log
"""


def git(*words):
    return subprocess.run(["git", *words], cwd=node.TOP, capture_output=True, check=True).stdout


@pytest.fixture(scope="module", name="previous")
def fixture_previous():
    """{name: path} of the client and the hypervisor that were there before VERSION was changed."""
    began = git("log", "-1", "--format=%H", "--", "VERSION").decode().strip()
    try:
        commit = git("rev-parse", "--verify", "--quiet", began + "^").decode().strip()
    except subprocess.CalledProcessError:
        pytest.skip("the history does not reach back to the version before")
    tree = os.path.join(node.BUILD, "previous", commit)
    os.makedirs(tree, exist_ok=True)
    with open(tree + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["tar", "-x", "-C", tree], input=git("archive", commit), check=True)
        targets = ["build/margay", "build/margay.elf"]
        # What a site took in 0.2, whose default had no management VM.
        site = ["site_defconfig"] if os.path.exists(os.path.join(tree, "configs", "site_defconfig")) else []
        for words in filter(None, (site, targets)):
            done = subprocess.run(["make", "-s", "-j2", *words], cwd=tree, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return {os.path.basename(target): os.path.join(tree, target) for target in targets}


@pytest.mark.parametrize("older", ["client", "hypervisor"])
def test_neighbours(previous, older):
    """VMs come, run, are looked at and go; what is wrong is refused with its line. What one of both does not know is told."""
    client = previous["margay"] if older == "client" else os.path.join(node.BUILD, "margay")
    elf = previous["margay.elf"] if older == "hypervisor" else None
    files = {**FILES, "behave": tiny.elf("behave"), "margay": client, "newer": os.path.join(node.BUILD, "margay")}
    script = SCRIPT + (LOOKS_BESIDE if older == "client" else ASKS_OLDER)
    with management.start("neighbours-" + older, script, files, elf=elf) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    said, status = management.answers(run, same_version=False)
    refused = {"wrong"} if older == "client" else {"wrong", *REFUSED}
    assert {what for what, code in status.items() if code == 1} - {"wait"} == refused, status
    assert {what for what, code in status.items() if code > 1} - {"wait"} <= {"watched"}, status
    assert said["wrong"].startswith("margay: wrong.conf:6: unknown key 'cpu'"), said["wrong"]
    with open(os.path.join(os.path.dirname(previous["margay"]), "version"), encoding="ascii") as f:
        theirs = f.read().strip()
    assert (said["version"] == "margay " + theirs) == (older == "client")
    assert (theirs in run.lines("margay: Margay ")[0]) == (older == "hypervisor")
    assert ':"management"' in said["info"].replace(" ", "") and json.loads(said["info"])
    assert {vm["name"]: vm["state"] for vm in json.loads(said["list"])} == {
        "management": "running", "once": "exit", "halts": "running"}
    assert "behave: begins" in said["console"]
    assert [vm["name"] for vm in json.loads(said["at-last"])] == ["management"] and '"behave"' not in said["images"]
    assert 'margay_vm_info{' in said["metrics"] and said["log"] and json.loads(said["node"])
    if older == "client":
        check_beside(said)
    else:
        check_asked(said, status)


def check_asked(said, status):
    """What an older node does not know is one line, which says so; who waits and watches needs nothing new of it."""
    assert {what: said[what] for what in REFUSED} == REFUSED
    assert status["watched"] == 10 and "stopped" in said["watched"]


def check_beside(said):
    """The node's events have what the older program has done, which does not say for whom."""
    events = json.loads(said["events"])
    happened = [(event["event"], event["vm"] or event["image"]) for event in events if event["by"] == "management"]
    assert {("image-put", "behave"), ("create", "once"), ("start", "once"), ("pause", "halts"), ("resume", "halts"),
            ("kill", "halts"), ("destroy", "once"), ("destroy", "halts"), ("image-remove", "behave")} <= set(happened), happened
    assert not any(event["user"] for event in events) and json.loads(said["net"]) == []
    assert len(said["follow"].split("\n")) >= 5

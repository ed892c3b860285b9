# SPDX-License-Identifier: GPL-2.0-only
"""In which order a node changes hands and is upgraded, with a Slurm and nodes that only note what they are told; and what follows
where that breaks off. That real ones do as is wanted is tests/system/test_slurm_owners.py's."""

import importlib.machinery
import importlib.util
import os
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from margay_slurm import config, errors, hold, owners, records, remote, slurm, upgrade
from margay_slurm.errors import ClusterError

SITE = """\
[cluster]
controller = head
store = /srv/images
state = %s
munge_key = /dev/null
boot_timeout = 1
[nodes n[1-2]]
vm = /etc/margay/compute.vm
cpus = 4
memory = 1000
images = debian
[partition bare]
owner = node
nodes = n1
cpus = 1
memory = 100
"""
DOWN = {"IDLE", "CLOUD", "POWERED_DOWN"}


class World:
    """Slurm's states, reasons, reservations; nodes with a version and a boot. What is told to them is noted in its order."""

    def __init__(self, site):
        self.site, self.told, self.reserved, self.jobs = site, [], set(), {}
        self.states = {"n1": set(DOWN), "n2": set(DOWN), "n1-mgmt": {"IDLE"}}
        self.reasons, self.refuses, self.busy, self.off = {}, set(), [], 0
        self.nodes = {node: {"done": True, "version": "0.3", "boot": "a", "owner": "vm"} for node in ("n1", "n2")}

    def update_node(self, name, *words):
        self.told += [(name, word) for word in words if word.startswith("state=")]
        new = words[0].removeprefix("state=")
        if new in ("drain", "down"):
            self.states[name].add(new.upper())
            self.reasons[name] = words[1].removeprefix("reason=")
        else:
            self.states[name] -= {"DRAIN", "DOWN"}

    def send(self, _, node, value):
        if value["order"] != "list":
            self.told.append((node, value["order"] + " " + value.get("owner", "")))
        if value["order"] == "list" and self.off:
            self.off -= 1
            return {"error": "%s-mgmt: no" % node, "fault": "node"}
        if value["order"] in self.refuses:
            return {"error": "%s-mgmt: no" % node, "fault": "node"}
        return self.nodes[node]

    def run(self, *words, **_):
        if words[1:4] == ("--oneliner", "show", "reservation"):
            return "".join("ReservationName=margay-%s \n" % name for name in self.reserved)
        if words[1] == "create":
            self.reserved.add(words[4].removeprefix("nodes="))
        elif words[1] == "delete":
            self.reserved.remove(words[2].removeprefix("reservation=margay-"))
        elif words[0] == "squeue":
            return "".join(name + "|\n" for name in self.busy)
        return ""


@pytest.fixture(name="world")
def fixture_world(tmp_path, monkeypatch):
    path = tmp_path / "cluster.conf"
    path.write_text(SITE % tmp_path, encoding="utf-8")
    world = World(config.read(str(path)))
    monkeypatch.setattr(remote, "send", world.send)
    monkeypatch.setattr(slurm, "update_node", world.update_node)
    monkeypatch.setattr(slurm, "run", world.run)
    monkeypatch.setattr(slurm, "states", lambda names: world.states)
    monkeypatch.setattr(slurm, "reason", lambda name: world.reasons.get(name, ""))
    monkeypatch.setattr(hold, "jobs_of", lambda name: world.jobs[name].pop() if world.jobs.get(name) else [])
    monkeypatch.setattr(hold, "FIRST", 0.01)
    monkeypatch.setattr(errors, "say", lambda program, text: world.told.append((program, text)))
    return world


def give(world, owner, node="n1"):
    said = []
    owners.Owners(world.site).give(node, owner, said.append)
    return said


def test_there_and_back(world):
    """The old name is empty and drained before the node hears of it, and the new one is had behind that."""
    assert give(world, "node") == ["n1: no new jobs for n1", "n1: is its management VM's"]
    assert world.told == [("n1", "state=drain"), ("n1", "end "), ("n1", "own node"), ("n1-mgmt", "state=resume")]
    assert world.reasons["n1"] == "margay owner: the management VM has the node" and not world.reserved
    world.told.clear()
    give(world, "vm")
    assert world.told == [("n1-mgmt", "state=drain"), ("n1", "own vm"), ("n1", "state=resume")] and not world.reserved


def test_a_job_that_slips_in(world):
    """The reservation was lost: it gets to its end, and the node is drained again."""
    world.jobs["n1"] = [[], ["7"], ["7"], ["7"], []]
    give(world, "node")
    assert world.told[:4] == [("n1", "state=drain"), ("n1", "state=undrain"), ("n1", "state=drain"), ("n1", "end ")]


def test_a_vm_without_a_job_goes_first(world, monkeypatch):
    world.states["n1"] = {"IDLE", "CLOUD"}

    def update(name, *words):
        world.update_node(name, *words)
        if words[0] == "state=power_down":
            world.states["n1"] = set(DOWN)
    monkeypatch.setattr(slurm, "update_node", update)
    give(world, "node")
    assert world.told[:2] == [("n1", "state=power_down"), ("n1", "state=drain")]


def test_turned_back_while_a_job_runs(world):
    """What had waited for its end was killed: the job goes on, and more may come."""
    records.Records(world.site.state, "owners").write("n1", {"owner": "vm", "to": "node"})
    world.states["n1"] = {"ALLOCATED", "CLOUD", "DRAIN"}
    world.reasons["n1"] = "margay owner: the management VM has the node"
    world.reserved.add("n1")
    give(world, "vm")
    assert ("n1", "state=undrain") in world.told and ("n1", "state=power_down_force") not in world.told
    assert world.states["n1"] == {"ALLOCATED", "CLOUD"} and not world.reserved
    world.states["n1"] = {"IDLE", "CLOUD"}
    world.jobs["n1"] = [["7"]]
    hold.have("n1")
    assert ("n1", "state=power_down_force") not in world.told
    hold.have("n1")
    assert world.told[-1] == ("n1", "state=power_down_force")


class PoolInterrupted(ThreadPoolExecutor):
    """^C as soon as the node's job is waited for."""
    world = None

    def map(self, *words, **more):  # pylint: disable=arguments-differ
        super().map(*words, **more)
        hold.wait(lambda: self.world.reserved, 10)
        raise KeyboardInterrupt


def test_give_is_interrupted(world, monkeypatch, capsys):
    """It ends though the job goes on; the node is kept from new ones, and the other way turns back."""
    path = os.path.join(os.path.dirname(os.path.dirname(owners.__file__)), "margay-slurm")
    loader = importlib.machinery.SourceFileLoader("margay_slurm_tool", path)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(tool)
    monkeypatch.setattr(tool, "ThreadPoolExecutor", PoolInterrupted)
    monkeypatch.setattr(PoolInterrupted, "world", world)
    monkeypatch.setattr(config, "read", lambda path: world.site)
    monkeypatch.setattr(hold, "LONGEST", 0.01)
    world.jobs["n1"] = [["7"]] * 200
    with pytest.raises(KeyboardInterrupt):
        tool.do_give(types.SimpleNamespace(config=None, nodes="n1", owner="node"))
    assert "n1: stopped: `margay-slurm give` goes on, or back\n" in capsys.readouterr().out
    assert world.told == [] and world.reserved == {"n1"} and owners.Owners(world.site).to("n1") == "node"
    world.jobs.clear()
    give(world, "vm")
    assert not world.reserved and "DRAIN" not in world.states["n1"]


@pytest.mark.parametrize("refused", ("own", "end"))
def test_a_node_that_does_not(world, refused):
    """Nobody has it, and both names are kept from jobs; from there it goes on, or back."""
    world.refuses = {refused}
    with pytest.raises(ClusterError, match="n1-mgmt: no"):
        give(world, "node")
    assert "DRAIN" in world.states["n1"] and world.reserved == {"n1"} and ("n1-mgmt", "state=resume") not in world.told
    known = owners.Owners(world.site)
    assert known.of("n1") == "vm" and known.told("n1", {}).endswith("(goes to node)")
    told = list(world.told)
    owners.tend(world.site, "tend")
    assert world.told == told
    world.refuses = set()
    give(world, "vm")
    assert "DRAIN" not in world.states["n1"] and "DRAIN" in world.states["n1-mgmt"] and not world.reserved


@pytest.mark.parametrize("name", ("n1", "n1-mgmt"))
def test_drained_by_others(world, name):
    world.states[name].add("DRAIN")
    world.reasons[name] = "a fan"
    with pytest.raises(ClusterError, match="is drained: a fan"):
        give(world, "node")
    assert world.told == [] and not world.reserved


def test_tend(world):
    """A site that is new has no name drained; a slurmd that is gone begins again, unless somebody has drained it."""
    owners.tend(world.site, "tend")
    assert world.told == [("n1-mgmt", "state=drain")] and world.reasons["n1-mgmt"].startswith("margay owner: ")
    give(world, "node")
    world.told.clear()
    owners.tend(world.site, "tend")
    assert world.told == []
    world.states["n1-mgmt"] = {"IDLE", "NOT_RESPONDING"}
    owners.tend(world.site, "tend")
    assert world.told == [("n1", "own node")]
    world.refuses = {"own"}
    owners.tend(world.site, "tend")
    assert world.told[-1] == ("tend", "n1: n1-mgmt: no")
    world.states["n1-mgmt"].add("DRAIN")
    owners.tend(world.site, "tend")
    assert world.told[-1] == ("tend", "n1: n1-mgmt: no") and len(world.told) == 3


class Run(upgrade.Upgrade):
    """ssh's command and reboot: a boot later the node runs what was installed."""

    def __init__(self, world, to="0.4", max_failed=1, status=0, boots=None):
        super().__init__(world.site, to, max_failed, lambda line: None)
        self.world, self.status, self.boots, self.rebooted = world, status, boots or to, 255

    def ssh(self, node, command, seconds):
        self.world.told.append((node, "command" if command == self.typed() else command.split()[0]))
        if command == self.config.reboot:
            self.world.nodes[node] = {**self.world.nodes[node], "boot": self.world.nodes[node]["boot"] + "a",
                                      "version": self.boots or self.world.nodes[node]["version"]}
            return self.rebooted, "gone"
        return self.status, "no such package"


STEPS = ("state=drain", "end ", "command", "systemctl", "state=resume")


def test_upgrade(world):
    """One by one; a second call does nothing."""
    assert Run(world).all(["n1", "n2"], 1) == {"n1": "done", "n2": "done"}
    assert world.told == [(node, step) for node in ("n1", "n2") for step in STEPS] and not world.reserved
    world.told.clear()
    assert Run(world).all(["n1", "n2"], 1) == {"n1": "done", "n2": "done"} and world.told == []


def test_upgrade_of_a_management_vm_with_jobs(world):
    """Its slurmd is gone with the reboot: it has the node again before jobs do."""
    give(world, "node")
    world.told.clear()
    assert Run(world).all(["n1"], 1) == {"n1": "done"}
    assert world.told == [("n1-mgmt", "state=drain"), ("n1", "command"), ("n1", "systemctl"), ("n1", "own node"),
                          ("n1-mgmt", "state=resume")]


def test_upgrade_stops_and_goes_on(world):
    """The first fails: it is down, with the reason, and the second is not begun. Then both are done."""
    assert Run(world, status=100).all(["n1", "n2"], 1) == {"n1": "failed"}
    assert world.states["n1"] >= {"DOWN", "DRAIN"} and not world.reserved
    assert world.reasons["n1"] == "margay upgrade: the command failed: no such package"
    with pytest.raises(ClusterError, match="upgrade of it is not over"):
        give(world, "node")
    run = Run(world, boots="0.3")
    run.rebooted = 127
    assert run.all(["n1"], 1) == {"n1": "failed"} and world.reasons["n1"] == "margay upgrade: does not reboot: gone"
    assert Run(world, boots="0.3").all(["n1", "n2"], 1) == {"n1": "failed"}
    assert world.reasons["n1"] == "margay upgrade: is back with version 0.3"
    assert Run(world).all(["n1", "n2"], 1) == {"n1": "done", "n2": "done"} and world.states == {
        "n1": DOWN, "n2": DOWN, "n1-mgmt": {"IDLE"}}


def test_upgrade_leaves_alone(world):
    """What is down or drained for another's reason, goes to another owner, or does not answer."""
    world.states["n2"].add("DRAIN")
    world.reasons["n2"] = "a fan"
    records.Records(world.site.state, "owners").write("n1", {"owner": "vm", "to": "node"})
    assert Run(world, max_failed=9).all(["n1", "n2"], 1) == {"n1": "left alone", "n2": "left alone"} and world.told == []
    world.refuses = {"list"}
    assert Run(world).all(["n1", "n2"], 2) == {"n1": "left alone", "n2": "left alone"} and world.told == []


def test_upgrade_of_an_older_node(world):
    """One whose margay-node tells no version."""
    for key in "version", "boot":
        del world.nodes["n1"][key]
    assert Run(world).all(["n1"], 1) == {"n1": "left alone"} and world.told == []


def test_plan(world):
    """Nothing is told to anybody."""
    world.jobs["n1"] = [["7", "8"]]
    run, only = Run(world), Run(world, to=None)
    answer = world.nodes["n1"]
    assert run.plan("n1", answer) == "waits for job 7, 8, then runs the command, reboots: 0.3 becomes 0.4"
    assert only.plan("n2", answer) == "reboots" and run.plan("n1", {**answer, "version": "0.4"}) == "is done"
    assert run.plan("n1", {"error": "n1-mgmt: no"}) == "is left alone: n1-mgmt: no"
    records.Records(world.site.state, "upgrades").write("n1", {"phase": "reboot", "boot": "a"})
    assert run.plan("n1", {"error": "n1-mgmt: no"}) == "is off, and waited for" and world.told == []


def test_only_a_reboot(world):
    """Each once, over calls; when all have, the next call reboots all again."""
    assert Run(world, to=None).all(["n1"], 1) == {"n1": "done"} and ("n1", "command") not in world.told
    assert world.nodes["n1"]["boot"] == "aa"
    world.states["n2"].add("DRAIN")
    assert Run(world, to=None).all(["n1", "n2"], 1) == {"n1": "done", "n2": "left alone"} and world.nodes["n1"]["boot"] == "aaa"
    world.states["n2"].remove("DRAIN")
    assert Run(world, to=None).all(["n1", "n2"], 1) == {"n1": "done", "n2": "done"}
    assert [world.nodes[node]["boot"] for node in ("n1", "n2")] == ["aaa", "aa"]


def test_a_reboot_does_not_keep_an_owner(world):
    """A node that has had its reboot may change hands while others have not."""
    world.states["n2"].add("DRAIN")
    Run(world, to=None).all(["n1", "n2"], 1)
    assert give(world, "node")[-1] == "n1: is its management VM's"


def test_upgrade_that_was_killed(world):
    """While the node was off: it is waited for, and not told anything again. If somebody else has drained it, it stays so."""
    upgrades = records.Records(world.site.state, "upgrades")
    upgrades.write("n1", {"phase": "reboot", "boot": "a"})
    world.states["n1"].add("DRAIN")
    world.reasons["n1"] = "margay upgrade: to 0.4"
    world.reserved.add("n1")
    world.nodes["n1"].update(version="0.4", boot="b")
    world.off = 3
    assert Run(world).all(["n1"], 1) == {"n1": "done"} and world.told == [("n1", "state=resume")] and not world.reserved
    upgrades.write("n1", {"phase": "reboot", "boot": "a"})
    world.states["n1"].add("DRAIN")
    world.reasons["n1"] = "a fan"
    assert Run(world).all(["n1"], 1) == {"n1": "done"} and "DRAIN" in world.states["n1"]


def test_a_controller_that_is_away(world, monkeypatch):
    """When a node is given back: it is tried again, and the node is no failure, since a job may have it by then."""
    release, away = hold.release, [1]

    def answers_later(name):
        if away:
            away.pop()
            raise ClusterError("Unable to contact slurm controller")
        release(name)
    monkeypatch.setattr(hold, "release", answers_later)
    assert Run(world).all(["n1"], 1) == {"n1": "done"} and ("n1", "state=down") not in world.told and not world.reserved


def test_a_controller_that_is_away_when_a_node_fails(world, monkeypatch):
    """It is set down as soon as it answers again."""
    update, away = slurm.update_node, [1]

    def answers_later(name, *words):
        if words[0] == "state=down" and away:
            away.pop()
            raise ClusterError("Unable to contact slurm controller")
        update(name, *words)
    monkeypatch.setattr(slurm, "update_node", answers_later)
    assert Run(world, status=100).all(["n1"], 1) == {"n1": "failed"} and not world.reserved
    assert world.states["n1"] >= {"DOWN", "DRAIN"}


def test_interrupted_while_the_command_runs(world):
    """The node does not reboot behind that; the next call does it."""
    class Interrupted(Run):
        def ssh(self, node, command, seconds):
            self.interrupted = True
            return super().ssh(node, command, seconds)
    assert Interrupted(world).all(["n1"], 1) == {} and world.told[-1] == ("n1", "command") and world.reserved == {"n1"}
    world.told.clear()
    assert Run(world).all(["n1"], 1) == {"n1": "done"} and ("n1", "systemctl") in world.told


# On the node a command goes on when ssh is gone.
SSH = """#!/bin/sh
setsid sh -c "$2" >"$0.said" 2>&1 &
wait $!
status=$?
cat "$0.said"
exit $status
"""
# Of two at once the second fails, as with apt's lock.
APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >>%(log)s
mkdir %(busy)s || { echo E: Could not get lock; exit 100; }
sleep 1
rmdir %(busy)s
"""


def test_a_command_that_runs_still(world, tmp_path, monkeypatch):
    """The call that typed it was killed. The next waits for its end, and then its own runs; neither asks anybody anything."""
    log, busy = tmp_path / "log", tmp_path / "busy"
    for name, text in (("ssh", SSH), ("apt-get", APT % {"log": log, "busy": busy})):
        (tmp_path / name).write_text(text, encoding="ascii")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))
    monkeypatch.delenv("DEBIAN_FRONTEND", raising=False)
    monkeypatch.setattr(upgrade, "LOCK", str(tmp_path / "lock"))
    world.site.admin_ssh, world.site.upgrade_timeout = [str(tmp_path / "ssh")], 60
    run = upgrade.Upgrade(world.site, "0.4", 1, lambda line: None)
    assert run.ssh("n1", run.typed(), 0.5) == (124, "no end after 0 s") and busy.exists()
    assert run.ssh("n1", run.typed(), 60) == (0, "nothing")
    lines = log.read_text(encoding="ascii").splitlines()
    assert [line.split()[-2:] for line in lines] == [["-q", "update"], ["margay=0.4", "margay-tools=0.4"]] * 2
    assert all(line.startswith("noninteractive ") for line in lines) and "force-confdef" in lines[1] and "force-confold" in lines[1]


def test_a_node_that_answers_once(world):
    """One that is back may lose the next question, as its services still start."""
    class Once(Run):
        def ask(self, node):
            answer = super().ask(node)
            if answer.get("boot") == "aa":
                world.off = 1
            return answer
    assert Once(world).all(["n1"], 1) == {"n1": "done"}


def test_anew(world):
    """What has rebooted does so again; what is under way stays noted."""
    known = records.Records(world.site.state, "upgrades")
    known.write("n1", {"phase": "done"})
    known.write("n2", {"phase": "failed"})
    Run(world, to=None).forget(["n1", "n2"])
    assert known.read("n1") == {} and known.read("n2") == {"phase": "failed"}


def test_upgrade_begins_with_the_idle(world):
    world.busy = ["n1"]
    Run(world).all(["n1", "n2"], 1)
    assert [node for node, what in world.told if what == "systemctl"] == ["n2", "n1"]


def test_a_controller_that_refuses(world, monkeypatch):
    """A node whose job may run still is not set down for that."""
    def refuse(name):
        raise ClusterError("Access denied")
    monkeypatch.setattr(hold, "reserve", refuse)
    assert Run(world).all(["n1"], 1) == {"n1": "left alone"} and world.told == []


def test_one_at_a_time(world):
    with upgrade.lock(world.site):
        with pytest.raises(ClusterError, match="another upgrade"):
            upgrade.lock(world.site)

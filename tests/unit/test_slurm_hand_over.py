# SPDX-License-Identifier: GPL-2.0-only
"""In which order a node changes hands, with a Slurm and nodes that only note what they are told; and what follows
where that breaks off. That real ones do as is wanted is tests/system/test_slurm_owners.py's."""

import pytest

from margay_slurm import config, errors, hold, owners, remote, slurm
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

# SPDX-License-Identifier: GPL-2.0-only
"""In which order the head deals with nodes whose VM finds itself ill: what Slurm is told is noted, and not done. That Slurm then
does as is wanted is tests/system/test_slurm.py's."""

import pytest

from margay_slurm import broken, config, hosts, prolog, records, remote, slurm

SITE = """\
[cluster]
controller = head
store = /srv/images
state = %s
[nodes n[1-3]]
vm = /etc/margay/compute.vm
cpus = 4
memory = 1000
images = debian
"""
FANS = "margay: health: fans: a fan stands still"


class Controller:
    """States and reasons are those that a test gives it; what comes is kept, in its order."""

    def __init__(self, site):
        self.site, self.told, self.listed = site, [], {}
        self.states = {node: {"IDLE"} for node in site.by_node}
        self.reasons = {}
        self.job = slurm.Job(7, "0", "CONFIGURING", "debian")

    def send_all(self, _, orders):
        for node, value in orders.items():
            self.told.append((node, value["order"]))
        return {node: {"done": True} for node in orders}

    def update_node(self, names, *words):
        self.told += [(node, word) for node in names.split(",") for word in words if word.startswith("state=")]

    def drain(self, node, reason=FANS):
        self.states[node], self.reasons[node] = {"IDLE", "DRAIN"}, reason


@pytest.fixture(name="controller")
def fixture_controller(tmp_path, monkeypatch):
    path = tmp_path / "cluster.conf"
    path.write_text(SITE % tmp_path, encoding="utf-8")
    site = config.read(str(path))
    controller = Controller(site)
    monkeypatch.setattr(remote, "send_all", controller.send_all)
    monkeypatch.setattr(slurm, "update_node", controller.update_node)
    monkeypatch.setattr(slurm, "states", lambda names: {node: controller.states[node] for node in hosts.expand(names)})
    monkeypatch.setattr(slurm, "reason", lambda node: controller.reasons.get(node, ""))
    monkeypatch.setattr(slurm, "jobs", lambda numbers: {7: controller.job} if controller.job else {})
    monkeypatch.setattr(slurm, "listed", lambda state: controller.listed.get(state, {}))
    monkeypatch.setattr(config, "read", lambda: site)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    known = records.Records(site.state)
    for node in "n1", "n2":
        known.write(node, {"job": "7.0", "failures": 1})
    return controller


ENDED = [("n1", "end"), ("n1", "state=down"), ("n1", "state=undrain")]


def failures(controller):
    return [records.Records(controller.site.state).read(node)["failures"] for node in ("n1", "n2")]


def test_a_job_whose_nodes_are_well(controller):
    assert prolog.main() == 0
    assert controller.told == [("n1", "state=power_down"), ("n2", "state=power_down")] and failures(controller) == [0, 0]


@pytest.mark.parametrize("state", ("CONFIGURING", "PENDING", None))
def test_a_vm_is_ill_before_the_job(controller, state):
    """Its slurmd ends before the node is down, and the draining behind that; also where Slurm has taken the job away by itself."""
    controller.drain("n1")
    controller.job = slurm.Job(7, "0", state, "debian") if state else None
    assert prolog.main() == 1
    assert controller.told == ENDED and failures(controller) == [2, 1]


def test_drained_by_others(controller):
    """By the administrator: no matter of this job's."""
    controller.drain("n1", "a new fan comes")
    assert prolog.main() == 0
    assert ("n1", "state=down") not in controller.told


def test_well_again(controller):
    """Slurm keeps the last reason."""
    controller.reasons["n1"] = FANS
    assert prolog.main() == 0 and ("n1", "state=down") not in controller.told


def test_job_that_is_gone(controller):
    controller.job = slurm.Job(7, "0", "CANCELLED", "debian")
    assert prolog.main() == 1
    assert controller.told == [] and failures(controller) == [1, 1]


@pytest.mark.parametrize("node, state, reason, dealt", (
    ("n1", "drained", FANS, True), ("n1", "drained*", FANS, True), ("n1", "drained~", FANS, False), ("n1", "drained%", FANS, False),
    ("n1", "drained", "a new fan comes", False), ("other", "drained", FANS, False)))
def test_a_drained_node_that_no_job_has(controller, node, state, reason, dealt):
    """The timer's program sees to it, unless the node is on its way down, or somebody else has drained it."""
    controller.listed["drained"] = {node: (state, reason)}
    controller.reasons[node] = reason
    assert broken.tend(controller.site, "margay-slurm-tend") == []
    assert controller.told == (ENDED if dealt else [])

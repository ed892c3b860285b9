# SPDX-License-Identifier: GPL-2.0-only
"""A stock guest's own NUMA balancing moves pages: it sees the node as it is, so that nothing of it is Margay's work.

A guest of two nodes writes memory on one CPU, then goes on on the other. By its `numa_pages_migrated` Linux takes the pages there;
with its balancing off none.
"""

import os
import re
import subprocess

import cluster  # noqa: F401  (for its path)
import margay_run
import node
import numa
import pytest
import systems


@pytest.fixture(scope="module", name="initrd")
def fixture_initrd(tmp_path_factory):
    top = tmp_path_factory.mktemp("balance")
    root = top / "root"
    for folder in ("balance", "proc", "dev"):
        (root / folder).mkdir(parents=True)
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s", "-o", str(root / "balance" / "run"),
                    os.path.join(os.path.dirname(__file__), "balance.c")], check=True)
    systems.archive(str(root), str(top / "initrd"))
    return str(top / "initrd")


def moved(name, initrd, words):
    """How many of the program's pages, and of how many."""
    text = node.vm_text("qemu", "quiet rdinit=/balance/run " + words, cpus="2", memory="512M")
    iso = node.margay_iso(name, {"vm0.conf": text}, {"kernel": node.guest_file(node.KERNEL), "initrd": initrd})
    with numa.Machine("2,sockets=2,cores=1,threads=1", [numa.Node("0", "512M"), numa.Node("1", "512M")]) as machine:
        with node.start(name, "qemu", iso, cpus=2, memory=machine.memory, extra=machine.arguments) as running:
            done = node.Run(running, running.wait())
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert not done.lines("balance: failed") and done.has_line("vm0: end=poweroff")
    # On both of the machine's nodes, as the CPUs are.
    assert {int(n) for n in re.findall(r"vm0: memory: \d+M on node (\d)", done.text)} == {0, 1}
    return tuple(int(n) for n in re.search(r"^balance: (\d+) of (\d+) pages moved", done.text, re.M).groups())


@pytest.mark.full
def test_moves(initrd):
    count, pages = moved("balancing", initrd, "")
    assert count >= pages // 2


@pytest.mark.full
def test_off(initrd):
    count, _ = moved("balancing-off", initrd, "numa_balancing=disable")
    assert count == 0

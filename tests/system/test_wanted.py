# SPDX-License-Identifier: GPL-2.0-only
"""A node that is as a folder says, on QEMU: `margay apply` in a management VM of a stock Debian, the one of tools/guest-debian that
has Python, on a disk that keeps what is written; and margay-restore.service, after the management VM's panic, and after the node
has lost its power.

A dry run prints the plan, the run carries it out, a second run changes nothing, by the node's events and by the journal; a bad file
among good ones is one line, and nothing is changed. When the management VM has panicked its service starts what does not run, and
leaves the rest alone; when the node has restarted, it brings all back. In both cases a bad file is one line in the journal, and the
good VMs run. All else that a folder may say: `test_margay_apply.py`.
"""

import json
import os
import shutil

import client_json
import deb_package
import debian_management
import pytest
import tiny

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
WANTED = "/etc/margay/wanted"
VM = "name = %s\nkernel = halts\nmemory = 32M\ncpus = %s\ncmdline = machine=qemu mode=part\n"
VMS = {"a": VM % ("a", "1-1"), "b": VM % ("b", "2-2")}
BAD = "name = bad\nkernel = halts\nmemory = 32M\ncpu = 1-1\n"
SAID_OF_BAD = "bad.conf:4: unknown key 'cpu'"


def brought(directory):
    """A folder with the packages and the one that is wanted, and the bad file, which is not in it yet."""
    folder = os.path.join(directory, "brought")
    images = os.path.join(folder, "wanted", "images")
    os.makedirs(images)
    packages = deb_package.make_deb()
    for name in "margay", "margay-tools", "margay-apply":
        shutil.copy(packages[name], folder)
    for name, text in {**{"wanted/" + name: text for name, text in VMS.items()}, "bad": BAD}.items():
        with open(os.path.join(folder, name + ".conf"), "w", encoding="ascii") as f:
            f.write(text)
    shutil.copy(tiny.elf("behave"), os.path.join(images, "halts"))
    return folder


class Wanted(debian_management.Management):
    def changes(self):
        """What has changed the node up to now: its events, but for what VMs do by themselves, and what was asked of it."""
        events = [(event["number"], event["event"]) for event in client_json.judge(self.good("margay --json events"), "events")]
        said = self.good("journalctl -q -t margay PRIORITY=5 -o json --output-fields=MARGAY_COMMAND")
        asked = [json.loads(line)["MARGAY_COMMAND"] for line in said.splitlines()]
        return events, [command for command in asked if command != "apply"]

    def restored(self):
        """That the service has done what it could: the system is up when it has. Its complaints, each once: it tries again."""
        return set(self.say("journalctl -q -b -u margay-restore -o cat | grep ^margay-apply:")[1].splitlines())


def install(management):
    management.good("mount -o ro /dev/vda /mnt")
    management.good("dpkg -i /mnt/*.deb && mkdir /etc/margay && cp -r /mnt/wanted %s && systemctl enable margay-restore" % WANTED)


def check_apply(management):
    """The plan, the run, and a second one."""
    before = management.changes()
    plan = management.say("margay apply --dry-run " + WANTED)
    assert plan[0] == 4 and [line.split()[:-1][:3] for line in plan[1].splitlines()] == [
        ["image", "put", "halts"], ["create", "a", "it"], ["create", "b", "it"], ["start", "a", "it"], ["start", "b", "it"]], plan
    assert management.vms() == {} and management.changes() == before
    assert management.say("margay apply " + WANTED) == (0, plan[1])
    assert management.vms() == {"a": ("running", 1), "b": ("running", 1)}
    after = management.changes()
    assert after != before and after[1][-5:] == ["image put", "create", "create", "start", "start"]
    for how in "", "--dry-run ", "--each ":
        assert management.say("margay apply %s%s" % (how, WANTED)) == (0, "")
    assert management.changes() == after


def check_bad_file(management):
    """Who has written it gets a line, and nothing is done for it, nor for what is good beside it."""
    management.good("cp /mnt/bad.conf %s && margay kill b && margay wait b; margay show b" % WANTED)
    before = management.changes()
    status, said = management.say("margay apply " + WANTED)
    assert status == 1 and SAID_OF_BAD in said and said.count("\n") == 0, said
    assert management.changes() == before and management.vms() == {"a": ("running", 1), "b": ("stopped", 1)}


def check_restored(management, starts):
    """The good ones run, and the bad one has a line."""
    line, = management.restored()
    assert SAID_OF_BAD in line
    assert management.vms() == {name: ("running", times) for name, times in starts.items()}


def test_wanted(tmp_path):
    machine = debian_management.Machine(str(tmp_path), "wanted", brought(str(tmp_path)))
    with machine.on("begin") as running:
        management = Wanted(running)
        install(management)
        check_apply(management)
        check_bad_file(management)
        management.console.do("sync")
        management.console.leave("echo c >/proc/sysrq-trigger")
        management.console.boots("management: end=panicked")
        # The one that somebody has killed: nobody has told the service so.
        check_restored(management, {"a": 1, "b": 2})
        # As by its power: nothing of the node's memory is there any more, and no system was told.
        running.close()
    with machine.on("again") as running:
        management = Wanted(running)
        check_restored(management, {"a": 1, "b": 1})

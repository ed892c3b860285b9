# SPDX-License-Identifier: GPL-2.0-only
"""`margay-slurm upgrade`: node by node, so many at a time, to a new version of the hypervisor, or just through a reboot, which is
how a diskless management VM comes to its new image. A node gets no job, its own goes on to its end; then the site's command runs in
its management VM, the node reboots, must come back as what it shall be, and is Slurm's again.

What is to be done a node says itself: its version, and which boot of its management VM it is. The record has only what it cannot
say: which boot was the one before. So a call that was killed is called again, and does what is left.

Not by `scontrol reboot`: that asks a slurmd, and a cloud node without a job has none."""

import fcntl
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import hold, order, owners, records, remote, slurm
from .config import NODE, VM
from .errors import ClusterError

# In the management VM.
LOCK = "/run/margay-upgrade"
# ssh's, when the node is gone under it.
GONE = (0, 255)
DONE, FAILED, LEFT = "done", "failed", "left alone"
WAITS, REBOOT = "waits", "reboot"


class Left(ClusterError):
    """Nothing was done to the node, and why."""


def lock(config):
    """One upgrade at a time."""
    path = os.path.join(config.state, "upgrade.lock")
    # SlurmUser may have put a link there.
    file = open(path, "a", encoding="ascii", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o644))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ClusterError("another upgrade is under way (%s)" % path) from error
    return file


class Upgrade:
    def __init__(self, config, to, max_failed, tell):
        """to: a version, or None for a reboot."""
        self.config, self.to, self.max_failed, self.tell = config, to, max_failed, tell
        self.owners = owners.Owners(config)
        self.records = records.Records(config.state, "upgrades")
        self.ends, self.interrupted = {}, False

    # ---- what there is to do

    def ask(self, node):
        return remote.send(self.config, node, {"format": order.FORMAT, "order": "list", "node": node})

    def has_rebooted(self, node, answer):
        """Since it was told to. One that does not answer has not."""
        before = self.records.read(node).get("boot")
        return before is not None and answer.get("boot", before) != before

    def is_done(self, node, answer):
        if self.to is None:
            return self.records.read(node).get("phase") == DONE or self.has_rebooted(node, answer)
        return answer.get("version") == self.to

    def plan(self, node, answer):
        """What would be done, in words."""
        if self.is_done(node, answer):
            return "is done"
        if "error" in answer and self.records.read(node).get("phase") == REBOOT:
            return "is off, and waited for"
        try:
            self.require_answer(answer)
            self.require_ours(node)
        except Left as left:
            return "is left alone: %s" % left
        jobs = hold.jobs_of(self.owners.slurm_name(node))
        first = "waits for job %s, then " % ", ".join(jobs) if jobs else ""
        return "%s%sreboots%s" % (first, "runs the command, " if self.command() else "",
                                  "" if self.to is None else ": %s becomes %s" % (answer.get("version"), self.to))

    def command(self):
        return self.config.upgrade.replace("{version}", self.to) if self.to is not None else ""

    def typed(self):
        """The command that a killed call has left there may run still: this one waits for its end."""
        return "flock -w %d %s sh -c %s" % (self.config.upgrade_timeout, LOCK, shlex.quote(self.command()))

    def require_answer(self, answer):
        if "error" in answer:
            raise Left(answer["error"])
        if "boot" not in answer:
            raise Left("its margay-node does not say which version runs: upgrade margay-slurm in its management VM")

    def require_ours(self, node):
        if self.owners.to(node):
            raise Left("it goes to its %s" % owners.WORDS[self.owners.to(node)])
        name = self.owners.slurm_name(node)
        who, why = hold.whose(name)
        if who == "others":
            raise Left("%s is drained or down: %s" % (name, why))

    def forget(self, nodes):
        """Which of them have rebooted; what is under way is not forgotten."""
        for node in nodes:
            if self.records.read(node).get("phase") == DONE:
                self.records.remove(node)

    # ---- doing it

    def is_stopped(self):
        return self.interrupted or list(self.ends.values()).count(FAILED) >= self.max_failed

    def ssh(self, node, command, seconds):
        """(status, the last line that it said), by the administrator's ssh: the key of SlurmUser opens no more than margay-node."""
        host = self.config.management_of(node)
        done = subprocess.run(["timeout", "--kill-after=2", str(seconds), *self.config.admin_ssh, host, command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = order.first_line(done.stdout.strip().split(b"\n")[-1])
        return done.returncode, "no end after %d s" % seconds if done.returncode == 124 else said

    def note(self, node, phase, **more):
        self.records.write(node, {"phase": phase, **more})

    def empty(self, node):
        """What goes wrong here is no failure of the node's: that would set it down, and its job may run still."""
        self.note(node, WAITS)
        self.tell("%s: no new jobs" % node)
        try:
            hold.empty(self.owners.slurm_name(node), hold.UPGRADE + "to " + (self.to or "its next boot"), lambda: self.interrupted)
        except ClusterError as error:
            raise Left(str(error)) from error

    def bring_down(self, node):
        """Until it reboots. Whatever fails before that may be done again."""
        self.empty(node)
        if self.owners.of(node) == VM:
            self.owners.end_vm(node)
        if self.command():
            self.tell("%s: %s" % (node, self.command()))
            status, said = self.ssh(node, self.typed(), self.config.upgrade_timeout)
            if status:
                raise ClusterError("the command failed: %s" % said)
        # Who was told that all stays as it is finds no node that reboots.
        if self.interrupted:
            raise Left("stopped")
        answer = self.ask(node)
        if "error" in answer:
            raise ClusterError(answer["error"])
        self.note(node, REBOOT, boot=answer["boot"])
        self.tell("%s: reboots" % node)
        status, said = self.ssh(node, self.config.reboot, self.config.order_timeout)
        if status not in GONE:
            raise ClusterError("does not reboot: %s" % said)

    def come_up(self, node):
        answer = {}

        # By the one answer: the next may be lost, as the VM's services still start.
        def is_back():
            answer.clear()
            answer.update(self.ask(node))
            return self.has_rebooted(node, answer)

        if not hold.wait(is_back, self.config.reboot_timeout, lambda: self.interrupted):
            raise ClusterError("is not back after %d s" % self.config.reboot_timeout)
        if not self.is_done(node, answer):
            raise ClusterError("is back with version %s" % answer.get("version"))

    def give_back(self, node):
        """It is as it shall be."""
        name = self.owners.slurm_name(node)
        if self.owners.of(node) == NODE:
            self.owners.begin(node)
        # A controller that does not answer just now is no failure: jobs may be there already, which that would end.
        hold.wait(lambda: hold.put_back(name) is None, stopped=lambda: self.interrupted)
        if self.to is None:
            self.note(node, DONE)
        else:
            self.records.remove(node)
        self.tell("%s: is done" % node)

    def fail(self, node, why):
        """It stays down, with the reason, for whoever repairs it; drained, too, since its slurmd would bring it up again."""
        self.note(node, FAILED, **{key: value for key, value in self.records.read(node).items() if key == "boot"})
        name = self.owners.slurm_name(node)

        def is_down():
            slurm.update_node(name, "state=drain", "reason=%s%s" % (hold.UPGRADE, why))
            slurm.update_node(name, "state=down", "reason=%s%s" % (hold.UPGRADE, why))
            hold.release(name)
            return True

        self.tell("%s: failed: %s" % (node, why))
        if not hold.wait(is_down, self.config.order_timeout):
            self.tell("%s: the controller does not answer: set it down" % node)

    def carry_out(self, node):
        answer = self.ask(node)
        record = self.records.read(node)
        if not self.is_done(node, answer):
            if record.get("phase") != REBOOT or answer.get("boot") == record["boot"]:
                self.require_answer(answer)
                self.require_ours(node)
                self.bring_down(node)
            self.come_up(node)
        elif record.get("phase") in (None, DONE):
            return
        self.give_back(node)

    def one(self, node):
        """How it ended, noted."""
        if self.is_stopped():
            return
        try:
            self.carry_out(node)
            self.ends[node] = DONE
        except Left as left:
            if not self.interrupted:
                self.ends[node] = LEFT
            self.tell("%s: is left alone: %s" % (node, left))
        except (ClusterError, OSError) as error:
            if not self.interrupted:
                self.ends[node] = FAILED
                self.fail(node, str(error))

    def all(self, nodes, parallel):
        """Those without a job first: they are done while the others' jobs go on."""
        busy = hold.with_jobs()
        with ThreadPoolExecutor(parallel) as pool:
            try:
                list(pool.map(self.one, sorted(nodes, key=lambda node: self.owners.slurm_name(node) in busy)))
            except KeyboardInterrupt:
                self.interrupted = True
                self.tell("stops: what is under way stays as it is; call it again")
                raise
        if self.to is None and len(self.ends) == len(nodes) and set(self.ends.values()) == {DONE}:
            # The next reboot is another one.
            self.forget(nodes)
        return self.ends

# SPDX-License-Identifier: GPL-2.0-only
"""`margay apply` (tools/margay-apply): the real client against a model of a node that has VMs and images (client_node.py). What
changes the node is counted: a second run changes nothing."""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys

import margay_pages
import pytest
import throwaway
from client_json import judge
from client_node import (  # noqa: F401  (starter is a fixture)
    BUILD, CLIENT, DATA, ENOSYS, FILE, HELLO, IMAGE, IMAGE_END, LIST, PRESS, SHOW, START, STOP, TOP, ImageMemory, starter)

CREATE, DESTROY, RESTART, PAUSE, RESUME, IMAGES, REMOVE = 8, 9, 12, 13, 14, 17, 21
LOOKS = {HELLO, LIST, SHOW, FILE, IMAGES}
EINVAL, ENOENT, EBUSY, EEXIST = 22, 2, 16, 17
ROW = ("name=%s\tstate=%s\tcpus=1\tmemory=67108864\tup=1\tstarts=%d\tfile=%s\tcreated=%s\tcommands=%s\tmemory_and_disks=67108864\t"
       "end=%s\tstatus=0\tended=\tline=0\twhy=%s\tlast=\n")


class Machine(ImageMemory):
    """VMs of files, which are bound to the contents that names had when they were made, as a node's are."""

    def __init__(self):
        super().__init__()
        self.vms = {"management": self.vm("management.conf", "name = management\n", "running", created="no", commands="yes")}
        self.modules = {"vm:management.conf", "bootkernel"}
        self.refuses, self.fails = {}, set()

    @staticmethod
    def vm(file, text, state, created="yes", commands="no"):
        return {"file": file, "text": text, "state": state, "starts": 0, "created": created, "commands": commands, "end": "",
                "why": "", "bound": {}}

    def row(self, name):
        vm = self.vms[name]
        return ROW % (name, vm["state"], vm["starts"], vm["file"], vm["created"], vm["commands"], vm["end"], vm["why"])

    def used(self, image):
        return any(vm["bound"].get(image) == self.names[image] for vm in self.vms.values())

    def images(self):
        rows = ["name=%s\tsize=%d\tsha256=%s\tused=%s\tboot=no\n" % (
            name, len(self.contents[sha]), sha, "yes" if self.used(name) else "no") for name, sha in self.names.items()]
        return "".join(rows + ["name=%s\tsize=6\tsha256=-\tused=yes\tboot=yes\n" % name for name in sorted(self.modules)])

    def create(self, file, text):
        name = re.search(r"^name *= (\S+)$", text, re.MULTILINE)[1]
        named = re.findall(r"^(?:kernel|initrd) *= (\S+)$", text, re.MULTILINE)
        if name in self.vms:
            return EEXIST, b"there is a VM of that name"
        for image in named:
            if image not in self.names and image not in self.modules:
                return EINVAL, b"%s:2: kernel = %s: no such image" % (file.encode(), image.encode())
        self.vms[name] = self.vm(file, text, "not-started")
        self.vms[name]["bound"] = {image: self.names.get(image) for image in named}
        return 0, b""

    def change(self, what, name):
        vm = self.vms[name]
        if what == START and name in self.fails:
            vm.update(end="not-started", why="no CPU is free")
        elif what == START:
            vm.update(state="running", starts=vm["starts"] + 1)
        elif what in (STOP, PRESS):
            vm.update(state="poweroff", end="poweroff")
        elif what == DESTROY:
            if vm["state"] == "running":
                return EBUSY, b"it runs"
            del self.vms[name]
        return 0, b""

    def __call__(self, what, text):
        if (what, text) in self.refuses:
            return EINVAL, self.refuses[what, text]
        if what == LIST:
            return 0, "".join(map(self.row, self.vms)).encode()
        if what == IMAGES:
            return 0, self.images().encode()
        if what == CREATE:
            return self.create(*text.split("\n", 1))
        if what == REMOVE:
            del self.names[text]
            return 0, b""
        if what in (IMAGE, DATA, IMAGE_END):
            return super().__call__(what, text)
        name = text.split(" ")[0]
        if name not in self.vms:
            return ENOENT, b"there is no such VM"
        if what == SHOW:
            return 0, self.row(name).encode()
        if what == FILE:
            data = self.vms[name]["text"].encode("latin-1")  # as Node has decoded it
            return 0, b"offset=0\tnext=%d\tsize=%d\n" % (len(data), len(data)) + data
        return self.change(what, name)


class Folder:
    """What is wanted."""

    def __init__(self, path):
        self.path = path
        (path / "images").mkdir(parents=True)

    def image(self, name, data):
        (self.path / "images" / name).write_bytes(data)

    def vm(self, name, more="", folder=""):
        target = self.path / folder
        target.mkdir(exist_ok=True)
        (target / (name + ".conf")).write_text(
            "# f\u00fcr %s\nname = %s\nkernel = k\ninitrd = i.%s\nmemory = 64M\n%s" % (name, name, name, more), encoding="utf-8")
        self.image("k", b"kernel")
        self.image("i." + name, b"initrd of " + name.encode())


@pytest.fixture(name="programs")
def fixture_programs(tmp_path, monkeypatch):
    """No margay-check but where a test wants it: the model's kernels are none."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "margay").symlink_to(CLIENT)
    (folder / "margay-apply").symlink_to(os.path.join(TOP, "tools", "margay-apply"))
    monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % folder)
    return folder


class Run:
    """One of the program, with what it has asked the node for that changes it."""

    def __init__(self, node, *words):
        before = len(node.asked)
        self.status, self.out, self.err = node.run("apply", *map(str, words))
        self.asked = node.asked[before:]
        self.changes = [(what, text.split("\n")[0].split(" ")[0]) for what, text in self.asked if what not in LOOKS]


@pytest.fixture(name="machine")
def fixture_machine():
    return Machine()


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path / "wanted")


@pytest.fixture(name="node")
def fixture_node(start, machine, programs):
    del programs
    return start(machine)


def first(node, folder, *names):
    for name in names or ("a", "b"):
        folder.vm(name)
    run = Run(node, folder.path)
    assert (run.status, run.err) == (0, ""), run.err
    return run


def quiet(node, folder, *words):
    """There is nothing to do, and nothing is done."""
    run = Run(node, *words, folder.path)
    assert (run.status, run.out, run.err, run.changes) == (0, "", "", [])


def test_from_nothing(node, machine, folder):
    """As after the node's reboot. Each thing once, images first; and again: nothing."""
    run = first(node, folder)
    assert [line.split()[:2] for line in run.out.splitlines() if not line.startswith("image")] == [
        ["create", "a"], ["create", "b"], ["start", "a"], ["start", "b"]]
    assert {name: vm["state"] for name, vm in machine.vms.items()} == {"management": "running", "a": "running", "b": "running"}
    assert set(machine.names) == {"k", "i.a", "i.b"} and machine.vms["a"]["text"].encode("latin-1") == (
        folder.path / "a.conf").read_bytes()
    assert [what for what, _ in run.changes if what not in (IMAGE, DATA, IMAGE_END)] == [CREATE, CREATE, START, START]
    quiet(node, folder)


class Older(Machine):
    """A node of 0.2: without later requests and values, nor is a name ever moved to new content."""

    def row(self, name):
        return super().row(name).partition("\tmemory_and_disks=")[0] + "\n"

    def __call__(self, what, text):
        if what >= FILE:
            return ENOSYS, b"request %d: this node does not know it" % what
        if what == IMAGE and text.endswith(" replace"):
            return EINVAL, b"expected a name, a size in bytes, and a SHA-256 in hexadecimal digits"
        return super().__call__(what, text)


def test_older_node(start, programs, folder):
    """It is made as it is wanted from nothing. Later it does not say what its VMs were made of: one line, and nothing changes."""
    del programs
    machine = Older()
    node = start(machine)
    first(node, folder)
    assert {name: vm["state"] for name, vm in machine.vms.items()} == {"management": "running", "a": "running", "b": "running"}
    run = Run(node, folder.path)
    assert (run.status, run.out, run.changes) == (1, "", []) and run.err == (
        "margay-apply: this node is of an older version, or built without this: request 27: this node does not know it\n")


def test_dry_run(node, folder):
    """Says the same, does nothing, and its status says that something is to be done."""
    folder.vm("a")
    plan = Run(node, "--dry-run", folder.path)
    assert (plan.status, plan.err, plan.changes) == (4, "", [])
    assert Run(node, folder.path).out == plan.out and len(plan.out.splitlines()) == 4
    quiet(node, folder, "--dry-run")


@pytest.mark.parametrize("state, acts", [
    ("poweroff", [START]), ("panicked", [START]), ("not-started", [START]), ("paused", []), ("changing", []), ("waiting", [])])
def test_states(node, machine, folder, state, acts):
    """Who is over starts again; who is on its way, or was paused by somebody, is left alone."""
    first(node, folder)
    machine.vms["a"]["state"] = state
    run = Run(node, folder.path)
    assert run.status == 0 and run.changes == [(what, "a") for what in acts]


def test_a_changed_file(node, machine, folder):
    """Of one VM: the other runs on."""
    first(node, folder)
    folder.vm("a", "cpus = 1-1\n")
    run = Run(node, folder.path)
    assert run.status == 0 and run.changes == [(PRESS, "a"), (DESTROY, "a"), (CREATE, "a.conf"), (START, "a")]
    assert "cpus" in machine.vms["a"]["text"] and machine.vms["b"]["starts"] == 1
    quiet(node, folder)


def content(data):
    return hashlib.sha256(data).hexdigest()


def test_a_changed_image(node, machine, folder):
    """The VMs that it is of are made anew, with the new content, and stand still while they are, not while it comes."""
    first(node, folder)
    folder.image("i.a", b"anew")
    run = Run(node, folder.path)
    assert (run.status, run.err) == (0, "")
    assert run.changes == [(IMAGE, "i.a.coming"), (DATA, "anew"), (IMAGE_END, ""), (PRESS, "a"), (DESTROY, "a"), (IMAGE, "i.a"),
                           (REMOVE, "i.a.coming"), (CREATE, "a.conf"), (START, "a")]
    assert machine.vms["a"]["bound"]["i.a"] == content(b"anew") and machine.vms["b"]["starts"] == 1
    quiet(node, folder)


@pytest.mark.parametrize("stop_at", range(9))
def test_a_run_that_is_cut_off(node, machine, folder, stop_at):
    """Anywhere in the middle of that: the next one ends where an uncut one would."""
    first(node, folder)
    folder.image("i.a", b"anew")
    seen, answer = [], node.answer

    def cut(what, text):
        if what not in LOOKS:
            seen.append(what)
        if len(seen) > stop_at:
            raise OSError
        return answer(what, text)

    node.answer = cut
    with node.popen("apply", str(folder.path)) as child:
        node.thread.join(30)
        child.kill()
    again = node.__class__(machine)
    try:
        assert Run(again, folder.path).status == 0
        assert machine.vms["a"]["bound"]["i.a"] == content(b"anew") and machine.vms["a"]["state"] == "running"
        assert set(machine.names) == {"k", "i.a", "i.b"}
        quiet(again, folder)
    finally:
        os.close(again.slave)
        again.thread.join(30)
        os.close(again.master)


def test_off(node, machine, folder):
    """Made, and not started; one that runs is stopped, and its images may change all the same."""
    first(node, folder)
    os.mkdir(folder.path / "off")
    os.rename(folder.path / "a.conf", folder.path / "off" / "a.conf")
    folder.vm("c", folder="off")
    run = Run(node, folder.path)
    assert run.status == 0 and {name: machine.vms[name]["state"] for name in "abc"} == {
        "a": "poweroff", "b": "running", "c": "not-started"}
    quiet(node, folder)


def test_others_are_left_alone(node, machine, folder):
    """But by --prune, which leaves what is of the boot, and images that somebody uses."""
    first(node, folder)
    machine.vms["other"] = machine.vm("o.conf", "name = other\n", "running")
    machine.vms["boot"] = machine.vm("boot.conf", "name = boot\n", "running", created="no")
    machine.contents["0" * 64] = b"x"
    machine.names.update({"spare": "0" * 64, "k@0123456789ab": "0" * 64})
    quiet(node, folder)
    run = Run(node, "--prune", folder.path)
    assert run.status == 0 and run.changes == [(PRESS, "other"), (DESTROY, "other"), (REMOVE, "spare")]
    quiet(node, folder, "--prune")


def test_a_crash_is_kept(node, machine, folder):
    """on_crash = dump has kept it for somebody: it is not as it is wanted, and left as it is, whatever has changed."""
    first(node, folder)
    machine.vms["a"]["state"] = "crashed"
    for data in b"initrd of a", b"anew":
        folder.image("i.a", data)
        run = Run(node, folder.path)
        assert (run.status, run.changes, run.err) == (
            1, [], "margay-apply: a: a crash keeps it as it was: margay dump, then margay kill\n")


def test_a_step_that_fails(node, machine, folder):
    """Its VM stays as far as it came, the others go on; one line, status 1, and the next run does what is left."""
    machine.refuses[START, "a"] = b"no CPU is free"
    for name in "ab":
        folder.vm(name)
    run = Run(node, folder.path)
    assert (run.status, run.err) == (1, "margay-apply: start a: no CPU is free\n") and machine.vms["b"]["state"] == "running"
    machine.refuses.clear()
    # One that the node takes, and cannot start.
    machine.fails.add("a")
    run = Run(node, folder.path)
    assert (run.status, run.err) == (1, "margay-apply: start a: a: it has not started: no CPU is free\n")
    machine.fails.clear()
    assert Run(node, folder.path).changes == [(START, "a")]


def test_an_image_that_does_not_come(node, machine, folder):
    """No VM ends for it."""
    first(node, folder)
    folder.image("i.a", b"anew")
    machine.refuses[IMAGE, "i.a.coming 4 %s replace" % content(b"anew")] = b"no room"
    run = Run(node, folder.path)
    assert run.status == 1 and machine.vms["a"]["starts"] == 1 and machine.vms["a"]["state"] == "running"
    assert run.err.splitlines()[0] == "margay-apply: image put i.a: no room"
    assert all("not done: what it needs has failed" in line for line in run.err.splitlines()[1:])


WRONG = {
    "no name": ("x.conf", b"kernel = k\nmemory = 1G\n", "has one line name = ..."),
    "two names": ("x.conf", b"name = a\nname = b\n", "has one line name = ..."),
    "no text": ("x.conf", b"name = a\n# \xff\n", "is text in UTF-8"),
    "too large": ("x.conf", b"name = x\n#" + b"x" * 40000 + b"\n", "too large for a VM file"),
    "the same name": ("x.conf", b"name = a\n", "is the name of a VM, too"),
    "a VM of the boot": ("x.conf", b"name = management\n", "is a VM of the node's boot"),
    "another file": ("x.cfg", b"", "expected *.conf, off, images or README"),
    "an empty image": ("images/x", b"", "it is empty"),
    "a module of the boot": ("images/bootkernel", b"x", "a module of the node's boot has this name"),
    "a name with a blank": ("images/x y", b"x", "an image's name has"),
    "a name of ours": ("images/x.coming", b"x", "does not end with .coming"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("how", [(), ("--dry-run",), ("--json",)])
def test_bad_input(node, folder, case, how):
    """One line, and nothing of all that is good is done."""
    name, data, said = WRONG[case]
    folder.vm("a")
    (folder.path / name).write_bytes(data)
    run = Run(node, *how, folder.path)
    assert run.status == 1 and run.changes == []
    text = run.out if how == ("--json",) else run.err
    assert text.count("\n") == 1 and said in text and (run.err == "") == (how == ("--json",))
    if how == ("--json",):
        assert set(judge(run.out, "error")["error"]) == {"status", "message"}


@pytest.mark.parametrize("case", WRONG)
def test_each(node, machine, folder, case):
    """The same files, one less of them each: one line, all that is good is there, and there is nothing more to do."""
    name, data, said = WRONG[case]
    folder.vm("a")
    (folder.path / name).write_bytes(data)
    run = Run(node, "--each", folder.path)
    assert (run.status, run.err.count("\n")) == (1, 1) and said in run.err
    assert {name: vm["state"] for name, vm in machine.vms.items()} == {"management": "running", "a": "running"}
    run = Run(node, "--each", "--json", folder.path)
    answer = judge(run.out, "apply")
    assert run.changes == [] and answer["as_wanted"] is False and answer["steps"] == [] and said in answer["wrong"][0]


@pytest.mark.parametrize("name", ["x.conf", "images/x"])
@pytest.mark.parametrize("leads, said", [("nowhere", "No such file or directory"), ("/proc/self/mem", "Input/output error")])
def test_each_file_that_cannot_be_read(node, machine, folder, name, leads, said):
    """Opened, or, as of a disk that fails, read."""
    folder.vm("a")
    os.symlink(leads, folder.path / name)
    said = "margay-apply: %s: %s\n" % (folder.path / name, said)
    run = Run(node, folder.path)
    assert (run.status, run.err, run.changes) == (3, said, [])
    run = Run(node, "--each", folder.path)
    assert (run.status, run.err) == (1, said) and machine.vms["a"]["state"] == "running"


def test_margay_check_judges(node, folder, programs):
    """Where it is installed nothing is done for a file that the hypervisor would refuse."""
    folder.vm("a", "memroy = 1G\n")
    (programs / "margay-check").symlink_to(os.path.join(BUILD, "margay-check"))
    run = Run(node, folder.path)
    assert (run.status, run.changes) == (1, []) and run.err.startswith("margay-apply: a.conf:6: ") and run.err.count("\n") == 1
    # Images are judged, too; of several errors the first is said.
    folder.vm("a", "module = gone\n")
    run = Run(node, folder.path)
    assert (run.status, run.changes) == (1, []) and run.err.startswith("margay-apply: a.conf:3: kernel = k: not a Linux kernel")
    assert run.err.endswith(" (and 1 more)\n")


def test_margay_check_judges_each(node, machine, folder, programs):
    """One that it refuses keeps no other from running."""
    for name in "ab":
        folder.vm(name)
    # It takes a for good, whose kernel is none for the real one.
    (programs / "margay-check").write_text('#!/bin/sh\ncase $* in */b.conf*) echo "b.conf:6: no" >&2; exit 1 ;; esac\n')
    (programs / "margay-check").chmod(0o755)
    assert Run(node, folder.path).changes == []
    run = Run(node, "--each", folder.path)
    assert (run.status, run.err) == (1, "margay-apply: b.conf:6: no\n") and set(machine.vms) == {"management", "a"}


@pytest.mark.parametrize("words", [
    [], ["--nonsense", "x"], ["x", "y"], ["--timeout", "soon", "x"], ["--prune", "--each", "x"]])
def test_wrong_command_lines(node, programs, words):
    assert node.run("apply", *words)[0] == 2 and node.asked == []
    done = subprocess.run([programs / "margay-apply", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_without_folder_node_or_program(node, folder, programs, tmp_path):
    run = Run(node, tmp_path / "none")
    assert (run.status, run.err.count("\n"), run.asked) == (3, 1, [])
    environment = {**os.environ, "MARGAY_PORT": str(tmp_path / "none")}
    done = subprocess.run([programs / "margay-apply", folder.path], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    (programs / "margay-apply").unlink()
    run = Run(node, folder.path)
    assert run.status == 3 and "install the package" in run.err


def test_one_at_a_time(node, folder):
    held = os.open(folder.path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    run = Run(node, folder.path)
    assert (run.status, run.asked) == (1, []) and "another margay apply is at it" in run.err
    os.close(held)
    assert Run(node, folder.path).status == 0


def test_json(node, machine, folder):
    folder.vm("a")
    plan = judge(Run(node, "--json", "--dry-run", folder.path).out, "apply")
    assert (plan["as_wanted"], plan["changed"], plan["dry_run"]) == (False, False, True) and not any(
        step["done"] for step in plan["steps"])
    done = judge(Run(node, "--json", folder.path).out, "apply")
    assert (done["as_wanted"], done["changed"], done["dry_run"]) == (True, True, False)
    assert [step["action"] for step in done["steps"]] == ["image put", "image put", "create", "start"]
    again = judge(Run(node, "--json", folder.path).out, "apply")
    assert again == {"as_wanted": True, "changed": False, "dry_run": False, "steps": [], "wrong": []}
    machine.refuses[PRESS, "a"] = b"no"
    folder.vm("a", "cpus = 1-1\n")
    run = Run(node, "--json", folder.path)
    failed = judge(run.out, "apply")
    assert run.status == 1 and not failed["as_wanted"] and [step["error"] is None for step in failed["steps"]] == [False] * 4
    machine.vms["a"]["state"] = "crashed"
    assert judge(Run(node, "--json", folder.path).out, "apply")["wrong"]


def test_timeout_is_handed_on(node, folder, programs):
    """To margay stop, which judges it."""
    calls = programs.parent / "calls"
    (programs / "margay").unlink()
    (programs / "margay").write_text('#!/bin/sh\necho "$@" >>%s\nexec %s "$@"\n' % (calls, CLIENT))
    (programs / "margay").chmod(0o755)
    first(node, folder, "a")
    folder.vm("a", "cpus = 1-1\n")
    assert Run(node, "--timeout", "7", folder.path).status == 0
    assert "--json stop --timeout 7 -- a\n" in calls.read_text()


@throwaway.ALLOWED
def test_the_page(node, machine, folder, tmp_path):
    """docs/management-vm.md, with the VM file of the first hour."""
    (job,) = [block.text for block in margay_pages.all_blocks() if (block.page, block.name) == ("first-hour", "job.conf")]
    typed = list(margay_pages.script("management-vm", "wanted"))
    here = folder.path / "here"
    here.mkdir()
    for name, text in ("job.conf", job), ("vmlinuz", "kernel"), ("user.img", "initrd"):
        (here / name).write_text(text, encoding="ascii")
    assert "margay apply --dry-run" in typed[-1]
    environment = {**os.environ, "MARGAY_PORT": node.path}
    said, status = throwaway.run("\n".join(typed), str(tmp_path / "scratch"), str(here), environment, 60)
    assert status == 0 and machine.vms["job"]["state"] == "running" and set(machine.names) == {"job.vmlinuz", "job.initrd"}, said


def test_version():
    done = subprocess.run([sys.executable, os.path.join(TOP, "tools", "margay-apply"), "--version"], capture_output=True, text=True,
                          check=True)
    assert re.fullmatch(r"margay-apply \S+\n", done.stdout)

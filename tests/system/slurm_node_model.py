# SPDX-License-Identifier: GPL-2.0-only
"""A node that is none: the program margay of a modelled node, as margay-node calls it, with docs/management-vm.md's answers. What
the hypervisor would keep lies below nodes/NODE/ in the world of slurm_cluster.py: vms/NAME.json, images/NAME. A VM that runs is a
process, slurm_guest.py, in namespaces of its own."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import slurm_machines  # noqa: E402

NODE = os.environ["MODEL_NODE"]
TOP = "/mnt/nodes/" + NODE
HERE = os.path.dirname(os.path.abspath(__file__))
RUNNING = "running"
KEY = re.compile(r"([a-z_]+)\s*=\s*(.*?)\s*$")
# As in vmm/config/config.h.
NAME_MAX = 63


class Refused(Exception):
    pass


def path(*parts):
    return os.path.join(TOP, *parts)


def fault(name):
    """Whether a test has asked for this; it is so once."""
    try:
        os.unlink(path("faults", name))
    except FileNotFoundError:
        return False
    return True


# ---- images ----------------------------------------------------------------------------------


def images():
    os.makedirs(path("images"), exist_ok=True)
    used = {name for vm in vms().values() for name in vm["names"]}
    found = []
    for name in sorted(file.replace("%", "/") for file in os.listdir(path("images"))):
        with open(file_of(name), "rb") as f:
            data = f.read()
        found.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "used": name in used,
                      "boot": False})
    return found


def file_of(name):
    """Names of images have slashes."""
    return path("images", name.replace("/", "%"))


def image_put(*words):
    """[--sha256 HEX --size BYTES] - NAME"""
    *options, source, name = words
    if not name or len(name) > NAME_MAX or not name.isprintable() or " " in name:
        raise Refused("expected a name of 1 to %d characters" % NAME_MAX)
    assert source == "-" and options[::2] in ([], ["--sha256", "--size"])
    if options and any((image["name"], image["sha256"]) == (name, options[1]) for image in images()):
        return {"name": name, "size": int(options[3]), "sha256": options[1], "sent": False}
    data = sys.stdin.buffer.read()
    if options and [hashlib.sha256(data).hexdigest(), str(len(data))] != options[1::2]:
        raise Refused("its hash is another")
    if fault("full"):
        raise Refused("no room for an image of %d bytes" % len(data))
    os.makedirs(path("images"), exist_ok=True)
    there = [image for image in images() if image["name"] == name]
    if there and there[0]["sha256"] != hashlib.sha256(data).hexdigest():
        raise Refused("%s: has another content" % name)
    with open(file_of(name), "wb") as f:
        f.write(data)
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "sent": True}


def image_rm(name):
    there = {image["name"]: image for image in images()}
    if name not in there:
        raise Refused("%s: there is no such image" % name)
    if there[name]["used"]:
        raise Refused("%s: a VM's file names it" % name)
    os.unlink(file_of(name))
    return {"done": True}


# ---- VMs -------------------------------------------------------------------------------------


def vms():
    os.makedirs(path("vms"), exist_ok=True)
    found = {}
    for file in sorted(os.listdir(path("vms"))):
        with open(path("vms", file), encoding="utf-8") as f:
            vm = json.load(f)
        if vm["state"] == RUNNING and not lives(vm["pid"]):
            vm["state"] = vm["end"] = "panicked"
        found[vm["name"]] = vm
    return found


def lives(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def keep(vm):
    with open(path("vms", vm["name"] + ".new"), "w", encoding="utf-8") as f:
        json.dump(vm, f)
    os.rename(path("vms", vm["name"] + ".new"), path("vms", vm["name"] + ".json"))


def find(name):
    if name not in vms():
        raise Refused("%s: there is no such VM" % name)
    return vms()[name]


def create(file):
    with open(file, encoding="utf-8") as f:
        text = f.read()
    values = {}
    for line in text.split("\n"):
        found = KEY.match(line.split("#", 1)[0])
        if found:
            if found[1] in values and found[1] not in ("disk", "net", "module"):
                raise Refused("%s: %s stands there twice" % (os.path.basename(file), found[1]))
            values.setdefault(found[1], []).append(found[2])
    name = values["name"][0]
    if name in vms():
        raise Refused("%s: there is such a VM" % name)
    names = values["kernel"] + values["initrd"] + [disk for disk in values["disk"] if not disk.startswith("scratch:")]
    missing = sorted(set(names) - {image["name"] for image in images()})
    if missing:
        raise Refused("%s: there is no image %s" % (name, missing[0]))
    keep({"name": name, "state": "not-started", "file": os.path.basename(file), "text": text, "names": names,
          "disks": values["disk"], "cmdline": values["cmdline"][0], "end": None, "pid": 0})
    return {"done": True}


def start(name):
    vm = find(name)
    if vm["state"] == RUNNING:
        raise Refused("%s: it runs" % name)
    if fault("no-start"):
        vm["state"] = vm["end"] = "not-started"
        keep(vm)
        raise Refused("%s: not-started: CPU 1 does not answer" % name)
    disk = re.search(r"margay\.metadata=/dev/vd([a-d])", vm["cmdline"])[1]
    image = file_of(vm["disks"]["abcd".index(disk)])
    vm["pid"] = guest(image)
    vm["state"] = RUNNING
    keep(vm)
    return shown(vm)


def guest(metadata):
    """Its process; returns when its network's other end is the node's."""
    with open(path("console"), "ab") as log, open(metadata, "rb") as disk:
        child = subprocess.Popen(["unshare", "-n", "-m", "-p", "-u", "-i", "-f", "--mount-proc", "--kill-child", "--",
                                  "/usr/bin/python3", "-B", os.path.join(HERE, "slurm_guest.py"), NODE],
                                 stdin=disk, stdout=log, stderr=log, start_new_session=True,
                                 env={**os.environ, "MODEL_STARTED": "%.3f" % time.time()})
    ours = os.readlink("/proc/self/ns/net")
    while os.readlink("/proc/%d/ns/net" % child.pid) == ours:
        time.sleep(0.01)
    slurm_machines.link(child.pid, "v%d" % child.pid, "02:00:00:00:00:%02x" % (10 + int(NODE[1:])))
    return child.pid


def kill(name):
    vm = find(name)
    if vm["state"] != RUNNING:
        raise Refused("%s: it does not run" % name)
    os.kill(vm["pid"], signal.SIGKILL)
    while lives(vm["pid"]):
        time.sleep(0.01)
    vm["state"] = vm["end"] = "stopped"
    keep(vm)
    return {"done": True}


def destroy(name):
    if find(name)["state"] == RUNNING:
        raise Refused("%s: it runs" % name)
    os.unlink(path("vms", name + ".json"))
    return {"done": True}


def shown(vm):
    return {"name": vm["name"], "state": vm["state"], "cpus": 2, "memory": 256 << 20, "up": 0, "starts": 1, "file": vm["file"],
            "created": True, "commands": False, "memory_and_disks": 256 << 20, "end": vm["end"], "status": 0, "ended": None,
            "line": 0, "why": None, "last": None}


def management_vm():
    vm = {"name": "management", "state": RUNNING, "file": "management.conf", "end": None}
    return {**shown(vm), "created": False, "commands": True}


def main(words):
    assert words.pop(0) == "--json"
    if words[0] == "info":
        with open(path("version"), encoding="ascii") as f:
            return {"margay": f.read().strip(), "protocol": 1}
    if words[0] == "list":
        return [management_vm()] + [shown(vm) for vm in vms().values()]
    if words[:2] == ["show", "--file"]:
        return {"text": find(words[2])["text"]}
    if words[:2] == ["image", "list"]:
        return images()
    if words[:2] == ["image", "put"]:
        return image_put(*words[2:])
    if words[:2] == ["image", "rm"]:
        return image_rm(*words[2:])
    if words[:2] == ["start", "--wait"]:
        return start(words[2])
    if words[:2] == ["stop", "--timeout"]:
        kill(words[3])
        return {"name": words[3], "killed": False}
    return {"create": create, "kill": kill, "destroy": destroy, "wait": lambda name: shown(find(name))}[words[0]](words[1])


if __name__ == "__main__":
    try:
        ANSWER = main(sys.argv[1:])
    except Refused as error:
        ANSWER = {"error": {"status": 1, "message": str(error)}}
    print(json.dumps(ANSWER))
    sys.exit(1 if "error" in ANSWER else 0)

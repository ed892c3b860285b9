# SPDX-License-Identifier: GPL-2.0-only
"""The way from what there is to what is wanted, as steps: each is one call of `margay`, with why. None where nothing is to be done.

The order lets whoever is stopped in the middle begin again: a new content of an image comes under a name of its own, then the VMs
that had the old one end and go, and only then has the name the new content. So a VM that is there has been made of its file and of
the images as they are, and the next run finds out what is missing. A VM is stopped by its power button, and killed if that does not
help, as `margay stop` does."""

from . import Refused
from .node import BROKEN, KEPT, ON_ITS_WAY
from .wanted import COMING


class Step:
    """`subject` is a VM's name or an image's; steps of the same subject, and those that `needs` names, fall with one that fails."""

    def __init__(self, action, subject, why, words, needs=()):
        self.action, self.subject, self.why, self.words = action, subject, why, words
        self.needs = {("image" if action.startswith("image") else "vm", subject), *needs}
        self.done, self.error = False, None

    def line(self):
        return "%-12s %-20s %s" % (self.action, self.subject, self.why)

    def answer(self):
        return {"action": self.action, "name": self.subject, "why": self.why, "done": self.done, "error": self.error}


def judge_name(vm, there):
    """Of a VM that is not ours it cannot be the file."""
    state = there.get(vm.name)
    if state and not state["created"]:
        raise Refused("%s: %s is a VM of the node's boot, which is not made anew" % (vm.path, vm.name))
    if state and state["commands"]:
        raise Refused("%s: %s is the management VM" % (vm.path, vm.name))


def judge_image_name(image, there):
    if image.name in there and there[image.name]["boot"]:
        raise Refused("%s: a module of the node's boot has this name" % image.path)


def vm_differs(vm, there, node, changed):
    """Why the VM that is there is another one than the file says; None: it is the same."""
    if vm.name not in there:
        return None
    if node.file(vm.name) != vm.text:
        return "its file has changed"
    stale = sorted(vm.images & changed)
    return "its image %s has changed" % stale[0] if stale else None


class Plan:
    def __init__(self, wanted, node, prune=False, timeout=None):
        self.wanted, self.steps, self.wrong = wanted, [], wanted.wrong
        self.timeout = ["--timeout", timeout] if timeout else []
        vms, images = node.vms(), node.images()
        wanted.vms = [vm for vm in wanted.vms if wanted.each_alone(judge_name, vm, vms)]
        wanted.images = {name: image for name, image in wanted.images.items()
                         if wanted.each_alone(judge_image_name, image, images)}
        self.kept = {name for name, vm in vms.items() if vm["state"] == KEPT}
        self.look_at_images(images)
        changed = {image.name for image in self.moving}
        anew = {vm.name: why for vm in wanted.vms if (why := vm_differs(vm, vms, node, changed)) and vm.name not in self.kept}
        extra = self.extra(vms) if prune else []
        self.wrong += ["%s: a crash keeps it as it was: margay dump, then margay kill" % vm.name
                       for vm in wanted.vms if vm.name in self.kept]
        self.send()
        self.end(vms, anew, extra)
        self.name_images(images)
        self.make(vms, anew)
        if prune:
            self.prune_images(images)

    def add(self, action, subject, why, *words, needs=()):
        self.steps.append(Step(action, subject, why, words, needs))

    def extra(self, vms):
        """Those of nobody's."""
        names = {vm.name for vm in self.wanted.vms} | self.kept
        return [vm for vm in vms.values() if vm["created"] and not vm["commands"] and vm["name"] not in names]

    def look_at_images(self, images):
        self.new, self.moving = [], []
        # What a crash keeps would be made of the old content when it starts again.
        kept = {name for vm in self.wanted.vms if vm.name in self.kept for name in vm.images}
        for image in self.wanted.images.values():
            there = images.get(image.name)
            if not there:
                self.new.append(image)
            elif there["sha256"] != image.sha256 and image.name not in kept:
                self.moving.append(image)

    def send(self):
        for image in self.new:
            self.add("image put", image.name, "it is not there", "image", "put", "--", image.path, image.name)
        for image in self.moving:
            self.add("image put", image.name, "its content has changed", "image", "put", "--replace", "--", image.path,
                     image.name + COMING)

    def end(self, vms, anew, extra):
        """VMs that are not as they shall be; those that are to be made anew go."""
        goes = [(name, why) for name, why in anew.items()] + [(vm["name"], "no file names it") for vm in extra]
        off = [(vm.name, "it is in off") for vm in self.wanted.vms if not vm.runs and vm.name not in anew]
        for name, why in goes + off:
            if name in vms and vms[name]["state"] in ON_ITS_WAY:
                self.add("stop", name, why, "stop", *self.timeout, "--", name, needs=self.images_of(name))
        for name, why in goes:
            self.add("destroy", name, why, "destroy", "--", name, needs=self.images_of(name))

    def images_of(self, name):
        """That a VM does not end for an image that has not come."""
        return {("image", image) for vm in self.wanted.vms if vm.name == name for image in vm.images if image in self.wanted.images}

    def name_images(self, images):
        for image in self.moving:
            # Not before those that have the old content are gone: else a second run would not know that they have.
            gone = {("vm", vm.name) for vm in self.wanted.vms if image.name in vm.images}
            self.add("image name", image.name, "its content has come", "image", "put", "--replace", "--", image.path, image.name,
                     needs=gone)
        left = [image.name for image in self.wanted.images.values() if image.name + COMING in images and image not in self.moving]
        for name in [image.name for image in self.moving] + left:
            self.add("image rm", name, "%s%s is left" % (name, COMING), "image", "rm", "--", name + COMING)

    def make(self, vms, anew):
        for vm in self.wanted.vms:
            if vm.name not in vms or vm.name in anew:
                self.add("create", vm.name, anew.get(vm.name, "it is not there"), "create", "--", vm.path,
                         needs=self.images_of(vm.name))
        for vm in self.wanted.vms:
            state = vms[vm.name]["state"] if vm.name in vms and vm.name not in anew else None
            if vm.runs and state not in ON_ITS_WAY | {KEPT}:
                why = "it does not run: %s" % state if state else "it is new"
                self.add("start", vm.name, why, "start", "--wait", "--", vm.name, needs=self.images_of(vm.name))

    def prune_images(self, images):
        wanted = set(self.wanted.images) | {name + COMING for name in self.wanted.images}
        wanted |= {name for vm in self.wanted.vms for name in vm.images}
        for name, image in images.items():
            # One that a VM of others has stays with it; what a name has left goes with its VMs.
            if not image["boot"] and not image["used"] and name not in wanted and "@" not in name:
                self.add("image rm", name, "no file names it", "image", "rm", "--", name)

    def carry_out(self, node, say):
        """Each step, but for those that need one that has failed. True: all is as it is wanted."""
        failed = set()
        for step in self.steps:
            if step.needs & failed:
                step.error = "not done: what it needs has failed"
                failed |= {need for need in step.needs if need[1] == step.subject}
                continue
            try:
                node.ask(*step.words)
                step.done = True
                say(step)
            except Refused as error:
                step.error = str(error)
                failed.add(("image" if step.action.startswith("image") else "vm", step.subject))
                if error.status == BROKEN:
                    raise
        return not failed and not self.wrong

# SPDX-License-Identifier: GPL-2.0-only
"""All of it in order: what is made once, then the head, the nodes, the job, the picture."""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import margay_machines

from . import head, images, job, nodes, places, roots, world
from .places import Failed

# What is asked of this machine, and the package that has it; tools/setup cluster installs all.
PROGRAMS = {"mmdebstrap": "mmdebstrap", "mksquashfs": "squashfs-tools", "casync": "casync", "minisign": "minisign",
            "ssh-keygen": "openssh-client", "grub-mkimage": "grub-common", "gcc": "gcc", "ip": "iproute2"}
# In the world, too.
BEGUN = float(os.environ.setdefault("MARGAY_CLUSTER_BEGUN", str(time.monotonic())))


def say(text):
    first, *others = text.split("\n")
    print("cluster: %4d s: %s" % (time.monotonic() - BEGUN, first), *others, sep="\n", flush=True)


def needs():
    """One line for what is missing."""
    if os.geteuid() != 0:
        raise Failed("it needs root, for namespaces, bridges and chroots: sudo make cluster")
    if not os.path.exists("/dev/net/tun"):
        raise Failed("/dev/net/tun is missing: modprobe tun")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None})
    if missing:
        raise Failed("missing: %s: tools/setup cluster" % ", ".join(missing))
    made = [os.path.join(places.BUILD, name) for name in ("margay.elf", "margay-check")]
    for path in (*made, margay_machines.NEWER_QEMU, places.PACKAGES):
        if not os.path.exists(path):
            raise Failed("%s is missing: make cluster makes it" % os.path.relpath(path))


def alone():
    """One cluster at a time; those who are called have the lock with us."""
    os.makedirs(places.MADE, exist_ok=True)
    lock = os.open(os.path.join(places.MADE, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Failed("another one runs here: %s" % os.path.relpath(places.MADE)) from error
    os.set_inheritable(lock, True)


def prepare():
    """What wants the network of this machine, which the world has not."""
    needs()
    alone()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: roots.make(name, say), roots.PACKAGES))
    images.make_keys()


def interrupt(*_):
    raise KeyboardInterrupt


def run(shell):
    """In the world; its end is the end of all that runs there."""
    # The first process of a namespace hears no signal that it does not ask for.
    signal.signal(signal.SIGTERM, interrupt)
    shutil.rmtree(places.RUN, ignore_errors=True)
    os.makedirs(places.LOGS)
    world.make_network()
    compute = images.make("compute", say)
    management = images.make("management", say)
    images.push(compute)
    say("the head: munge, MariaDB, slurmdbd, then what docs/cluster.md lets its reader type")
    its = head.Head()
    its.set_up()
    own = images.Management(its.root.path + "/etc/margay/ssh/id_ed25519.pub")
    archives, known = {}, ""
    for node in places.NODES:
        archives[node], public = own.archive(node)
        known += images.known_host(node, public)
    nodes.make_netboot(management, archives)
    its.begin(known)
    say("the head is up; two nodes boot by the network: their consoles are in %s" % os.path.relpath(places.LOGS))
    machines = [nodes.Machine(node) for node in places.NODES]
    try:
        use(its.root, machines, shell)
    finally:
        for machine in machines:
            machine.end()


def use(root, machines, shell):
    job.wait_nodes(root, machines, say)
    number = job.submit(root, say)
    state = job.watch(root, number, say)
    free = job.wait_free(root)
    job.wait_ended(places.NODES)
    job.show(root, number, say)
    picture = job.draw_timeline(root, number, free, say)
    if state != "COMPLETED" or not job.has_output(number):
        raise Failed("job %d: %s, output: %s: see %s" % (
            number, state, "there" if job.has_output(number) else "none", os.path.relpath(places.LOGS)))
    say("done; the picture: %s" % os.path.relpath(picture))
    if shell:
        say("a shell on the head; exit ends the cluster")
        subprocess.run(root.words("TERM=" + os.environ.get("TERM", "dumb"), "bash"), check=False)

# SPDX-License-Identifier: GPL-2.0-only
"""A management VM as a site would have it: Debian as installed, systemd and all, on a disk that it has by passthrough
(tools/guest-debian), where apt installs margay-tools from a repository on a second disk, a virtual one. All is typed at its
console.

A Linux and a VM that has to be stopped come and go; the timer writes metrics, which Debian's node_exporter serves;
completion; systemd is content before, with and after the package.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import deb_package
import debian_guest
import disk
import management
import margay_run
import node
import pytest
import tiny

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
RIGHTS = "create, destroy, console, cpus:1, memory:512M"
VM = {"name": "management", "kernel": "kernel", "initrd": "initrd", "cmdline": debian_guest.CMDLINE, "memory": "1G",
      "memory_map": "identity", "cpus": "0-0", "pci": "00:06.0", "disk": "packages", "control": "yes", "control_may": RIGHTS,
      "on_poweroff": "poweroff_node"}
JOB = ("name = job\nkernel = vmlinuz\ninitrd = user.img\nmemory = 256M\ncpus = 1-1\n"
       "cmdline = console=ttyS0 panic=-1 margay.test=smp\n")
HANG = "name = hang\nkernel = behave\nmemory = 32M\ncpus = 1-1\ncmdline = machine=qemu mode=hang\n"
REPOSITORY = "deb [trusted=yes] file:/mnt ./"
METRICS = "/var/lib/prometheus/node-exporter/margay.prom"
# Other VMs print in between: what this says is read when they are over.
SCRIPT = management.RUN + r"""
cd /mnt
run before margay --json node
run info margay --json info
run kernel margay image put /vmlinuz vmlinuz
run initrd margay image put user.img
run behave margay image put behave
run create margay create job.conf
run start margay start job
run end margay wait job
run said sh -c "margay console job </dev/null | grep margay-test:"
run hang margay create hang.conf
run start-hang margay start hang
until margay console hang </dev/null | grep -q "behave: begins"; do sleep 0.1; done
run list margay --json list
run refused margay destroy hang
run stop margay kill hang
run stopped margay wait hang
for vm in job hang; do run destroy-$vm margay destroy $vm; done
run at-last margay --json list
for image in vmlinuz user.img behave; do run rm-$image margay image rm $image; done
run after margay --json node
"""
# What completion offers behind words.
COMPLETED = r"""
. /usr/share/bash-completion/bash_completion
_completion_loader margay
complete -p margay
offered() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _margay; echo "${COMPREPLY[@]}"; }
offered margay image ""
offered margay show s
"""


def repository(packages):
    """A disk: the package with apt's index of it, and what a user brings."""
    os.makedirs(os.path.join(node.BUILD, "disks"), exist_ok=True)
    image = os.path.join(node.BUILD, "disks", "packages.img")
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(packages["margay-tools"], root)
        with open(os.path.join(root, "Packages"), "w", encoding="utf-8") as index:
            subprocess.run(["dpkg-scanpackages", "."], cwd=root, stdout=index, stderr=subprocess.DEVNULL, check=True)
        for name, source in (("user.img", node.guest_file("initrd")), ("behave", tiny.elf("behave"))):
            shutil.copy(source, os.path.join(root, name))
        for name, text in (("job.conf", JOB), ("hang.conf", HANG), ("script", SCRIPT), ("completed", COMPLETED)):
            with open(os.path.join(root, name), "w", encoding="ascii") as f:
                f.write(text)
        if os.path.exists(image):
            os.unlink(image)
        disk.run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", root, image, "32M")
    return image


def start(packages):
    modules = {"kernel": os.path.join(debian_guest.DEBIAN, "vmlinuz"), "initrd": os.path.join(debian_guest.DEBIAN, "initrd"),
               "packages": repository(packages)}
    iso = node.margay_iso("management-debian", {"management.conf": "".join("%s = %s\n" % line for line in VM.items())}, modules)
    return node.start("management-debian", "qemu", iso, cpus=2, memory="2G", extra=debian_guest.DISK,
                      timeout=debian_guest.MINUTES * 60)


def install(console, package):
    """By apt, which has nothing but the repository on the disk; what is installed is what was built."""
    assert console.do("command -v margay") == ""
    assert console.do("mount -o ro /dev/vda /mnt && echo good") == "good"
    console.do("rm -rf /etc/apt/sources.list.d/*; echo '%s' >/etc/apt/sources.list" % REPOSITORY)
    assert console.do("apt-get -qq update && echo good").split("\n")[-1] == "good"
    said = console.do("DEBIAN_FRONTEND=noninteractive apt-get -qy install margay-tools && echo good")
    assert said.split("\n")[-1] == "good" and "Setting up margay-tools" in said, said
    version = os.path.basename(package).split("_")[1]
    assert console.do("dpkg-query -W -f '${Status} ${Version}' margay-tools; echo") == "install ok installed " + version
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        assert console.do("margay --version") == "margay " + f.read().strip()


def check_commands(console):
    """Two VMs, one of Linux that ends by itself, and one that has to be stopped; nothing is left of them."""
    console.do("bash /mnt/script >/tmp/said 2>&1")
    said, status = management.read_answers(console.do("cat /tmp/said"))
    assert {what: code for what, code in status.items() if code} == {"refused": 1, "stopped": 10}, said
    assert json.loads(said["info"])["management"] == "management"
    assert re.search(r"^job +poweroff ", said["end"], re.MULTILINE)
    assert "margay-test: cpus: 1" in said["said"] and "margay-test: lines: 20000" in said["said"]
    assert {vm["name"]: vm["state"] for vm in json.loads(said["list"])} == {
        "management": "running", "job": "poweroff", "hang": "running"}
    assert said["refused"] == "margay: hang is not over: stop it first"
    assert re.search(r"^hang +stopped ", said["stopped"], re.MULTILINE)
    assert [vm["name"] for vm in json.loads(said["at-last"])] == ["management"]
    before, after = (management.free(said[when]) for when in ("before", "after"))
    # What more slots take may break one piece of 2 MiB for the hypervisor's own.
    assert before - after in (0, 2 << 20)


def scraped(console):
    """What node_exporter has of this node for Prometheus."""
    console.do("exec 3<>/dev/tcp/127.0.0.1/9100; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3")
    return console.do("grep -E '^(margay|node_textfile)_' <&3; exec 3>&-")


def check_metrics(console):
    """Written by the timer, again and again, and taken by Debian's node_exporter."""
    console.do("systemctl enable --now prometheus-node-exporter margay-metrics.timer")
    console.do("until [ -e %s ]; do sleep 1; done" % METRICS)
    console.do("cp -p {0} /tmp/first; until [ {0} -nt /tmp/first ]; do sleep 1; done".format(METRICS))
    assert console.do("systemctl is-active margay-metrics.timer prometheus-node-exporter") == "active\nactive"
    assert console.do("systemctl show -P Result margay-metrics.service") == "success"
    console.do("until (: </dev/tcp/127.0.0.1/9100) 2>/dev/null; do sleep 1; done")
    text = scraped(console)
    assert re.search(r"^node_textfile_scrape_error 0$", text, re.MULTILINE), text
    assert re.search(r'^margay_vm_info\{[^}]*state="running",vm="management"\} 1$', text, re.MULTILINE), text
    assert re.search(r'^margay_vm_starts_total\{vm="management"\} 1$', text, re.MULTILINE), text


def remove(console):
    """The timer goes with its program, and so do its numbers."""
    assert console.do("apt-get -qy remove margay-tools >/tmp/removed 2>&1 && echo good") == "good", console.do("cat /tmp/removed")
    assert console.do("ls %s 2>/dev/null; systemctl list-timers --no-legend margay-metrics.timer" % METRICS) == ""


def test_service():
    """From apt to users' VMs and their numbers, and back; systemd is content all the time."""
    packages = deb_package.make_deb()
    with start(packages) as running:
        console = debian_guest.Console(running)
        install(console, packages["margay-tools"])
        check_commands(console)
        check_metrics(console)
        assert console.do("bash /mnt/completed").split("\n") == ["complete -F _margay margay", "put pull list rm", "management"]
        assert console.do("systemctl is-system-running; systemctl --failed --plain --no-legend") == "running"
        remove(console)
        assert console.do("systemctl is-system-running; systemctl --failed --plain --no-legend") == "running"
        console.leave("systemctl poweroff")
        outcome = running.wait()
        text = running.text.replace("\r", "")
    assert outcome.status == margay_run.OK, outcome.text
    assert re.search(r"^job: end=poweroff", text, re.MULTILINE) and re.search(r"^hang: end=stopped", text, re.MULTILINE)

# SPDX-License-Identifier: GPL-2.0-only
"""`make cluster`: its timeline out of what slurmctld, the web server and the nodes' consoles say, what the site's file becomes,
what is typed of docs/cluster.md, and what of a management VM's layer is its own. The cluster itself needs emulators for minutes.
"""

import os
import stat
import subprocess
import sys
import tarfile

import pytest

import image_roots  # noqa: F401  (for its path)
from margay_cluster import demo, draw, head, images, nodes, places, roots, timeline

# As Slurm 22.05 writes them.
SLURMCTLD = """\
[2026-11-30T04:47:20.000] Node n2 now responding
[2026-11-30T04:47:24.786] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=307
[2026-11-30T04:47:24.796] _slurm_rpc_submit_batch_job: JobId=12 InitPrio=4294901758 usec=219
[2026-11-30T04:47:27.300] POWER: power_save: pid 413 waking nodes n[1-2]
[2026-11-30T04:47:28.541] Node n2 now responding
[2026-11-30T04:47:28.546] Node n1 now responding
[2026-11-30T04:47:28.700] STEPS: _slurm_rpc_job_step_create: JobId=12 StepId=0 n3 usec=301
[2026-11-30T04:47:28.800] STEPS: _slurm_rpc_job_step_create: JobId=1 StepId=0 n[1-2] usec=633
[2026-11-30T04:47:28.983] _job_complete: JobId=1 WEXITSTATUS 0
[2026-11-30T04:47:28.984] _job_complete: JobId=1 done
[2026-11-30T04:47:32.306] POWER: power_save: pid 880 waking nodes n[1-2]
[2026-11-30T04:47:33.624] Node n1 now responding
"""
SUBMIT = timeline.seconds("2026-11-30T04:47:24.786")
WEB = """\
{0:.3f} 10.7.0.101 /margay/modules/kernel 200
{1:.3f} 10.7.0.101 /images/images/mpi/versions 200
{2:.3f} 10.7.0.102 /images/chunks/abcd/abcd.cacnk 200
{3:.3f} 10.7.0.101 /images/chunks/abcd/abce.cacnk 200
a line that is none
""".format(SUBMIT - 60, SUBMIT + 2.6, SUBMIT + 2.7, SUBMIT + 2.9)
CONSOLE = """\
%.3f compute: memory: of an earlier one
%.3f \x1b[2J[    1.234] compute: memory: 768M
%.3f [    9.234] [compute] compute: end= a guest says
%.3f [   11.234] compute: end=stopped
no time
""" % (SUBMIT - 1, SUBMIT + 3, SUBMIT + 3.5, SUBMIT + 5)


def moments(every, who):
    return {what: round(when - SUBMIT, 3) for what, when in every[who].items()}


def collected(free=None):
    return timeline.collect(1, SLURMCTLD, WEB, {places.NODES[0]: CONSOLE, places.NODES[1]: ""}, free)


def test_timeline():
    """The job's own moments, each the first time; of the nodes what came after it was submitted."""
    every = collected(SUBMIT + 8)
    assert moments(every, "job") == {"submit": 0, "resume": 2.514, "first step": 4.014, "end": 4.198, "node free": 8}
    assert moments(every, "n1") == {"pull": 2.6, "pulled": 2.9, "slurmd": 3.76, "VM": 3, "VM's end": 5}
    assert moments(every, "n2") == {"pull": 2.7, "pulled": 2.7, "slurmd": 3.755}
    said = timeline.lines(every)
    assert said[0] == "     0.0 s  job   submit" and said[-1] == "     8.0 s  job   node free" and len(said) == 13
    assert timeline.missing(every) == ["n2: VM", "n2: VM's end"]


def test_timeline_of_nothing():
    every = timeline.collect(7, SLURMCTLD, "", {}, None)
    assert timeline.lines(every) == ["the job was never submitted"] and "job: submit" in timeline.missing(every)


def test_stretches():
    """What is drawn has a beginning and an end."""
    every = collected()
    assert [(what, round(last - first, 3)) for first, last, what, _ in draw.stretches("job", every["job"])] == [
        ("waits", 2.514), ("its nodes start", 1.5), ("runs", 0.184)]
    assert [what for _, _, what, _ in draw.stretches("n1", every["n1"])] == [
        "image comes", "into the node's memory", "VM boots", "VM is the job's"]
    assert [what for _, _, what, _ in draw.stretches("n2", every["n2"])] == ["image comes"]


def test_site_file():
    """The example with this site's values; an example that has another form is told of."""
    text = head.read(os.path.join(places.TOP, "packaging", "margay-slurm", "cluster.conf"))
    lines = head.site_file(text).split("\n")
    assert {"controller = head", "cpus = 1", "stop_timeout = 0", "[nodes n[1-2]]", "images = " + places.IMAGE} <= set(lines)
    assert lines.index("order_timeout = 600") < lines.index("[nodes n[1-2]]") < lines.index("cpus = 1")
    with pytest.raises(places.Failed, match="cluster.conf has not one line: cpus ="):
        head.site_file(text.replace("cpus", "CPUs"))


def test_what_is_typed():
    assert len(head.blocks("head")) == 4 and len(head.blocks("management")) == 1
    with pytest.raises(places.Failed):
        head.blocks("nowhere")


def test_addresses():
    """Each card has its own, and each name; what DHCP says is what hosts says."""
    macs = {node.mac(card) for node in places.NODES for card in (1, 2)}
    lines = head.dhcp_hosts().splitlines()
    assert len(macs) == 4 == len(lines) and {line.split(",")[0].split("=")[1] for line in lines} == macs
    for line in lines:
        _, address, name = line.split(",")
        assert "%s %s\n" % (address, name) in places.hosts()


def test_nodes_file():
    text = nodes.NODE.format(name="n1", head=places.HEAD)
    assert text == 'vms="n1.conf"\nmodules="kernel initrd root.squashfs n1.tar"\nfiles="(http,10.7.0.1)/margay"\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes what an overlay has for a removed file")
def test_own_files(tmp_path):
    """Of a layer what was written there, with its modes, but not what stands for a removed file nor what the typing needed."""
    upper = tmp_path / "upper"
    for folder in "root/.ssh", "var/cache/apt", "admin", "etc":
        (upper / folder).mkdir(parents=True)
    (upper / "root/.ssh").chmod(0o700)
    (upper / "root/.ssh/authorized_keys").write_text("key")
    (upper / "root/.ssh/authorized_keys").chmod(0o600)
    (upper / "var/cache/apt/pkgcache.bin").write_text("large")
    (upper / "admin/x.deb").write_text("large")
    os.symlink("target", upper / "etc/link")
    os.mknod(upper / "etc/removed", stat.S_IFCHR | 0o600, os.makedev(0, 0))
    with tarfile.open(tmp_path / "own.tar", "w") as tar:
        images.add_layer(tar, str(upper))
    said = subprocess.run(["tar", "-tvf", tmp_path / "own.tar"], capture_output=True, text=True, check=True).stdout
    found = {line.split(None, 5)[5]: line.split()[0] for line in said.splitlines()}
    assert found == {"etc/": "drwxr-xr-x", "etc/link -> target": "lrwxrwxrwx", "root/": "drwxr-xr-x", "root/.ssh/": "drwx------",
                     "root/.ssh/authorized_keys": "-rw-------", "var/": "drwxr-xr-x"}


def test_made_once(tmp_path, monkeypatch):
    """A root stays until what it is made of changes; an image until its root does, or a program that makes it."""
    asked = []
    monkeypatch.setattr(places, "ROOTS", str(tmp_path))
    monkeypatch.setattr(roots, "kernel_package", lambda: "linux-image-1.deb")
    monkeypatch.setattr(roots, "install", lambda name, path: asked.append(name) or os.mkdir(path))
    monkeypatch.setitem(roots.PREPARE, "compute", lambda root: None)
    for _ in range(2):
        roots.make("compute", lambda text: None)
    assert asked == ["compute"]
    first = images.stamp("compute")
    assert first == images.stamp("compute") != images.stamp("management")
    monkeypatch.setattr(roots, "kernel_package", lambda: "linux-image-2.deb")
    roots.make("compute", lambda text: None)
    assert asked == ["compute"] * 2 and images.stamp("compute") != first and os.listdir(tmp_path / "compute") == []


def test_packages_are_missing(monkeypatch, tmp_path):
    """All of them in one line, each once; before them what no package has."""
    monkeypatch.setattr(demo.os, "geteuid", lambda: 0)
    monkeypatch.setattr(places, "BUILD", str(tmp_path))
    monkeypatch.setattr(demo.shutil, "which", lambda program, path: None if program in ("casync", "ip") else program)
    for there, expected in (((), "/dev/net/tun is missing: modprobe tun"),
                            (("/dev/net/tun",), "missing: casync, iproute2: tools/setup cluster")):
        monkeypatch.setattr(demo.os.path, "exists", lambda path, there=there: path in there)
        with pytest.raises(places.Failed) as caught:
            demo.needs()
        assert str(caught.value) == expected
    monkeypatch.setattr(demo.shutil, "which", lambda program, path: program)
    with pytest.raises(places.Failed, match="margay.elf is missing: make cluster makes it"):
        demo.needs()


def test_one_at_a_time(monkeypatch, tmp_path):
    monkeypatch.setattr(places, "MADE", str(tmp_path))
    demo.alone()
    with pytest.raises(places.Failed, match="another one runs here"):
        demo.alone()


def test_needs_are_one_line(tmp_path):
    """Without root: what to do, and nothing else. Who runs it is replaced in it: who is not root may not reach the tree."""
    program = os.path.join(places.TOP, "tools", "cluster")
    words = "import os, runpy; os.geteuid = lambda: 65534; runpy.run_path('%s', run_name='__main__')" % program
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cluster: it needs root, for namespaces, bridges and chroots: sudo make cluster\n"

# SPDX-License-Identifier: GPL-2.0-only
"""The hardware check: what the node is told to have and to lack is what the report says, on both emulators; the VM file
that it proposes boots Linux as it stands, with all CPUs and all memory.

The hardware check on machines that lack this and that; Linux boots the VM file that it proposes, on one and two nodes
of QEMU and on Bochs.

The block for programs, of which `test_json` has a node's: test_hwcheck_json.c; what a table makes of whole and of
damaged logs: test_fleet.py.
"""

import csv
import hwcheck_report
import io
import os
import re
import subprocess

import margay_run
import monitor_console
import node
import numa
import pytest
import tiers

GOOD_END = "margay.test=end margay.end=poweroff"


def check(name, machine, word, extra=(), **options):
    """A VM file, of which kernel, initrd and command line are taken, but no kernel: nothing is started."""
    vm = node.vm_text(machine, GOOD_END, cpus="1", memory="64M")
    iso = node.margay_iso("hwcheck-%s-%s" % (name, machine), {"vm0.conf": vm}, {}, word, check=False)
    options.setdefault("timeout", 300)
    with node.start("hwcheck-" + name, machine, iso, extra=extra, **options) as running:
        return hwcheck_report.Report(running)


def boots(name, machine, proposal, vcpus, nodes, mebibytes, **options):
    """The proposal as it stands, with the modules that it names."""
    iso = node.margay_iso("proposal-%s-%s" % (name, machine), {"node.conf": proposal},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    with node.start("proposal-" + name, machine, iso, **options) as running:
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("node: end=poweroff")
    assert (run.facts["cpus"], run.facts["nodes"]) == (str(vcpus), str(nodes))
    # All but what kernel, hypervisor and boot modules take.
    assert mebibytes - 150 < int(run.facts["memtotal-kib"]) >> 10 < mebibytes


@pytest.mark.slow
def test_one_node():
    report = check("one", "qemu", "check=1", cpus=2)
    for name in ("SVM, leave of the firmware", "SVM, nested paging", "virtualization on each CPU", "SVM, 1 GiB pages",
                 "invariant TSC", "SMIs", "PCI configuration by ECAM", "a VM for the whole node"):
        assert report.state(name) == "ok", name
    for name in ("NUMA layout", "IOMMU", "bare metal"):
        assert report.state(name) == "MISSING", name
    assert report.able and report.features["CPUs"] == ("ok", "2 of 2 run")
    boots("one", "qemu", report.proposal(), 2, 1, 1024, cpus=2)


@pytest.mark.slow
def test_two_nodes_and_devices():
    """What QEMU is given is what is found, devices to their last vector."""
    devices = ["-device", "intel-iommu,intremap=on,eim=on", "-device", "pcie-root-port,id=rp,chassis=1", "-device", "igb,bus=rp",
               "-device", "nvme,serial=x", "-device", "ich9-intel-hda", "-device", "piix3-ide"]
    shape = [numa.Node("0-1", "512M"), numa.Node("2-3", "512M")]
    with numa.Machine("4,sockets=2,cores=1,threads=2", shape, {(0, 1): 21}) as machine:
        options = {"cpus": machine.cpus, "memory": machine.memory}
        report = check("two", "qemu", "check=1", machine.arguments + devices, **options)
        boots("two", "qemu", report.proposal(), 4, 2, 1024, extra=machine.arguments, **options)
    assert report.features["NUMA layout"] == ("ok", "2 nodes")
    assert report.state("NUMA distances") == report.state("interrupt remapping") == "ok"
    assert report.features["IOMMU"] == ("ok", "VT-d, 1 unit")
    assert report.features["threads of a core"][1].startswith("several")
    # QEMU counts SMIs; none comes while nobody asks for one.
    assert report.features["SMIs"] == ("ok", "none in 1 s")
    igb = report.device("8086:10c9")
    assert "class 020000  Ethernet" in igb
    assert re.search(r"BARs: BAR0 0x[0-9a-f]+ 128K, BAR1 0x[0-9a-f]+ 128K, BAR2 I/O 0x[0-9a-f]+ 32 bytes, BAR3 0x[0-9a-f]+ 16K",
                     igb)
    assert re.search(r"capabilities: PCIe endpoint, INTA \(GSI \d+\), MSI 1, MSI-X 10, FLR, PM, .*SR-IOV 8 VFs, 0 on$", igb, re.M)
    assert re.search(r"NUMA node unknown; group 01:00\.0; fit for a VM$", igb, re.M)  # its port has ACS
    assert "; group 00:1f.0; " in report.device("8086:2930")  # one device with the ISA bridge
    nvme = report.device("1b36:0010")
    assert re.search(r"BAR0 0x[0-9a-f]+ 16K", nvme) and re.search("MSI-X 65", nvme)
    assert re.search("fit for a VM: no reset of its own", report.device("8086:293e"))
    assert re.search("unfit for a VM: IDE with legacy ports", report.device("8086:7010"))
    port = report.device("1b36:000c")
    assert re.search("PCIe root port", port) and re.search("buses 01-01 behind it", port)
    assert re.search("unfit for a VM: a bridge stays the node's", port)


@pytest.mark.full
def test_watchdogs():
    """QEMU's BMC is asked by KCS, and its chipset's TCO is read: both are off, or may not restart the machine."""
    report = check("watchdogs", "qemu", "check=1", ["-device", "ipmi-bmc-sim,id=bmc0", "-device", "isa-ipmi-kcs,bmc=bmc0"])
    assert report.features["watchdog, BMC"] == ("ok", "off")
    assert report.state("watchdog, TCO") == "ok"


# What QEMU and Bochs are told to leave out: the lines that change, and whether a VM can still run.
LACKS = {
    "svm": ("qemu", ["-cpu", "max,-svm,-x2apic"], {"virtualization": "MISSING", "x2APIC": "MISSING"}, False),
    "npt": ("qemu", ["-cpu", "max,-npt"], {"SVM, nested paging": "MISSING", "x2APIC": "off"}, False),
    "pages": ("qemu", ["-cpu", "max,-pdpe1gb", "-device", "amd-iommu"],
              {"SVM, 1 GiB pages": "off", "SVM, nested paging": "ok", "IOMMU": "ok"}, True),
    # VT-x without EPT; and none at all.
    "ept": ("bochs", ["cpu: model=core2_penryn_t9600"],
            {"VT-x, enable EPT": "MISSING", "VT-x, unrestricted guest": "MISSING", "VT-x, NMI exiting": "ok",
             "x2APIC": "MISSING", "SMIs": "unknown"}, False),
    "vmx": ("bochs", ["cpu: model=p4_prescott_celeron_336"], {"virtualization": "MISSING"}, False),
}


@pytest.mark.parametrize("case", LACKS)
def test_lacks(case):
    machine, extra, lines, able = LACKS[case]
    report = check("no-" + case, machine, "check=1", extra, memory="512M")
    assert {name: report.state(name) for name in lines} == lines
    assert report.able == able
    # Nothing is proposed that could not run.
    assert bool(report.lines("VM file by")) == able


@pytest.mark.slow
def test_bochs():
    report = check("bochs", "bochs", "check=1")
    for name in ("VT-x, enable EPT", "VT-x, unrestricted guest", "VT-x, 2 MiB EPT pages", "VT-x, use MSR bitmaps", "x2APIC",
                 "virtualization on each CPU", "invariant TSC"):
        assert report.state(name) == "ok", name
    assert report.able and report.state("PCI configuration by ECAM") == "MISSING"
    assert "class 060000  host bridge" in report.device("8086:1237")
    boots("bochs", "bochs", report.proposal(), 1, 1, 1024)


def fleet(log, *options):
    """What tools/margay-fleet makes of a log: its rows."""
    done = subprocess.run([os.path.join(node.TOP, "tools", "margay-fleet"), "--csv", *options, log],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.mark.parametrize("machine", ["qemu", tiers.full("bochs")])
def test_json(machine):
    """The block says what the report says, and the MAC addresses that QEMU's cards were given."""
    devices = ["-device", "e1000e,mac=52:54:00:ab:cd:ef", "-device", "nvme,serial=x"]
    shape = [numa.Node("0", "256M"), numa.Node("1", "256M")]
    if machine == "qemu":
        with numa.Machine("2,sockets=2,cores=1,threads=1", shape) as two:
            report = check("json", machine, "check=1,json", two.arguments + devices, cpus=2, memory=two.memory)
    else:
        report = check("json", machine, "check=1,json", memory="256M")
    log = os.path.join(node.LOGS, "hwcheck-json-%s.log" % machine)
    row, = fleet(log)
    missing = [name for name, (state, _) in report.features.items() if state == "MISSING"]
    assert row["missing"].split("; ") == missing and row["able"] == "yes"
    assert row["cpus"] == ("2" if machine == "qemu" else "1") and row["cpu"] in re.search("CPU: .*", report.text)[0]
    nodes = [int(size) for size in re.findall(r"^check: node \d: (\d+)M for guests", report.text, re.M)]
    assert [int(size) >> 20 for size in row["by_node"].split()] == nodes and len(nodes) == (2 if machine == "qemu" else 1)
    functions = fleet(log, "--pci")
    assert [f["address"] for f in functions] == list(report.pci)
    assert all(report.pci[f["address"]].startswith("%s  class %s" % (f["id"], f["class"])) for f in functions)
    assert [f["mac"] for f in functions if f["mac"]] == (["52:54:00:ab:cd:ef"] if machine == "qemu" else [])
    assert row["macs"] == ("52:54:00:ab:cd:ef" if machine == "qemu" else "")


def margay_run_command(*arguments):
    done = subprocess.run([os.path.join(node.TOP, "tools", "margay-run"), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.replace("\r", ""), done.stderr


def test_run_with_numa_nodes():
    """margay-run --numa: nodes, each with its part of CPUs and memory, and their distances."""
    iso = node.margay_iso("hwcheck-numa", {"vm0.conf": node.vm_text("qemu", "")}, {}, "check=1", check=False)
    log = node.log_of("hwcheck-numa", "qemu")
    status, out, err = margay_run_command("--numa", "2", "--cpus", "4", "--memory", "513M", "--timeout", "300", "--log", log, iso)
    assert (status, err) == (0, "")
    out = margay_run.Lines().take(out, last=True)
    assert re.search("^check: ok +NUMA layout: 2 nodes$", out, re.M) and re.search("^check: ok +NUMA distances$", out, re.M)
    assert re.findall(r"^check: cpu (\d) .* node (\d)", out, re.M) == [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")]
    for arguments, said in (
        (["--numa", "2", "--cpus", "3"], "expected --cpus with a multiple of 2, so that each node has as many, found 3"),
        (["--numa", "0"], "expected 1 to 8 nodes"), (["--numa", "2", "--cpus", "2", "--machine", "bochs"], "use qemu or kvm"),
    ):
        status, _, err = margay_run_command(*arguments, "--log", log + ".bad", iso)
        assert status == margay_run.NO_MACHINE and "margay-run: --numa" in err and said in err


def test_stay():
    """The node stays on for the operator: the VM waits for a command; the console's list is the report's."""
    vm = monitor_console.vm("a", "tick")
    with monitor_console.start("hwcheck-stay", "qemu", {"a.conf": vm}, 2, "check=1,stay") as running:
        running.expect("^check: result: able=yes")
        running.expect(r"^margay: node: end=idle vms=1 failed=0 unstarted=1\r")
        console = monitor_console.Console(running)
        console.call()
        assert console.state("a") == "not-started"
        listed = [line for line in console.answer("pci") if re.match("[0-9a-f]{4}:", line)]
        running.send("vm start a\r")
        running.expect(r"behave: ticks=50\r")
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    reported = re.findall(r"^check: ([0-9a-f]{4}:.*)\r$", running.text, re.MULTILINE)
    assert listed == reported and listed

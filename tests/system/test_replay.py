# SPDX-License-Identifier: GPL-2.0-only
"""The dump of the hardware check, and its replay by tools/margay-replay. Tables, configuration spaces and CPUID are those that
QEMU itself shows at its monitor, byte for byte; the replay says what the machine's own report said.

The dump of the hardware check (hardware.md) on two nodes of QEMU: ACPI tables and configuration spaces equal, byte
for byte, what QEMU's monitor shows of its memory and of its devices' registers, CPUID QEMU's own words of features;
the replay by `tools/margay-replay` says what the report said, on Bochs as well.

`tests/unit/test_machine_dump.py` loses and changes each character and line of a dump, and replays
`tests/machines/dump-recordings/`, whole and without each kind of item. `test_hwcheck_encode.c`,
`test_hwcheck_dump.c`: the lines, and what is in them.
"""

import os
import re
import subprocess
import sys

import acpi_memory
import margay_run
import monitor_console
import node
import numa
import pytest
import qemu_monitor

TOOL = os.path.join(node.TOP, "tools", "margay-replay")
ECAM = 0xB0000000  # of QEMU's q35
MSR = "msr "
# OSXSAVE: it follows CR4.
DYNAMIC = {(1, 0, "ECX"): 1 << 27}
SAME = re.compile(r"^replay: the machine's own report says the same: (\d+) lines$", re.M)


def replay(path, folder):
    program = os.path.join(node.BUILD, "unit", "replay_machine")
    return subprocess.run([sys.executable, TOOL, "--program", program, "--extract", folder, path], capture_output=True, text=True,
                          timeout=300, check=False)


def check_tables(folder, expected):
    files = {name[:-4] for name in os.listdir(folder) if name.endswith(".dat")}
    wanted = {signature + (str(i + 1) if i else ""): data for signature, all_ in expected.items() for i, data in enumerate(all_)}
    assert files == set(wanted) | {"RSDP"}
    for name, data in wanted.items():
        with open(os.path.join(folder, name + ".dat"), "rb") as f:
            assert f.read() == data, name
    return files


def config_spaces(folder):
    """{(bus, devfn): bytes} of what --extract has written for `lspci -F`."""
    found = {}
    for line in open(os.path.join(folder, "lspci.txt"), encoding="ascii"):
        head = re.match(r"0000:(..):(..)\.(.) ", line)
        if head:
            here = found[int(head[1], 16), int(head[2], 16) << 3 | int(head[3])] = bytearray()
        elif line.strip():
            here += bytes.fromhex(line.split(":")[1])
    return found


def functions_of(monitor):
    """{(bus, devfn)} as QEMU lists them, but for virtual functions that are off: they do not answer."""
    listed = re.findall(r"Bus +(\d+), device +(\d+), function (\d+):", monitor.ask("info pci"))
    all_ = {(int(bus), int(device) << 3 | int(function)) for bus, device, function in listed}
    return {(bus, devfn) for bus, devfn in all_ if monitor.memory(ECAM + (bus << 20 | devfn << 12), 4) != b"\xff" * 4}


def cpuid_of(folder):
    """{CPU: {(leaf, subleaf): registers}} of what --extract has written, whole for each CPU."""
    found, cpu = {}, None
    for line in open(os.path.join(folder, "cpuid.txt"), encoding="ascii"):
        head = re.match(r"CPU (\d+) (all|as 0 but):", line)
        entry = re.match(r"cpuid ([0-9a-f]{8}) +([0-9a-f]+): (.*)$", line)
        if head:
            cpu = found[int(head[1])] = {} if head[2] == "all" else dict(found[0])
        elif entry:
            cpu[int(entry[1], 16), int(entry[2], 16)] = [int(word, 16) for word in entry[3].split()]
        else:
            assert line.startswith(MSR), line
    return found


def check_cpuid(monitor, cpus, count):
    """QEMU's own words of features, as far as they are of leaves that Margay reads; more than that must be there."""
    compared = 0
    for word in monitor.property("/machine/unattached/device[0]", "feature-words"):
        leaf, subleaf, reg = word["cpuid-input-eax"], word.get("cpuid-input-ecx", 0), word["cpuid-register"]
        if (leaf, subleaf) not in cpus[0]:
            continue
        mask = ~DYNAMIC.get((leaf, subleaf, reg), 0)
        got = cpus[0][leaf, subleaf][("EAX", "EBX", "ECX", "EDX").index(reg)]
        assert got & mask == word["features"] & mask, (hex(leaf), subleaf, reg)
        compared += 1
    assert compared >= 8
    assert set(cpus) == set(range(count))
    # Threads, cores and packages, as QEMU was told: APIC IDs.
    assert [cpu[1, 0][1] >> 24 for _, cpu in sorted(cpus.items())] == list(range(count))


def damaged(path, out, change):
    """The tool's words of a file that change() has made of this one's lines."""
    with open(path, encoding="latin-1", newline="") as f:
        lines = f.read().split("\n")
    at = [i for i, line in enumerate(lines) if "dump: " in line]
    with open(out, "w", encoding="latin-1", newline="") as f:
        f.write("\n".join(change(lines, at)))
    done = subprocess.run([sys.executable, TOOL, "--program", "/bin/true", out], capture_output=True, text=True, check=False)
    return [line.split(": ", 2)[2] for line in done.stderr.splitlines()]


@pytest.mark.slow
def test_two_nodes(tmp_path):
    devices = ["-device", "intel-iommu,intremap=on,eim=on", "-device", "pcie-root-port,id=rp,chassis=1", "-device", "igb,bus=rp",
               "-device", "nvme,serial=x", "-device", "piix3-ide", *qemu_monitor.arguments(tmp_path)]
    shape = [numa.Node("0-1", "512M"), numa.Node("2-3", "512M")]
    vm = node.vm_text("qemu", "quiet x=y", cpus="1", memory="64M")
    iso = node.margay_iso("replay-qemu", {"vm0.conf": vm}, {}, "check=1,stay,dump", check=False)
    with numa.Machine("4,sockets=2,cores=1,threads=2", shape, {(0, 1): 21}) as machine:
        with node.start("replay", "qemu", iso, extra=machine.arguments + devices, cpus=machine.cpus, memory=machine.memory,
                        timeout=300) as running:
            running.expect(r"^dump: \d+ end [0-9a-f]{8}\r")
            monitor = qemu_monitor.Monitor(tmp_path)
            tables, functions = acpi_memory.tables_of(monitor), functions_of(monitor)
            log, folder = os.path.join(tmp_path, "log"), os.path.join(tmp_path, "out")
            with open(log, "w", encoding="latin-1", newline="") as f:
                f.write(running.text)
            done = replay(log, folder)
            assert done.returncode == 0, done.stdout + done.stderr
            spaces = config_spaces(folder)
            for (bus, devfn), data in spaces.items():
                assert bytes(data) == monitor.memory(ECAM + (bus << 20 | devfn << 12), len(data)), (bus, devfn)
            check_cpuid(monitor, cpuid_of(folder), 4)
            console = monitor_console.Console(running)
            console.call()
            console.end()
    # The one VM never started.
    assert re.search(r"^margay: node: end=poweroff vms=1 failed=0 unstarted=1\r$", running.text, re.M)
    assert set(spaces) == functions and len(functions) >= 8
    assert {256, 4096} == {len(data) for data in spaces.values()}
    assert {"APIC", "SRAT", "SLIT", "MCFG", "DMAR", "FACP", "DSDT"} <= check_tables(folder, tables)
    # The replay is the report, with the VM file; its own list of what it knows is not empty.
    assert int(SAME.search(done.stdout)[1]) > 60 and "\nname = node\n" in done.stdout
    assert "\ncheck: ok       IOMMU: VT-d, 1 unit\n" in done.stdout
    assert "x=y" in done.stdout and "\nreplay: CPUID for guests: " in done.stdout
    assert not done.stderr
    check_damage(log, str(tmp_path))


def check_damage(log, folder):
    """Each is one line, which says where."""
    out = os.path.join(folder, "damaged")

    def flip(lines, at):
        data = [i for i in at if " DSDT " in lines[i]][0] + 3
        lines[data] = lines[data][:20] + ("B" if lines[data][20] != "B" else "C") + lines[data][21:]
        return lines

    def lose(lines, at):
        data = [i for i in at if " DSDT " in lines[i]][0] + 3
        lines[data] = lines[data][:20] + lines[data][21:]
        return lines

    assert damaged(log, out, lambda lines, at: lines) == []
    for change in (flip, lose):
        said = damaged(log, out, change)
        assert len(said) == 1 and re.match(r"line \d+: item \d+, acpi DSDT [0-9a-f]+: this line is damaged", said[0]), said


@pytest.mark.slow
def test_bochs(tmp_path):
    """VT-x, one CPU, configuration by ports alone: the report is the replay's."""
    vm = node.vm_text("bochs", "quiet", cpus="1", memory="64M")
    iso = node.margay_iso("replay-bochs", {"vm0.conf": vm}, {}, "check=1,dump", check=False)
    with node.start("replay", "bochs", iso, timeout=600) as running:
        outcome = running.wait()
    assert outcome.status == margay_run.OK, outcome.text
    log = os.path.join(tmp_path, "log")
    with open(log, "w", encoding="latin-1", newline="") as f:
        f.write(running.text)
    done = replay(log, os.path.join(tmp_path, "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(SAME.search(done.stdout)[1]) > 60 and "\ncheck: ok       VT-x, enable EPT\n" in done.stdout

# SPDX-License-Identifier: GPL-2.0-only
"""What an image says of its options, and what margay-check makes of that: all that this image would refuse, with the option's name.

Images with other options are made of the built one, by its section .margay_options; each key, word and kind of module that
an option brings is tried with an image that lacks that one alone, and with one that lacks none.
"""

import glob
import importlib.machinery
import importlib.util
import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
ELF = os.path.join(BUILD, "margay.elf")
GOOD = "kernel = k\nmemory = 512M\n"
# A value that is right, of each key that an option brings, with what else that wants.
KEYS = {
    "memory_map": "offset", "remote_memory": "allow", "cache": "8/20", "bandwidth": "50%", "topology": "flat",
    "allow_smt_sharing": "yes", "trusted": "yes", "clock": "freeze", "interrupts": "auto", "ipi": "filtered", "watchdog": "no",
    "pvclock": "no", "counters": "yes", "cstates": "firmware", "on_poweroff": "stop", "on_reboot": "stop", "on_crash": "stop",
    "restart_limit": "5 in 10m", "console_log": "4K", "disk": "scratch:64M", "net": "lan0", "console": "virtio", "meta": "a=b",
    "control": "yes", "control_may": "create\ncontrol = yes",
    "pci": "01:00.0\ndma = window", "pci_irq": "00:03.0 11\npci = 00:03.0\ndma = window",
    "pci_node": "00:03.0 1\npci = 00:03.0\ndma = window", "vfs": "1\npci = 00:03.0\ndma = window",
    "dma": "window\npci = 00:03.0", "on_fault": "stop\npci = 00:03.0\ndma = window", "on_mce": "stop", "module": "m",
    "dmi": "node", "debug_exit": "yes", "after": "b",
}
# (what stands behind the two lines of a good file, the option, what is said without it)
VALUES = [
    ("pci = 00:03.0\ndma = iommu", "IOMMU", "4: dma = iommu: needs CONFIG_IOMMU"),
    ("pci = 00:03.0\ndma = auto", "IOMMU", "4: dma = auto: needs CONFIG_IOMMU"),
    ("pci = 00:03.0", "IOMMU", "3: pci: needs dma = identity or window, or CONFIG_IOMMU"),
    ("pci = vf:00:03.0:1\ndma = window", "SRIOV", "3: pci = vf:...: needs CONFIG_SRIOV"),
    ("meta = io.systemd.credential:a=b", "SMBIOS", "3: meta: io.systemd.credential: needs CONFIG_SMBIOS"),
    ("on_mce = inject", "VM_MACHINE_CHECKS", "3: on_mce = inject: needs CONFIG_VM_MACHINE_CHECKS"),
    ("on_crash = dump", "MANAGEMENT_VM", "3: on_crash = dump: needs CONFIG_MANAGEMENT_VM"),
    ("on_end = reboot_node", "VM_FOLLOW_UP", "3: on_end = reboot_node: needs CONFIG_VM_FOLLOW_UP"),
    ("cpus = 1-3", "VM_SHARING", "3: cpus: a list needs CONFIG_VM_SHARING"),
]
WORDS = [
    ("check", "HWCHECK"), ("check=json", "CHECK_JSON"), ("console=mmio:0xfe000000", "CONSOLE_TABLES"),
    ("escape=^A", "MONITOR_CONSOLE"),
    ("gdb=com2,vm0", "GDB"), ("iommu=off", "IOMMU"), ("loglevel=debug", "BOOT_LOG"), ("mitigate=off", "MITIGATIONS"),
    ("screen=none", "SCREEN"), ("power=turbo", "CPU_POWER"), ("x2apic=off", "DIRECT_INTERRUPTS"),
    ("nmi=panic", "MACHINE_CHECKS"), ("corrected=minute", "CORRECTED_ERRORS"),
]


def tool():
    loader = importlib.machinery.SourceFileLoader("image_options", os.path.join(TOP, "tools", "image-options"))
    spec = importlib.util.spec_from_loader("image_options", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def read(elf, tmp_path):
    """The section's lines as {word: rest}."""
    out = tmp_path / "section"
    subprocess.run(["objcopy", "-O", "binary", "--set-section-flags", ".margay_options=alloc", "-j", ".margay_options", elf, out],
                   check=True)
    return dict(line.split(" ", 1) for line in out.read_text().splitlines())


@pytest.fixture(name="image")
def image_maker(tmp_path):
    """image(OPTION...): the path of one that lacks these."""
    def make(*lacks):
        section, elf = tmp_path / "options", tmp_path / "image.elf"
        section.write_text("image test\nlacks %s\n" % " ".join(lacks))
        subprocess.run(["objcopy", "--update-section", ".margay_options=%s" % section, ELF, elf], check=True)
        return elf
    return make


def check(*arguments):
    done = subprocess.run([os.path.join(BUILD, "margay-check"), *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.stderr.splitlines(), done.returncode


def test_section(tmp_path):
    """It says what the configuration says, also when it is stripped as on a boot medium, and no loader takes it for memory."""
    with open(os.path.join(BUILD, ".config"), encoding="ascii") as f:
        config = f.read()
    off = set(re.findall(r"^# CONFIG_(\w+) is not set$", config, re.MULTILINE))
    on = set(re.findall(r"^CONFIG_(\w+)=y$", config, re.MULTILINE))
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["strip", "-s", "-o", stripped, ELF], check=True)
    said = read(stripped, tmp_path)
    assert said == read(ELF, tmp_path)
    lacks = set(said["lacks"].split())
    assert off and off <= lacks and not lacks & on
    line = next(line for line in subprocess.run(["readelf", "-SW", stripped], capture_output=True, text=True, check=True).stdout
                .splitlines() if ".margay_options" in line)
    assert re.search(r"PROGBITS +0{16} \w+ \w+ 00 +0 +0 +1$", line), line


def test_name(tmp_path):
    options = tool()
    named = {"default": {}, "large": {"IOMMU": "y", "VIRTIO": "y"}}
    assert options.name_of({}, named) == "default"
    assert options.name_of({"IOMMU": "y", "VIRTIO": "y"}, named) == "large"
    assert options.name_of({"VIRTIO": "y", "SCREEN": "n"}, named) == "default -SCREEN +VIRTIO"
    assert options.name_of({"IOMMU": "y", "VIRTIO": "y", "SKEW": "7"}, named) == "large SKEW=7"
    large = {"large": named["large"]}
    assert options.name_of({"IOMMU": "y", "VIRTIO": "y", "GDB": "y", "SCREEN": "n"}, large) == "large +GDB -SCREEN"
    assert options.name_of({"OPTION_%d" % n: "y" for n in range(20)}, named) == "default with 20 options changed"
    # By Kconfig itself.
    for lines, name in (("", "default"), ("CONFIG_SCREEN=n\n", "default -SCREEN"), ("CONFIG_GDB=y\n", "default +GDB")):
        config = tmp_path / "config"
        config.write_text(lines)
        said = subprocess.run([os.path.join(TOP, "tools", "image-options"), config], capture_output=True, text=True, check=True)
        assert said.stdout.startswith("image %s\nlacks " % name)


def keys():
    """(key, option, what is said to be needed) of the parser's own table."""
    with open(os.path.join(TOP, "vmm", "config", "config.c"), encoding="ascii") as f:
        rows = re.findall(r'^\t\{ "(\w+)", (?:BY|WORDS|SETTER|LIST|TEXT)\(CONFIG_(\w+), (?:"CONFIG_\w+", "CONFIG_(\w+)")?',
                          f.read(), re.MULTILINE)
    return [(key, option, needs or option) for key, option, needs in rows]


def test_keys(tmp_path, image):
    table = keys()
    assert {key for key, _, _ in table} == set(KEYS)
    file = tmp_path / "f.conf"
    for key, option, needs in table:
        file.write_text("%s%s = %s\n" % (GOOD, key, KEYS[key]))
        lines, status = check("--each", "--image", image(), file)
        # What is decided for the kernel is no complaint.
        assert ([line for line in lines if "told the rate of its TSC" not in line], status) == ([], 0), key
        lines, status = check("--each", "--image", image(option), file)
        assert lines[0] == "f.conf:3: %s: needs CONFIG_%s" % (key, needs) and status == 1, (key, lines)


def documented():
    """{(key, value)} of the examples in the documentation, in text or apart; some have several VM files beside each other."""
    with open(os.path.join(TOP, "vmm", "config", "config.c"), encoding="ascii") as f:
        known = set(re.findall(r'^\t\{ "(\w+)", ', f.read(), re.MULTILINE))
    found = set()
    for path in [os.path.join(TOP, "README.md"), *glob.glob(os.path.join(TOP, "docs", "*.md"))]:
        # The words of tests are no examples.
        if os.path.basename(path).startswith("test-"):
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = [re.sub(r" += +", " = ", line.strip()) for line in re.findall(r"^(?: {4}.*|\w+ +=.*)$", text, re.MULTILINE)]
        cells = [cell for line in lines for cell in re.split(r" {3,}", line)] + re.findall(r"`(\w+ = [^`]+)`", text)
        for key, equals, value in (cell.partition(" = ") for cell in cells):
            if equals and key in known and "\n" not in value:
                found.add((key, value.split("  #")[0].strip()))
    return found


def test_documented(tmp_path):
    """The image lacks no option for what an example of the documentation wants."""
    examples = documented()
    assert len(examples) > 100 and {"vfs", "disk", "net", "control", "control_may"} <= {key for key, _ in examples}
    file = tmp_path / "f.conf"
    for key, value in sorted(examples):
        rest = [line for line in GOOD.splitlines() if not line.startswith(key + " ")]
        file.write_text("\n".join([*rest, "%s = %s" % (key, value), ""]), encoding="utf-8")
        lines, _ = check("--each", "--image", ELF, file)
        assert not any("needs CONFIG_" in line for line in lines), lines


def test_values(tmp_path, image):
    file = tmp_path / "f.conf"
    for text, option, said in VALUES:
        file.write_text(GOOD + text + "\n")
        assert check("--each", "--image", image(), file) == ([], 0), text
        assert check("--each", "--image", image(option), file) == (["f.conf:" + said], 1)
    file.write_text("kernel = k\nmemory = node0:512M\n")
    assert check("--image", image(), file) == ([], 0)
    assert check("--image", image("NUMA"), file) == (["f.conf:2: memory: of one node: needs CONFIG_NUMA"], 1)


def test_words(image):
    for word, option in WORDS:
        assert check("--image", image(), "--cmdline", word) == ([], 0)
        assert check("--image", image(option), "--cmdline", word) == (["command line: '%s': needs CONFIG_%s" % (word, option)], 1)
    lines, _ = check("--image", image("SCREEN", "GDB"), "--cmdline", "quiet")
    assert "gdb=" not in lines[0] and "screen=" not in lines[0] and "iommu=" in lines[0]


def test_kernels_and_modules(tmp_path, image):
    """A multiboot kernel, one that is an ELF file, microcode and facts, of which an image without the option has no reader."""
    file, multiboot = tmp_path / "f.conf", tmp_path / "multiboot"
    multiboot.write_bytes(b"\x02\xb0\xad\x1b" + bytes(4) + (-0x1badb002 & 0xffffffff).to_bytes(4, "little") + bytes(100))
    file.write_text(GOOD)
    lines, status = check("--image", image("MULTIBOOT"), "--module", "k=%s" % multiboot, file)
    assert "a multiboot kernel: needs CONFIG_MULTIBOOT" in lines[0] and status == 1, lines
    lines, status = check("--image", image("VMLINUX"), "--module", "k=" + ELF, file)
    assert "an ELF file: needs CONFIG_VMLINUX; give a bzImage of x86-64 Linux, or" in lines[0] and status == 1, lines
    (tmp_path / "x").write_bytes(b"x")
    for kind, option in (("microcode", "MICROCODE"), ("facts", "PCI_FACTS")):
        module = "%s:x=%s" % (kind, tmp_path / "x")
        assert check("--image", image(option), "--cmdline", "", "--module", module) == ([kind + ":x: needs CONFIG_" + option], 1)
        assert "needs" not in check("--image", image(), "--cmdline", "", "--module", module)[0][0]


def test_no_image(tmp_path):
    """One that says nothing counts as one with every option; one that is not there is an error."""
    file = tmp_path / "f.conf"
    file.write_text(GOOD + "counters = yes\n")
    for content in (b"", b"x" * 100, b"\x7fELF\x02" + b"\xff" * 100):
        (tmp_path / "x").write_bytes(content)
        said = "%s: no image of Margay's that says which options it has: taken for one with every option" % (tmp_path / "x")
        assert check("--image", tmp_path / "x", file) == ([said], 0)
    assert check("--image", tmp_path / "y", file) == (["%s: No such file or directory" % (tmp_path / "y")], 1)
    assert check("--image")[1] == 2

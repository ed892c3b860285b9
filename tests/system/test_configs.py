# SPDX-License-Identifier: GPL-2.0-only
"""Configurations of the image: each builds, runs a guest, holds nothing of what is off, and keeps the limits of size.

MARGAY_SEED=N repeats the random ones of an earlier run: the seed stands in pytest's header.

Each option off, random ones, default, tiny and debug build, and run a tiny guest on QEMU where they can; an image
holds the files of its options and no others. No line of the log that a guest can cause again and again is without a limit
(`tools/guest-lines`).
"""

import fnmatch
import glob
import os
import re
import shutil
import subprocess

import margay_configs as configs
import margay_run
import node
import pytest
import tiny

RANDOM = 1
# What a tiny guest on QEMU needs, and we to see it.
BOOTABLE = ("SVM", "CONSOLE", "MULTIBOOT", "VM_DEBUG_EXIT")
OPTIONS = [symbol.name for symbol in configs.options(configs.load())]
# They share a directory, so one worker runs them all.
pytestmark = pytest.mark.xdist_group("configs")


def symbols(path):
    """Global names that a file defines."""
    done = subprocess.run(["nm", "--defined-only", "--extern-only", path], capture_output=True, text=True, check=True)
    return {line.split()[2] for line in done.stdout.splitlines()}


def source_names(path):
    """Names of the C files that an image or object was made of, without their folders, sorted."""
    done = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True)
    return sorted(re.findall(r" FILE .* (\S+\.c)$", done.stdout, re.MULTILINE))


def contents(elf):
    """The bytes that a loader takes from the image."""
    raw = elf + ".raw"
    subprocess.run(["objcopy", "-O", "binary", elf, raw], check=True)
    with open(raw, "rb") as f:
        return f.read()


def enabled(kconf, *names):
    return all(kconf.syms[name].str_value == "y" for name in names)


def boot(name, kconf, elf, keys=""):
    """A tiny guest runs on the image and ends well, with these keys, too; an image on which none could is not booted."""
    if not enabled(kconf, *BOOTABLE):
        return
    guest = tiny.Guest("boot", "qemu")
    text = guest.vm(last=True)
    if not enabled(kconf, "NUMA"):
        # By the key that this image lacks a guest has no local APIC of its own.
        text = text.replace("topology = flat\n", "interrupts = emulated\n" * enabled(kconf, "DIRECT_INTERRUPTS"))
    modules = {name: tiny.elf(name) for name in ("boot", "triple")}
    iso = node.margay_iso("variant-" + name, {"boot.conf": text + keys}, modules, elf=elf)
    with node.start("variant-" + name, "qemu", iso, memory="256M") as running:
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("boot: " + guest.end)
    if enabled(kconf, "VM_UART"):
        assert tiny.judge(guest, run.text) == []
    assert bool(run.lines("exits=[1-9]")) == enabled(kconf, "TELEMETRY")


class Everything:
    """An image with every option on: its configuration, its symbols, and {source file: the global symbols of its object}."""

    def __init__(self):
        self.kconf = configs.load()
        for option in OPTIONS:
            self.kconf.syms[option].set_value("y")
        elf = configs.build(self.kconf, configs.VARIANTS)
        self.symbols = symbols(elf)
        self.objects = {source: symbols(os.path.join(configs.TOP, o)) for source, o in configs.sources(elf).items()}
        # Others are built in its place.
        self.elf = os.path.join(configs.CONFIGS, "everything.elf")
        shutil.copyfile(elf, self.elf)


@pytest.fixture(scope="module")
def everything():
    return Everything()


def test_features_are_options():
    known = configs.load().syms
    assert configs.features()
    for option, patterns in configs.features().items():
        assert option in known, "features.mk: no option %s in Kconfig" % option
        for pattern in patterns:
            assert glob.glob(os.path.join(configs.TOP, pattern.replace("%", "*"))), "features.mk: no file " + pattern


def test_every_option_is_documented():
    with open(os.path.join(configs.TOP, "docs", "configuration.md"), encoding="utf-8") as f:
        text = f.read()
    assert [option for option in OPTIONS if "CONFIG_" + option + "`" not in text] == []


def test_documents_name_what_is_off():
    """They tell what the default image does. An option's name stands only where it is off: in that image, or in the tiny one, of
    which the paragraph speaks then; in what a tool prints; and in the tables of options."""
    off = {name: {option for option in OPTIONS if not enabled(configs.load(name), option)} for name in ("default", "tiny")}
    told = []
    for path in ["README.md"] + [p for p in sorted(glob.glob("docs/*.md", root_dir=configs.TOP)) if p != "docs/test-catalogue.md"]:
        with open(os.path.join(configs.TOP, path), encoding="utf-8") as f:
            paragraphs = re.split(r"\n\n|\n(?=\|)", re.sub(r"^```.*?^```$", "", f.read(), flags=re.MULTILINE | re.DOTALL))
        for text in paragraphs:
            may = off["default"] | (off["tiny"] if re.search(r"\btiny\b", text) else set())
            if not text.startswith("| `CONFIG_"):
                told += [(path, option) for option in re.findall(r"CONFIG_(\w+)", text) if option in set(OPTIONS) - may]
    assert told == []


def test_default_has_what_sites_use():
    """All but what is for tests and debuggers, whose help says so; the tiny image has none of what sites alone want."""
    kconf, tiny_kconf = configs.load(), configs.load("tiny")
    off = {option for option in OPTIONS if not enabled(kconf, option)}
    assert off == {"GDB", "DEBUG_CLOCK", "DEBUG_FAULT"}
    assert all(re.search(r"\boff\b", kconf.syms[option].nodes[0].help) for option in off)
    sites = ("IOMMU", "SRIOV", "VIRTIO", "VIRTIO_NET", "MANAGEMENT_VM", "VM_COUNTERS", "VM_RDT", "VM_MACHINE_CHECKS", "HEST",
             "CPU_POWER", "CORRECTED_ERRORS", "VM_CST")
    assert [option for option in sites if enabled(tiny_kconf, option)] == []


@pytest.mark.parametrize("age", [0, 1 << 30], ids=["new", "old"])
def test_option_of_another_name(tmp_path, age):
    """A .config of before, newer and older than Kconfig: the option is off by the name that it has now."""
    path = tmp_path / ".config"
    path.write_text("# CONFIG_COMMANDER is not set\n")
    os.utime(path, (path.stat().st_mtime - age,) * 2)
    made = tmp_path / "auto.conf"
    subprocess.run(["make", "-s", "B=%s" % tmp_path, str(made)], cwd=configs.TOP, check=True)
    assert "# CONFIG_MANAGEMENT_VM is not set\n" in made.read_text() and "COMMANDER" not in path.read_text()


def guest_lines(*arguments):
    """(status, what tools/guest-lines prints.)"""
    tool = os.path.join(configs.TOP, "tools", "guest-lines")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def test_lines_of_guests(everything, tmp_path):
    """No line of the log that an exit can reach is without a limit, or a reason why it is few. The controls: a reason that is
    missing, one that is of no use, and what is limited, as if it were not: the tool sees where it is said, inlined or not."""
    images = (os.path.join(node.BUILD, "margay.elf"), everything.elf)
    assert guest_lines(*images) == (0, [])
    with open(os.path.join(configs.TOP, "tests", "guest-lines"), encoding="utf-8") as f:
        rows = f.read()
    row = "few vmm/exit/exit.c exit_triple_fault: a VM's end\n"
    assert row in rows
    (tmp_path / "list").write_text(rows.replace(row, "few vmm/exit/exit.c no_such_function: never\n"))
    status, found = guest_lines("--list", str(tmp_path / "list"), *images)
    assert status == 1 and found == [
        "vmm/exit/exit.c exit_triple_fault: a line without a limit, by exit_triple_fault",
        "%s: of no use: few vmm/exit/exit.c no_such_function" % (tmp_path / "list")]
    status, found = guest_lines("--log", "host_log_limited", *images)
    assert status == 1
    said = {line.split(":")[0] for line in found}
    assert {"vmm/dev/virtio/virtio.c broken", "vmm/dev/board/pvpanic.c pvpanic_write", "vmm/pci/pci_sriov.c pci_sriov_come",
            "vmm/pci/pci_wait.c come_back", "kernel/pci/pci_reset.c keep_patience", "kernel/work/port_61.c nmi_port_61",
            "kernel/errors/ghes.c look_at", "kernel/errors/mce.c tell", "vmm/dev/apic/lapic.c tell_move"} <= said, found


def without(*options):
    """The default configuration without these."""
    kconf = configs.load()
    for option in options:
        kconf.syms[option].set_value("n")
    assert [option for option in options if kconf.syms[option].str_value != "n"] == []
    return kconf


# In the fast tier several are off in one image: each is off in one of them.
IMAGES = 4
OFF = [pytest.param(OPTIONS[n::IMAGES], id="some-%d" % n) for n in range(IMAGES)]
OFF += [pytest.param([option], id=option, marks=pytest.mark.full) for option in OPTIONS]


@pytest.mark.parametrize("options", OFF)
def test_option_off(everything, options):
    """It builds, and nothing of the options' files is in it."""
    whole, objects = everything.symbols, everything.objects
    kconf = without(*options)
    off = [o for o, patterns in configs.features().items() if kconf.syms[o].str_value == "n"]
    absent = [p.replace("%", "*") for o in off for p in configs.features()[o]]
    theirs = {source for source in objects if any(fnmatch.fnmatch(source, p) for p in absent)}
    assert bool(theirs) == bool(absent)
    elf = configs.build(kconf, configs.VARIANTS)
    # Exactly the other files have gone into the image, but for those of which nothing is called even with every option on
    # (lib/spinlock.c: where size matters), and none of the missing ones' functions and data has.
    rest = [os.path.basename(source) for source, names in objects.items()
            if source not in theirs and source.endswith(".c") and (not names or names & whole)]
    assert source_names(elf) == sorted(rest)
    own = set().union(*(objects[source] for source in theirs)) - set().union(*(objects[s] for s in set(objects) - theirs))
    # The control: with the option they are there, but for what nothing calls.
    assert not own or own & whole
    assert not own & symbols(elf)


# One that is off in the default has been booted by all other tests.
@pytest.mark.full
@pytest.mark.parametrize("option", [option for option in OPTIONS if enabled(configs.load(), option)])
def test_boots_without(option):
    """A tiny guest runs on the image. In the fast tier those of random configurations, which lack many options each, do."""
    kconf = without(option)
    boot(option, kconf, configs.build(kconf, configs.VARIANTS))


# Each key by which a VM gets a device, or one more, that it has not anyway; as many of each as there may be.
ALL_DEVICES = """
on_mce = inject
counters = yes
watchdog = yes
console = virtio
control = yes
""" + "disk = scratch:32M\n" * 2 + "disk = boot\ndisk = triple\n" + "".join("net = segment%d\n" % n for n in range(4))


def test_boots_with_everything(everything):
    """With every option on a VM starts and ends well, and one that has every device that the image knows, too."""
    off = [option for option in OPTIONS if everything.kconf.syms[option].str_value != "y"]
    assert off == [], "an option that the image with every one has not"
    boot("everything", everything.kconf, everything.elf, ALL_DEVICES)


def test_one_backend_at_least():
    kconf = configs.load()
    kconf.syms["SVM"].set_value("n")
    kconf.syms["VMX"].set_value("n")
    assert (kconf.syms["SVM"].str_value, kconf.syms["VMX"].str_value) == ("n", "y")


def test_random(configuration_seed):
    for seed in range(configuration_seed, configuration_seed + RANDOM):
        kconf = configs.load()
        # Some that can be booted, and some without any of that.
        configs.randomize(kconf, seed, BOOTABLE if seed % 2 == 0 else ())
        try:
            boot("random-%d" % (seed - configuration_seed), kconf, configs.build(kconf, configs.VARIANTS))
        except (configs.BuildError, AssertionError) as error:
            pytest.fail("MARGAY_SEED=%d: %s" % (seed, error))


@pytest.fixture(scope="module", params=configs.NAMED)
def named(request):
    """A configuration of configs/, built in a directory of its own."""
    directory = os.path.join(configs.CONFIGS, request.param)
    return request.param, configs.build(configs.load(request.param), directory)


def test_size(named):
    name, elf = named
    loaded, _ = configs.image_size(elf)
    assert loaded > 32 << 10
    assert loaded <= configs.LIMIT[name], "%s: %d bytes, the limit is %d" % (name, loaded, configs.LIMIT[name])


def test_sizes_progress(monkeypatch, capsys):
    """`make sizes` says which of its builds begins, each and all of them, and its table stays clean."""
    for name, value in (("build", "x"), ("image_size", (3, 2)), ("image_lines", 1)):
        monkeypatch.setattr(configs, name, lambda *_, value=value: value)
    table = list(configs.sizes())
    said = capsys.readouterr().err.splitlines()
    total = len(said)
    assert [line.split(": ")[1] for line in said] == ["%d of %d" % (n + 1, total) for n in range(total)]
    named = len(configs.NAMED)
    assert said[0] == "sizes: 1 of %d: default_defconfig" % total
    assert "sizes: %d of %d: CONFIG_SVM=y" % (named + 1, total) in said
    assert total == named + 2 * sum(line.startswith("| `CONFIG_") for line in table)
    assert not any("sizes:" in line for line in table)


# What takes more than some seconds, as make help has it.
LONG = ("the", "iso", "guest", "nested-host", "guest-kernels", "other-kernels", "rhel-sles-kernels", "test", "test-full",
        "unit", "tiny", "bench", "fuzz", "mutants", "sizes", "setup", "netboot", "run", "install")


def test_help_says_how_long():
    done = subprocess.run(["make", "help"], cwd=configs.TOP, capture_output=True, text=True, check=True)
    lines = re.split(r"\n(?=make)", done.stdout)[1:]
    texts = {re.match(r"make *(\S*)", line)[1]: line for line in lines}
    for name in LONG:
        assert re.search(r"\b(seconds|minutes?|hours?|FUZZ_SECONDS)\b", texts[name]), name


def test_lines_and_tokens(tmp_path):
    """What is counted; and each file of the image has a room."""
    c, asm = tmp_path / "lines.c", tmp_path / "lines.asm"
    c.write_text('/* a */\n\nint x; /* b\n c */\nchar *s = "/*";\nint y; /* d */ int z;\n\t\n"\\"/*"\n', encoding="ascii")
    asm.write_text('; a\n\n\tret ; b\n\tdb ";"\n', encoding="ascii")
    assert (configs.code_lines(str(c)), configs.code_lines(str(asm))) == (4, 2)
    assert (configs.tokens(str(c)), configs.tokens(str(asm))) == (16, 3)
    c.write_text("a->b <<= c++ + 'x' ; /* d */ \"e f\"", encoding="ascii")
    assert configs.tokens(str(c)) == 10
    rooms = configs.rooms()
    for source in configs.sources(os.path.join(node.BUILD, "margay.elf")):
        assert source in rooms[os.path.dirname(source)]
    last = list(configs.rooms_table())[-1].split()
    assert int(last[5]) == sum(configs.code_lines(source) for files in rooms.values() for source in files) > 30000


def test_changes_end_where_a_fresh_build_does(named):
    """After all those changes of options in one directory: the same bytes as in one that was built once."""
    name, elf = named
    if name == "default":
        assert contents(configs.build(configs.load(name), configs.VARIANTS)) == contents(elf)


def test_tested_image_is_the_default(named):
    """All other tests boot build/margay.elf: it must be what they are written for."""
    name, elf = named
    if name == "default":
        assert contents(os.path.join(node.BUILD, "margay.elf")) == contents(elf), \
            "tests are for the default configuration: make default_defconfig"


@pytest.mark.parametrize("machine", ["qemu", pytest.param("bochs", marks=[pytest.mark.full, pytest.mark.slow])])
def test_tiny_boots(machine):
    """On Bochs with the loader for vmlinux added: a bzImage would unpack for half an hour."""
    kconf, directory = configs.load("tiny"), os.path.join(configs.CONFIGS, "tiny")
    if machine == "bochs":
        kconf.syms["VMLINUX"].set_value("y")
        directory += "-vmlinux"
    elf = configs.build(kconf, directory)
    iso = node.margay_iso(
        "tiny-" + machine, {"vm0.conf": node.vm_text(machine, "margay.test=end margay.end=poweroff")},
        {"kernel": node.guest_file("vmlinuz" if machine == "qemu" else node.KERNEL), "initrd": node.guest_file("initrd")}, elf=elf,
    )
    with node.start("tiny", machine, iso) as running:
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("vm0: end=poweroff")

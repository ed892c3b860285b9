# SPDX-License-Identifier: GPL-2.0-only
"""`make check` as a test, and the layer check's own control; tests/unit/test_check_objects.py is the one of the linked image's."""

import os
import re
import subprocess
import sys

import margay_configs
import node
import pytest


def tool(name, *arguments):
    return subprocess.run([os.path.join(node.TOP, "tools", name), *arguments], cwd=node.TOP, capture_output=True,
                          text=True, check=False)


def test_layers():
    done = tool("check-layers")
    assert done.returncode == 0, done.stderr


def test_linked_image():
    done = subprocess.run(["make", "B=" + os.path.relpath(node.BUILD, node.TOP), "check-objects"], cwd=node.TOP,
                          env=margay_configs.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^check-objects: \d{3} objects; ", done.stdout, re.MULTILINE)


def test_source_conventions():
    done = tool("check-source")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line, wrong", (
    ("import test_smp", True), ("    from test_smp import check", True), ("import node, test_smp as smp", True),
    ("import smp", False), ("from smp import test_words", False), ("# import test_smp", False),
))
def test_source_check_finds_a_test_that_imports_a_test(tmp_path, line, wrong):
    """A copy of the checker over a tree with one file."""
    for folder in "tools", "tests":
        (tmp_path / folder).mkdir()
    with open(os.path.join(node.TOP, "tools", "check-source"), encoding="utf-8") as f:
        (tmp_path / "tools" / "check-source").write_text(f.read())
    (tmp_path / "tests" / "helper.py").write_text("# SPDX-License-Identifier: GPL-2.0-only\n%s\n" % line)
    done = subprocess.run([sys.executable, str(tmp_path / "tools" / "check-source")], capture_output=True, text=True, check=False)
    assert done.returncode == wrong, done.stderr
    assert done.stderr.startswith("tests/helper.py:2: a test imports a test: ") == wrong, done.stderr


# What an operator gets, of the tree or in a package, and what builds it. Guests of tests are judged by their errors alone: they run
# as root of a machine that ends with them, and read files that are there only.
SHIPPED_SHELL = ("packaging", "guest-patches", "tools", ".ci")
GUEST_SHELL = ("tests",)


def shell_files(folders):
    """Scripts by their first line, and what bash reads."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=node.TOP, capture_output=True, text=True, check=True).stdout.split()
    for path in listed:
        with open(os.path.join(node.TOP, path), "rb") as f:
            if re.match(rb"#!\S*(/| )(sh|bash|dash|busybox sh)\n", f.readline()) or path.endswith(".bash"):
                yield path


def shellcheck(path, *arguments):
    """What it says of a file. busybox' shell is judged as dash; files that only the target has are not followed."""
    dialect = "bash" if path.endswith(".bash") else "dash"
    return subprocess.run(["shellcheck", "--norc", "-f", "gcc", "-s", dialect, "-e", "SC1091", *arguments, path], cwd=node.TOP,
                          capture_output=True, text=True, check=False)


def test_shell_that_is_shipped():
    paths = list(shell_files(SHIPPED_SHELL))
    assert {"packaging/margay-tools/margay.bash", "packaging/margay/postinst", "tools/grub.d/42_margay", "tools/nested/init.sh",
            "tools/setup", "guest-patches/margay-guest/initramfs/hooks/margay-guest"} <= set(paths)
    said = [shellcheck(path) for path in paths]
    assert [one.stdout + one.stderr for one in said if one.returncode] == []


def test_shell_of_guests():
    paths = list(shell_files(GUEST_SHELL))
    assert "tests/system/guest/init.sh" in paths
    said = [shellcheck(path, "-S", "error") for path in paths]
    assert [one.stdout + one.stderr for one in said if one.returncode] == []


def test_shell_check_judges(tmp_path):
    """The control: a word that is not quoted is found."""
    (tmp_path / "x").write_text("#!/bin/sh\nrm $1\n")
    done = shellcheck(str(tmp_path / "x"))
    assert done.returncode == 1 and "SC2086" in done.stdout


READ = "arch/cpu.%s:%d: rdmsr of %s: by host_rdmsr(), or with the manual's promise in tools/bare-rdmsr"


@pytest.mark.parametrize("ending, source, listed, wrong", (
    ("c", "\tv = rdmsr(MSR_A);\n", "", READ % ("c", 3, "MSR_A")),
    ("c", "\tv = a(rdmsr(MSR_A)) | rdmsr(b(1) + n);\n", "arch/cpu.c MSR_A: always\n", READ % ("c", 3, "b(1) + n")),
    ("c", "\tv = a(rdmsr(MSR_A)) | rdmsr(b(1) + n);\n", "arch/cpu.c MSR_A: always\narch/cpu.c b(1) + n: CPUID 1\n", None),
    ("c", "#define A (rdmsr(MSR_A) & 1)\n", "", READ % ("c", 3, "MSR_A")),
    ("c", "\thost_rdmsr(MSR_A, &v);\n\tops->rdmsr(MSR_A);\n\tops.rdmsr(MSR_A);\nstatic inline u64 rdmsr(u32 msr)\n", "", None),
    ("asm", "\tmov ecx, MSR_A ; the first\n\tmov eax, 1\n\trdmsr\n", "", READ % ("asm", 4, "MSR_A")),
    ("inc", "x:\tmov ecx, MSR_B\n\tmov\tecx, MSR_A\n\trdmsr ; here\n", "arch/cpu.inc MSR_A: always\n", None),
    ("c", "\tv = rdmsr(MSR_A);\n", "arch/cpu.c MSR_A:\n", "tools/bare-rdmsr:2: expected FILE ARGUMENT: the manual's promise"),
    ("c", "\tv = 1;\n", "arch/cpu.c MSR_A: always\n", "tools/bare-rdmsr:2: arch/cpu.c reads no MSR_A by the bare instruction"),
    ("c", "\tv = rdmsr(MSR_A);\n", "arch/other.c MSR_A: always\n", READ % ("c", 3, "MSR_A")),
))
def test_source_check_finds_a_bare_rdmsr(tmp_path, ending, source, listed, wrong):
    """A copy of the checker over a tree with one file that reads MSRs, and a list of those that may be."""
    for folder in "tools", "arch":
        (tmp_path / folder).mkdir()
    with open(os.path.join(node.TOP, "tools", "check-source"), encoding="utf-8") as f:
        (tmp_path / "tools" / "check-source").write_text(f.read())
    (tmp_path / "tools" / "bare-rdmsr").write_text("# SPDX-License-Identifier: GPL-2.0-only\n" + listed)
    first = "; SPDX-License-Identifier: GPL-2.0-only\n" if ending in ("asm", "inc") else \
        "/* SPDX-License-Identifier: GPL-2.0-only */\n/* What it owns. */\n"
    (tmp_path / "arch" / ("cpu." + ending)).write_text(first + source)
    done = subprocess.run([sys.executable, str(tmp_path / "tools" / "check-source")], capture_output=True, text=True, check=False)
    assert done.returncode == bool(wrong), done.stderr
    assert wrong is None or wrong in done.stderr.splitlines(), done.stderr


def test_cpuid_document_is_current():
    done = subprocess.run([os.path.join(node.BUILD, "cpuid-list")], capture_output=True, text=True, check=True)
    with open(os.path.join(node.TOP, "docs", "cpuid.md"), encoding="utf-8") as f:
        assert f.read() == done.stdout, "make docs/cpuid.md"


def test_catalogue_is_current():
    done = tool("test-catalogue", "--check")
    assert done.returncode == 0, done.stderr


def test_versions_are_alike():
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        version = f.read().strip()
    with open(os.path.join(node.TOP, "VERSION"), encoding="ascii") as f:
        release = f.read().strip()
    assert re.fullmatch(re.escape(release) + "(-[0-9a-f]{12}(-dirty)?)?", version)
    with open(os.path.join(node.TOP, "CHANGELOG.md"), encoding="ascii") as f:
        assert re.findall("^## ([0-9.]+)", f.read(), re.MULTILINE)[0] == release
    with open(os.path.join(node.BUILD, "margay.elf"), "rb") as f:
        assert version.encode() + b"\0" in f.read()
    tools = [os.path.join(node.TOP, "tools", tool) for tool in ("margay-image", "margay-netboot", "margay-run", "margay-fleet")]
    for tool in tools + [os.path.join(node.BUILD, "margay-check")]:
        done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == "%s %s\n" % (os.path.basename(tool), version)


def test_documented_grep():
    """What finds a node's last line in its console's text finds it with and without a time, and not what a VM has printed."""
    with open(os.path.join(node.TOP, "docs", "architecture.md"), encoding="utf-8") as f:
        pattern, = re.findall(r"`grep -aE '(.*margay: node: end=)'`", f.read())
    last = "margay: node: end=poweroff vms=1 failed=0"
    text = "\n".join((last, "[   12.345] " + last, "[12345.678] " + last, "x " + last, "[vm0] " + last, "vm0: " + last,
                      "[   12.345] vm0: " + last, " " + last, "")) + "\0\n"
    done = subprocess.run(["grep", "-aE", pattern], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [last, "[   12.345] " + last, "[12345.678] " + last]


@pytest.mark.parametrize("file, header, status", (
    ("vmm/x.c", '"vmm/vmx/vmcs.h"', 1),
    ("vmm/x.c", '"vmm/vm.h"', 0),
    # The door is the only way from the monitor to the kernel, there is none back, and pure modules do without.
    ("vmm/x.c", '"kernel/percpu.h"', 1),
    ("kernel/x.c", '"vmm/vm.h"', 1),
    ("vmm/x.c", "<margay/host.h>", 0),
    ("kernel/x.c", "<margay/host_pci.h>", 0),
    ("vmm/emulate/decode.c", "<margay/host.h>", 1),
    ("include/margay/x.h", "<margay/host.h>", 1),
))
def test_layer_check_finds_a_breach(tmp_path, file, header, status):
    """A copy of the checker over a tree with one file."""
    for folder in "tools", "docs", os.path.dirname(file):
        (tmp_path / folder).mkdir(parents=True)
    for copied in "tools/check-layers", "docs/architecture.md":
        with open(os.path.join(node.TOP, copied), encoding="utf-8") as f:
            (tmp_path / copied).write_text(f.read())
    (tmp_path / file).write_text('#include <margay/types.h>\n#include %s\n' % header)
    done = subprocess.run([sys.executable, str(tmp_path / "tools" / "check-layers")], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    if status:
        assert "%s:2: must not include %s" % (file, header[1:-1]) in done.stderr

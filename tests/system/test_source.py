# SPDX-License-Identifier: GPL-2.0-only
"""`make check` as a test, and the layer check's own control."""

import os
import re
import subprocess
import sys

import node


def tool(name, *arguments):
    return subprocess.run([os.path.join(node.TOP, "tools", name), *arguments], cwd=node.TOP, capture_output=True,
                          text=True, check=False)


def test_layers():
    done = tool("check-layers")
    assert done.returncode == 0, done.stderr


def test_source_conventions():
    done = tool("check-source")
    assert done.returncode == 0, done.stdout + done.stderr


def test_cpuid_document_is_current():
    done = subprocess.run([os.path.join(node.BUILD, "cpuid-list")], capture_output=True, text=True, check=True)
    with open(os.path.join(node.TOP, "docs", "cpuid.md"), encoding="utf-8") as f:
        assert f.read() == done.stdout, "make docs/cpuid.md"


def documented_vm_files():
    """The examples of docs/configuration.md: blocks of indented lines that name a kernel; two files can stand side by side."""
    with open(os.path.join(node.TOP, "docs", "configuration.md"), encoding="utf-8") as f:
        blocks = re.findall(r"(?:^    .*\n)+", f.read(), re.MULTILINE)
    for block in blocks:
        columns = zip(*(re.split(r" {3,}", line.strip()) for line in block.splitlines()))
        yield from ("\n".join(lines) + "\n" for lines in columns if any(line.startswith("kernel =") for line in lines))


def test_documented_vm_files_are_good(tmp_path):
    """As the tool that operators have judges them; the control is one with a key misspelt."""
    check = [os.path.join(node.BUILD, "margay-check"), "--module", "vmlinuz", "--module", "initrd"]
    files = list(documented_vm_files())
    assert [re.match(r"name = (\w+)", text)[1] for text in files] == ["compute", "left", "right", "most"]
    for text in files:
        for changed, status in ((text, 0), (text.replace("memory =", "memroy ="), 1)):
            (tmp_path / "vm.conf").write_text(changed)
            done = subprocess.run(check + [str(tmp_path / "vm.conf")], capture_output=True, text=True, check=False)
            assert done.returncode == status, done.stdout + done.stderr


def test_layer_check_finds_a_breach(tmp_path):
    """A copy of the checker over a tree with one forbidden include, and over one with none."""
    for header, status in (("arch/x86_64/vmx/vmcs.h", 1), ("vmm/vm.h", 0)):
        top = tmp_path / str(status)
        (top / "tools").mkdir(parents=True)
        (top / "vmm").mkdir()
        (top / "docs").mkdir()
        for file in "tools/check-layers", "docs/architecture.md":
            with open(os.path.join(node.TOP, file), encoding="utf-8") as f:
                (top / file).write_text(f.read())
        (top / "vmm" / "x.c").write_text('#include <margay/types.h>\n#include "%s"\n' % header)
        done = subprocess.run([sys.executable, str(top / "tools" / "check-layers")], capture_output=True, text=True,
                              check=False)
        assert done.returncode == status, done.stderr
        if status:
            assert "vmm/x.c:2: must not include " + header in done.stderr

# SPDX-License-Identifier: GPL-2.0-only
"""`make check` as a test, and the layer check's own control."""

import os
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


def test_layer_check_finds_a_breach(tmp_path):
    """A copy of the checker over a tree with one forbidden include, and over one with none."""
    for header, status in (("arch/x86_64/vmx/vmcs.h", 1), ("vmm/vm.h", 0)):
        top = tmp_path / str(status)
        (top / "tools").mkdir(parents=True)
        (top / "vmm").mkdir()
        with open(os.path.join(node.TOP, "tools", "check-layers"), encoding="utf-8") as f:
            (top / "tools" / "check-layers").write_text(f.read())
        (top / "vmm" / "x.c").write_text('#include <margay/types.h>\n#include "%s"\n' % header)
        done = subprocess.run([sys.executable, str(top / "tools" / "check-layers")], capture_output=True, text=True,
                              check=False)
        assert done.returncode == status, done.stderr
        if status:
            assert "vmm/x.c:2: must not include " + header in done.stderr

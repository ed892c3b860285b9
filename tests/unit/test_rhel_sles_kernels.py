# SPDX-License-Identifier: GPL-2.0-only
"""What tools/rhel-sles-kernels does around a build, which these tests put something else for: what a kernel must have taken,
what is kept, and what is left out."""

import importlib.machinery
import importlib.util
import os
import re

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBIAN = "CONFIG_HZ_250=y\n# CONFIG_HZ_1000 is not set\nCONFIG_DRM=m\nCONFIG_NR_CPUS=8192\nCONFIG_NET=y\n"
FRAGMENTS = {"other": "# CONFIG_NET is not set\n", "rhel9": "# why\nCONFIG_HZ_1000=y\n# CONFIG_HZ_250 is not set\n",
             "sles15": "CONFIG_HZ_250=y\n"}
SOURCE = "linux-source-6.1=6.1.192-3"


@pytest.fixture(name="tool")
def fixture_tool(tmp_path, monkeypatch):
    loader = importlib.machinery.SourceFileLoader("rhel_sles_kernels", os.path.join(TOP, "tools", "rhel-sles-kernels"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rhel_sles_kernels", loader))
    loader.exec_module(module)
    os.mkdir(tmp_path / "configs")
    for name, text in FRAGMENTS.items():
        (tmp_path / "configs" / (name + "-kernel.config")).write_text(text, encoding="ascii")
    monkeypatch.setattr(module, "CONFIGS", str(tmp_path / "configs"))
    monkeypatch.setattr(module.guest_kernel, "candidate",
                        {"linux-source-6.1": "6.1.192-3", "linux-source-6.12": "6.12.117-1"}.get)
    return module


def taken(config):
    """What Linux makes of a configuration: the last word on each option."""
    found = {re.search(r"CONFIG_\w+", line)[0]: line for line in config.splitlines() if line}
    return "\n".join(found.values()) + "\n"


def configure(tool, tree, name, forget=()):
    """What is configured when the kernel does not take these lines."""

    def make(where, *goals):
        assert goals == ("olddefconfig",)
        with open(os.path.join(where, ".config"), encoding="ascii") as f:
            text = taken("\n".join(tool.settings(f.read())))
        with open(os.path.join(where, ".config"), "w", encoding="ascii") as f:
            f.write("\n".join(line for line in text.splitlines() if line not in forget) + "\n")

    tool.guest_kernel.make = make
    tool.configure(str(tree), DEBIAN, name)
    return (tree / ".config").read_text(encoding="ascii").splitlines()


def test_configuration(tool, tmp_path):
    """Debian's, without modules and what no test needs, and the distribution's word is the last."""
    assert configure(tool, tmp_path, "rhel9") == [
        "# CONFIG_HZ_250 is not set", "CONFIG_HZ_1000=y", "# CONFIG_DRM is not set", "CONFIG_NR_CPUS=8192",
        "# CONFIG_NET is not set"]


@pytest.mark.parametrize("line", ["CONFIG_HZ_1000=y", "# CONFIG_HZ_250 is not set"])
def test_what_the_kernel_does_not_take(tool, tmp_path, line):
    with pytest.raises(SystemExit, match="^rhel-sles-kernels: rhel9: the kernel did not take %s$" % line):
        configure(tool, tmp_path, "rhel9", forget=(line,))


def kept(tool, directory, name, digest=None):
    """As an earlier run has left it."""
    os.mkdir(os.path.join(directory, "other-" + name))
    with open(os.path.join(directory, "other-" + name, "of"), "w", encoding="ascii") as f:
        f.write("6.1.192-like-%s %s\n" % (name, digest or tool.digest(SOURCE, name)))


def made(tool, directory, monkeypatch):
    """The kernels that it builds, and of what."""
    built = []
    monkeypatch.setattr(tool, "debian_config", lambda *of: built.append(of[:2]) or DEBIAN)
    monkeypatch.setattr(tool.guest_kernel, "unpack", lambda version, package, _: built.append((version, package)))
    monkeypatch.setattr(tool, "configure", lambda _, debian, name: built.append((debian == DEBIAN, name)))
    monkeypatch.setattr(tool, "build", lambda _, name, target, made_of: built.append((name, os.path.basename(target), made_of)))
    tool.make(str(directory))
    return built


def test_what_is_there_is_kept(tool, tmp_path, monkeypatch):
    kept(tool, tmp_path, "rhel9")
    kept(tool, tmp_path, "sles15")
    assert not made(tool, tmp_path, monkeypatch)


def test_what_is_old_is_made(tool, tmp_path, monkeypatch):
    """Of the older of what apt knows."""
    kept(tool, tmp_path, "rhel9")
    kept(tool, tmp_path, "sles15", "old")
    assert made(tool, tmp_path, monkeypatch) == [
        ("6.1", "6.1.192-3"), ("6.1", SOURCE), (True, "sles15"), ("sles15", "other-sles15", tool.digest(SOURCE, "sles15"))]


def test_another_setting_is_another_kernel(tool, tmp_path):
    """A comment is not."""
    first = tool.digest(SOURCE, "rhel9")
    assert tool.digest("linux-source-6.1=6.1.193-1", "rhel9") != first
    path = tmp_path / "configs" / "rhel9-kernel.config"
    path.write_text(FRAGMENTS["rhel9"].replace("# why", "# because"), encoding="ascii")
    assert tool.digest(SOURCE, "rhel9") == first
    path.write_text(FRAGMENTS["rhel9"] + "CONFIG_SMP=y\n", encoding="ascii")
    assert tool.digest(SOURCE, "rhel9") != first
    path.write_text(FRAGMENTS["rhel9"], encoding="ascii")
    (tmp_path / "configs" / "other-kernel.config").write_text("", encoding="ascii")
    assert tool.digest(SOURCE, "rhel9") != first


def test_no_source(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool.guest_kernel, "candidate", lambda _: None)
    assert not made(tool, tmp_path, monkeypatch)
    assert "apt knows no linux-source-6.1 or 6.12" in capsys.readouterr().out


def test_files(tool, monkeypatch):
    """Each of ours says what it sets once, and where its distribution's values are from."""
    monkeypatch.undo()
    for name in ("other", *tool.KERNELS):
        text = tool.fragment(name)
        names = re.findall(r"^(?:# )?(CONFIG_\w+)(?:=| is not set$)", text, re.MULTILINE)
        assert len(names) == len(set(names)) == len(tool.settings(text)), name
        assert name == "other" or "github.com/" in text

# SPDX-License-Identifier: GPL-2.0-only
"""The services that packages and images bring: docs/services.md is as their unit files are, systemd reads these, and by its own
measure (systemd-analyze security) the packages' sandboxes are tight. No emulator."""

import glob
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import node
import pytest

TOOL = os.path.join(node.TOP, "tools", "services-table")
spec = importlib.util.spec_from_loader("services_table", importlib.machinery.SourceFileLoader("services_table", TOOL))
services_table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(services_table)

PATHS = sorted(glob.glob(os.path.join(node.TOP, "packaging", "*", "*.service")))
DRIVER = "modprobe@virtio_console.service"
EXPOSURE = 25  # tenths, of 100 at most; systemd calls 50 medium
ANALYZE = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")


def test_page_is_current():
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_page_has_all_and_no_other(monkeypatch, tmp_path):
    """The unit files of the tree, wherever a new one lies, and what margay-node begins without one, as it is begun."""
    files = [path for folder in ("packaging", "tools") for path in pathlib.Path(node.TOP, folder).rglob("*")
             if path.is_file() and "__pycache__" not in path.parts]
    there = [path.name for path in files if path.suffix == ".service"]
    assert [path.name for path in files if b'"systemd-run"' in path.read_bytes()] == ["bare.py"]
    begun = []
    monkeypatch.setattr(services_table.bare, "systemd", lambda *words, **_: begun.append(words) or "")
    monkeypatch.setattr(services_table.bare, "KEY_FOLDER", str(tmp_path / "key"))
    monkeypatch.setattr(services_table.bare, "put_key", lambda key: "key")
    services_table.bare.begin({"munge_key": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "node": "n1", "controller": "head"})
    rows = {unit.name: unit for unit in services_table.services()}
    for words in begun:
        if words[0] == "systemd-run":
            name, = (word.partition("=")[2] for word in words if word.startswith("--unit="))
            there.append(name)
            settings = ["%s=%s" % pair for pair in rows[name].sections["Service"]]
            assert settings == [word.partition("=")[2] for word in words if word.startswith("--property=")]
    with open(services_table.PAGE, encoding="utf-8") as f:
        text = f.read()
    for wanted in re.findall(r"^\| `(margay-[a-z.-]+)`, .*", text, re.M), re.findall(r"^\| `(margay-[a-z.-]+)` \|", text, re.M):
        assert sorted(wanted) == sorted(there) and len(there) > 11


def test_each_service_says_all():
    """What a row of the table needs, and that a package has the file."""
    with open(os.path.join(node.TOP, "tools", "packages"), encoding="utf-8") as f:
        packages = f.read()
    known = services_table.units()
    assert len(PATHS) > 5 and all('%s"' % name in packages for name in known)
    for unit in services_table.services():
        assert unit.one("X-Margay", "Port") and unit.one("X-Margay", "Stops"), unit.name
    for unit in known.values():
        if unit.name.endswith(".service"):
            assert re.fullmatch(r"[0-9]+[MG]", unit.one("Service", "MemoryMax")), unit.name
            again = unit.one("Service", "Type") == "oneshot" or unit.one("Service", "Restart")
            assert again or unit.name.replace(".service", ".socket") in known, "%s: nothing starts it again" % unit.name


def test_ports_are_the_programs():
    """Those that listen when nobody says otherwise; the others of the table have no network, or listen nowhere."""
    known = services_table.units()
    ports = {unit.one("X-Margay", "Port") for unit in known.values() if unit.name.endswith(".service")}
    assert ports == {"none", "7380/tcp", "7381/tcp"}
    tracker = os.path.join(node.TOP, "tools", "margay-image-tracker")
    said = subprocess.run([sys.executable, tracker, "--help"], capture_output=True, text=True, check=True).stdout
    assert known["margay-image-tracker.service"].one("X-Margay", "Port") == "7381/tcp" and "7381" in said
    sys.path.insert(0, os.path.join(node.TOP, "tools"))
    from margay_images import node_config  # pylint: disable=import-outside-toplevel
    assert known["margay-images.service"].one("X-Margay", "Port") == "%s/tcp" % node_config.DEFAULTS["port"]


def test_driver_of_the_port():
    """Whoever needs the node's port, by its sandbox or a condition, has its driver loaded first; else a driver that comes late
    leaves it out, without a word. A timer or socket may do so for its service."""
    known = services_table.units()
    loads = {name for name, unit in known.items()
             if all(DRIVER in " ".join(unit.all("Unit", key)).split() for key in ("Wants", "After"))}
    needs = {name for name, unit in known.items() if any("virtio-ports" in value for section in unit.sections.values()
                                                         for _, value in section)}
    assert len(needs) > 6 and "margay-watch.socket" in needs
    for name in needs:
        stem = name.rpartition(".")[0]
        assert loads & {name, stem + ".timer", stem + ".socket"}, name
    # What runs the client needs the port, and may open it only by its sandbox.
    for name, unit in known.items():
        if re.match("/usr/bin/margay ", unit.one("Service", "ExecStart", "")):
            assert "char-virtio-portsdev rw" in unit.all("Service", "DeviceAllow"), name


def judged(path, threshold):
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=%d" % threshold, path]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@ANALYZE
@pytest.mark.parametrize("path", PATHS, ids=os.path.basename)
def test_sandbox(path, tmp_path):
    """The control: without one of its words, and without any, it does not pass as what it is, or at all."""
    done = judged(path, EXPOSURE)
    assert done.returncode == 0, done.stdout[-2000:]
    exposure = float(re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)[1])
    with open(path, encoding="ascii") as f:
        text = f.read()
    for gone, least in ((r"^CapabilityBoundingSet=.*\n", exposure), (r"^(?!\[|Exec|Type|User|Dynamic).*=.*\n", EXPOSURE / 10)):
        spoilt = tmp_path / os.path.basename(path)
        spoilt.write_text(re.sub(gone, "", text, flags=re.MULTILINE), encoding="ascii")
        assert judged(spoilt, int(least * 10)).returncode != 0


@ANALYZE
def test_systemd_reads_them(tmp_path):
    """All but the programs, which are not installed here. The control is a word that there is not."""
    def said(paths):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True, check=False)
        return [line for line in done.stderr.splitlines() if "packaging" in line or str(tmp_path) in line]

    units = [path for path in PATHS + glob.glob(os.path.join(node.TOP, "packaging", "*", "*.[st][oi][cm]*"))]
    assert not said(units)
    wrong = tmp_path / "wrong.service"
    with open(PATHS[0], encoding="ascii") as f:
        wrong.write_text(f.read().replace("ProtectSystem=", "ProtectSytsem="), encoding="ascii")
    assert said([wrong])

# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages of `make deb`: judged by lintian, installed, upgraded and removed by dpkg below a directory of its own
(debian_root.py)."""

import os
import re
import subprocess

import deb_package
import debian_root
import node
import pytest


@pytest.fixture(scope="module", name="packages")
def fixture_packages():
    return deb_package.make_deb()


def test_lintian_is_content(packages, tmp_path):
    """There is no error and no warning. The control: without the manual page there is."""
    def judged(deb):
        done = subprocess.run(["lintian", "--fail-on", "error,warning", str(deb)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert set(packages) == {"margay", "margay-tools", "margay-apply", "margay-images", "margay-image-node", "margay-slurm"}
    for path in packages.values():
        assert judged(path) == (0, "")
    tree, spoilt = tmp_path / "tree", tmp_path / "spoilt.deb"
    subprocess.run(["dpkg-deb", "-R", packages["margay-tools"], str(tree)], check=True)
    (tree / "usr/share/man/man1/margay.1.gz").unlink()
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(spoilt)], check=True, capture_output=True)
    status, said = judged(spoilt)
    assert status != 0 and "no-manual-page" in said


def test_pages_and_examples(packages, tmp_path):
    """Each package brings its manual pages; each example is right by the package's own margay-check, for its own image."""
    for name in "margay", "margay-tools", "margay-apply":
        subprocess.run(["dpkg-deb", "-x", packages[name], tmp_path / name], check=True)
    pages = {name: {path.name for path in (tmp_path / name / "usr/share/man").rglob("*.gz")}
             for name in ("margay", "margay-tools", "margay-apply")}
    assert pages == {
        "margay": {"margay.conf.5.gz", "margay.7.gz", "margay-check.1.gz", "margay-upgrade.8.gz", "margay-kernel.8.gz"},
        "margay-tools": {"margay.1.gz"}, "margay-apply": {"margay-apply.1.gz"}}
    examples = sorted((tmp_path / "margay/usr/share/doc/margay/examples").rglob("*"))
    files = [path for path in examples if path.is_file()]
    assert len(files) > 10 and {"vm0.conf", "management.conf", "node1.conf"} <= {path.name for path in files}
    check = [tmp_path / "margay/usr/bin/margay-check", "--each", "--image", tmp_path / "margay/boot/margay/margay.elf"]
    done = subprocess.run([*check, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    files[0].write_text(files[0].read_text(encoding="ascii").replace("kernel", "kernal"), encoding="ascii")
    assert subprocess.run([*check, *files], capture_output=True, check=False).returncode == 1


def package_version(deb):
    return subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True, check=True).stdout.strip()


def test_installed_and_removed(packages, tmp_path):
    system = debian_root.Root(tmp_path)
    root = system.path

    def dpkg(*arguments):
        system.dpkg(*arguments)
        return system.called()

    assert dpkg("--install", *packages.values()) == ["update-grub"]
    image = root / "boot/margay/margay.elf"
    sections = subprocess.run(["readelf", "-lW", str(image)], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        version = f.read().strip()
    # What the boot's first line will say, and the program.
    assert version.encode() in image.read_bytes() and "LOAD" in sections
    said = subprocess.run([str(root / "usr/bin/margay"), "--version"], capture_output=True, text=True, check=True).stdout
    assert said == "margay %s\n" % version
    done = subprocess.run([str(root / "usr/bin/margay"), "list"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stderr.startswith("margay: this is not the management VM: ")
    # The program that they start is the one below the directory.
    units = sorted(path for path in (root / "usr/lib/systemd/system").iterdir() if path.is_file())
    assert [unit.name for unit in units] == [
        "margay-booted.service", "margay-image-tracker.service", "margay-images.service", "margay-journal.service",
        "margay-metrics.service", "margay-metrics.timer", "margay-restore.service", "margay-slurm-tend.service",
        "margay-slurm-tend.timer", "margay-watch.service", "margay-watch.socket"]
    for service, words in ((units[0], ["booted"]), (units[2], ["--serve"]), (units[3], ["journal"]),
                           (units[4], ["metrics", "--output"]), (units[6], ["apply", "--each"]),
                           (units[7], ["tend"]), (units[9], ["watch"])):
        started = re.search(r"^ExecStart=(.*)$", service.read_text(encoding="ascii"), re.MULTILINE)[1].split()
        assert (root / started[0][1:]).exists() and started[1:1 + len(words)] == words
    # Programs of Python find their modules from where their links lead; no build is theirs.
    nowhere = {**os.environ, "MARGAY_BUILD": str(tmp_path)}
    for program in ("bin/margay-apply", "bin/margay-build", "bin/margay-image-store", "bin/margay-image-tracker",
                    "bin/margay-image-pull", "sbin/margay-slurm"):
        said = subprocess.run([str(root / "usr" / program), "--version"], env=nowhere, capture_output=True, text=True,
                              check=True).stdout
        assert said == "%s %s\n" % (os.path.basename(program), package_version(packages["margay-images"]))
    # Root alone changes who may use margay, and a group that there is not would be nobody's.
    rules = root / "etc/sudoers.d/margay"
    assert rules.stat().st_mode & 0o777 == 0o440
    groups = (root / "etc/group").read_text(encoding="ascii")
    assert all("\n%s:" % group in "\n" + groups for group in ("margay-look", "margay-operate"))
    # The operator's own stay, at an upgrade and at the end.
    config = root / "etc/default/grub.d/margay.cfg"
    config.write_text('export GRUB_CMDLINE_MARGAY="console=com2"\n', encoding="ascii")
    (root / "boot/margay/mine.conf").write_text("kernel = k\nmemory = 1G\n", encoding="ascii")
    assert dpkg("--force-confold", "--install", packages["margay"]) == ["update-grub"]
    assert "com2" in config.read_text(encoding="ascii")
    assert dpkg("--remove", *packages) == ["update-grub"]
    assert dpkg("--purge", "margay", "margay-tools") == ["update-grub"]
    left = sorted(str(path.relative_to(root)) for path in root.rglob("*margay*") if "var/lib/dpkg" not in str(path))
    assert left == ["boot/margay"] and sorted((root / "boot/margay").iterdir()) == [root / "boot/margay/mine.conf"]
    assert (root / "boot/margay/mine.conf").exists()

# SPDX-License-Identifier: GPL-2.0-only
"""A small distribution of RPMs, for want of a registry that has one's: Debian's files in a repository of packages that rpmbuild
makes and createrepo_c lists, which dnf resolves and installs. A root of it has its things where RHEL has them: RPM's database and
no other, the kernel and its configuration below /usr/lib/modules, its modules packed by xz, squashfs among those of kernel-modules,
accounts by the package setup, and host keys by sshd-keygen when sshd starts.

Each of Debian's packages is one RPM, with its dependencies, but for those that are RPM's own affair here (OTHERS).
"""

import collections
import os
import re
import shutil
import subprocess

import small_image

INCLUDE = "systemd-sysv,dbus,udev,libpam-systemd,kmod,openssh-server"
# Debian's package management, and what only that needs.
OTHERS = ("adduser", "apt", "debconf", "debian-archive-keyring", "dpkg", "gpgv", "perl-base", "ucf", "usrmerge")
# As RHEL calls them.
NAMES = {"libc6": "glibc", "base-files": "basesystem"}
# What RHEL's package has in it.
WITH = {"systemd": ("systemd-sysv", "udev", "dbus", "libpam-systemd", "kmod")}
POST = {"systemd": "systemd-machine-id-setup"}
# What no package has in it, or not as it is here.
LEFT_OUT = re.compile(r"boot/.|dev/.|run/.|tmp/.|etc/(machine-id|os-release|debian_version|apt|dpkg)(/|$)|etc/ssh/ssh_host_|"
                      r"etc/systemd/system/timers\.target\.wants/(apt|dpkg)|usr/lib/(modules|os-release)(/|$)|var/(cache|log)/|"
                      r"usr/share/(doc|info|lintian|locale|man)/|var/lib/(apt|dpkg|ucf)(/|$)|var/lib/systemd/random-seed")
# What systemd and udev want beside what an image starts by; the others of 4,000 modules would be packed for nobody.
MODULES = (*small_image.MODULES, "autofs4", "configfs", "efivarfs", "fuse", "ip_tables", "x_tables")
VERSION = "9.1"
OS_RELEASE = """NAME="Margay's RPMs"
ID=margay-rpms
ID_LIKE="rhel fedora"
VERSION_ID=%s
PRETTY_NAME="Margay's RPMs %s"
""" % (VERSION, VERSION)
KEYGEN = """[Unit]
Description=OpenSSH server key generation
[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A
"""
SSHD = """[Unit]
Wants=sshd-keygen.service
After=sshd-keygen.service
"""
HEAD = """%define _binary_payload w1.gzdio
%define debug_package %{{nil}}
%define __spec_install_post %{{nil}}
%define __check_files %{{nil}}
%define _build_id_links none
Name: margay-rpms
Version: {version}
Release: 1
Summary: Debian's files as RPMs
License: as Debian has it
AutoReqProv: no
%description
None.
%install
cp -a {root}/. %{{buildroot}}/
"""
PACKAGE = """
%package -n {name}
Summary: {name}
AutoReqProv: no
{tags}
%description -n {name}
{name}
{post}
%files -n {name} {files}
"""
REPOSITORY = """[baseos]
name=Margay's RPMs
baseurl=file://%s
gpgcheck=0
"""

# relations: lines of the spec; paths: from the root; post: what runs when it is installed.
Package = collections.namedtuple("Package", "relations paths post", defaults=("",))


def placed(root, path):
    """Where a path of dpkg's lies, whose /bin is /usr/bin."""
    folder, name = os.path.split(path.lstrip("/"))
    return os.path.relpath(os.path.join(os.path.realpath(os.path.join(root, folder)), name), root)


def of_list(root, binary):
    with open("%s/var/lib/dpkg/info/%s.list" % (root, binary), encoding="utf-8") as f:
        return {placed(root, path) for path in f.read().splitlines()}


def bootstrap(top):
    """(Debian's root, [(name, paths, depends, provides, whether it is essential)] of its packages)"""
    root = os.path.join(top, "debian")
    subprocess.run(["mmdebstrap", "--variant=minbase", "--include=" + INCLUDE, "--format=directory", "bookworm", root], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fields = "${binary:Package}\t${Package}\t${Pre-Depends}, ${Depends}\t${Provides}\t${Essential}\n"
    done = subprocess.run(["dpkg-query", "--admindir", root + "/var/lib/dpkg", "-W", "-f", fields], check=True, text=True,
                          stdout=subprocess.PIPE)
    packages = []
    for line in done.stdout.splitlines():
        # Some packages' lists are named with their architecture.
        binary, name, depends, provides, essential = line.split("\t")
        packages.append((name, of_list(root, binary), depends, provides, essential == "yes"))
    return root, packages


def names_of(relations):
    """[[name, ...]]: alternatives of each of a package's relations, without versions."""
    return [[re.split(r"[ :(]", name.strip())[0] for name in group.split("|")] for group in relations.split(",") if group.strip()]


def required(depends, there, provided):
    """Names of RPMs, of each relation the first that there is; those of OTHERS stay out."""
    found = set()
    for group in names_of(depends):
        name = next((name for name in (provided.get(name, name) for name in group) if name in there), None)
        if name and name not in OTHERS:
            found.add(NAMES.get(name, name))
    return found


def of_debian(packages):
    """{name: Package}, of Debian's packages."""
    there = {name for name, *_ in packages}
    provided = {virtual: name for name, _, _, provides, _ in packages for (virtual,) in names_of(provides)}
    essential = [name for name, _, _, _, essential in packages if essential]
    made = {}
    for name, paths, depends, _, _ in packages:
        wanted = required(depends, there, provided) | set(WITH.get(name, ()))
        if name == "base-files":
            wanted |= required(",".join(essential), there, provided) - {"basesystem"}
        relations = ["Requires(pre): filesystem setup", *("Requires: " + other for other in sorted(wanted))]
        if name == "dash":
            relations.append("Provides: /bin/sh")
        made[NAMES.get(name, name)] = Package(relations, paths, POST.get(name, ""))
    return made


def add_file(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="ascii") as f:
        f.write(text)
    return path


def add_release(root):
    add_file(root, "usr/lib/os-release", OS_RELEASE)
    return Package(["Provides: system-release", "Requires: basesystem"], {"usr/lib/os-release", "etc/os-release"})


def add_keygen(root, package):
    unit = "usr/lib/systemd/system/"
    return package._replace(paths=package.paths | {add_file(root, unit + "sshd-keygen.service", KEYGEN),
                                                   add_file(root, unit + "ssh.service.d/keygen.conf", SSHD)})


def add_kernel(root, top):
    """{name: Package} of the tests' kernel, as RHEL's are."""
    stage = os.path.join(top, "kernel")
    os.mkdir(stage)
    small_image.add_kernel(stage, MODULES)
    release, = os.listdir(os.path.join(stage, "lib/modules"))
    source, target = os.path.join(stage, "lib/modules", release), "usr/lib/modules/" + release
    modules = sorted(os.path.relpath(os.path.join(folder, file), source) for folder, _, files in os.walk(source) for file in files
                     if file.endswith(".ko"))
    subprocess.run(["xz", "--check=crc32", *modules], cwd=source, check=True)
    core = {"vmlinuz": "boot/vmlinuz-", "config": "boot/config-"}
    for name, front in core.items():
        shutil.move(os.path.join(stage, front + release), os.path.join(source, name))
    plain = [*core, *(name for name in os.listdir(source) if re.fullmatch(r"modules\.(order|builtin.*)", name)
                      and not name.endswith(".bin"))]
    packed = [name + ".xz" for name in modules]
    for name in [*plain, *packed]:
        os.makedirs(os.path.dirname(os.path.join(root, target, name)), exist_ok=True)
        shutil.copy(os.path.join(source, name), os.path.join(root, target, name))

    def package(names, *requires, post=""):
        return Package(["Requires(pre): basesystem kmod", *("Requires(pre): " + name for name in requires)],
                       {os.path.join(target, name) for name in names}, post)

    later = [name for name in packed if "squashfs" in name]
    lists = "depmod -a " + release
    return {"kernel": package([], "kernel-core", "kernel-modules"), "kernel-core": package(plain),
            "kernel-modules-core": package(set(packed) - set(later), "kernel-core", post=lists),
            "kernel-modules": package(later, "kernel-modules-core", post=lists)}


def all_of(root):
    """(folders, other paths) of a root, but for LEFT_OUT."""
    folders, others = set(), set()
    for folder, inside, files in os.walk(root):
        for name in inside + files:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if not LEFT_OUT.match(relative):
                (folders if os.path.isdir(path) and not os.path.islink(path) else others).add(relative)
    return folders, others


def owners(root, file):
    """{number: name}"""
    with open(os.path.join(root, "etc", file), encoding="ascii") as f:
        return {int(line.split(":")[2]): line.split(":")[0] for line in f}


def lines_of(root, paths):
    """As %files has them."""
    users, groups = owners(root, "passwd"), owners(root, "group")
    for path in sorted(paths):
        full = os.path.join(root, path)
        status = os.lstat(full)
        kind = "%dir " if os.path.isdir(full) and not os.path.islink(full) else ""
        kept = "%config(noreplace) " if path.startswith("etc/") and os.path.isfile(full) and not os.path.islink(full) else ""
        yield '%s%s%%attr(-, %s, %s) "/%s"\n' % (kind, kept, users[status.st_uid], groups[status.st_gid],
                                               path.replace("%", "%%"))


def packages_of(top):
    """(the root, {name: Package}): whatever Debian's packages have not is of "setup", as accounts are, or a folder."""
    root, debian = bootstrap(top)
    folders, others = all_of(root)
    packages = of_debian(debian)
    packages["setup"] = Package([], others.difference(*(package.paths for package in packages.values())))
    packages = {name: package._replace(paths=package.paths & others) for name, package in packages.items() if name not in OTHERS}
    packages["filesystem"] = Package(["Requires(pre): setup"], folders)
    packages["margay-rpms-release"] = add_release(root)
    packages["openssh-server"] = add_keygen(root, packages["openssh-server"])
    packages.update(add_kernel(root, top))
    return root, packages


def make(top):
    """A repository below this folder; what a .repo file says of it."""
    root, packages = packages_of(top)
    build = os.path.join(top, "rpmbuild")
    os.mkdir(build)
    text = HEAD.format(version=VERSION, root=root)
    for name, package in sorted(packages.items()):
        files = os.path.join(build, name + ".files")
        with open(files, "w", encoding="utf-8") as f:
            f.writelines(lines_of(root, package.paths))
        text += PACKAGE.format(name=name, tags="\n".join(package.relations),
                               post="%%post -n %s\n%s" % (name, package.post) if package.post else "",
                               files="-f " + files if package.paths else "")
    spec = os.path.join(build, "margay-rpms.spec")
    with open(spec, "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run(["rpmbuild", "-bb", "--quiet", "--define", "_topdir " + build, spec], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["createrepo_c", "--quiet", os.path.join(build, "RPMS")], check=True)
    return REPOSITORY % os.path.join(build, "RPMS")

# SPDX-License-Identifier: GPL-2.0-only
"""The three systems that bench.py compares on one emulated machine: a Linux
that runs natively, the same in a Margay guest, and the same in a KVM guest of
Debian's kernel and QEMU, as they come and with mitigations=off. Each run is
deterministic (QEMU -icount: an instruction is a nanosecond) and counted from
outside by qemu_count.c.
"""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "bench")
BUILD = os.path.join(TOP, "build", "bench")
GUEST = os.path.join(TOP, "build", "guest")
IMAGE = os.path.join(TOP, "build", "margay.elf")
sys.path[:0] = [os.path.join(TOP, "tests", "system"), os.path.join(TOP, "tools")]
import margay_initrd  # noqa: E402
import margay_machines  # noqa: E402  (path set above)
import margay_run  # noqa: E402
import node  # noqa: E402
import npb  # noqa: E402
import tiny  # noqa: E402
from emulate import BenchError, emulate  # noqa: E402

SYSTEMS = ("native", "margay", "direct", "kvm", "kvm-off")
INTERRUPTS = {"margay": "emulated", "direct": "direct"}  # Margay's two, and their `interrupts =`
GUEST_MEMORY = "512M"
NODE_MEMORY = {"native": GUEST_MEMORY, "margay": "1G", "direct": "1G", "kvm": "2G", "kvm-off": "2G"}
PEER_NETWORK = (" -netdev tap,id=n,ifname=tap{0},script=no,downscript=no,vhost=on"
                " -device virtio-net-pci,netdev=n,mac=02:00:00:00:00:0{0},romfile=")
PREALLOC = " -mem-prealloc"  # a further argument of the peer, by which kvm.sh knows that memory is measured
KERNEL_START = 0x1000000  # where nokaslr puts Debian's kernel, entered there before paging
TIMEOUT = 1800
PEER_ROMS = (
    "/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/linuxboot_dma.bin", "/usr/share/qemu/multiboot_dma.bin",
    "/usr/share/qemu/kvmvapic.bin",
)
# Open MPI loads its parts by name; those for networks that no guest of ours has are left out. Version 5 has few left to load, and
# other daemons: what exists is taken.
LIB = "/usr/lib/x86_64-linux-gnu"
MPI_DIRECTORIES = (LIB + "/openmpi/lib/openmpi3", LIB + "/pmix2/lib/pmix", LIB + "/pmix2/share", "/etc/openmpi",
                   "/usr/share/openmpi", "/usr/share/prte")
MPI_DAEMONS = ("/usr/bin/orted", "/usr/bin/prterun", "/usr/bin/prted")
MPI_UNUSED = re.compile("ucx|cuda|psm|ofi|lustre|slurm|pvfs|ugni|usnic|openib|java|verbs|portals")
HPCC = ("/usr/bin/hpcc", "/usr/bin/mpirun")
# The driver in user space of RDMA over Ethernet (rdma_rxe), and the program that makes its devices.
RDMA = ("/usr/bin/rdma", "/etc/libibverbs.d/rxe.driver", LIB + "/libibverbs/librxe-*.so")
# pthread_exit loads libgcc_s by name.
NOISE = ("/usr/bin/cyclictest", "/usr/bin/oslat", "/usr/bin/rtla", LIB + "/libgcc_s.so.1")
# Of qemu_count.c; others are reasons of exits, EXIT and their names, and functions.
COUNTERS = ("total", "image", "vmruns", "guest", "interrupts", "telemetry", "injected", "messages", "mc-reads",
            "device-instructions", "device-ends", "repeats")
EXIT = "exit:"
OF_A_CPU = re.compile(r"(total|vmruns)\d")
# Native as a site's machine is: Linux takes the x2APIC only where interrupts are remapped. Its DMA is not translated.
X2APIC_MACHINE = ["-device", "intel-iommu,intremap=on,eim=on"]
VM_LINES = ""  # --vm-lines
X2APIC_WORDS = " intel_iommu=off"
KVM_MODULES = ("irqbypass", "kvm", "ccp", "kvm-amd")
# In the order in which they are loaded: what virtio's network needs in a guest, and what KVM's host has for it.
VIRTIO_NET = ("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover", "net_failover",
              "virtio_net")
VHOST_NET = ("llc", "stp", "bridge", "tun", "tap", "vhost_iotlb", "vhost", "vhost_net")


def run(command, **options):
    """Its output; BenchError when it fails."""
    done = subprocess.run(command, capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise BenchError("%s: %s" % (command[0], done.stderr.decode(errors="replace").strip()[-500:]))
    return done.stdout


def archive(root, target):
    """A directory as a cpio, in which Linux finds it after the one before."""
    names = sorted(os.path.relpath(os.path.join(d, n), root) for d, dirs, files in os.walk(root) for n in dirs + files)
    cpio = ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "-0"]
    with open(target, "wb") as out:
        out.write(run(cpio, cwd=root, input="\0".join(names).encode()))


def join(target, initrd, *archives):
    """Behind an initrd, which may end in a compressed archive, only others such will do."""
    with open(target, "wb") as out:
        with open(initrd, "rb") as f:
            shutil.copyfileobj(f, out)
        for path in archives:
            with open(path, "rb") as f:
                out.write(margay_initrd.compress(f.read()))


def copy_into(root, path, source=None):
    """source (default: the same path) to path below root, following links."""
    target = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source or path, target)


def bench_archive():
    """The programs and scripts of tests/bench/guest."""
    with tempfile.TemporaryDirectory() as root:
        for source in sorted(glob.glob(os.path.join(HERE, "guest", "*.c"))):
            program = os.path.join(root, "bin", os.path.basename(source)[:-2])
            os.makedirs(os.path.dirname(program), exist_ok=True)
            run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program, source])
        for source in glob.glob(os.path.join(HERE, "guest", "*.sh")):
            copy_into(root, "tests/" + os.path.basename(source)[:-3], source)
            os.chmod(os.path.join(root, "tests", os.path.basename(source)[:-3]), 0o755)
        archive(root, os.path.join(BUILD, "programs.cpio"))


def copy_libraries(root, *paths):
    """What programs or shared objects are linked to."""
    linked = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False).stdout
    for library in sorted(set(re.findall(r"(/\S+) \(0x", linked))):
        copy_into(root, library)


def copy_program(root, *paths):
    """Programs or shared objects, with what they are linked to."""
    for path in paths:
        copy_into(root, path)
    copy_libraries(root, *paths)


def copy_rdma(root):
    """What a program needs that uses rdma_rxe."""
    for path in [path for pattern in RDMA for path in glob.glob(pattern)]:
        copy_program(root, path)


def kernel_release(image):
    """As `uname -r` will say: the first word of the version that a bzImage names (Linux' x86 boot protocol, kernel_version)."""
    with open(image, "rb") as f:
        head = f.read(0x8200)
    at = 0x200 + int.from_bytes(head[0x20E:0x210], "little")
    return head[at:head.index(0, at)].decode("ascii").split()[0]


def not_of_make():
    """The environment without make's own variables: those are of another build."""
    return {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def dma_initrd():
    """The initrd with drivers, the module dma-loop for its kernel, and the program that registers memory for RDMA."""
    release = kernel_release(os.path.join(GUEST, "vmlinuz"))
    headers = os.path.join(GUEST, "headers-" + release)
    target = os.path.join(BUILD, "initrd-dma")
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as source:
        for name in ("module/dma-loop.c", "module/Kbuild", "marker.h"):
            shutil.copy(os.path.join(HERE, name), source)
        run(["make", "-C", os.path.join(headers, "usr", "src", "linux-headers-" + release), "M=" + source,
             "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"], env=not_of_make())
        copy_into(root, "bench/dma-loop.ko", os.path.join(source, "dma-loop.ko"))
        program = os.path.join(source, "register")
        run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, os.path.join(HERE, "rdma", "register.c"),
             "-libverbs"])
        copy_libraries(root, program)
        copy_into(root, "bench/register", program)
        copy_rdma(root)
        archive(root, os.path.join(BUILD, "dma.cpio"))
    join(target, GUEST + "/initrd-drivers", BUILD + "/programs.cpio", BUILD + "/dma.cpio")
    return target


def devices_initrd():
    """The initrd with drivers, and the programs of the bench."""
    target = os.path.join(BUILD, "initrd-devices")
    join(target, GUEST + "/initrd-drivers", BUILD + "/programs.cpio")
    return target


def copy_hpcc(root):
    """Debian's hpcc with its MPI."""
    parts = [os.path.join(d, name) for top in MPI_DIRECTORIES for d, _, names in os.walk(top) for name in names]
    parts += MPI_DAEMONS
    copy_program(root, *HPCC, *[p for p in parts if not MPI_UNUSED.search(os.path.basename(p)) and os.path.exists(p)])
    copy_into(root, "tests/hpccinf", os.path.join(HERE, "guest", "hpccinf"))


@functools.lru_cache(None)
def hpcc_initrd():
    """The initrd of the other parts, and hpcc."""
    target = os.path.join(BUILD, "initrd-hpcc")
    with tempfile.TemporaryDirectory() as root:
        copy_hpcc(root)
        run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
             os.path.join(root, "lib", "hpcc_marks.so"), os.path.join(HERE, "hpcc_marks.c")])
        archive(root, os.path.join(BUILD, "hpcc.cpio"))
    join(target, os.path.join(BUILD, "initrd"), os.path.join(BUILD, "hpcc.cpio"))
    return target


@functools.lru_cache(None)
def noise_initrd():
    """The initrd of the other parts, and Debian's programs that measure noise."""
    target = os.path.join(BUILD, "initrd-noise")
    with tempfile.TemporaryDirectory() as root:
        for path in NOISE:
            copy_program(root, path)
        archive(root, os.path.join(BUILD, "noise.cpio"))
    join(target, os.path.join(BUILD, "initrd"), os.path.join(BUILD, "noise.cpio"))
    return target


@functools.lru_cache(None)
def npb_initrd(clone, size):
    """The initrd of the other parts, and the NAS Parallel Benchmarks of class `size`, built from a copy of the user's clone."""
    target = os.path.join(BUILD, "initrd-npb")
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as copy:
        source = os.path.join(copy, "NPB-SER")
        shutil.copytree(os.path.join(clone, "NPB-SER"), source)
        for kernel in npb.KERNELS:
            program = os.path.join(source, "bin", "%s.%s" % (kernel, size))
            run(["make", "-C", source, kernel, "CLASS=" + size], env=not_of_make())
            copy_libraries(root, program)
            copy_into(root, "npb/" + kernel, program)
        archive(root, os.path.join(BUILD, "npb.cpio"))
    join(target, os.path.join(BUILD, "initrd"), os.path.join(BUILD, "npb.cpio"))
    return target


def copy_modules(root, directory, modules):
    """Debian's modules of the guest's kernel, uncompressed."""
    deb = glob.glob(os.path.join(GUEST, "linux-image-*.deb"))[0]
    with tempfile.TemporaryDirectory() as unpacked:
        run(["tar", "-x", "-C", unpacked, "--wildcards"] + ["*/%s.ko*" % m for m in modules],
            input=run(["dpkg-deb", "--fsys-tarfile", deb]))
        for module in modules:
            # From Debian 13 on below usr, and compressed.
            found = glob.glob(os.path.join(unpacked, "**", "kernel/**", module + ".ko*"), recursive=True)[0]
            if found.endswith(".xz"):
                run(["unxz", found])
            copy_into(root, "%s/%s.ko" % (directory, module), found.removesuffix(".xz"))


def peer_archive():
    """Debian's KVM modules, and QEMU with what it needs."""
    target = os.path.join(BUILD, "peer.cpio")
    deb = glob.glob(os.path.join(GUEST, "linux-image-*.deb"))[0]
    if os.path.exists(target) and os.path.getmtime(target) > max(os.path.getmtime(deb), os.path.getmtime(__file__)):
        return target
    with tempfile.TemporaryDirectory() as root:
        copy_program(root, shutil.which("qemu-system-x86_64"))
        for path in PEER_ROMS:
            copy_into(root, path)
        copy_modules(root, "peer", KVM_MODULES)
        archive(root, target)
    return target


def write_words(root, path, words):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="ascii") as f:
        f.write(" ".join(words) + "\n")


@functools.lru_cache(None)
def pair_initrd():
    """The initrd of the other parts, and what it takes to have a network by virtio."""
    target = os.path.join(BUILD, "initrd-pair")
    with tempfile.TemporaryDirectory() as root:
        copy_modules(root, "bench", VIRTIO_NET)
        write_words(root, "bench/virtio-net", VIRTIO_NET)
        archive(root, os.path.join(BUILD, "pair.cpio"))
    join(target, os.path.join(BUILD, "initrd"), os.path.join(BUILD, "pair.cpio"))
    return target


class Counts:
    """What qemu_count.c wrote: a list of (what, value, {counter: n}), with the functions' counts among the counters."""

    def __init__(self, path):
        self.events = []
        with open(path, encoding="ascii") as f:
            for line in f:
                words = line.split()
                if line.startswith("  "):
                    self.events[-1][2][words[0]] = int(words[1])
                else:
                    counters = {words[i]: int(words[i + 1]) for i in range(2, len(words), 2)}
                    self.events.append((words[0], int(words[1], 0), counters))

    def last(self, what, value):
        """The counters at the last such event."""
        found = [counters for w, v, counters in self.events if (w, v) == (what, value)]
        if not found:
            raise BenchError("no %s %#x was executed" % (what, value))
        return found[-1]

    def pairs(self):
        """What was counted between each marker 1 and the marker 2 behind it."""
        markers = [(value, counters) for what, value, counters in self.events if what == "marker" and value in (1, 2)]
        if [value for value, _ in markers] != [1, 2] * (len(markers) // 2):
            raise BenchError("markers out of order: %s" % [value for value, _ in markers])
        return [difference(start[1], end[1]) for start, end in zip(markers[::2], markers[1::2])]


class Stretch(dict):
    """What was counted between two moments: the counters of qemu_count.c's line, and the functions'."""

    def functions(self):
        """The names of functions, that with the most instructions first."""
        of = (name for name in self if name not in COUNTERS and not name.startswith(EXIT) and not OF_A_CPU.fullmatch(name))
        return sorted(of, key=self.get, reverse=True)

    def exits(self, *reasons):
        """How many of the exits, by telemetry, were for these reasons (their names there), or {reason: how many} of all."""
        if reasons:
            return sum(self.get(EXIT + reason, 0) for reason in reasons)
        return {name.removeprefix(EXIT): n for name, n in self.items() if name.startswith(EXIT) and n}


def difference(start, end):
    return Stretch((name, end[name] - start.get(name, 0)) for name in end)


def ask_image(command, image=IMAGE):
    """What gdb says of Margay's image."""
    return run(["gdb", "-batch", "-nx", "-ex", command, image]).decode()


def telemetry_place(image=IMAGE):
    """Where qemu_count.c finds the counters of the first VM's vCPUs: its argument `stats`."""
    text = ask_image(r'printf "%#lx:%#lx:%#lx:%#lx:%#lx:%#lx", &monitor_slots[0].vm, &((struct vm *)0)->vcpus,'
                     r' &((struct vcpu *)0)->stats.exit, sizeof(struct exit_stat), (long)VMEXITS,'
                     r' (long)&((struct vcpu_stats *)0)->injected - (long)&((struct vcpu_stats *)0)->exit', image)
    if not re.fullmatch(r"0x[0-9a-f]+(:(0x)?[0-9a-f]+){5}", text):
        raise BenchError("gdb does not find Margay's counters: " + text)
    return text


def exit_reasons(image=IMAGE):
    """The names of those counters of exits, in their order, as telemetry has them."""
    return [name.lower().replace("_", "-") for name in re.findall(r"VMEXIT_(\w+)", ask_image("ptype enum vmexit_reason", image))
            if name not in ("REASONS", "DONE", "KICKED")]


def plugin(name, image):
    """The -plugin argument of a run of this image, and where its counts go."""
    counts = os.path.join(BUILD, name + ".counts")
    symbols = os.path.join(BUILD, name + ".symbols")
    text = run(["nm", image]).decode()
    with open(symbols, "w", encoding="ascii") as f:
        f.write(text)
    address = {n: int(a, 16) for a, n in re.findall(r"^(\w+) \w (image_start|image_end)$", text, re.MULTILINE)}
    return "%s/qemu_count.so,out=%s,symbols=%s,lo=%#x,hi=%#x,at=%#x" % (
        BUILD, counts, symbols, address["image_start"], address["image_end"], KERNEL_START), counts


def boot(system, name, kernel, initrd, cmdline, cpus=1, vm_memory=GUEST_MEMORY, peer_arguments="", vm_lines="", trusted=True,
         hypervisor="", elf=None, second=None):
    """
    Arguments of QEMU that boot this kernel on the system; without initrd the kernel is a multiboot one. cpus are
    the guest's, vm_memory, vm_lines and trusted a Margay VM's, hypervisor is Margay's own command line, elf another image of it;
    second: the command line of another guest of the kind, on a network with it;
    peer_arguments are added to those of KVM's QEMU.
    """
    if system == "native":
        return ["-kernel", kernel, "-append", cmdline] + (["-initrd", initrd] if initrd else [])
    if system in INTERRUPTS:
        modules = {"kernel": kernel, **({"initrd": initrd} if initrd else {})}
        vm = "kernel = kernel\ncmdline = %s\ncpus = %d\nmemory = %s\ninterrupts = %s\non_end = poweroff_node\n" % (
            cmdline, cpus, vm_memory, INTERRUPTS[system])
        vm += ("trusted = yes\n" if trusted else "") + vm_lines + VM_LINES
        vm += "initrd = initrd\n" if initrd else "debug_exit = yes\n"
        vms = {"vm0.conf": vm + ("net = pair\n" if second else "")}
        if second:
            vms["vm1.conf"] = vms["vm0.conf"].replace(cmdline, second)
        return ["-cdrom", node.margay_iso("bench-" + name, vms, modules, hypervisor, elf=elf).path, "-boot", "d"]
    peer = os.path.join(BUILD, name + ".peer.cpio")
    with tempfile.TemporaryDirectory() as root:
        copy_into(root, "peer/kernel", kernel)
        arguments = "-m %s -M q35 -smp %d -kernel kernel -append '%s'" % (GUEST_MEMORY, cpus, cmdline) + peer_arguments
        if cpus > 1:
            arguments += " -name guest,debug-threads=on"  # which kvm.sh needs for pinning
        if initrd:
            copy_into(root, "peer/initrd", initrd)
            arguments += " -initrd initrd"
        else:
            arguments += " -device isa-debug-exit,iobase=0xf4,iosize=0x4"
        write_words(root, "peer/arguments", [arguments + PEER_NETWORK.format(1) if second else arguments])
        if second:
            write_words(root, "peer/arguments2", [arguments.replace(cmdline, second) + PEER_NETWORK.format(2)])
            write_words(root, "peer/network", VHOST_NET)
            copy_modules(root, "peer", VHOST_NET)
        archive(root, peer)
    joined = os.path.join(BUILD, name + ".initrd")
    join(joined, os.path.join(GUEST, "initrd"), os.path.join(BUILD, "programs.cpio"), peer_archive(), peer)
    return ["-kernel", os.path.join(GUEST, "vmlinuz"), "-initrd", joined, "-append",
            "console=ttyS0 panic=-1 quiet margay.test=kvm" + (" mitigations=off" if system == "kvm-off" else "")]


def walk_plugin(counts, ram, memory):
    """The arguments by which the model of TLBs counts instead, which reads page tables in the machine's memory, the file ram."""
    os.truncate(ram, int(memory[:-1]) << {"M": 20, "G": 30}[memory[-1]])
    return ["-plugin", "%s/qemu_walk.so,out=%s,ram=%s" % (BUILD, counts, ram), "-machine", "memory-backend=ram",
            "-object", "memory-backend-file,id=ram,size=%s,share=on,mem-path=%s" % (memory, ram)]


def measure(system, name, kernel, initrd, cmdline, done="margay-test: done", cpus=1, memory=None, interrupts=(),
            timeout=TIMEOUT, devices=(), walks=None, alone=(), shift=0, events=False, symbols=None, device=None, x2apic=False,
            elf=None, by_function=False, start=None, mend=(), **options):
    """
    One run to its end: (Counts, the console's text). memory, devices: of the node; interrupts: where the kernel is entered for
    them; walks: a file for the memory, where page walks are counted instead; alone: where it reads the APIC timer's count, of
    emulate(); shift: an instruction is so many times doubled a nanosecond; events: count VMRUNs and interrupts only; symbols: a
    file with those of the guest's kernel, by whose functions is counted, too; device: where that is entered for what is counted
    to its EOI; x2apic: natively with X2APIC_MACHINE; by_function: on a machine of several CPUs, too; start: the marker from which
    on is counted; mend: where KVM's guests are entered for interrupts (qemu_mend.c); elf, options: of boot().
    """
    x2apic = x2apic and system == "native"
    name = "%s-%s" % (name, system)
    machine_cpus = cpus + 1 if cpus > 1 and "kvm" in system else cpus  # one for all but the vCPUs: kvm.sh
    machine_cpus += 1 if options.get("second") else 0
    log = os.path.join(BUILD, name + ".log")
    plug, counts = plugin(name, elf or IMAGE)
    if machine_cpus > 1 or events:
        plug += ",cpus=%d" % machine_cpus + (",events=1" if events else "")
    if system in INTERRUPTS and (machine_cpus == 1 or events):
        plug += ",stats=%s,reasons=%s" % (telemetry_place(elf or IMAGE), ":".join(exit_reasons(elf or IMAGE)))
    if events:
        plug += ",messages=1"
    plug += ",guest-symbols=" + symbols if symbols else ""
    plug += ",device=0x" + device if device else ""
    plug += ",by-function=1" if by_function else ""
    plug += ",from=%d" % start if start else ""
    plug += "".join(",interrupt=0x" + address for address in interrupts)
    memory = memory or NODE_MEMORY[system]
    plugs = walk_plugin(counts, walks, memory) if walks else ["-plugin", plug]
    if mend and "kvm" in system:
        plugs += ["-plugin", BUILD + "/qemu_mend.so" + "".join(",entry=0x" + address for address in mend)]
    command = [
        "qemu-system-x86_64", "-M", "q35,kernel-irqchip=split" if x2apic else "q35", "-accel", "tcg",
        "-icount", "shift=%d,sleep=off" % shift, "-cpu", "max", "-smp", str(machine_cpus), "-m", memory,
        "-display", "none", "-no-reboot", "-nic", "none", "-serial", "file:" + log,
        "-device", "isa-debug-exit,iobase=0xf4,iosize=0x4",
    ] + (X2APIC_MACHINE if x2apic else []) + plugs + list(devices) + boot(
        system, name, kernel, initrd, cmdline + (X2APIC_WORDS if x2apic else ""), cpus, elf=elf, **options)
    status, said = emulate(system, name, command, timeout, (log, counts), alone if x2apic or system == "direct" else ())
    text = ""
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            text = margay_run.Lines().take(f.read().replace("\r", ""), True)
    if done not in text:
        raise BenchError("%s: no '%s' on the console: %s; QEMU ended with status %d: %s" % (
            name, done, log, status, said.strip()[-500:]))
    return Counts(counts), text


def tiny_guest(machine, system, name, options, log="", trusted=True, **more):
    """
    The console of a tiny guest where no plugin counts: on Bochs (VT-x), whose TSC counts instructions, and on nested KVM,
    where it counts cycles. log: what its log's name begins with; more: of tiny.run().
    """
    log = "bench-%s%s-%s-%s" % (log, name, machine, system)
    options = "machine=%s cpus=1 %s" % ("bochs" if machine == "bochs" else "qemu", options)
    vm = "kernel = %s\ncmdline = %s\nmemory = 32M\ndebug_exit = yes\non_end = poweroff_node\ninterrupts = %s\n" % (
        name, options, INTERRUPTS.get(system, "auto"))
    vm += "trusted = yes\n" if trusted else ""
    try:
        if system == "native":
            iso = node.image(log, "--linux", tiny.elf(name), "--cmdline", options)
            with node.start(log, machine, iso, native=True, memory="256M") as running:
                run_ = node.Run(running, running.wait())
        else:
            run_ = tiny.run(log, machine, None, 1, {"vm0.conf": vm}, **more)
    except margay_run.EmulatorDied as died:
        raise BenchError("%s on %s, %s: %s" % (name, machine, system, died)) from None
    if "tiny: %s: ok" % name not in run_.text:
        raise BenchError("%s on %s, %s: %s" % (name, machine, system, run_.outcome.text))
    return run_.text


def prepare():
    """What all runs need; after `make tests-built`."""
    os.makedirs(BUILD, exist_ok=True)
    for name, *sources in (("qemu_count.so", "qemu_count.c"), ("qemu_walk.so", "qemu_walk.c", "tlb_model.c"),
                          ("qemu_mend.so", "qemu_mend.c")):
        run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
             "-o", os.path.join(BUILD, name)] + [os.path.join(HERE, source) for source in sources])
    bench_archive()
    join(os.path.join(BUILD, "initrd"), os.path.join(GUEST, "initrd"), os.path.join(BUILD, "programs.cpio"))


def nvme(size):
    """A disk without a file: the build host's would take its time, in which the guest's timers run."""
    return {"00:06.0": ["-drive", "if=none,id=data,driver=null-co,read-zeroes=on,size=%d" % size,
                        "-device", "nvme,drive=data,serial=bench,addr=6"]}


# Before the functions that it stands in front of; its translation executes no instruction.
IOMMU = ["-device", "intel-iommu,intremap=on,eim=on"]


def network():
    """Two cards with no other peers: what would be outside of the machine takes the build host's time, too."""
    return {"00:%02x.0" % at: ["-netdev", "hubport,id=port%d,hubid=0" % at, "-device", "%s,netdev=port%d,addr=%d" % (card, at, at)]
            for card, at in (("e1000e", 7), ("igb", 8))}

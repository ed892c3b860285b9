# SPDX-License-Identifier: GPL-2.0-only
"""Lets the image's CPUID policy read dumped CPUs, and compares what it shows a guest with what the manuals say.

The rules here are Intel's SDM (vol. 1, 13; vol. 2, CPUID; vol. 3, 2.5 and
appendix A) and AMD's APM (vol. 2, 3.1; vol. 3, appendix E), with no code and no
table of the image's: what a bit needs to be of use, how an XSAVE area is laid
out, how the leaves of the topology belong together. What may differ from the
CPU is taken from docs/cpuid.md, which must name it.
"""

import collections
import os
import re
import subprocess

import vuln_judge

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EAX, EBX, ECX, EDX = range(4)
REGS = ("EAX", "EBX", "ECX", "EDX")
TSC_KHZ = 2000000  # read_cpus' own

# XCR0 components that a guest can have at most: without MPX, which is documented, and what is new.
KNOWN_XCR0 = (0, 1, 2, 5, 6, 7, 9, 17, 18)
AVX, AVX512, AMX, PKRU = 1 << 2, 1 << 2 | 7 << 5, 3 << 17, 1 << 9


class Need:
    """What a feature's bit is of no use without."""

    def __init__(self, cr4=0, efer=0, xcr0=0, msrs=(), one_of=()):
        self.cr4, self.efer, self.xcr0, self.msrs, self.one_of = cr4, efer, xcr0, msrs, one_of


def bits(leaf, reg, numbers, subleaf=0):
    return [(leaf, subleaf, reg, n) for n in numbers]


SPEC_CTRL = bits(7, EDX, (26, 27, 31)) + bits(0x80000008, EBX, (14, 15, 24))
PRED_CMD = bits(7, EDX, (26,)) + bits(0x80000008, EBX, (12,))


def needs():
    found = {}

    def add(where, **what):
        found.update(dict.fromkeys(where, Need(**what)))

    for reg, number, control in ((EDX, 1, 3), (EDX, 2, 8), (EDX, 3, 16), (EDX, 6, 32), (EDX, 7, 64), (EDX, 13, 128),
                                 (EDX, 24, 512),
                                 (EDX, 25, 1024), (ECX, 5, 1 << 13), (ECX, 6, 1 << 14), (ECX, 17, 1 << 17), (ECX, 26, 1 << 18)):
        add(bits(1, reg, (number,)), cr4=control)
    for reg, number, control in ((EBX, 0, 16), (EBX, 7, 20), (EBX, 20, 21), (ECX, 2, 11), (ECX, 7, 23), (ECX, 16, 12),
                                 (ECX, 23, 19),
                                 (ECX, 31, 24), (EDX, 5, 25), (EDX, 20, 23)):
        add(bits(7, reg, (number,)), cr4=1 << control)
    add(bits(7, ECX, (3,)), cr4=1 << 22, xcr0=PKRU)
    for number, control in ((6, 27), (17, 32), (26, 28)):
        add(bits(7, EAX, (number,), 1), cr4=1 << control)
    for leaf, reg, number, control in ((1, EDX, 11, 1), (1, EDX, 20, 1 << 11), (1, EDX, 25, 1 << 14), (1, EDX, 29,
                                                            5 << 8), (1, ECX, 2, 1 << 12),
                                       (1, ECX, 17, 1 << 15), (8, EBX, 8, 1 << 17), (8, EBX, 13, 1 << 18), (0x21, EAX, 7,
                                                            1 << 20),
                                       (0x21, EAX, 8, 1 << 21)):
        add(bits(0x80000000 + leaf, reg, (number,)), efer=control)
    add(bits(1, ECX, (12, 28, 29)) + bits(7, EBX, (5,)) + bits(7, ECX, (9, 10)) + bits(7, EAX, (0, 1, 2, 4, 23), 1) +
        bits(7, EDX, (4, 5, 10), 1) + bits(0x80000001, ECX, (11, 16)), xcr0=AVX)
    add(bits(7, EBX, (16, 17, 21, 26, 27, 28, 30, 31)) + bits(7, ECX, (1, 6, 11, 12, 14)) + bits(7, EDX, (2, 3, 8, 23)) +
        bits(7, EAX, (5,), 1) + bits(7, EDX, (19,), 1) + bits(0x80000021, EAX, (23,)), xcr0=AVX512)
    add(bits(7, EDX, (22, 24, 25)) + bits(7, EAX, (21,), 1) + bits(7, EDX, (8,), 1), xcr0=AMX)
    add(bits(0xd, EAX, (4,), 1), xcr0=AMX, msrs=(0x1c4, 0x1c5))
    add(bits(7, EBX, (14,)), xcr0=3 << 3)
    for leaf, reg, number, msr in ((1, EDX, 9, 0x1b), (1, EDX, 11, 0x174), (1, EDX, 12, 0xfe), (1, EDX, 14, 0x179), (1,
                                                            EDX, 16, 0x277),
                                   (1, ECX, 24, 0x6e0), (7, EBX, 1, 0x3b), (7, ECX, 5, 0xe1), (7, ECX, 22, 0xc0000103),
                                   (7, EDX, 9, 0x123),
                                   (7, EDX, 13, 0x10f), (7, EDX, 18, 0x87), (7, EDX, 19, 0x14ce), (7, EDX, 28, 0x10b),
                                   (7, EDX, 29, 0x10a),
                                   (7, EDX, 30, 0xcf), (0x80000001, EDX, 27, 0xc0000103), (0x80000001, ECX, 9, 0xc0010140),
                                   (0x80000001, ECX, 19, 0xc001100c), (0x80000008, EBX, 1, 0xc00000e9), (0x80000008, EBX,
                                                            23, 0xc00102f1),
                                   (0x80000008, EBX, 25, 0xc001011f), (0x80000008, EBX, 27, 0xc00102b0), (0x80000021,
                                                            EAX, 13, 0xc0000108),
                                   (0x80000021, EAX, 31, 0xc001102e)):
        add(bits(leaf, reg, (number,)), msrs=(msr,))
    add(bits(7, EAX, (22,), 1), msrs=(0x17da,))
    add(bits(0xd, EAX, (3,), 1), msrs=(0xda0,))
    add(bits(7, EDX, (27, 31)) + bits(7, EDX, (0, 1, 2, 3, 4), 2) + bits(0x80000008, EBX, (14, 15, 24, 28)),
        msrs=(0x48,), one_of=SPEC_CTRL)
    add(bits(7, EDX, (26,)), msrs=(0x48, 0x49))
    add(bits(0x80000008, EBX, (12,)) + bits(0x80000021, EAX, (27,)), msrs=(0x49,), one_of=PRED_CMD)
    return found


NEEDS = needs()

# What a VM file asks for; the programs that read dumps have none.
BY_THE_VM_FILE = ("perfctr_core", "succor", "monitor", "mwait_leaf5", "mwaitx")
# A secondary VT-x control (MSR 0x48b) without which the instruction is #UD in a guest.
CONTROLS = {(0x80000001, 0, EDX, 27): 3, (7, 0, ECX, 22): 3, (7, 0, EBX, 10): 12, (0xd, 1, EAX, 3): 20, (7, 0, ECX, 5): 26}

# Registers that hold features, one bit each.
FEATURES = {(1, 0): (ECX, EDX), (6, 0): (EAX, ECX), (7, 0): (EBX, ECX, EDX), (7, 1): (EAX, EBX, ECX, EDX), (7, 2): (EAX,
                                                            EBX, ECX, EDX),
            (0xd, 1): (EAX,), (0x80000001, 0): (ECX, EDX), (0x80000007, 0): (EBX, EDX), (0x80000008, 0): (EBX,),
            (0x8000001a, 0): (EAX,), (0x80000021, 0): (EAX, ECX)}
NUMBERS = {(6, 0, ECX, 8)}  # eight bits that are one number: classes of Intel's Thread Director
# Set on some CPU, most on engineering samples and before 2005, and named by neither vendor.
NAMELESS = set(bits(1, ECX, (16,)) + bits(6, EAX, (21,)) + bits(6, ECX, (30,)) + bits(0x80000001, ECX, (14, 20, 31)) +
               bits(0x80000001, EDX, (10, 18, 28)) + bits(0x80000007, EBX, (5,)) + bits(0x80000008, EBX, (5, 7, 11)))
NAMELESS_LEAVES = {8, 0xc, 0x80000009}
REPEATED = 0x0183f3ff  # bits of leaf 1 EDX that AMD's 0x80000001 EDX has, too
COPIED = (2, 0x16, 0x18, 0x1a, 0x80000002, 0x80000003, 0x80000004, 0x80000005, 0x80000006, 0x80000019)
RULED = {0, 1, 4, 6, 7, 0xb, 0xd, 0x15, 0x1d, 0x1e, 0x1f, 0x24, 0x80000000, 0x80000001, 0x80000007, 0x80000008, 0x8000001a,
         0x8000001d, 0x8000001e, 0x80000021, *COPIED}
SUBLEAVES = (4, 7, 0xb, 0xd, 0x18, 0x1d, 0x1e, 0x1f, 0x24, 0x8000001d)
SIGNATURES = {0x40000000: (0x40000010, b"MargayMargay"), 0x40000100: (0x40000101, b"KVMKVMKVM\0\0\0")}


def documented(path=os.path.join(TOP, "docs", "cpuid.md")):
    """docs/cpuid.md: {(leaf, subleaf, register, bit): (section, name)}, {leaf: name}."""
    found, leaves, section = {}, {}, ""
    with open(path, encoding="utf-8") as f:
        for line in f:
            section = line[3:].strip().lower() if line.startswith("## ") else section
            m = re.match(r"\| (0x[0-9a-f]+)(?:\.(\d+))?(?: (E[A-D]X) (\d+))? \| (.+?) \| .+ \|", line)
            if m and m[3]:
                found[int(m[1], 16), int(m[2] or 0), REGS.index(m[3]), int(m[4])] = (section, m[5])
            elif m:
                leaves[int(m[1], 16)] = m[5]
    return found, leaves


def msr_policy():
    """Numbers of the MSRs that vmm/exit/msr.c and the virtual APIC name: a guest reaches no others."""
    values, names = {}, set()
    with open(os.path.join(TOP, "include", "margay", "x86.h"), encoding="utf-8") as f:
        values.update((m[1], int(m[2], 16)) for m in re.finditer(r"#define (MSR_\w+) (0x[0-9a-f]+)", f.read()))
    for name in ("exit/msr.c", "dev/apic/lapic.c"):
        with open(os.path.join(TOP, "vmm", name), encoding="utf-8") as f:
            names.update(re.findall(r"\bMSR_\w+", f.read()))
    return {values[name] for name in names if name in values}


class Crash(Exception):
    """read_cpus did not end well; the sanitizers' words."""


def apic_id(cpu):
    if cpu.get((0xb, 0), (0,) * 4)[EBX]:
        return cpu[0xb, 0][EDX]
    if cpu.get((0x80000001, 0), (0,) * 4)[ECX] >> 22 & 1 and (0x8000001e, 0) in cpu:
        return cpu[0x8000001e, 0][EAX]
    return cpu.get((1, 0), (0,) * 4)[EBX] >> 24


class Said:
    """What read_cpus says of one machine."""

    def __init__(self, lines):
        self.guest, self.flat, self.on = collections.defaultdict(dict), collections.defaultdict(dict), {}
        self.xsave, self.lacks, self.without, self.log, self.full = {}, [], [], [], False
        self.probes, self.bugs = {}, {}
        for line in lines:
            word = line.split()
            if word[0] in ("guest", "flat", "on"):
                number, leaf, subleaf, *regs = (int(w, 16) for w in word[1:])
                table = self.on if word[0] == "on" else (self.guest if word[0] == "guest" else self.flat)[number]
                table[leaf, subleaf] = tuple(regs)
            elif word[0] == "xsave":
                self.xsave[int(word[1], 16)] = (int(word[2], 16), int(word[3], 16))
            elif word[0] in ("vmx", "svm"):
                self.probes[word[0]] = int(word[1])
            elif word[0] == "table":
                self.cr4, self.efer, self.xcr0, self.xss = (int(w, 16) for w in word[2:6])
                self.entries, self.phys = int(word[1]), int(word[6])
            elif word[0] in ("lacks", "without"):
                getattr(self, word[0]).append(line.split(" ", 1)[1])
            elif word[0] == "bugs":
                self.bugs[int(word[1], 16)] = ({w.rstrip("!") for w in word[4:]}, {w[:-1] for w in word[4:] if w.endswith("!")},
                                               int(word[2], 16), int(word[3], 16))
            elif word[0] == "full":
                self.full = True
            else:
                self.log.append(line)


def read(program, cpus, msrs):
    lines = ["machine"] + ["msr %x %x" % m for m in ({0x3a: 5} | msrs).items() if m[0] < 0x2000]
    for cpu in cpus:
        lines.append("cpu %x" % apic_id(cpu))
        lines += ["leaf %x %x %x %x %x %x" % (key + regs) for key, regs in cpu.items() if any(regs)]
    done = subprocess.run([program], input="\n".join(lines + ["end", ""]), capture_output=True, text=True, check=False)
    out = done.stdout.splitlines()
    if done.returncode or out[-1:] != ["end"]:
        raise Crash(done.stderr or "nothing said")
    return Said(out[:-1])


class Judge:
    """Judges one machine: self.wrong has a line for each value that the manuals or docs/cpuid.md contradict."""

    def __init__(self, cpus, msrs, said, documents, policy):
        self.cpus, self.msrs, self.said, self.policy = cpus, msrs, said, policy
        self.documented, self.hidden_leaves = documents
        self.wrong, self.values, self.nameless, self.uneven = [], 0, set(), set()
        self.intel = self.native(cpus[0], 0)[EBX] == 0x756e6547
        self.amd = self.native(cpus[0], 0x80000001)[EDX] & 1
        self.xcr0 = self.allowed_xcr0()

    def native(self, cpu, leaf, subleaf=0):
        """What the CPU says, nothing above its highest leaf."""
        top = cpu.get((leaf & 0x80000000, 0), (0,) * 4)[EAX]
        return cpu.get((leaf, subleaf), (0,) * 4) if leaf <= top or leaf & 0x7fffffff == 0 else (0,) * 4

    def check(self, what, is_, said):
        self.values += 1
        if is_ != said:
            self.wrong.append("%s: is %s, read as %s" % (what, show(is_), show(said)))

    def allowed_xcr0(self):
        cpu = self.cpus[0]
        low, _, _, high = self.native(cpu, 0xd)
        if not self.native(cpu, 1)[ECX] >> 26 & 1 or not self.cr4_possible(1 << 18):
            return 0
        known = sum(1 << n for n in KNOWN_XCR0 if self.cr4_possible(1 << 22) or n != 9)
        return (high << 32 | low) & known

    def cr4_possible(self, control):
        """By IA32_VMX_CR4_FIXED1, where VT-x is what runs the guest."""
        return self.said.probes.get("vmx") != 0 or self.msrs.get(0x489, 0) & control == control

    def run(self):
        if self.said.full:
            self.wrong.append("the table is too small")
        self.check("XCR0", self.xcr0, self.said.xcr0)
        for number, cpu in enumerate(self.cpus):
            self.leaves(number, cpu)
        self.controls(self.said.on)
        self.xsave()
        for count, table in self.said.flat.items():
            self.flat(count, table)
        self.mitigations()
        return self

    # ---- features -----------------------------------------------------------

    def features(self, cpu, table, leaf, subleaf, on):
        native = self.native(cpu, leaf, subleaf)
        guest = table.get((leaf, subleaf), (0,) * 4)
        for reg in range(4):
            for bit in range(32) if reg in FEATURES[leaf, subleaf] else ():
                key, is_, said = (leaf, subleaf, reg, bit), native[reg] >> bit & 1, guest[reg] >> bit & 1
                first = self.native(self.cpus[0], leaf, subleaf)[reg] >> bit & 1
                if is_ != first and said == first:
                    self.uneven.add(self.name(key))
                elif (is_ or said) and key[:3] + (bit & ~7,) not in NUMBERS:
                    self.values += 1
                    self.feature(key, is_, said, on, table)

    def name(self, key):
        return self.documented[key][1] if key in self.documented else "%#x.%x %s bit %d" % (key[:2] + (REGS[key[2]], key[3]))

    def feature(self, key, is_, said, on, table):
        section, name = self.documented.get(key, ("", self.name(key)))
        if key == (0x80000001, 0, EDX, key[3]) and 1 << key[3] & REPEATED and self.amd:
            if said != table[1, 0][EDX] >> key[3] & 1 and said | is_:
                self.wrong.append("%x EDX %d does not repeat leaf 1's" % (key[0], key[3]))
            return
        if section == "forced on":
            must = 1 if name != "efer_lmsle_mbz" or self.amd else is_
        elif section == "dynamic":
            must = {"osxsave": on, "ospke": on, "apic": not on}[name] and 1
        elif section == "hidden":
            must = 0
        elif section == "conditional" and name in BY_THE_VM_FILE:
            must = 0
        elif section == "conditional" and key in CONTROLS and self.said.probes.get("vmx") == 0:
            must = is_ & (self.msrs[0x48b] >> 32 + CONTROLS[key])
        else:
            must = is_
            need = NEEDS.get(key, Need())
            if need.xcr0 & ~self.xcr0 or (need.cr4 and not self.cr4_possible(need.cr4)):
                must = 0
            elif key in NAMELESS and not section:
                self.nameless.add(self.name(key))
                must = 0
        if said != must:
            self.wrong.append("%s: CPU %d, guest must be told %d, is told %d" % (name, is_, must, said))

    def controls(self, table):
        """Nothing shown that needs a control which the guest cannot set, or an MSR which it cannot reach."""
        table = {key: regs for key, regs in table.items() if key[0] <= table.get((key[0] & 0x80000000, 0), (0,))[EAX]}
        for (leaf, subleaf, reg, bit), need in NEEDS.items():
            if not table.get((leaf, subleaf), (0,) * 4)[reg] >> bit & 1:
                continue
            self.values += 1
            name = self.name((leaf, subleaf, reg, bit)) + " is shown, but"
            if need.cr4 & ~self.said.cr4 or need.efer & ~self.said.efer or need.xcr0 & ~self.said.xcr0:
                self.wrong.append("%s what it needs of CR4, EFER or XCR0 cannot be set" % name)
            if set(need.msrs) - self.policy:
                self.wrong.append("%s its MSR cannot be reached" % name)
            if need.one_of and not any(table.get(k[:2], (0,) * 4)[k[2]] >> k[3] & 1 for k in need.one_of):
                self.wrong.append("%s nothing opens its MSR" % name)
        lmsle = table.get((0x80000008, 0), (0,) * 4)[EBX] >> 20 & 1
        if self.amd and not lmsle and not self.said.efer >> 13 & 1 and self.native(self.cpus[0], 0x80000000)[EAX] >= 0x80000008:
            self.wrong.append("EFER.LMSLE seems to be there, but cannot be set")
        spare = self.said.efer & ~sum({n.efer for k, n in NEEDS.items() if table.get(k[:2], (0,) * 4)[k[2]] >> k[3] & 1})
        self.check("EFER bits that no feature brings", 0, spare)

    # ---- the leaves of one CPU -----------------------------------------------

    def leaves(self, number, cpu):
        table = self.said.guest[number]
        topmost = {0: min(self.native(cpu, 0)[EAX], 0x24), 0x80000000: min(self.native(cpu, 0x80000000)[EAX], 0x80000021)}
        if self.intel and topmost[0x80000000] < 0x80000000:
            del topmost[0x80000000]  # there are no extended leaves
        keys = set(table) | {key for key in cpu if key[0] & 0x7fffffff < 0x30 and (key[1] < 12 or key[0] == 0xd)}
        for key in sorted(keys):
            leaf, subleaf = key
            base, guest = leaf & 0x80000000, table.get(key, (0,) * 4)
            if leaf & 0xf0000000 == 0x40000000:
                self.signature(leaf, guest)
            elif leaf in topmost or (leaf <= topmost.get(base, 0) and leaf < base + 0x10000):
                self.leaf(cpu, table, key, guest, topmost, number)
            elif self.intel:
                self.check("leaf %x.%x, above the highest" % key, self.highest(table, topmost[0], subleaf, cpu), guest)
            else:
                self.check("leaf %x.%x, above the highest" % key, (0,) * 4, guest)
            if not any(self.native(cpu, leaf, subleaf)) or leaf in RULED or leaf in self.hidden_leaves:
                continue
            if leaf in NAMELESS_LEAVES:
                self.nameless.add("leaf %#x" % leaf)
            else:
                self.wrong.append("leaf %#x is hidden, and docs/cpuid.md does not name it" % leaf)

    def highest(self, table, leaf, subleaf, cpu):
        """What Intel's CPUs say above the highest basic leaf: that one again."""
        if leaf in (0xb, 0x1f) and any(table.get((leaf, 0), (0,))):
            return table.get((leaf, subleaf), (0, 0, subleaf, apic_id(cpu)))
        return table.get((leaf, subleaf if leaf in SUBLEAVES else 0), (0,) * 4)

    def signature(self, leaf, guest):
        if leaf in SIGNATURES:
            top, name = SIGNATURES[leaf]
            self.check("leaf %x" % leaf, (top,) + tuple(int.from_bytes(name[i:i + 4], "little") for i in (0, 4, 8)), guest)

    def leaf(self, cpu, table, key, guest, topmost, number):
        leaf, subleaf = key
        native = self.native(cpu, leaf, subleaf)
        if key in FEATURES:
            self.features(cpu, table, leaf, subleaf, False)
        is_ = {reg: native[reg] for reg in range(4) if reg not in FEATURES.get(key, ())}
        ident = apic_id(cpu)
        if leaf in topmost:
            is_[EAX] = topmost[leaf]
        elif leaf == 1:
            if native[EAX] != self.native(self.cpus[0], 1)[EAX]:
                self.uneven.add("family, model and stepping")
                is_[EAX] = self.native(self.cpus[0], 1)[EAX]
            is_[EBX] = native[EBX] & 0xffffff | (ident & 0xff) << 24
        elif leaf in (0xb, 0x1f):
            is_ = self.level(cpu, leaf, subleaf, native, ident)
        elif leaf == 7:
            if subleaf == 0:
                is_ = {EAX: min(native[EAX], 2)}
            elif subleaf > min(self.native(cpu, 7)[EAX], 2):
                is_ = dict.fromkeys(range(4), 0)
        elif leaf == 0xd:
            is_ = self.xsave_leaf(cpu, subleaf, native)
        elif leaf == 0x15:
            is_ = dict(enumerate((1000, TSC_KHZ, 1000000, 0) if self.intel else (0,) * 4))
        elif leaf in (0x1d, 0x1e, 0x24):
            is_ = self.instructions(cpu, leaf, subleaf, native)
        elif leaf == 0x8000001d and not self.native(cpu, 0x80000001)[ECX] >> 22 & 1:
            is_ = dict.fromkeys(range(4), 0)
        elif leaf == 0x8000001e:
            present = self.native(cpu, 0x80000001)[ECX] >> 22 & 1
            is_ = dict(enumerate((ident,) + native[1:] if present else (0,) * 4))
        elif leaf == 0x80000008:
            is_ = {EAX: min(native[EAX] & 0xff or 36, 48) | min(native[EAX] >> 8 & 0xff, 48) << 8,
                   ECX: native[ECX] & 0xf0ff, EDX: 0}
        elif leaf in (6, 0x80000007, 0x8000001a, 0x80000021):
            is_ = dict.fromkeys(is_, 0)
        elif leaf not in RULED:
            is_ = dict.fromkeys(range(4), 0)
        for reg, value in is_.items():
            self.check("CPU %d: leaf %x.%x %s" % (number, leaf, subleaf, REGS[reg]), value, guest[reg])

    def level(self, cpu, leaf, subleaf, native, ident):
        if not self.native(cpu, leaf)[EBX]:
            return dict.fromkeys(range(4), 0)
        if subleaf and not native[ECX] >> 8 & 0xff:
            return dict(enumerate((0, 0, subleaf & 0xff, ident)))
        return dict(enumerate(native[:3] + (ident,)))

    def xsave_leaf(self, cpu, subleaf, native):
        if not self.xcr0:
            return dict.fromkeys(range(4), 0)
        if subleaf == 0:
            return dict(enumerate((self.xcr0 & 0xffffffff, 576, self.area(cpu, self.xcr0, False), self.xcr0 >> 32)))
        if subleaf == 1:
            return {EBX: 576 if self.said.guest[0][0xd, 1][EAX] & 0xa else 0, ECX: 0, EDX: 0} if (0xd,
                                                            1) in self.said.guest[0] else {}
        return dict(enumerate(native if self.xcr0 >> subleaf & 1 else (0,) * 4))

    def instructions(self, cpu, leaf, subleaf, native):
        needed = 1 << 18 if leaf != 0x24 else 1 << 6
        if not self.xcr0 & needed or (leaf != 0x1d and subleaf) or subleaf > min(self.native(cpu, leaf)[EAX], 3):
            return dict.fromkeys(range(4), 0)
        if leaf == 0x1d:
            return dict(enumerate(native if subleaf else (min(native[EAX], 3),) + native[1:]))
        return dict(enumerate((0,) + native[1:]))

    # ---- XSAVE -----------------------------------------------------------------

    def area(self, cpu, xcr0, compacted):
        """Bytes of an XSAVE area: 576 and each component behind, SDM vol. 1, 13.4."""
        end = 576
        for n in range(2, 63):
            size, offset, flags, _ = self.native(cpu, 0xd, n)
            if xcr0 >> n & 1:
                end = (end + 63 & ~63 if flags & 2 else end) + size if compacted else max(end, offset + size)
        return end

    def xsave(self):
        legal = {x for x in subsets(self.xcr0) if valid_xcr0(x)} if self.xcr0 else set()
        self.check("values of XCR0", sorted(legal), sorted(self.said.xsave))
        features = self.said.guest[0].get((0xd, 1), (0,) * 4)[EAX]
        for xcr0 in legal & set(self.said.xsave):
            compacted = self.area(self.cpus[0], xcr0, True) if features & 0xa else 0
            self.check("XSAVE area of %x" % xcr0, (self.area(self.cpus[0], xcr0, False), compacted), self.said.xsave[xcr0])

    # ---- topology = flat ---------------------------------------------------------

    def flat(self, count, table):
        """One package of cores with one thread each; the asking vCPU is the last."""
        cpu, zero, width = self.cpus[0], (0,) * 4, (count - 1).bit_length()
        one, ext = table[1, 0], table.get((0x80000001, 0), zero)
        what = "flat, %d CPUs: " % count
        self.check(what + "leaf 1", (min(count, 255), count - 1 & 0xff, count > 1), (one[EBX] >> 16 & 0xff,
                                                            one[EBX] >> 24, one[EDX] >> 28 & 1))
        for leaf in (0xb, 0x1f):
            if self.native(cpu, leaf)[EBX]:
                self.check(what + "leaf %x" % leaf, [(0, 1, 0x100, count - 1), (width, count, 0x201, count - 1), (0, 0,
                                                            2, count - 1)],
                           [table.get((leaf, n), zero) for n in range(3)])
        for leaf in (4, 0x8000001d):
            for n in range(12):
                native, guest = self.said.guest[0].get((leaf, n), zero), table.get((leaf, n), zero)
                if not self.native(cpu, leaf, n)[EAX] & 0x1f or not native[EAX] & 0x1f:
                    continue
                sharing = (count - 1 if leaf != 4 else (1 << width) - 1) if native[EAX] >> 5 & 7 >= 3 else 0
                cores = min((1 << width) - 1, 63) if leaf == 4 else native[EAX] >> 26
                self.check(what + "cache %x.%x" % (leaf, n),
                           (native[EAX] & 0x3fff | sharing << 14 | cores << 26,) + native[1:], guest)
        if self.amd and self.native(cpu, 0x80000000)[EAX] >= 0x80000008:
            self.check(what + "cmp_legacy", count > 1, ext[ECX] >> 1 & 1)
            if self.said.guest[0].get((0x80000008, 0), zero)[ECX]:
                self.check(what + "leaf 80000008", count - 1 | width << 12, table[0x80000008, 0][ECX])
        if ext[ECX] >> 22 & 1 and self.native(cpu, 0x80000000)[EAX] >= 0x8000001e:
            self.check(what + "leaf 8000001e", (count - 1, count - 1 & 0xff, 0, 0), table.get((0x8000001e, 0), zero))

    # ---- openness ------------------------------------------------------------------

    def mitigations(self):
        """What each CPU is open to, and what is done, by Linux' rules."""
        for number, cpu in enumerate(self.cpus):
            self.values += 4
            self.wrong += vuln_judge.judge(cpu, self.msrs, self.said.bugs[number])


def subsets(mask):
    value = mask
    while True:
        yield value
        if not value:
            return
        value = value - 1 & mask


def valid_xcr0(x):
    """SDM vol. 1, 13.3; APM vol. 2, 11.5.2."""
    return bool(x & 1 and (not x & 4 or x & 2) and x & 0xe0 in (0, 0xe0) and (not x & 0xe0 or x & 4) and x & AMX in (0, AMX))


def show(value):
    if isinstance(value, tuple):
        return "(%s)" % " ".join(show(v) for v in value)
    return "%x" % value if isinstance(value, int) else str(value)

# SPDX-License-Identifier: GPL-2.0-only
"""What a dumped CPU is open to by speculation, and what is to be done, by Linux' rules: an oracle for the image's decision.

Linux' are cpu_vuln_whitelist and cpu_vuln_blacklist with cpu_set_bug_bits() (arch/x86/kernel/cpu/common.c), and the choices of
arch/x86/kernel/cpu/bugs.c, as of 6.17. Their facts only, in this project's own form; no code or table of the image's. Where
Margay chooses otherwise, the rule says why.
"""

import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EAX, EBX, ECX, EDX = range(4)
ALL = 15

# Models of Intel's family 6 that have a bug by Linux' list: model, highest stepping, bugs; the first that fits counts.
LISTED = [
    (m, step, set(bugs.split())) for step, bugs, models in (
        (ALL, "srbds", (0x3a, 0x3c, 0x45, 0x46, 0x47, 0x3d)),
        (ALL, "mmio", (0x3f, 0x56, 0x4f)),
        (5, "mmio retbleed gds", (0x55,)),
        (ALL, "mmio retbleed gds its", (0x55,)),
        (ALL, "mmio retbleed gds srbds", (0x4e, 0x5e)),
        (11, "mmio retbleed gds srbds", (0x8e,)),
        (12, "mmio retbleed gds srbds", (0x9e,)),
        (ALL, "mmio retbleed gds srbds its", (0x8e, 0x9e)),
        (ALL, "retbleed", (0x66,)),
        (ALL, "mmio sbds retbleed gds its native", (0x7e,)),
        (ALL, "mmio gds its native", (0x6a, 0x6c)),
        (ALL, "mmio sbds retbleed gds its", (0xa5,)),
        (0, "mmio retbleed its", (0xa6,)),
        (ALL, "mmio sbds retbleed gds its", (0xa6,)),
        (ALL, "gds its native", (0x8c, 0x8d)),
        (ALL, "mmio sbds retbleed", (0x8a,)),
        (ALL, "mmio retbleed gds its native", (0xa7,)),
        (ALL, "rfds-atom", (0x97, 0xb7)),
        (ALL, "rfds", (0x9a, 0xba, 0xbf, 0xbe)),
        (ALL, "mmio sbds rfds", (0x96, 0x9c)),
        (ALL, "mmio rfds", (0x86,)),
        (ALL, "rfds", (0x5c, 0x5f, 0x7a)),
    ) for m in models]
# The same for those that have not what others have.
SPARED = {
    **dict.fromkeys((0x1c, 0x26, 0x27, 0x35, 0x36), "all"),
    **dict.fromkeys((0x37, 0x4d, 0x4a, 0x4c, 0x57, 0x85, 0x5a, 0x75), "l1tf itlb"),
    **dict.fromkeys((0x5c, 0x5f), "mds l1tf itlb mmio"), 0x7a: "mds l1tf itlb mmio pbrsb",
    **dict.fromkeys((0x96, 0x9c), "pbrsb"), 0x86: "itlb pbrsb",
    **dict.fromkeys((0x8c, 0x8d, 0x97, 0x9a), "mmio"),
}
LISTED_AMD = {0x15: "retbleed", 0x16: "retbleed", 0x17: "retbleed srso smt_rsb", 0x18: "retbleed srso smt_rsb", 0x19: "srso tsa",
              0x1a: "srso"}
# AMD's microcode from which on a bug is gone: by family, model and stepping.
TSA_MICROCODE = {(0x19, 0x01, 1): 0x0a0011d7, (0x19, 0x01, 2): 0x0a00123b, (0x19, 0x08, 2): 0x0a00820d, (0x19, 0x11, 1): 0x0a10114c,
                 (0x19, 0x11, 2): 0x0a10124c, (0x19, 0x18, 1): 0x0a108109, (0x19, 0x21, 0): 0x0a20102e,
                 (0x19, 0x21, 2): 0x0a201211, (0x19, 0x44, 1): 0x0a404108, (0x19, 0x50, 0): 0x0a500012,
                 (0x19, 0x61, 2): 0x0a60120a, (0x19, 0x74, 1): 0x0a704108, (0x19, 0x75, 2): 0x0a705208,
                 (0x19, 0x78, 0): 0x0a708008, (0x19, 0x7c, 0): 0x0a70c008, (0x19, 0xa0, 2): 0x0aa00216}
ZENBLEED_MICROCODE = {(0x17, 0x31, 0): 0x0830107b, (0x17, 0x60, 1): 0x0860010c, (0x17, 0x68, 1): 0x08608107,
                      (0x17, 0x71, 0): 0x08701033, (0x17, 0xa0, 0): 0x08a00009}
ZEN1 = (*range(0x30), *range(0x50, 0x60))
ZEN2 = (*range(0x30, 0x50), *range(0x60, 0x80), 0x90, 0x91, *range(0xa0, 0xb0))

NAMES = {"spectre_v2": "v2", "bhi": "bhi", "retbleed": "retbleed", "spec_rstack_overflow": "srso",
         "indirect_target_selection": "its", "mds": "mds", "tsx_async_abort": "taa", "mmio_stale_data": "mmio",
         "reg_file_data_sampling": "rfds", "tsa": "tsa", "l1tf": "l1tf", "gather_data_sampling": "gds", "srbds": "srbds",
         "itlb_multihit": "itlb", "zenbleed": "zenbleed", "div0": "div0", "smt_rsb": "smt_rsb"}


def flags(path=os.path.join(TOP, "include", "margay", "mitigations.h")):
    """{name: bit} of what the image calls what it does."""
    with open(path, encoding="utf-8") as f:
        return {m[1].lower(): 1 << int(m[2]) for m in re.finditer(r"#define MIT_(\w+) BIT\((\d+)\)", f.read())}


class Cpu:
    """A CPU by its leaves and MSRs; what it says of itself, by the names that Linux has for it."""

    def __init__(self, leaves, msrs):
        self.leaves, self.msrs = leaves, msrs
        zero = (0, 0, 0, 0)
        name = b"".join(v.to_bytes(4, "little") for v in (leaves.get((0, 0), zero)[i] for i in (EBX, EDX, ECX)))
        self.intel, self.amd = name == b"GenuineIntel", name in (b"AuthenticAMD", b"HygonGenuine")
        eax = leaves[1, 0][EAX]
        self.stepping, self.family, self.model = eax & 15, eax >> 8 & 15, eax >> 4 & 15
        if self.family in (6, 15):
            self.model += eax >> 12 & 0xf0
        if self.family == 15:
            self.family += eax >> 20 & 0xff
        self.vm = self.bit(1, ECX, 31)
        self.caps = msrs.get(0x10a, 0) if self.bit(7, EDX, 29) else 0
        signed = msrs.get(0x8b, 0)
        self.microcode = signed >> 32 if self.intel else signed & 0xffffffff
        threads = self.leaf(0xb)[EBX] & 0xffff
        self.smt = threads > 1 if threads or not self.amd else self.leaf(0x8000001e)[EBX] >> 8 & 255 > 0
        self.eibrs = self.cap(1)
        self.auto = self.amd and self.bit(0x80000021, EAX, 8)

    def leaf(self, leaf, subleaf=0):
        if leaf > self.leaves.get((leaf & 0x80000000, 0), (0,))[0]:
            return (0, 0, 0, 0)
        if subleaf and leaf == 7 and self.leaves.get((7, 0), (0,))[0] < subleaf:
            return (0, 0, 0, 0)
        return self.leaves.get((leaf, subleaf), (0, 0, 0, 0))

    def bit(self, leaf, reg, number, subleaf=0):
        return bool(self.leaf(leaf, subleaf)[reg] >> number & 1)

    def cap(self, number):
        return bool(self.caps >> number & 1)

    def updated(self, table):
        least = table.get((self.family, self.model, self.stepping))
        return least is not None and self.microcode >= least


def listed(c):
    if c.amd:
        return set(LISTED_AMD.get(c.family, "").split())
    if c.intel and c.family == 6:
        for model, stepping, bugs in LISTED:
            if model == c.model and c.stepping <= stepping:
                return bugs
    return set()


def spared(c):
    if c.amd:
        return {"mds", "l1tf", "itlb", "mmio", "pbrsb", "bhi"}
    if c.intel and c.family == 6:
        return set(SPARED.get(c.model, "").split())
    if not c.intel and c.family == 7:
        return {"v2", "mmio", "bhi"}
    return set()


def affected(c):
    """cpu_set_bug_bits(), of what Margay tells; MMIO also where Linux does not know."""
    has, no, avx, found = listed(c), spared(c), c.bit(1, ECX, 28), set()
    if "all" in no:
        return found

    def if_(name, condition):
        if condition:
            found.add(name)

    if_("itlb", "itlb" not in no and not c.cap(6))
    if_("v2", "v2" not in no)
    if_("pbrsb", c.eibrs and "pbrsb" not in no and not c.cap(24))
    if_("mds", "mds" not in no and not c.cap(5))
    if_("taa", not c.cap(8) and (c.bit(7, EBX, 11) or c.cap(7)))
    if_("srbds", has & {"srbds", "sbds"} and (c.bit(1, ECX, 30) or c.bit(7, EBX, 18)))
    if not (c.cap(13) and c.cap(14) and c.cap(15)):
        if_("mmio", "mmio" in has or "mmio" not in no)
    if_("retbleed", not c.bit(0x80000008, EBX, 29) and ("retbleed" in has or c.cap(2)))
    if_("gds", "gds" in has and not c.cap(26) and avx)
    if_("srso", "srso" in has and not c.bit(0x80000021, EAX, 29))
    atom = c.leaf(0x1a)[EAX] >> 24 == 0x20
    if_("rfds", not c.cap(27) and (c.cap(28) or "rfds" in has or ("rfds-atom" in has and atom)))
    # In a VM Linux takes BHI for granted, as IBRS_ALL may be hidden; Margay would not rely on it then.
    if_("bhi", c.intel and not c.cap(20) and c.eibrs)
    # Of those that Linux lists, native only: no danger for a hypervisor.
    if_("its", c.intel and not c.cap(62) and not c.bit(7, EDX, 4, 2) and (c.vm or ("its" in has and "native" not in has)))
    if_("tsa", "tsa" in has and not (c.bit(0x80000021, ECX, 1) and c.bit(0x80000021, ECX, 2)))
    if_("zenbleed", c.amd and c.family == 0x17 and c.model in ZEN2 and not c.vm and avx and not c.updated(ZENBLEED_MICROCODE))
    # Linux leaves Hygon's out, which have the same divider; Xen does not.
    if_("div0", c.amd and (c.family == 0x18 or (c.family == 0x17 and c.model in ZEN1)))
    if_("smt_rsb", "smt_rsb" in has and c.smt)
    # A hypervisor below that flushes says so.
    if_("l1tf", "l1tf" not in no and not c.cap(0) and not c.cap(3))
    return found


def unmitigable(c, bugs):
    """Where Linux would say "no microcode"."""
    found = set()
    md_clear, flush, ibpb = c.bit(7, EDX, 10), c.bit(7, EDX, 28), c.bit(0x80000008, EBX, 12)
    for name, helped in (
            ("mds", md_clear), ("taa", md_clear and (not c.cap(5) or c.cap(7))),
            ("mmio", c.cap(17) or (md_clear and flush and not c.cap(5))), ("rfds", c.cap(28)),
            ("tsa", c.bit(0x80000021, EAX, 5) or c.updated(TSA_MICROCODE)), ("l1tf", flush), ("gds", c.cap(25)),
            ("srbds", c.bit(7, EDX, 9)), ("retbleed", ibpb if c.amd else c.eibrs or c.bit(7, EDX, 26)),
            # Zen and Zen 2: IBPB always did it. Zen 5 may have a register instead.
            ("srso", c.bit(0x80000021, EAX, 31) or (ibpb and (c.family < 0x19 or c.bit(0x80000021, EAX, 28))))):
        if name in bugs and not helped:
            found.add(name)
    return found


def done(c, bugs):
    """What Margay is to do, by name; IBRS where Linux would have retpolines, and IBPB where it has untrained returns."""
    does, spec = set(), 0
    broken = unmitigable(c, bugs)
    if c.amd:
        reduce = "srso" in bugs and c.bit(0x80000021, EAX, 31)
        returns = bugs & ({"retbleed"} if reduce else {"retbleed", "srso"})
        ibpb = c.bit(0x80000008, EBX, 12)
        does |= ({"bp_spec_reduce"} if reduce else set()) | ({"auto_ibrs"} if c.auto else set())
        if returns and ibpb:
            does |= {"ibpb_exit"} | (set() if c.bit(0x80000008, EBX, 30) else {"rsb"})
        elif not c.auto:
            does |= {"thunks", "rsb"}
        does |= ({"divider"} if "div0" in bugs else set()) | ({"rsb"} if "smt_rsb" in bugs else set())
        if c.smt and c.bit(0x80000008, EBX, 15):
            spec = 2
            does |= set() if c.bit(0x8000000a, EDX, 20) else {"spec_ctrl"}
        if not c.bit(0x80000021, EAX, 2) and c.family >= 0x10 and c.family != 0x11:
            does.add("lfence")
    elif "v2" in bugs:
        if c.eibrs:
            spec = 1
            does |= {"spec_ctrl", "eibrs"} | ({"rsb_one"} if "pbrsb" in bugs and "its" not in bugs else set())
            does |= {"thunks", "rsb"} if "its" in bugs else set()
            if "bhi" in bugs:
                spec |= 0x400 if c.bit(7, EDX, 4, 2) else 0
                does.add("bhi_dis_s" if spec & 0x400 else "bhb")
        elif c.bit(7, EDX, 26):
            spec = 1
            does |= {"spec_ctrl", "spec_ctrl_always", "rsb"}
        else:
            does |= {"thunks", "rsb"}
    if "l1tf" in bugs - broken:
        does.add("l1d_flush")
    elif bugs & {"mds", "taa", "rfds", "tsa"} - broken:
        does.add("verw")
    elif "mmio" in bugs - broken:
        does.add("verw_devices")
    does |= {"mcu_opt"} if bugs & {"gds", "srbds"} - broken else set()
    does |= {"split"} if "itlb" in bugs else set()
    does |= {"zenbleed"} if "zenbleed" in bugs else set()
    return does, spec


def judge(leaves, msrs, said):
    """said: what read_cpus printed of this CPU: its bugs by name, of these the open ones, flags, IA32_SPEC_CTRL. What is wrong."""
    c = Cpu(leaves, msrs)
    bugs = affected(c)
    does, spec = done(c, bugs)
    bits = flags()
    wrong = []
    for what, expected, found in (
            ("affected", bugs - {"pbrsb"}, {NAMES[n] for n in said[0]}),
            ("open", unmitigable(c, bugs), {NAMES[n] for n in said[1]}),
            ("done", does, {n for n, bit in bits.items() if said[2] & bit}), ("spec_ctrl", spec, said[3])):
        if expected != found:
            wrong.append("mitigations, %s: expected %s, found %s" % (
                what, *(sorted(v) if isinstance(v, set) else v for v in (expected, found))))
    return wrong

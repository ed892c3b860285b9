# SPDX-License-Identifier: GPL-2.0-only
"""The built image's world switches (vmm/*/world.inc, cpu/clean.inc), executed with a guest of our own: what each
mitigation does at entries and exits, what comes back from them, and an NMI at every instruction.

Both vendors', and those of trusted guests, on Unicorn's CPU with MSRs in memory: what each mitigation does at entries
and exits, alone and with each other, in order and with which values; the registers, the short way's answers, entries
that fail; on VT-x an NMI at every instruction: it is taken once, on nothing that the guest left, and no kick is
lost; and on SVM an exception and a machine check at every instruction, while GS base and TR are the guest's, too.
"""

import itertools
import os
import struct
import sys

import image_code
import node
import pytest
from unicorn import x86_const

sys.path.insert(0, os.path.join(node.TOP, "tests", "machines"))
import vuln_judge  # noqa: E402

M = vuln_judge.flags()
SWITCHED = ("spec_ctrl", "spec_ctrl_always", "ibpb_exit", "rsb_one", "rsb", "bhb", "divider", "verw", "l1d_flush")
SPEC_CTRL, PRED_CMD, FLUSH_CMD = 0x48, 0x49, 0x10b
OURS = 1
# The short way's answers (svm.h, vmx.h), and what vmx_enter() returns.
AGAIN, ENTERED, HOST, FAILED, KICKED, DONE = -1, 0, 1, 1, 2, 3
REGS, KICK, VMCB, HOST_VMCB = image_code.DATA + 0x100, image_code.DATA + 0x800, 0x1230000, 0x4560000
VMCS_HOST_RSP = 0x6c14
DESC, TSS_BUSY, GS_BASE, VEC_UD, VEC_MC = image_code.DATA + 0x1000, 1 << 41, 0xc0000101, 6, 18
GPRS = image_code.GPRS
ENTRIES = (("vmrun",), ("vmlaunch",), ("vmresume",))


class Reported(Exception):
    """An exception was."""


class World(image_code.Run):
    """Of one vendor; `flags` None: the switch of those who are trusted."""

    def __init__(self, code, vendor, flags=None, before=OURS, after=OURS):
        super().__init__(code)
        self.vendor, self.flags, self.after = vendor, flags, after
        self.function = vendor + ("_enter" if flags is None else "_enter_clean")
        self.uc.mem_write(REGS - 16, struct.pack("<3I", flags or 0, OURS, before))
        self.give(0x20)
        self.msr[SPEC_CTRL] = OURS
        self.lean, self.lean_host, self.succeeds = [ENTERED], [], True
        self.calls = {vendor + "_lean": lambda: self.called(self.lean), "svm_lean_host": lambda: self.called(self.lean_host),
                      "upcall_nmi": self.take}
        if flags is not None:
            self.noted = range(code.symbol[vendor + "_exit_clean"], code.symbol[vendor + "_clean"])
        self.left, self.since_verw = None, None

    def give(self, number):
        """Registers of the guest's, in memory."""
        for n in range(16):
            self.write(REGS + 24 + 8 * n, (number + n) * 0x0101010101010101)

    def gprs(self):
        own = (4,) if self.vendor == "vmx" else (0, 4)
        return {name: self.read(REGS + 24 + 8 * n) for n, name in enumerate(GPRS) if n not in own}

    def enter(self, name):
        if self.since_verw:
            assert all(n.startswith("j") for n in self.since_verw)
        self.since_verw = None
        self.events.append((name,))
        assert {r: self[r] for r in self.gprs()} == self.gprs()
        if self.vendor == "svm":
            assert self["rax"] == VMCB and self["eflags"] & image_code.RFLAGS_IF
        if not self.succeeds:
            return None
        self.left = 0x60
        for n, register in enumerate(GPRS):
            if register in self.gprs():
                self[register] = (self.left + n) * 0x0101010101010101
        if self.flags is None or self.flags & M["spec_ctrl"]:
            self.msr[SPEC_CTRL] = self.after
        if self.vendor == "svm":
            return None
        self["rsp"] = self.host_rsp
        return self.code.symbol["vmx_exit_entry" if self.flags is None else "vmx_exit_clean"]

    def do_vmlaunch(self, _):
        return self.enter("vmlaunch")

    def do_vmresume(self, _):
        return self.enter("vmresume")

    def do_vmrun(self, _):
        return self.enter("vmrun")

    def do_vmload(self, _):
        self.events.append(("vmload", self["rax"]))

    def do_vmsave(self, _):
        self.events.append(("vmsave", self["rax"]))

    def do_clgi(self, _):
        self.events.append(("clgi",))

    def do_stgi(self, _):
        assert not self["eflags"] & image_code.RFLAGS_IF
        self.events.append(("stgi",))

    def do_vmwrite(self, operands):
        assert operands == "%rsp,%rax" and self["rax"] == VMCS_HOST_RSP
        self.host_rsp = self["rsp"]

    def do_vmread(self, operands):
        assert operands == "%rax,%rax" and self["rax"] == VMCS_HOST_RSP
        self["rax"] = self.host_rsp

    def called(self, answers):
        """A short way: it gets what the guest left, and may write it."""
        assert self["rdi"] == REGS and self.read(self["rbp"] + 8) == image_code.RETURN
        assert self.gprs() == {name: (self.left + n) * 0x0101010101010101 for n, name in enumerate(GPRS) if name in self.gprs()}
        self.left += 0x20
        self.give(self.left)
        return answers.pop(0)

    def take(self):
        """An NMI, by its handler or by upcall_nmi()."""
        self.events.append(("taken", self.msr[SPEC_CTRL]))
        return 0

    def step(self):
        name = self.code.insn[self["rip"]][0]
        super().step()
        if name == "verw":
            self.since_verw = []
        elif self.since_verw is not None:
            self.since_verw.append(name)

    def run(self, launched=True):
        if self.vendor == "svm":
            return self.call(self.function, REGS, VMCB, HOST_VMCB, KICK)
        return self.call(self.function, REGS, int(launched), KICK)


@pytest.fixture(scope="module")
def code():
    return image_code.Code()


def entry(flags, name, before):
    """What an entry does, by <margay/mitigations.h>."""
    if flags & M["divider"]:
        yield "div", 0, 1
    if flags & M["l1d_flush"]:
        yield "wrmsr", FLUSH_CMD, 1
    if flags & M["spec_ctrl"] and before != OURS:
        yield "wrmsr", SPEC_CTRL, before
    if flags & M["verw"]:
        yield "verw", 0x10
    yield (name,)


def exit(flags, after):
    if flags & M["spec_ctrl"]:
        yield "rdmsr", SPEC_CTRL
        if after != OURS or flags & M["spec_ctrl_always"]:
            yield "wrmsr", SPEC_CTRL, OURS
    if flags & M["ibpb_exit"]:
        yield "wrmsr", PRED_CMD, 1
    yield from [("call",)] * (33 if flags & M["rsb"] else bool(flags & M["rsb_one"]))
    yield ("lfence",)
    if flags & M["bhb"]:
        yield from [("call",)] + ([("call",)] + [("jmp",)] * 7) * 12 + [("ret",)] * 13 + [("jmp",)]
    yield ("lfence",)


def way(flags, name, before, after):
    return [*entry(flags, name, before), *exit(flags, after)] if flags is not None else [(name,)]


def all_flags():
    """None, each alone and with each other, all, and without each."""
    for number in (0, 1, 2, len(SWITCHED) - 1, len(SWITCHED)):
        for chosen in itertools.combinations(SWITCHED, number):
            yield sum(M[name] for name in chosen)


VENDORS = pytest.mark.parametrize("vendor, name", [("svm", "vmrun"), ("vmx", "vmlaunch"), ("vmx", "vmresume")])


def begin(vendor):
    return [("vmload", VMCB)] if vendor == "svm" else []


def end(vendor):
    return [vendor + "_lean"] + ([("vmsave", VMCB), ("vmload", HOST_VMCB), ("stgi",)] if vendor == "svm" else [])


@VENDORS
@pytest.mark.parametrize("before, after", [(4, 6), (OURS, OURS)])
def test_flags(code, vendor, name, before, after):
    for flags in all_flags():
        world = World(code, vendor, flags, before, after)
        assert world.run(name == "vmresume") == ENTERED
        assert world.events == [*begin(vendor), *way(flags, name, before, after), *end(vendor)], hex(flags)
        assert world.read(REGS - 8, 4) == (after if flags & M["spec_ctrl"] else before)
        assert world.msr[SPEC_CTRL] == OURS


@VENDORS
def test_trusted(code, vendor, name):
    world = World(code, vendor)
    assert world.run(name == "vmresume") == ENTERED
    assert world.events == [*begin(vendor), *way(None, name, 4, 6), *end(vendor)]


@VENDORS
@pytest.mark.parametrize("flags", (None, M["spec_ctrl"] | M["verw"], 0))
def test_again(code, vendor, name, flags):
    """The short way did it: the guest goes on, with what that left in its registers and IA32_SPEC_CTRL."""
    world = World(code, vendor, flags, 4, 6)
    world.lean = [AGAIN, AGAIN, ENTERED]
    assert world.run(name == "vmresume") == ENTERED
    again = way(flags, "vmresume" if vendor == "vmx" else name, 6, 6)
    lean = vendor + "_lean"
    assert world.events == [*begin(vendor), *way(flags, name, 4, 6), lean, *again, lean, *again, *end(vendor)]
    assert world.msr[SPEC_CTRL] == (6 if flags is None else OURS)


@pytest.mark.parametrize("flags", (None, M["spec_ctrl"]))
@pytest.mark.parametrize("kick", (0, 1))
def test_svm_host(code, flags, kick):
    """With the host's registers; a kick ends it, but not before RAX says that it is done."""
    world = World(code, "svm", flags)
    world.lean, world.lean_host = [HOST, HOST], [AGAIN, 2]
    world.write(KICK, kick)
    once = [*begin("svm"), *way(flags, "vmrun", OURS, OURS), *end("svm"), "svm_lean_host"]
    assert world.run() == (1 if kick else 2)
    assert world.events == [*once, ("clgi",), *([("stgi",)] if kick else once)]


@pytest.mark.parametrize("launched", (False, True))
@pytest.mark.parametrize("flags", (None, 0, M["spec_ctrl"]))
def test_no_entry(code, launched, flags):
    """A kick before it, one after the short way, and a VMCS that the CPU refuses: IA32_SPEC_CTRL is ours."""
    name = "vmresume" if launched else "vmlaunch"
    close = [("wrmsr", SPEC_CTRL, OURS)] if flags else []
    world = World(code, "vmx", flags, 4, 6)
    world.write(KICK, 1)
    assert world.run(launched) == KICKED and world.events == close
    world = World(code, "vmx", flags, 4, 6)
    world.succeeds = False
    assert world.run(launched) == FAILED
    assert world.events == [*entry(flags or 0, name, 4), *close]
    world = World(code, "vmx", flags, 4, 6)
    world.calls["vmx_lean"] = lambda: (world.write(KICK, 1), AGAIN)[1]
    assert world.run(launched) == DONE and world.events[-1 - len(close):] == ["vmx_lean", *close]


class Interrupted(World):
    """An NMI before the step `at`, by whoever has set the kick word."""

    def __init__(self, code, flags, at, succeeds):
        super().__init__(code, "vmx", flags, 4, 6)
        self.at, self.succeeds, self.from_, self.lean, self.path = at, succeeds, None, [AGAIN, ENTERED], []

    def step(self):
        self.path.append(self["rip"])
        if self.steps == self.at:
            self.nmi()
        super().step()

    def nmi(self):
        self.from_, before, flags, stack = self["rip"], self.registers(), self["eflags"], self["rsp"]
        self.write(KICK, 1)
        self.events.append("nmi")
        frame = (self.from_, 8, flags, stack, 0x10)
        self["rsp"] = image_code.FRAME_OF_NMI
        self.uc.mem_write(self["rsp"], struct.pack("<5Q", *frame))
        self["rip"], taken = self.code.symbol["trap_nmi_entry"], self.code.symbol["trap_stubs"] + 8
        while self["rip"] != taken and self.code.insn[self["rip"]][0] != "iretq":
            super().step()
        to, *kept = struct.unpack("<5Q", self.uc.mem_read(self["rsp"], 40))
        assert self["rsp"] == image_code.FRAME_OF_NMI and tuple(kept) == frame[1:]
        if self["rip"] == taken:
            self.take()
            to = self.code.nmi_resume(to)
        self["rip"], self["rsp"], self["eflags"] = to, stack, flags
        assert self.registers() == before


def is_open(events):
    """Between an entry and the last LFENCE behind the exit."""
    fences = 0
    for event in reversed(events):
        fences += event == ("lfence",)
        if event in ENTRIES:
            return fences < 2
    return False


@pytest.mark.parametrize("launched", (False, True))
@pytest.mark.parametrize("flags", (None, M["spec_ctrl"] | M["rsb_one"] | M["bhb"] | M["verw"]))
@pytest.mark.parametrize("succeeds", (True, False))
def test_nmi(code, launched, flags, succeeds):
    """It is taken once, on nothing that the guest left, and behind it there is no entry. At each instruction, the first and the
    last time that it is executed."""
    plain = Interrupted(code, flags, None, succeeds)
    plain.run(launched)
    times = {at: step for step, at in enumerate(plain.path, 1)}
    times = {*times.values(), *(plain.path.index(at) + 1 for at in times)}
    seen = set()
    for at in times:
        world = Interrupted(code, flags, at, succeeds)
        result = world.run(launched)
        seen.add(result)
        where, name = world.events.index("nmi"), "%#x, step %d" % (world.from_, at)
        taken = [n for n, event in enumerate(world.events) if event[0] == "taken"]
        assert len(taken) == 1 and taken[0] > where and not set(world.events[where:]) & set(ENTRIES), name
        # What the CPU refused is told, once that is known.
        assert succeeds or world.from_ < code.symbol[world.function + ".failed"] or result == FAILED, name
        if flags is not None:
            assert world.events[taken[0]][1] == world.msr[SPEC_CTRL] == OURS, name
            assert not (succeeds and is_open(world.events[:taken[0]])), name
    assert seen == ({ENTERED, KICKED, DONE} if succeeds else {FAILED, KICKED})


class Trapped(World):
    """SVM: an exception before the step `at`, with what VMLOAD has left in the CPU."""

    def __init__(self, code, flags, at, vector):
        super().__init__(code, "svm", flags, 4, 6)
        self.at, self.vector, self.path, self.tr = at, vector, [], HOST_VMCB
        self.lean = [AGAIN, ENTERED]
        self.msr[GS_BASE] = HOST_VMCB
        # struct cpu_desc (desc.h): the GDT with a TSS that is busy, the TSS, GS base.
        self.uc.reg_write(x86_const.UC_X86_REG_GDTR, (0, DESC, 47, 0))
        self.write(DESC + 24, TSS_BUSY)
        self.write(DESC + 152, HOST_VMCB)
        self.calls.update(upcall_trap=self.report, upcall_machine_check=self.machine_check)

    def do_vmload(self, operands):
        self.msr[GS_BASE] = self.tr = self["rax"]
        super().do_vmload(operands)

    def do_vmsave(self, operands):
        """What goes to the guest's VMCB is the guest's."""
        assert self.msr[GS_BASE] == self.tr == VMCB
        super().do_vmsave(operands)

    def do_ltr(self, operands):
        self.write(DESC + 24, self.read(DESC + 24) | TSS_BUSY)
        self.tr = HOST_VMCB

    def do_iretq(self, _):
        to, _, flags, stack, _ = struct.unpack("<5Q", self.uc.mem_read(self["rsp"], 40))
        self["rsp"], self["eflags"] = stack, flags
        return to

    def report(self):
        assert self.msr[GS_BASE] == self.tr == HOST_VMCB
        raise Reported

    def machine_check(self):
        assert self.msr[GS_BASE] == HOST_VMCB
        return 1

    def step(self):
        self.path.append(self["rip"])
        if self.steps == self.at:
            stack = self["rsp"]
            frame = (self["rip"], 8, self["eflags"], stack, 0x10)
            self["rsp"] = stack - stack % 16 - 40
            self.uc.mem_write(self["rsp"], struct.pack("<5Q", *frame))
            # 4 bytes each, and 8 behind every 16 (trap_stubs.inc).
            self["rip"] = self.code.symbol["trap_stubs"] + self.vector * 4 + self.vector // 16 * 8
            self.since_verw = None
        assert "%gs:" not in self.code.insn[self["rip"]][1] or self.msr[GS_BASE] == HOST_VMCB
        super().step()


@pytest.mark.parametrize("flags", (None, M["spec_ctrl"] | M["rsb_one"] | M["bhb"] | M["verw"]))
def test_trap(code, flags):
    """At each instruction, the first and the last time that it is executed: it is reported with the CPU's own GS base and TR, or, a
    machine check that is none of ours, taken with that GS base, and the world switch goes on as if nothing had been."""
    plain = Trapped(code, flags, None, None)
    assert plain.run() == ENTERED
    times = {at: step for step, at in enumerate(plain.path, 1)}
    times = {*times.values(), *(plain.path.index(at) + 1 for at in times)}
    for at in times:
        with pytest.raises(Reported):
            Trapped(code, flags, at, VEC_UD).run()
        world = Trapped(code, flags, at, VEC_MC)
        assert world.run() == ENTERED
        told = ("rdmsr", GS_BASE), ("wrmsr", GS_BASE, HOST_VMCB), "upcall_machine_check"
        assert [event for event in world.events if event not in told and event[:2] != ("wrmsr", GS_BASE)] == plain.events
        assert world.events.count("upcall_machine_check") == 1 and world.gprs() == plain.gprs()

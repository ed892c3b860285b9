# SPDX-License-Identifier: GPL-2.0-only
"""The built image's code: its disassembly, and pieces of it executed on Unicorn's CPU."""

import os
import re
import struct
import subprocess

import node
import unicorn
from unicorn import x86_const

ELF = os.path.join(node.BUILD, "margay.elf")
# In the order of their encoding.
GPRS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
CLOBBERED = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
STACK, FRAME_OF_NMI, DATA, RETURN = 0x108000, 0x10a000, 0x110000, 0x118000
RFLAGS_ZF, RFLAGS_IF = 1 << 6, 1 << 9


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Code:
    """{address: (mnemonic, operands)} of an image, its bytes, and the addresses of its symbols."""

    def __init__(self, elf=ELF):
        text = output("objdump", "-Dwj.text", "--no-show-raw-insn", elf)
        prefixes = r"(?:(?:cs|ds|data16|addr32|notrack|bnd|rep\w*|rex\S*) )*"
        found = re.findall(r"^([0-9a-f]{16}):\t" + prefixes + r"(\S+) *([^#\n]*)", text, re.MULTILINE)
        self.insn = {int(at, 16): (name, operands.strip()) for at, name, operands in found}
        order = sorted(self.insn)
        self.next = dict(zip(order, order[1:]))
        names = output("nm", elf)
        self.symbol = {name: int(at, 16) for at, name in re.findall(r"^([0-9a-f]{16}) . (\S+)$", names, re.MULTILINE)}
        with open(elf, "rb") as f:
            self.file = f.read()
        header = output("readelf", "-SW", elf)
        found = re.findall(r" \.(?:text|rodata) +PROGBITS +(\w+) (\w+) (\w+)", header)
        self.parts = [tuple(int(v, 16) for v in numbers) for numbers in found]

    def bytes(self, at, size):
        return next(self.file[at - start + offset:][:size] for start, offset, length in self.parts if start <= at < start + length)

    def nmi_resume(self, at):
        """What trap.c finds in .nmi_table."""
        table = self.bytes(self.symbol["nmi_table_start"], self.symbol["nmi_table_end"] - self.symbol["nmi_table_start"])
        return next((to for begin, end, to in struct.iter_unpack("<QQQ", table) if begin <= at < end), at)


class Run:
    """A function of the image, called on a CPU whose MSRs are here. What it does is noted in `events`: (mnemonic, what matters of
    it), or the name of a function that it calls and that is in `calls`, which has what is done instead and returns RAX. A subclass
    has more instructions that Unicorn's CPU has not, as do_NAME(operands): they return where it goes on, or None: behind it.
    """

    def __init__(self, code):
        self.code, self.events, self.calls, self.msr, self.steps = code, [], {}, {}, 0
        self.uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        # Since 2.1, Unicorn's CPU starts with paging and no page tables; here, an address is what it says.
        if hasattr(self.uc, "ctl_tlb_mode"):
            self.uc.ctl_tlb_mode(unicorn.unicorn_const.UC_TLB_VIRTUAL)
        for start, offset, length in code.parts:
            self.uc.mem_map(start, -(-length // 4096) * 4096)
            self.uc.mem_write(start, code.file[offset:offset + length])
        self.uc.mem_map(STACK - 0x8000, 0x20000)
        self.noted = range(0)  # where calls, jumps, RETs and LFENCEs are events

    def __getitem__(self, name):
        return self.uc.reg_read(getattr(x86_const, "UC_X86_REG_" + name.upper()))

    def __setitem__(self, name, value):
        self.uc.reg_write(getattr(x86_const, "UC_X86_REG_" + name.upper()), value)

    def read(self, at, size=8):
        return int.from_bytes(self.uc.mem_read(at, size), "little")

    def write(self, at, value, size=8):
        self.uc.mem_write(at, value.to_bytes(size, "little"))

    def registers(self):
        return {name: self[name] for name in GPRS}

    def call(self, name, *arguments):
        """Until it returns; RAX then."""
        for number, register in enumerate(GPRS):
            self[register] = 0x1111111111111111 * number
        for register, value in zip(("rdi", "rsi", "rdx", "rcx"), arguments):
            self[register] = value
        self["rsp"] = STACK
        self.write(STACK, RETURN)
        self["rip"], before = self.code.symbol[name], self.registers()
        while self["rip"] != RETURN:
            self.steps += 1
            self.step()
        assert self["rsp"] == STACK + 8 and all(self[r] == before[r] for r in ("rbx", "rbp", "r12", "r13", "r14", "r15"))
        return self["eax"]

    def returns(self, value):
        for register in CLOBBERED:
            self[register] = 0xdeadbeefdeadbe00
        self["rax"] = value & 0xffffffff
        self["rip"] = self.read(self["rsp"])
        self["rsp"] += 8

    def step(self):
        at = self["rip"]
        name, operands = self.code.insn[at]
        special = getattr(self, "do_" + name, None)
        for called, what in self.calls.items():
            if at == self.code.symbol[called]:
                self.events.append(called)
                self.returns(what())
                return
        if special:
            self["rip"] = special(operands) or self.code.next[at]
        else:
            if name in ("call", "ret", "jmp", "lfence") and at in self.noted:
                self.events.append((name,))
            self.uc.emu_start(at, 0, count=1)

    def do_rdmsr(self, _):
        value = self.msr[self["ecx"]]
        self["rax"], self["rdx"] = value & 0xffffffff, value >> 32
        self.events.append(("rdmsr", self["ecx"]))

    def do_wrmsr(self, _):
        self.msr[self["ecx"]] = self["edx"] << 32 | self["eax"]
        self.events.append(("wrmsr", self["ecx"], self.msr[self["ecx"]]))

    def do_div(self, operands):
        self.events.append(("div", self["edx"] << 32 | self["eax"], self[operands.strip("%")]))
        self.uc.emu_start(self["rip"], 0, count=1)
        return self["rip"]

    def do_verw(self, operands):
        """Of the data segment, in memory. It leaves all flags but ZF."""
        displacement = int(re.fullmatch(r"(-?0x[0-9a-f]+)\(%rip\)", operands)[1], 16)
        self.events.append(("verw", self.read(self.code.next[self["rip"]] + displacement, 2)))
        self["eflags"] ^= RFLAGS_ZF

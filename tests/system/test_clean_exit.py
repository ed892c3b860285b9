# SPDX-License-Identifier: GPL-2.0-only
"""The built image's way from an exit to the end of the cleaning, on both vendors' CPUs: no RET and no indirect branch before
the return stack is filled, whatever is predicted of the branches in between; none on the way into the guest, and none that an
NMI meets in between.

By the disassembly of the built image. In the whole image there is no indirect branch but in the thunks. Controls: a
RET, a JMP, a CALL and others planted there are found.
"""

import os
import re
import shutil
import sys

import image_code
import node
import pytest

sys.path.insert(0, os.path.join(node.TOP, "tests", "machines"))
import vuln_judge  # noqa: E402


class Code(image_code.Code):
    def walk(self, start, ends, returns=(), iretq=False):
        """All that may be executed from there, by right or wrong predictions of branches with one target, until one of `ends`;
        whatever must not be met. A RET in the range `returns` goes back to its CALL; IRETQ may end it only if asked for."""
        seen, todo, bad = set(), [start], []
        while todo:
            at = todo.pop()
            if at in seen or at in ends:
                continue
            seen.add(at)
            name, operands = self.insn[at]
            target = re.match(r"([0-9a-f]+) <", operands)
            if name.startswith("ret") and returns and returns[0] <= at < returns[1]:
                continue
            if name.startswith(("ret", "lret", "sys", "int ", "iret")) or operands.startswith("*") or name == "hlt":
                if not iretq or name != "iretq":
                    bad.append("%#x: %s %s" % (at, name, operands))
            elif name in ("int3", "ud2"):
                continue
            elif target:
                todo.append(int(target[1], 16))
                if name.startswith(("j", "loop")) and name != "jmp":
                    todo.append(self.next[at])
                # Back from a CALL comes only who may RET.
                elif name == "call" and returns:
                    todo.append(self.next[at])
            else:
                todo.append(self.next[at])
        return seen, bad


@pytest.fixture(scope="module")
def code():
    return Code()


def before(code, at):
    return max(a for a in code.insn if a < at)


@pytest.mark.parametrize("vendor", ("vmx", "svm"))
def test_exit(code, vendor):
    start, stuffed, clean = (code.symbol[vendor + "_" + name] for name in ("exit_clean", "stuffed", "clean"))
    seen, bad = code.walk(start, {stuffed})
    assert bad == []
    assert all(start <= at < stuffed for at in seen)
    # Each entry leads to an INT3, and what was skipped by a wrong prediction ends at the LFENCE.
    calls = [at for at in seen if code.insn[at][0] == "call"]
    assert len(calls) == 5 and all(code.insn[code.next[at]][0] == "int3" for at in calls)
    assert code.insn[before(code, stuffed)][0] == "lfence" and before(code, stuffed) in seen
    # Then the branch history, with RETs of its own.
    seen, bad = code.walk(stuffed, {clean}, (stuffed, clean))
    assert bad == []
    assert all(stuffed <= at < clean for at in seen)
    assert sum(code.insn[at][0].startswith("ret") for at in seen) == 2
    assert code.insn[before(code, clean)][0] == "lfence"


@pytest.mark.parametrize("vendor", ("vmx", "svm"))
@pytest.mark.parametrize("where", ("start", "fence"))
@pytest.mark.parametrize("planted, found", ((b"\xc3", 0), (b"\xf3\xc3", 0), (b"\xf2\xc3", 0), (b"\x48\xcf", 0), (b"\xff\xe0", 0),
                                            (b"\xff\xd0", 0), (b"\xe2\xfe\xc3", 2)))
def test_control(code, vendor, where, planted, found, tmp_path):
    """A RET, also with a prefix, an IRETQ, a JMP or a CALL by RAX, a RET behind a LOOP, at the exit or in place of the LFENCE."""
    elf = str(tmp_path / "margay.elf")
    shutil.copy(image_code.ELF, elf)
    stuffed = code.symbol[vendor + "_stuffed"]
    at = code.symbol[vendor + "_exit_clean"] if where == "start" else before(code, stuffed)
    address, offset, _ = code.parts[0]
    with open(elf, "r+b") as f:
        f.seek(at - address + offset)
        f.write(planted.ljust(3, b"\x90"))
    _, bad = Code(elf).walk(code.symbol[vendor + "_exit_clean"], {stuffed})
    assert len(bad) == 1 and bad[0].startswith("%#x: " % (at + found))


def test_control_plain_exit(code):
    """The way of those who are trusted does none of it, and comes to a RET."""
    _, bad = code.walk(code.symbol["vmx_exit_entry"], set())
    assert bad


@pytest.mark.parametrize("start, entries", (("vmx_enter_clean.open", ("vmresume", "vmlaunch")),
                                            ("svm_enter_clean.run", ("vmrun",))))
def test_entry(code, start, entries):
    """From where the guest's IA32_SPEC_CTRL may be in force."""
    ends = {at for at, (name, _) in code.insn.items() if name in entries}
    seen, bad = code.walk(code.symbol[start], ends)
    assert bad == [] and len(seen) > 20
    assert sum(code.insn[at][0] == "verw" for at in seen) == 1


def test_nmi(code):
    """Before the exit is clean an NMI is noted, no more; the others come to the common stubs behind an LFENCE."""
    stub = code.symbol["trap_stubs"] + 8
    seen, bad = code.walk(code.symbol["trap_nmi_entry"], {stub}, iretq=True)
    assert bad == []
    assert not any(code.insn[at][0] == "call" for at in seen)
    assert [code.insn[before(code, at)][0] for at in seen if code.insn[at][1].startswith("%x <" % stub)] == ["lfence"]
    assert any(code.insn[at][0] == "iretq" for at in seen)


def test_indirect_branches(code):
    """Only the thunks have any, each behind a RET and an INT3, and the start, before there is a guest."""
    thunks = code.symbol["indirect_thunks"]
    found = [at for at, (name, operands) in code.insn.items() if operands.startswith("*") and name in ("jmp", "call")]
    assert [at - thunks for at in found if at >= thunks] == [24 + 32 * i for i in range(15)]
    assert [code.insn[at] for at in found if at < thunks] == [("jmp", "*%rax")]
    assert code.symbol["_start"] < min(found) < code.symbol["_start"] + 0x400
    names = [operands for name, operands in code.insn.values() if name in ("jmp", "call") and "<__x86_indirect_thunk_" in operands]
    assert len(names) > 100


def test_numbers():
    """The assembly's are those of C."""
    with open(os.path.join(node.TOP, "arch", "x86_64", "cpu", "clean.inc"), encoding="ascii") as f:
        found = {name.lower(): int(value, 16) for name, value in re.findall(r"^%define MIT_(\w+) (\w+)", f.read(), re.MULTILINE)}
    numbers = vuln_judge.flags()
    assert len(found) == 9 and found == {name: numbers[name] for name in found}

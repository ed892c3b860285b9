# SPDX-License-Identifier: GPL-2.0-only
"""The bugs: what mistakes of a programmer look like, as edits of the source.

edits(file, text) gives all that there are in a file, as (operator, start, end, replacement). Not touched are strings,
comments, log lines, static_asserts, and of the preprocessor all but numbers in a #define.
"""

import re

from mutants.source import closing, tokens

RELATION = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "++": "--",
              "--": "++", "<<=": ">>=", ">>=": "<<="}
BITS = {"&": "|", "|": "&", "^": "|", "&=": "|=", "|=": "&="}
LOGIC = {"&&": "||", "||": "&&"}
NARROW = {"u64": "u32", "u32": "u16", "u16": "u8", "s64": "s32", "size_t": "u32", "gpa_t": "u32", "hpa_t": "u32"}
# What stands before a ( that has no arguments whose order matters.
NO_ORDER = ("for", "switch", "sizeof", "return", "MIN", "MAX")
UNARY_AFTER = ("=", "(", ",", "return", "?", ":", "{", "[", ";", "&&", "||", "!", "case")
LOGS = re.compile(r"v?printk\w*|\w+_log|log_from|console_say|say\w*|vm_note|shootdown_note|panic|\w+_panic|static_assert")
JUMPS = {"z": "nz", "nz": "z", "e": "ne", "ne": "e", "b": "ae", "ae": "b", "a": "be", "be": "a", "c": "nc", "nc": "c", "s": "ns",
         "ns": "s", "l": "ge", "ge": "l", "g": "le", "le": "g"}


def numbers(text):
    """What a number may be by mistake: the next one, the one before, and for a mask its bits moved or one lost."""
    body, suffix = re.fullmatch(r"(\w+?)([uUlL]*)", text).groups()
    value = int(body, 0) if body == "0" or not body.startswith("0") or body[1:2] in "xX" else int(body, 8)
    written = ("%#x" if body[1:2] in ("x", "X") else "%d")
    if written == "%#x" and value > 0xf:
        for other in (value << 1, value >> 1, value & (value - 1)):
            if other and other.bit_length() <= 64:
                yield "mask", written % other + suffix
    else:
        yield "constant", written % (value + 1) + suffix
        if value:
            yield "constant", written % (value - 1) + suffix


def operand_end(found, start):
    """Behind the right operand of the && or || at start."""
    stops = (")", "?", ":", ";", ",", "}", "]", "||") + (() if found[start].text == "||" else ("&&",))
    i = start + 1
    while i < len(found) and found[i].text not in stops:
        i = closing(found, i) + 1 if found[i].text in ("(", "[", "{") else i + 1
    return found[i - 1].end


def arguments(found, start):
    """The ranges of the arguments of the call whose ( is at start, as indices of first and last token."""
    end, first, i = closing(found, start), start + 1, start + 1
    while i <= end:
        if found[i].text == "," or i == end:
            if i > first:
                yield first, i - 1
            first = i + 1
        i = closing(found, i) + 1 if found[i].text in ("(", "[", "{") else i + 1


def statement_end(found, start):
    """The index of the ; of the statement that begins at start, or None."""
    i = start
    while i < len(found) and found[i].text not in ("{", "}"):
        if found[i].text == ";":
            return i
        i = closing(found, i) + 1 if found[i].text in ("(", "[") else i + 1
    return None


def begins_statement(found, i):
    before = found[i - 1].text
    if before in (";", "{", "}", "else", "do"):
        return True
    return before == ")" and found[i].text not in (")", ";", "{") and found[i].kind == "name" and controls(found, i - 1)


def controls(found, close):
    """Whether the ) at close ends the condition of an if, a while or a for."""
    depth = 0
    for i in range(close, 0, -1):
        depth += (found[i].text == ")") - (found[i].text == "(")
        if depth == 0:
            return found[i - 1].text in ("if", "while", "for")
    return False


def statements(found, i):
    """The edits of a statement that begins at i."""
    first, last = found[i], statement_end(found, i)
    if last is None:
        return
    end = found[last].end
    if first.text == "return":
        value = found[i + 1:last]
        yield "early end", first.start, end, ";"
        if value:
            start, stop = value[0].start, value[-1].end
            yield "return value", start, stop, "-1" if value[0].text == "0" and len(value) == 1 else "0"
            if len(value) > 1:
                yield "return value", start, stop, None  # None: the negation of what is there
    elif first.text in ("break", "continue"):
        yield "early end", first.start, end, ";"
        yield "early end", first.start, end, "__attribute__((__fallthrough__));"
    elif first.kind == "name" and first.text not in ("goto", "case", "default", "if", "for", "while", "switch", "else", "do"):
        yield "lost statement", first.start, end, ";"
        for at in range(i, last):
            if found[at].text == "=":
                for width in ("u32", "u16", "u8"):
                    yield "truncation", found[at + 1].start, found[last - 1].end, "(%s)(%%s)" % width
                break


def token_edits(found, i):
    """The edits of the token at i in a function."""
    token, before = found[i], found[i - 1].text
    word = token.text
    binary = found[i - 1].kind in ("name", "number") and before not in UNARY_AFTER or before in (")", "]")
    if token.kind == "op":
        for operator, table in (("relation", RELATION), ("arithmetic", ARITHMETIC), ("bits", BITS), ("logic", LOGIC)):
            if word in table and (binary or word in ("++", "--")):
                yield operator, token.start, token.end, table[word]
        if word in LOGIC:
            yield "lost condition", token.start, operand_end(found, i), ""
        if word in ("~", "!"):
            yield "lost negation", token.start, token.end, ""
        if word == "(" and found[i - 1].kind == "name" and before in ("if", "while"):
            end = closing(found, i)
            yield "negation", found[i + 1].start, found[end - 1].end, "!(%s)"
        elif word == "(" and found[i - 1].kind == "name" and before not in NO_ORDER:
            ranges = list(arguments(found, i))
            for (a, b), (c, d) in zip(ranges, ranges[1:]):
                places = found[a].start, found[b].end, found[c].start, found[d].end
                yield "swapped arguments", places[0], places[3], places
    elif word in ("true", "false"):
        yield "boolean", token.start, token.end, "false" if word == "true" else "true"
    elif word in NARROW:
        yield "truncation", token.start, token.end, NARROW[word]


def replaced(text, start, end, new):
    """The replacement as text: a template's %s and the negation take what is there, four places swap two arguments."""
    old = text[start:end]
    if isinstance(new, tuple):
        a, b, c, d = new
        return text[c:d] + text[b:c] + text[a:b]
    if new is None:
        return "!(%s)" % old
    return new.replace("%s", old)


def c_edits(text):
    found = tokens(text)
    quiet_until = 0
    for i, token in enumerate(found):
        if token.kind == "pre":
            body = re.match(r"#\s*define\s+\w+(?:\([^)]*\))?", token.text)
            for match in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\w+', token.text[body.end():], re.DOTALL) if body else ():
                if match[0][0].isdigit():
                    start = token.start + body.end() + match.start()
                    for operator, new in numbers(match[0]):
                        yield operator, start, start + len(match[0]), new
            continue
        if token.kind == "name" and LOGS.fullmatch(token.text) and found[i + 1:i + 2] and found[i + 1].text == "(":
            quiet_until = max(quiet_until, found[closing(found, i + 1)].end)
        if token.start < quiet_until or i == 0:
            continue
        if token.kind == "number":
            for operator, new in numbers(token.text):
                yield operator, token.start, token.end, new
        if token.code:
            if begins_statement(found, i):
                for operator, start, end, new in statements(found, i):
                    yield operator, start, end, replaced(text, start, end, new)
            for operator, start, end, new in token_edits(found, i):
                yield operator, start, end, replaced(text, start, end, new)


def asm_edits(text):
    here = 0
    for line in text.split("\n"):
        code = line.split(";")[0]
        body = re.match(r"\s+(?!\[|%|align|global|extern|section|default|bits|times|d[bwdq]\b)(j?)(\w+)\b.*?\s*$", code)
        if body:
            start = here + body.start(2) - len(body[1])
            yield "lost statement", start, here + len(code.rstrip()), ""
            if body[1] and body[2] in JUMPS:
                yield "negation", start + 1, here + body.end(2), JUMPS[body[2]]
        if not re.match(r"\s*(bits|align|section|%|\w+:|global|extern)", code):
            for match in re.finditer(r"(?<![\w.])(0x[0-9a-f]+|\d+)\b", code):
                for operator, new in numbers(match[0]):
                    yield operator, here + match.start(), here + match.end(), new
        here += len(line) + 1


def edits(file, text):
    return asm_edits(text) if file.endswith((".asm", ".inc")) else c_edits(text)

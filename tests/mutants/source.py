# SPDX-License-Identifier: GPL-2.0-only
"""C and NASM source as the mutants see it: tokens with their places, the names of functions, and an edit as a Mutant that
finds its place again by its text when lines or files have moved.
"""

import bisect
import collections
import hashlib
import re

TOKEN = re.compile(r"""
    (?P<skip>  \s+ | /\*.*?\*/ | //[^\n]* )
  | (?P<pre>   \#(?:\\\n|/\*.*?\*/|[^\n])* )
  | (?P<text>  "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<name>  [A-Za-z_]\w* )
  | (?P<number> 0[xX][0-9a-fA-F]+[uUlL]* | \d+[uUlL]* )
  | (?P<op>    <<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|. )
""", re.VERBOSE | re.DOTALL)
KEYWORDS = ("if", "for", "while", "switch", "do", "else", "return", "goto", "break", "continue", "case", "default", "sizeof")

# scope: the function or object it is in; code: statements may stand here.
Token = collections.namedtuple("Token", "kind text start end scope code")
# Replaces old by new, whole lines without indentation; the nth such lines of that scope, from 0.
Mutant = collections.namedtuple("Mutant", "layer file scope operator nth old new")


def tokens(text):
    """The tokens of C; a preprocessor directive is one."""
    found, depth, scope, code = [], 0, "", False
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup, match[0]
        if kind == "skip":
            continue
        if kind == "op" and word == "{" and depth == 0:
            scope, code = named(found)
        found.append(Token(kind, word, match.start(), match.end(), scope if depth else "", code and depth > 0))
        if kind == "op":
            depth += (word == "{") - (word == "}")
    return found


def named(found):
    """What a { outside of all others begins: its name, and whether it is a function's body."""
    last = len(found) - 1
    if last < 0 or found[last].text != ")":
        names = [t.text for t in found[-6:] if t.kind == "name" and t.text not in ("const", "static", "struct", "enum", "union")]
        return (names[-1] if names else ""), False
    return found[opening(found, last) - 1].text, True


def opening(found, close):
    """The index of the ( that belongs to the ) at close."""
    depth = 0
    for i in range(close, -1, -1):
        depth += (found[i].text == ")") - (found[i].text == "(")
        if depth == 0:
            return i
    return 0


def closing(found, start):
    """The index of the bracket that closes the one at start."""
    depth = 0
    for i in range(start, len(found)):
        depth += (found[i].text in "([{") - (found[i].text in ")]}") if found[i].kind == "op" else 0
        if depth == 0:
            return i
    return len(found) - 1


def lines(text, start, end):
    """The range of whole lines around [start, end)."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", max(start, end - 1))
    return first, len(text) if last < 0 else last


def bare(text):
    return tuple(line.strip() for line in text.split("\n"))


def scopes(file, text):
    """A function from a position to the scope's name."""
    if file.endswith((".asm", ".inc")):
        marks = [(m.start(), m[1] or m[2]) for m in re.finditer(r"^(?:(\w+):|%macro\s+(\w+))", text, re.MULTILINE)]
    else:
        marks = [(t.start, t.scope) for t in tokens(text)]
    places = [start for start, name in marks]

    def scope(position):
        at = bisect.bisect_right(places, position) - 1
        return marks[at][1] if at >= 0 else ""

    return scope


def occurrences(text, old):
    """The ranges of the lines that are these, whatever their indentation."""
    starts, here = [], 0
    for line in text.split("\n"):
        starts.append((here, here + len(line), line.strip()))
        here += len(line) + 1
    for i in range(len(starts) - len(old) + 1):
        if tuple(line for _, _, line in starts[i:i + len(old)]) == tuple(old):
            yield starts[i][0], starts[i + len(old) - 1][1]


def mutant(layer, file, text, operator, start, end, replacement):
    """The Mutant that puts replacement in the place of [start, end)."""
    # What goes away leaves its lines, so that nothing behind it moves.
    replacement += "\n" * (text.count("\n", start, end) - replacement.count("\n"))
    first, last = lines(text, start, end)
    old = bare(text[first:last])
    scope = scopes(file, text)
    same = [place for place in occurrences(text, old) if scope(place[1] - 1) == scope(last - 1)]
    new = bare(text[first:start] + replacement + text[end:last])
    return Mutant(layer, file, scope(last - 1), operator, same.index((first, last)), old, new)


def key(mutant):
    """Stays when the file moves and when other lines change."""
    text = repr((mutant.scope, mutant.operator, mutant.nth, mutant.old, mutant.new))
    return hashlib.sha1(text.encode()).hexdigest()[:8]


def apply(mutant, text):
    """The text with the mutant's bug; None when its lines are no longer there."""
    scope = scopes(mutant.file, text)
    same = [place for place in occurrences(text, mutant.old) if scope(place[1] - 1) == mutant.scope]
    if mutant.nth >= len(same):
        return None
    start, end = same[mutant.nth]
    indents = [re.match(r"\s*", line)[0] for line in text[start:end].split("\n")]
    return text[:start] + "\n".join(i + line if line else "" for i, line in zip(indents, mutant.new)) + text[end:]

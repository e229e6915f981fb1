#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual page culvert.conf(5) out of docs/configuration.md: SOURCE VERSION."""
import re
import sys


def inline(text):
    """Escapes the special characters of roff; code becomes bold, emphasis italic, links their text."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|\*\*[^*]*\*\*|\*[^*]*\*)", text)
    out = ""
    for part in parts:
        if part.startswith("`"):
            out += r"\fB" + plain(part[1:-1]) + r"\fR"
        elif part.startswith("*"):
            out += r"\fI" + plain(part.strip("*")) + r"\fR"
        else:
            out += plain(part)
    return out


def plain(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def line(text):
    """A line of text must not begin like a request."""
    return "\\&" + text if text.startswith((".", "'")) else text


def cells(row):
    return [c.strip() for c in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    head, body = cells(rows[0]), [cells(r) for r in rows[2:]]
    for row in body:
        yield ".TP"
        if head == ["Setting", "Value", "Default", "Change", "Meaning"]:
            yield line(inline(row[0]))
            default = "" if not row[2] else "; " + row[2] if row[2] == "required" else "; default: " + row[2]
            change = "; a change needs a restart" if row[3] == "restart" else ""
            yield line(inline(row[1] + default + change + "."))
            yield ".br"
            yield line(inline(row[4]) or r"\&")
        else:
            yield line(inline(row[0]))
            yield line(inline("; ".join(f"{h}: {c}" for h, c in zip(head[1:], row[1:]) if c)))


def page(source):
    """The lines of the page, without its head."""
    lines = iter(source.splitlines() + [""])
    rows, text, paragraph, fresh = [], [], False, True

    def flush():
        nonlocal text
        if text:
            yield from (line(inline(" ".join(text))),)
            text = []

    for l in lines:
        if rows and not l.startswith("|"):
            yield from table(rows)
            rows = []
            paragraph, fresh = True, False
        if l.startswith("|"):
            yield from flush()
            rows.append(l)
        elif l.startswith("```"):
            yield from flush()
            if not fresh:
                yield ".PP"
            fresh = False
            yield ".EX"
            for code in lines:
                if code.startswith("```"):
                    break
                yield line(plain(code))
            yield ".EE"
            paragraph = True
        elif l.startswith("#"):
            yield from flush()
            level, _, title = l.partition(" ")
            if level == "##":
                yield f".SH {inline(title).upper()}"
            elif level == "###":
                yield f".SS {inline(title)}"
            paragraph, fresh = False, True
        elif re.match(r"- ", l):
            yield from flush()
            yield ".IP \\(bu 2"
            text = [l[2:]]
            paragraph, fresh = True, False
        elif not l.strip():
            yield from flush()
            paragraph = True
        else:
            if not text and paragraph and not fresh and not l.startswith(" "):
                yield ".PP"
            paragraph, fresh = False, False
            text.append(l.strip())
    yield from flush()


def main():
    path, version = sys.argv[1:]
    with open(path, encoding="utf-8") as f:
        source = f.read()
    # The list of contents is for readers in a browser.
    source = re.sub(r"(?ms)^- \[The file\].*?\n\n", "", source)
    title, rest = source.split("\n", 1)
    assert title == "# Configuration"
    print(f'.TH CULVERT.CONF 5 "" "culvert {version}" "Culvert"')
    print(".SH NAME\nculvert.conf \\- configuration of culvertd")
    print(".SH DESCRIPTION")
    print("\n".join(page(rest)))
    print(".SH SEE ALSO\n.BR culvertd (8),\n.BR culvertctl (1)")


main()

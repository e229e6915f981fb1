#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual page culvertctl(1) out of the help of the program: CULVERTCTL VERSION."""
import re
import subprocess
import sys


def plain(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def item(line):
    """A line of a list: the word, and its help."""
    name, _, text = re.match(r"  +(.*?)(  +(.*))?$", line).groups()
    yield from (".TP", ".B " + plain(name), plain((text or "") and text.strip()) or "\\&")


def main():
    program, version = sys.argv[1:]
    said = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    usage, about, *lists, codes = said.strip("\n").split("\n\n")
    print(f'.TH CULVERTCTL 1 "" "culvert {version}" "Culvert"')
    print(".SH NAME\nculvertctl \\- inspects and configures a running culvertd\n.SH SYNOPSIS")
    for number, line in enumerate(usage.splitlines()):
        name, rest = re.sub(r"^(Usage:)? *", "", line).split(" ", 1)
        print((".br\n" if number > 0 else "") + f".B {name}\n{plain(rest)}")
    print(".SH DESCRIPTION\n" + plain(about))
    for part in lists:
        lines = part.splitlines()
        if not lines[0].startswith("  "):
            print(".PP\n" + plain(lines.pop(0)))
        for line in lines:
            print("\n".join(item(line)))
    print(".SH EXIT STATUS\n" + plain(codes))
    print(".SH SEE ALSO\n.BR culvertd (8),\n.BR culvert.conf (5)")


main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes web_page.h from web_page.html: its octets, and a content security policy that allows nothing but the script
and the style in it, by their hashes."""
import base64
import hashlib
import re
import sys

POLICY = ("default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; img-src data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def hash_of(page, element):
    found = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
    assert len(found) == 1, element
    return "'sha256-" + base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode() + "'"


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
policy = POLICY.format(script=hash_of(text, "script"), style=hash_of(text, "style"))
octets = ",".join(str(octet - 256 if octet > 127 else octet) for octet in text.encode())
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(f'#define WEB_PAGE_POLICY "{policy}"\nstatic const char web_page[] = {{{octets}}};\n')

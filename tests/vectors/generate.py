#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes esp_packets.txt: ESP packets of every pair of algorithms, sealed without Culvert.

    tests/vectors/generate.py > tests/vectors/esp_packets.txt

The same at every run. Needs python3-cryptography.
"""

import hashlib
import hmac
import random
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TEXT_LENS = [16, 32, 48, 64, 80, 112, 256, 528, 1520]
AUTHS = {
    "none": (0, None),
    "hmac-sha1-96": (20, lambda key, data: hmac.digest(key, data, hashlib.sha1)[:12]),
    "hmac-sha2-256-128": (32, lambda key, data: hmac.digest(key, data, hashlib.sha256)[:16]),
}


def seal_null(_key, _header, _seq, text):
    return text


def seal_cbc(key, _header, _seq, text):
    iv = rng.randbytes(16)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return iv + encryptor.update(text) + encryptor.finalize()


def seal_gcm(key, header, seq, text):
    key, salt = key[:-4], key[-4:]
    iv = struct.pack(">Q", seq)
    return iv + AESGCM(key).encrypt(salt + iv, text, header)  # the ICV is at its end


def write_packet(cipher, key_len, seal, auth, text_len):
    auth_key_len, mac = AUTHS[auth]
    key = rng.randbytes(key_len)
    auth_key = rng.randbytes(auth_key_len)
    seq = rng.randrange(1, 1 << 32)
    text = rng.randbytes(text_len)
    header = struct.pack(">II", rng.randrange(0x100, 1 << 32), seq)
    packet = header + seal(key, header, seq, text)
    if mac:
        packet += mac(auth_key, packet)

    print(f"name {cipher} {auth} {text_len}")
    print(f"cipher {cipher}")
    if key:
        print(f"cipher_key {key.hex()}")
    print(f"auth {auth}")
    if auth_key:
        print(f"auth_key {auth_key.hex()}")
    print(f"seq {seq:#x}")
    print(f"text {text.hex()}")
    print(f"packet {packet.hex()}")
    print()


rng = random.Random(4303)
print("# ESP packets of every pair of algorithms. Made by generate.py, do not edit.")
print()
for length in TEXT_LENS:
    for hmac_name in ["hmac-sha1-96", "hmac-sha2-256-128"]:
        write_packet("null", 0, seal_null, hmac_name, length)
        for bits in [128, 192, 256]:
            write_packet(f"aes-{bits}-cbc", bits // 8, seal_cbc, hmac_name, length)
    for bits in [128, 192, 256]:
        write_packet(f"aes-{bits}-gcm", bits // 8 + 4, seal_gcm, "none", length)

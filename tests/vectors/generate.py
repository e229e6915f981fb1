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
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

TEXT_LENS = [16, 32, 48, 64, 80, 112, 256, 528, 1520]
ESN_TEXT_LENS = [16, 112, 528]
AUTHS = {  # octets of key and ICV, hash
    "none": (0, 0, None),
    "hmac-sha1-96": (20, 12, hashlib.sha1),
    "hmac-sha2-256-128": (32, 16, hashlib.sha256),
    "hmac-sha2-384-192": (48, 24, hashlib.sha384),
    "hmac-sha2-512-256": (64, 32, hashlib.sha512),
}


def seal_null(_key, _header, _seq, text):
    return text


def seal_cbc(key, _header, _seq, text):
    iv = rng.randbytes(16)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return iv + encryptor.update(text) + encryptor.finalize()


def seal_ctr(key, _header, seq, text):
    key, salt = key[:-4], key[-4:]
    iv = struct.pack(">Q", seq)
    encryptor = Cipher(algorithms.AES(key), modes.CTR(salt + iv + b"\0\0\0\1")).encryptor()
    return iv + encryptor.update(text) + encryptor.finalize()


def seal_gcm(key, header, seq, text, icv_len=16):
    key, salt = key[:-4], key[-4:]
    iv = struct.pack(">Q", seq)
    sealed = AESGCM(key).encrypt(salt + iv, text, header)  # the ICV is at its end
    return iv + sealed[:len(text) + icv_len]


def seal_gcm_12(key, header, seq, text):
    return seal_gcm(key, header, seq, text, 12)


def seal_gcm_8(key, header, seq, text):
    return seal_gcm(key, header, seq, text, 8)


def seal_gmac(key, header, seq, text):
    key, salt = key[:-4], key[-4:]
    iv = struct.pack(">Q", seq)
    return iv + text + AESGCM(key).encrypt(salt + iv, b"", header + iv + text)


def seal_chacha20(key, header, seq, text):
    key, salt = key[:-4], key[-4:]
    iv = struct.pack(">Q", seq)
    return iv + ChaCha20Poly1305(key).encrypt(salt + iv, text, header)


CIPHERS = {"null": (0, seal_null), "chacha20-poly1305": (36, seal_chacha20)}  # octets of key
for bits in [128, 192, 256]:
    CIPHERS[f"aes-{bits}-cbc"] = (bits // 8, seal_cbc)
    CIPHERS[f"aes-{bits}-ctr"] = (bits // 8 + 4, seal_ctr)
    CIPHERS[f"aes-{bits}-gcm"] = (bits // 8 + 4, seal_gcm)
    CIPHERS[f"aes-{bits}-gcm-12"] = (bits // 8 + 4, seal_gcm_12)
    CIPHERS[f"aes-{bits}-gcm-8"] = (bits // 8 + 4, seal_gcm_8)
    CIPHERS[f"aes-{bits}-gmac"] = (bits // 8 + 4, seal_gmac)
ALONE = [seal_null, seal_cbc, seal_ctr]  # need an authenticator


def seal_esp(cipher, auth, keys, spi, seq, text, esn):
    """An ESP packet. keys: of the cipher, with its salt, and of the authenticator."""
    _, seal = CIPHERS[cipher]
    _, icv_len, digest = AUTHS[auth]
    spi = struct.pack(">I", spi)
    upper = struct.pack(">I", seq >> 32) if esn else b""  # authenticated, but not in the packet
    lower = struct.pack(">I", seq & 0xFFFFFFFF)
    packet = spi + lower + seal(keys[0], spi + upper + lower, seq, text)
    if digest:
        packet += hmac.digest(keys[1], packet + upper, digest)[:icv_len]
    return packet


def write_packet(cipher, auth, text_len, esn):
    keys = [rng.randbytes(CIPHERS[cipher][0]), rng.randbytes(AUTHS[auth][0])]
    seq = rng.randrange(1, 1 << (64 if esn else 32))
    text = rng.randbytes(text_len)
    packet = seal_esp(cipher, auth, keys, rng.randrange(0x100, 1 << 32), seq, text, esn)

    print(f"name {cipher} {auth} {text_len}{' ESN' if esn else ''}")
    print(f"cipher {cipher}")
    if keys[0]:
        print(f"cipher_key {keys[0].hex()}")
    print(f"auth {auth}")
    if keys[1]:
        print(f"auth_key {keys[1].hex()}")
    if esn:
        print("esn true")
    print(f"seq {seq:#x}")
    print(f"text {text.hex()}")
    print(f"packet {packet.hex()}")
    print()


def pairs():
    for name, (_, function) in CIPHERS.items():
        for hmac_name in AUTHS:
            if (hmac_name != "none") == (function in ALONE):
                yield name, hmac_name


def main():
    print("# ESP packets of every pair of algorithms. Made by generate.py, do not edit.")
    print()
    for with_esn, lengths in ((False, TEXT_LENS), (True, ESN_TEXT_LENS)):
        for length in lengths:
            for name, hmac_name in pairs():
                write_packet(name, hmac_name, length, with_esn)


rng = random.Random(4303)
if __name__ == "__main__":
    main()

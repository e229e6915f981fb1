// SPDX-License-Identifier: BSD-3-Clause
// Digests of the parts of a configuration that all gateways of a pair or a fleet have, by which
// they notice that these differ. Control thread.
#pragma once

#include "conf.h"

#define CONF_DIGESTS_MAX 512 // octets of the text with its NUL

// Writes for each kind of item that all have, and of which there are some, a word "sas=DIGEST",
// with blanks in between. The digest is that of the items as conf_print() writes them, with the
// identifiers of keys in place of the files. Order matters only where it has a meaning. -ENOMEM:
// there is no text.
int conf_digests_write(char text[CONF_DIGESTS_MAX], const struct conf *c);

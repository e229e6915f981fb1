#!/usr/bin/awk -f
# SPDX-License-Identifier: BSD-3-Clause
# Makes docs/drops.md of lib/stats/drop.def: a table of reasons under each of its headings, which
# are comments behind an empty line.
BEGIN {
	print "# Drop reasons"
	print ""
	print "Every packet that a gateway does not pass on is counted under one of these names:"
	print "`culvertctl show drops`. A packet of scope SA is also counted on its security"
	print "association: `culvertctl show sas`."
	print ""
	print "Made from `lib/stats/drop.def` by `tests/lint/drops.awk`."
}
empty && /^\/\/ / {
	print ""
	print "## " substr($0, 4)
	print ""
	print "| reason | scope | a packet |"
	print "|---|---|---|"
}
{ empty = /^$/ }
/^DROP\(/ {
	match($0, /".*"/)
	help = substr($0, RSTART + 1, RLENGTH - 2)
	split($0, field, / *, */)
	print "| `" field[2] "` | " (field[3] == "SA" ? "SA" : "gateway") " | " help " |"
}

#!/usr/bin/awk -f
# SPDX-License-Identifier: BSD-3-Clause
# Makes docs/drops.md of lib/stats/drop.def: a table of reasons under each of its headings, which
# are comments after an empty line.
BEGIN {
	print "# Drop reasons"
	print ""
	print "For operators who miss packets: every reason for dropping one, and its remedy. Every packet that a gateway does not"
	print "pass on is counted under one of these names: `culvertctl show drops`. A packet of scope SA is also counted on its"
	print "security association: `culvertctl show sas`. `culvertctl explain REASON` prints the same."
	print ""
	print "Made from `lib/stats/drop.def` by `tests/lint/drops.awk`."
}
# The text in quotation marks of a line.
function quoted() {
	match($0, /".*"/)
	text = substr($0, RSTART + 1, RLENGTH - 2)
	gsub(/\\"/, "\"", text)
	return text
}
empty && /^\/\/ / {
	print ""
	print "## " substr($0, 4)
	print ""
	print "| reason | scope | a packet | what to do |"
	print "|---|---|---|---|"
}
{ empty = /^$/ }
/^DROP\(/ {
	split($0, field, / *, */)
	help = quoted()
}
/^\t"/ {
	scope = field[3] == "SA" ? "SA" : "gateway"
	print "| `" field[2] "` | " scope " | " help " | " quoted() " |"
}

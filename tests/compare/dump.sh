# shellcheck shell=bash disable=SC2034 # variables of the tests
# SPDX-License-Identifier: BSD-3-Clause
# Takes the place of tests/e2e/lib.sh in a copy of the end-to-end tests (configs.py): a test runs from its begin to its
# end, but of its commands only commands that write files. The files that it gives culvertd are kept in $DUMP.
set +e
lab_id=cvsame
lab_dir=/tmp/culvert.same
dump_number=0
dump_keys=0
mkdir -p "$lab_dir"

lab_random_hex()
{
	dump_keys=$((dump_keys + 1))
	printf '%s %s' "$BASHPID" "$dump_keys$1" | sha512sum | head -c $((2 * $1 > 128 ? 128 : 2 * $1))
}
lab_up()
{
	lab_choose aes-128-gcm none
}
poll()
{
	"$@"
	return 0
}
fail()
{
	return 0
}
equal()
{
	return 0
}
at_least()
{
	return 0
}
matches()
{
	return 0
}
lab_stop()
{
	return 0
}
lab_exit()
{
	exit 0
}
ike_skip()
{
	return 0
}
# Every command that is not in $PATH.
command_not_found_handle()
{
	return 0
}

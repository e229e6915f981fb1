// SPDX-License-Identifier: BSD-3-Clause
// Reservation of sequence numbers on the disk (docs/decisions/0014-restart.md), with a crash of the
// daemon or of the machine at every step. The steps of the daemon, begin(), tick(), tick_failed()
// and finish(), are recorded by reserve_steps.c from reserve.c, disk_writer.c, file_save.c and
// sa_ledger.c. Workers may have used any number that was allowed. Proves for all orders: a daemon
// that is started again finds a file that it can read, or none before the first number was used,
// and never uses a number again.
#define STARTS 3

int base;  // the last number that may have been used before this start
int used;  // by all workers, ever
int limit; // limit of the numbers that they may use
byte starts;

// The disk. TORN: part of a file. All processes see cached data, and a crash of the machine loses
// it.
#define NONE -1
#define TORN -2
int fresh = NONE;    // what was written to FILE.new,
bool fresh_synced;   // and whether it is on the disk
int file = NONE;     // what FILE holds,
bool file_synced = true;
int file_before = NONE; // what FILE is until the folder is on the disk; that was on the disk
bool folder_synced = true;
mtype = {running, crashed, stopped};
mtype state = running;

inline step_begins()
{
	// All that is allowed has been used, or nothing since the start.
	if
	:: limit > used -> used = limit
	:: true
	fi
}
inline disk_write(bound)
{
	atomic { step_begins(); fresh = bound; fresh_synced = false }
}
inline disk_overwrite(bound)
{
	atomic { step_begins(); file = bound; file_synced = false }
}
inline disk_sync_file()
{
	atomic { step_begins(); fresh_synced = true }
}
inline disk_rename()
{
	atomic {
		step_begins();
		if
		:: folder_synced -> file_before = file
		:: else
		fi;
		file = fresh; file_synced = fresh_synced; folder_synced = false;
		fresh = NONE
	}
}
inline disk_sync_folder()
{
	atomic { step_begins(); folder_synced = true }
}
inline disk_unlink()
{
	atomic { step_begins(); fresh = NONE }
}
inline allow(seq)
{
	atomic {
		step_begins();
		limit = (seq == base -> 0 : seq)
	}
}

#include "steps.pml"

// The contents of the disk after a crash of the machine.
inline machine_crashes()
{
	if
	:: !folder_synced -> file = file_before; file_synced = true
	:: true
	fi;
	if
	:: !file_synced -> file = TORN
	:: true
	fi;
	folder_synced = true; file_synced = true
}

inline start()
{
	atomic {
		starts++;
		fresh = NONE;
		assert(file != TORN);
		base = (file == NONE -> 0 : file);
		assert(base >= used); // the next number is base + 1
		limit = 0
	}
}

active proctype daemon()
{
	do
	:: starts < STARTS ->
		state = running;
		start();
		{
			begin();
			do
			:: tick()
			:: tick_failed()
			:: break
			:: state == crashed -> break
			od;
			limit = 0; // workers have stopped
			finish();
			state = stopped
		} unless { state == crashed }
	:: else -> break
	od
}

active proctype fate()
{
	do
	:: atomic { state == running -> state = crashed; step_begins(); limit = 0 }
	:: atomic { state == running -> state = crashed; step_begins(); limit = 0; machine_crashes() }
	:: atomic { state == stopped -> state = running; machine_crashes() }
	:: starts == STARTS -> break
	od
}

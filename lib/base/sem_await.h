// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a semaphore, past signals, and until when to wait. Any thread.
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

// The time of CLOCK_MONOTONIC in that many milliseconds.
struct timespec time_in(unsigned int ms);

// Returns whether the semaphore is posted within that many milliseconds.
bool sem_await(sem_t *s, unsigned int ms);

// Waits until it is.
void sem_await_ever(sem_t *s);

// SPDX-License-Identifier: BSD-3-Clause
// Results of strongSwan's configure, for its headers: include this first. ME, which Debian enables,
// has members in structures; the others only select functions of libc.
#pragma once

#define CONFIG_H_INCLUDED
#define ME
#define HAVE_CLOCK_GETTIME
#define HAVE_CLOSEFROM
#define HAVE_CONDATTR_CLOCK_MONOTONIC
#define HAVE_EXPLICIT_BZERO
#define HAVE_FMEMOPEN
#define HAVE_MEMRCHR
#define HAVE_SIGWAITINFO
#define HAVE_STDBOOL_H
#define HAVE_SYS_PARAM_H

// SPDX-License-Identifier: BSD-3-Clause
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define HOME_AND_CLEAR "\033[H\033[J"
#define LINES_UNKNOWN  24

static struct termios saved;
static bool keys; // are taken from the terminal
static volatile sig_atomic_t ended;
static bool first; // no picture yet

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

// Signals that end the program are delivered in screen_wait() alone: queries and output are
// finished first.
static void signals_take(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_end};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaction(ends[i], &action, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void terminal_restore(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

void screen_begin(void)
{
	struct termios raw;

	first = true;
	signals_take();
	keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &saved) == 0;
	if (!keys)
		return;
	atexit(terminal_restore);
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

bool screen_is_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

static bool knows_sequences(void)
{
	const char *term = getenv("TERM");

	return screen_is_terminal() && term != NULL && strcmp(term, "dumb") != 0;
}

static unsigned int lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return LINES_UNKNOWN;
	return size.ws_row;
}

void screen_show(const char *text)
{
	if (knows_sequences()) {
		fputs(HOME_AND_CLEAR, stdout);
		for (unsigned int n = lines(); n > 1 && *text != '\0'; n--) {
			size_t len = strcspn(text, "\n");

			len += text[len] == '\n';
			fwrite(text, 1, len, stdout);
			text += len;
		}
	} else {
		fputs(first ? "" : "\n", stdout);
		fputs(text, stdout);
	}
	first = false;
	fflush(stdout);
}

static long ms_until(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
}

// Whether q was pressed, or there are no more keys to come.
static bool is_quit(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

bool screen_wait(unsigned int ms)
{
	struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
	struct timespec end;
	sigset_t none;
	long left;

	sigemptyset(&none);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	while (!ended && (left = ms_until(&end)) > 0) {
		struct timespec timeout = {left / 1000, left % 1000 * 1000000};
		int n = ppoll(&in, 1, &timeout, &none);

		if (n > 0 && is_quit())
			return false;
		if (n < 0 && errno != EINTR)
			return false;
	}
	return !ended;
}

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

#include "output.h"

#define HOME_AND_CLEAR "\033[H\033[J"
#define LINES_UNKNOWN  24

static struct termios saved;
static bool keys; // are taken from the terminal
static volatile sig_atomic_t ended, resized;
static bool first; // no picture yet

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

// Signals that end the program, or change its terminal, are delivered in screen_wait() alone:
// queries and output are finished first.
static void signals_take(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_resize};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaction(SIGWINCH, &action, NULL);
	action.sa_handler = on_end;
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

static unsigned int lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return LINES_UNKNOWN;
	return size.ws_row;
}

// Lines of the terminal that a line of text takes: control sequences, which end with m, take no
// room.
static size_t height(const char *text, size_t len)
{
	size_t width = output_width(), used = 0;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '\033')
			i += strcspn(text + i, "m");
		else
			used++;
	return used > width && width > 0 ? (used + width - 1) / width : 1;
}

static void lines_show(const char *text)
{
	size_t left = lines() - 1;

	fputs(HOME_AND_CLEAR, stdout);
	while (*text != '\0') {
		size_t len = strcspn(text, "\n"), rows = height(text, len);

		if (rows > left)
			break;
		left -= rows;
		len += text[len] == '\n';
		fwrite(text, 1, len, stdout);
		text += len;
	}
}

void screen_show(const char *text)
{
	if (output_knows_sequences()) {
		lines_show(text);
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

static void draw_again(screen_draw *draw, void *arg)
{
	resized = 0;
	if (draw != NULL)
		draw(arg);
}

bool screen_wait(unsigned int ms, screen_draw *draw, void *arg)
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
		if (resized)
			draw_again(draw, arg);
	}
	return !ended;
}

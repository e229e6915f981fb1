// SPDX-License-Identifier: BSD-3-Clause
#include "shell.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "shell_editor.h"
#include "shell_history.h"
#include "shell_words.h"

static const char program[] = "culvertctl";
static bool in_command; // this process is one of the shell's commands

// In the process of the command.
static enum exit_code words_run(const struct options *options, struct shell_words *words)
{
	char *argv[SHELL_WORDS_MAX + 2] = {(char *)program};

	complete_abbreviations(options, words->word, words->n);
	memcpy(argv + 1, words->word, words->n * sizeof(argv[0]));
	return command_line(options, (int)words->n + 1, argv);
}

// Lines of the script that have been read already are not for the command.
static void stdin_replace(int in)
{
	__fpurge(stdin);
	dup2(in, STDIN_FILENO);
}

// in: its standard input; -1: that of the shell.
static void command_begin(const struct options *options, struct shell_words *words, int in)
{
	enum exit_code code;

	in_command = true;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (in >= 0)
		stdin_replace(in);
	code = words_run(options, words);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		warn("cannot write to standard output");
		code = EXIT_FAILED;
	}
	_exit(code);
}

static enum exit_code command_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(EXIT_FAILED, "waitpid");
	if (WIFSIGNALED(status)) {
		putc('\n', stderr);
		return EXIT_FAILED;
	}
	return (enum exit_code)WEXITSTATUS(status);
}

static enum exit_code words_serve(const struct options *options, struct shell_words *words, int in)
{
	enum exit_code code = EXIT_OK;
	pid_t pid;

	if (words->open || words->too_many) {
		warnx(words->open ? "a quote or a brace is not closed" : "too many words");
		return EXIT_USAGE;
	}
	if (words->n == 0)
		return EXIT_OK;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		command_begin(options, words, in);
	if (pid > 0)
		code = command_wait(pid);
	else
		warn("fork");
	return pid > 0 ? code : EXIT_FAILED;
}

static enum exit_code line_serve(const struct options *options, const char *line, int in)
{
	struct shell_words words;
	enum exit_code code;

	shell_words_split(&words, line);
	code = words_serve(options, &words, in);
	shell_words_free(&words);
	return code;
}

// --- a script ---

static bool is_end(const char *line)
{
	struct shell_words words;
	bool end;

	shell_words_split(&words, line);
	end = words.n == 1 &&
	      (strcmp(words.word[0], "exit") == 0 || strcmp(words.word[0], "quit") == 0);
	shell_words_free(&words);
	return end;
}

static enum exit_code script_run(const struct options *options)
{
	enum exit_code code = EXIT_OK;
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *line = NULL;
	size_t size = 0;
	unsigned int n = 0;

	while (code == EXIT_OK && getline(&line, &size, stdin) > 0 && !is_end(line)) {
		n++;
		code = line_serve(options, line, nothing);
	}
	if (ferror(stdin))
		err(EXIT_FAILED, "standard input");
	free(line);
	close(nothing);
	if (code != EXIT_OK)
		warnx("line %u: exit code %d, the rest is left out", n, code);
	if (n == 0) {
		help_print(stderr);
		return EXIT_USAGE;
	}
	return code;
}

// --- a terminal ---

static enum exit_code terminal_run(const struct options *options)
{
	static EditLine *editor; // is not freed: el_end() of libedit 3.1 leaks names of functions
	History *history = shell_history_open();
	struct termios before;
	const char *line;

	editor = shell_editor_open(options, history);
	if (history == NULL || editor == NULL || tcgetattr(STDIN_FILENO, &before) < 0)
		errx(EXIT_FAILED, "cannot edit lines on this terminal");
	signal(SIGINT, SIG_IGN); // while a command runs
	signal(SIGQUIT, SIG_IGN);
	puts("? lists what may follow, Tab completes, Ctrl-D ends.");
	while ((line = shell_editor_line(editor)) != NULL && !is_end(line)) {
		shell_history_add(history, line);
		line_serve(options, line, -1);
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before); // it may have been killed
	}
	if (line == NULL)
		putchar('\n');
	history_end(history);
	return EXIT_OK;
}

bool shell_has_begun(void)
{
	return in_command;
}

enum exit_code shell_run(const struct options *options)
{
	if (in_command)
		errx(EXIT_USAGE, "there is no command after the options");
	signal(SIGCHLD, SIG_DFL); // which it may have inherited as ignored
	if (!isatty(STDIN_FILENO))
		return script_run(options);
	if (isatty(STDOUT_FILENO))
		return terminal_run(options);
	help_print(stderr);
	return EXIT_USAGE;
}

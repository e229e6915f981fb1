// SPDX-License-Identifier: BSD-3-Clause
#include "shell_editor.h"

#include <err.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell_words.h"

#define WAIT_MS    2000 // for words of the daemon
#define LISTED_MAX 40
#define ROOM       (256 * 1024) // octets of words and their help

// The words that may take the place of the last one before the cursor.
struct candidates {
	char text[ROOM]; // lines: a word, a tab, its help
	size_t begun;    // octets of the last word
	bool open;       // it is inside quotes or braces, where only aliases are completed
	const char *end; // of a word that is complete
};

// In a process of its own, since it ends if the daemon does not answer.
static void words_print(const struct options *options, struct shell_words *words, int out)
{
	int nothing = open("/dev/null", O_WRONLY);

	dup2(out, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	complete_abbreviations(options, words->word, words->n - 1);
	command_complete(options, words->word);
	fflush(stdout);
	_exit(0);
}

// Reads whole lines, until there are no more or none follow for WAIT_MS.
static void text_read(char text[ROOM], int in)
{
	struct pollfd p = {.fd = in, .events = POLLIN};
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < ROOM - 1 && poll(&p, 1, WAIT_MS) > 0) {
		n = read(in, text + len, ROOM - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	while (len > 0 && text[len - 1] != '\n')
		len--;
	text[len] = '\0';
}

static void words_get(
	struct candidates *c, const struct options *options, struct shell_words *words)
{
	int ends[2];
	pid_t pid;

	c->text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		words_print(options, words, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		text_read(c->text, ends[0]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(ends[0]);
}

// The name of an alias that begins at the end of settings, as "@NAME"; NULL: none does.
static char *alias_begun(char *settings)
{
	char *quote = strrchr(settings, '"');

	return quote != NULL && quote[1] == '@' ? quote + 2 : NULL;
}

// The last word, which takes the place of the line: the words that may follow "alias del" are the
// aliases.
static void alias_take(struct candidates *c, struct shell_words *words, char *name)
{
	words->n = 0;
	words->word[words->n++] = "alias";
	words->word[words->n++] = "del";
	words->word[words->n++] = name;
	c->open = false;
	c->end = "\"";
}

static void candidates_get(struct candidates *c, EditLine *editor)
{
	const struct options *options;
	const LineInfo *line = el_line(editor);
	char *before = strndup(line->buffer, (size_t)(line->cursor - line->buffer));
	struct shell_words words;
	size_t len;

	if (before == NULL)
		err(EXIT_FAILED, NULL);
	el_get(editor, EL_CLIENTDATA, &options);
	shell_words_split(&words, before);
	len = strlen(before);
	if ((len == 0 || before[len - 1] == ' ') && words.n < SHELL_WORDS_MAX)
		words.word[words.n++] = "";
	c->open = words.open || words.too_many || words.n == 0;
	c->end = " ";
	if (words.open && !words.too_many && alias_begun(before) != NULL)
		alias_take(c, &words, alias_begun(before));
	c->begun = c->open ? 0 : strlen(words.word[words.n - 1]);
	c->text[0] = '\0';
	if (!c->open)
		words_get(c, options, &words);
	shell_words_free(&words);
	free(before);
}

static const char *next_line(const char *line)
{
	return line + strcspn(line, "\n") + 1;
}

// Octets that all words begin with.
static size_t common(const struct candidates *c, unsigned int *n)
{
	size_t len = strcspn(c->text, "\t");

	*n = 0;
	for (const char *line = c->text; *line != '\0'; line = next_line(line)) {
		size_t same = 0;

		while (same < len && line[same] == c->text[same])
			same++;
		len = same;
		++*n;
	}
	return len;
}

static void list_print(const struct candidates *c, unsigned int n)
{
	size_t width = output_width();
	unsigned int i = 0;

	putchar('\n');
	for (const char *line = c->text; *line != '\0' && i < LISTED_MAX;
		line = next_line(line), i++) {
		int word = (int)strcspn(line, "\t"), help = (int)strcspn(line, "\n") - word - 1;
		int room = (int)width - (word > 20 ? word : 20) - 4;

		if (help == 0)
			printf("  %.*s\n", word, line);
		else
			printf("  %-20.*s  %.*s\n", word, line,
				help < room ? help
				: room > 0  ? room
					    : 0,
				line + word + 1);
	}
	if (n > i)
		printf("  %u more\n", n - i);
	if (n == 0)
		puts("  nothing that is known follows");
	fflush(stdout);
}

static unsigned char on_tab(EditLine *editor, int key)
{
	static struct candidates c;
	char rest[256];
	unsigned int n;
	size_t len;

	candidates_get(&c, editor);
	if (strcmp(c.text, ":file\n") == 0)
		return _el_fn_complete(editor, key);
	len = common(&c, &n);
	if (n == 0)
		return CC_ERROR;
	if (n > 1 && len <= c.begun) {
		list_print(&c, n);
		return CC_REDISPLAY;
	}
	snprintf(rest, sizeof(rest), "%.*s%s", (int)(len - c.begun), c.text + c.begun,
		n == 1 ? c.end : "");
	return el_insertstr(editor, rest) == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char on_question(EditLine *editor, int key)
{
	static struct candidates c;
	unsigned int n;

	(void)key;
	candidates_get(&c, editor);
	if (c.open)
		return el_insertstr(editor, "?") == 0 ? CC_REFRESH : CC_ERROR;
	common(&c, &n);
	list_print(&c, n);
	return CC_REDISPLAY;
}

static unsigned char on_interrupt(EditLine *editor, int key)
{
	const LineInfo *line = el_line(editor);

	(void)key;
	el_cursor(editor, (int)(line->lastchar - line->cursor));
	line = el_line(editor);
	el_deletestr(editor, (int)(line->cursor - line->buffer));
	puts("^C");
	fflush(stdout);
	return CC_REDISPLAY;
}

static char *prompt(EditLine *editor)
{
	static char text[] = "culvert> ";

	(void)editor;
	return text;
}

EditLine *shell_editor_open(const struct options *options, History *lines)
{
	EditLine *editor;

	setlocale(LC_CTYPE, "");
	editor = el_init("culvertctl", stdin, stdout, stderr);
	if (editor == NULL)
		return NULL;
	el_set(editor, EL_CLIENTDATA, options);
	el_set(editor, EL_PROMPT, prompt);
	el_set(editor, EL_EDITOR, "emacs");
	el_set(editor, EL_SIGNAL, 1);
	el_set(editor, EL_HIST, history, lines);
	el_set(editor, EL_ADDFN, "culvert-complete", "Completes the word", on_tab);
	el_set(editor, EL_ADDFN, "culvert-list", "Lists what may follow", on_question);
	el_set(editor, EL_ADDFN, "culvert-interrupt", "Abandons the line", on_interrupt);
	el_set(editor, EL_BIND, "^I", "culvert-complete", NULL);
	el_set(editor, EL_BIND, "?", "culvert-list", NULL);
	el_set(editor, EL_BIND, "^C", "culvert-interrupt", NULL);
	el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_set(editor, EL_SETTY, "-d", "-isig", NULL); // Ctrl-C is a key
	return editor;
}

const char *shell_editor_line(EditLine *editor)
{
	int n;

	return el_gets(editor, &n);
}

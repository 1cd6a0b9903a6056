/*
 * One command or several. Whatever the tokenizer claims about a text is asked of
 * the real bash too, where there is one.
 */
#include "codec/split.h"
#include "tests/support/split_cases.h"
#include "tests/tap.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- The tables against the tokenizer ----------------------------------------- */

/* The text is copied so that no byte behind it can be read unseen. */
static enum split_kind split(struct str text, struct split_pieces *p)
{
	char *copy = malloc(text.n ? text.n : 1);
	enum split_kind kind;

	memcpy(copy, text.p, text.n);
	kind = split_command(str_make(copy, text.n), p);
	free(copy);
	return kind;
}

static enum split_kind kind_of(const char *text)
{
	struct split_pieces p;

	return split(str_c(text), &p);
}

static struct str piece(struct str text, const struct split_pieces *p, size_t i)
{
	return str_make(text.p + p->piece[i].from, p->piece[i].to - p->piece[i].from);
}

/* A name for a check: the text on one line, without a '#'. */
static const char *label(struct str text)
{
	static char room[61];
	size_t n = 0;

	for (; n < text.n && n + 1 < sizeof(room); n++)
		room[n] = text.p[n] < ' ' ? '~' : text.p[n] == '#' ? '%' : text.p[n];
	room[n] = '\0';
	return room;
}

/* The formatted text lives until the next call but one. */
static const char *join(const char *a, const char *b)
{
	static char room[2][4096];
	static unsigned turn;
	char *to = room[turn++ % 2];
	char text[sizeof(room[0])];

	/* a and b may be what this function has returned before. */
	snprintf(text, sizeof(text), "%s%s", a, b);
	return memcpy(to, text, sizeof(text));
}

static void test_nothing(void)
{
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
		is_int(kind_of(nothing[i]), SPLIT_SINGLE, "nothing: %s",
			label(str_c(nothing[i])));
}

/* One, and understood: between two others it is the second of three. */
static void test_one(void)
{
	for (size_t i = 0; i < ARRAY_LEN(one); i++) {
		const char *text = join(join("id\n", one[i]), "\nls");
		struct str want = str_trim(str_c(one[i]), " \t\n");
		struct split_pieces p;

		is_int(kind_of(one[i]), SPLIT_SINGLE, "one: %s", label(str_c(one[i])));
		is_int(split(str_c(text), &p), SPLIT_MULTIPLE, "  understood");
		if (strchr("#", want.p[0]) || one[i][0] == '\\')
			continue; /* the comment goes to the command before */
		if (is_int(p.n, 3, "  one of three"))
			ok(str_eq(piece(str_c(text), &p, 1), want), "  and itself");
	}
}

static void test_lost(void)
{
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		is_int(kind_of(lost[i]), SPLIT_SINGLE, "lost: %s", label(str_c(lost[i])));
		is_int(kind_of(join(lost[i], "\nls\npwd\n")), SPLIT_SINGLE,
			"  with more behind");
		is_int(kind_of(join("ls\npwd\n", lost[i])), SPLIT_SINGLE, "  or before");
	}
}

static void test_unfinished(void)
{
	for (size_t i = 0; i < ARRAY_LEN(unfinished); i++) {
		const char *text = unfinished[i];

		is_int(kind_of(text), SPLIT_UNFINISHED, "unfinished: %s",
			label(str_c(text)));
		is_int(kind_of(join("ls\npwd\n", text)), SPLIT_UNFINISHED,
			"  the last of three");
		is_int(kind_of(join("{\n", text)), SPLIT_UNFINISHED, "  in a group");
	}
	for (size_t i = 0; i < ARRAY_LEN(continued); i++)
		is_int(kind_of(continued[i]), SPLIT_UNFINISHED, "continued: %s",
			label(str_c(continued[i])));
}

static void test_several(void)
{
	for (size_t i = 0; i < ARRAY_LEN(several); i++) {
		struct str text = str_c(several[i].text);
		struct split_pieces p;
		size_t n = 0;

		is_int(split(text, &p), SPLIT_MULTIPLE, "several: %s", label(text));
		while (n < PIECES && several[i].piece[n])
			n++;
		is_int(p.n, n, "  so many");
		for (size_t j = 0; j < n && j < p.n; j++)
			is_view(piece(text, &p, j), several[i].piece[j], "  piece %zu",
				j);
	}
}

/* Lines that are fed one by one to what is unfinished, as to a terminal. */
static void test_feeding(void)
{
	static const char *const lines[] = {"cat << EOF | (", "line 1", "line 2", "EOF",
		"sort", ") && echo \"a", "b\""};
	struct buf text = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct split_pieces p;
		bool last = i + 1 == ARRAY_LEN(lines);

		if (i)
			buf_putc(&text, '\n');
		buf_puts(&text, lines[i]);
		is_int(split(buf_view(&text), &p), last ? SPLIT_SINGLE : SPLIT_UNFINISHED,
			"after line %zu", i);
	}
	buf_free(&text);
}

static void test_document(void)
{
	static const char *const wanting[] = {"cat << EOF", "cat <<-'E F' | tr a b",
		"cat <<A <<B\n1\nA\n2", "{ cat <<E", "cat <<E\n\n",
		"if true; then cat <<E\nE\ncat <<F", "# why\ncat <<E"};
	static const char *const complete[] = {"cat <<E\nE", "echo a", "echo 'a << b",
		"ls\ncat <<E", "cat <<", "echo $((1 << 2", "cat <<<E", "{ cat <<E\nE"};

	for (size_t i = 0; i < ARRAY_LEN(wanting); i++)
		ok(split_is_in_document(str_c(wanting[i])), "wants a document: %s",
			label(str_c(wanting[i])));
	for (size_t i = 0; i < ARRAY_LEN(complete); i++)
		ok(!split_is_in_document(str_c(complete[i])), "wants none: %s",
			label(str_c(complete[i])));
}

/* What a line can follow without becoming a part of it. */
static void test_whole(void)
{
	static const char *const whole[] = {"", "ls", "ls;", "ls &", "ls # why", "\nls\n",
		"echo 'a\nb'", "cat <<E\nx\nE", "f() { ls; }", "[[ a == b ]] && ls",
		"for i in 1 2; do ls; done", "ls | wc", "ls\npwd"};
	static const char *const open[] = {"echo a\\", "ls &&", "ls |", "ls ||\n", "f()",
		"function f", "for i", "for i in 1 2", "cat <<E", "cat <<E\nx", "echo 'a",
		"echo $(ls", "if ls", "case x in", "[[ a", "(ls", "{ ls", ")", "&& ls",
		"coproc", "select i in a"};

	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		ok(split_is_complete(str_c(whole[i])), "whole: %s",
			label(str_c(whole[i])));
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		ok(!split_is_complete(str_c(open[i])), "not whole: %s",
			label(str_c(open[i])));
	ok(!split_is_complete(STR("a\0b")), "not whole: a NUL byte");
}

/* --- Every prefix ------------------------------------------------------------- */

static bool pieces_are_sound(struct str text, const struct split_pieces *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->piece[i].from < at || p->piece[i].to <= p->piece[i].from ||
			p->piece[i].to > text.n)
			return false;
		at = p->piece[i].to;
	}
	return true;
}

static bool prefixes_are_sound(const char *text)
{
	for (size_t n = 0; n <= strlen(text); n++) {
		struct split_pieces p;
		enum split_kind kind = split(str_make(text, n), &p);

		if (!pieces_are_sound(str_make(text, n), &p) ||
			(kind == SPLIT_MULTIPLE) != (p.n > 1))
			return false;
	}
	return true;
}

static void test_prefixes(void)
{
	for (size_t i = 0; i < ARRAY_LEN(one); i++)
		ok(prefixes_are_sound(one[i]), "prefixes: %s", label(str_c(one[i])));
	for (size_t i = 0; i < ARRAY_LEN(lost); i++)
		ok(prefixes_are_sound(lost[i]), "prefixes: %s", label(str_c(lost[i])));
	for (size_t i = 0; i < ARRAY_LEN(several); i++)
		ok(prefixes_are_sound(several[i].text), "prefixes: %s",
			label(str_c(several[i].text)));
}

/* --- Limits ------------------------------------------------------------------- */

static void repeat(struct buf *b, const char *unit, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_puts(b, unit);
}

static void test_depth(void)
{
	for (size_t n = SPLIT_DEPTH_MAX - 2; n <= SPLIT_DEPTH_MAX; n++) {
		struct buf text = BUF_INIT(1 << 16);
		struct split_pieces p;

		repeat(&text, "( ", n);
		buf_puts(&text, "a");
		repeat(&text, " )", n);
		buf_puts(&text, "\nls");
		is_int(split(buf_view(&text), &p),
			n < SPLIT_DEPTH_MAX ? SPLIT_MULTIPLE : SPLIT_SINGLE,
			"%zu groups deep", n);
		buf_free(&text);
	}
}

static void test_many_pieces(void)
{
	struct buf text = BUF_INIT(1 << 20);
	struct split_pieces p;

	repeat(&text, "ls\n", SPLIT_PIECES_MAX);
	is_int(split(buf_view(&text), &p), SPLIT_MULTIPLE,
		"as many pieces as there is room for");
	is_int(p.n, SPLIT_PIECES_MAX, "all are there");
	is_view(piece(buf_view(&text), &p, p.n - 1), "ls", "the last one too");
	buf_puts(&text, "pwd\nid\n");
	is_int(split(buf_view(&text), &p), SPLIT_MULTIPLE, "two more");
	is_int(p.n, SPLIT_PIECES_MAX, "the list stays as long");
	is_view(piece(buf_view(&text), &p, p.n - 1), "ls\npwd\nid",
		"its last has the rest");
	buf_free(&text);
}

static void test_docs(void)
{
	for (size_t n = SPLIT_DOCS_MAX; n <= SPLIT_DOCS_MAX + 1; n++) {
		struct buf text = BUF_INIT(1 << 16);
		struct split_pieces p;

		buf_puts(&text, "cat");
		repeat(&text, " <<E", n);
		repeat(&text, "\nE", n);
		buf_puts(&text, "\nls");
		is_int(split(buf_view(&text), &p),
			n == SPLIT_DOCS_MAX ? SPLIT_MULTIPLE : SPLIT_SINGLE,
			"%zu documents", n);
		buf_free(&text);
	}
	for (size_t n = SPLIT_DELIMITER_MAX; n <= SPLIT_DELIMITER_MAX + 1; n++) {
		struct buf text = BUF_INIT(1 << 16);
		struct split_pieces p;

		buf_puts(&text, "cat <<");
		repeat(&text, "E", n);
		buf_puts(&text, "\nx\n");
		repeat(&text, "E", n);
		buf_puts(&text, "\nls");
		is_int(split(buf_view(&text), &p),
			n == SPLIT_DELIMITER_MAX ? SPLIT_MULTIPLE : SPLIT_SINGLE,
			"a delimiter of %zu bytes", n);
		buf_free(&text);
	}
}

static void test_nul(void)
{
	struct split_pieces p;

	is_int(split(STR("a\nb\0"), &p), SPLIT_SINGLE, "a NUL byte at the end");
	is_int(split(STR("\0a\nb"), &p), SPLIT_SINGLE, "or first");
	is_int(split(STR("echo '\0"), &p), SPLIT_SINGLE, "or in a quote that stays open");
	is_int(split_command(str_make(NULL, 0), &p), SPLIT_SINGLE, "no text at all");
}

/* A quadratic step anywhere would take minutes; the bound leaves room for valgrind. */
static void test_linear(void)
{
	static const char *const units[] = {"a", "\n", " ", "a\n", "a;", "if a\n", "\\",
		"\\\n", "'", "\"", "`", "$", "$(", "$((", "${", "(", "((", "a(", "a=(",
		"a=(1)", "[", "a[", "x.[", "[[ ", "<<E\n", "<<a ", "cat <<E\nx\nE\n", "#",
		"# a\n", "\r\n", "\r", "&&\n", "case a in b) c;; esac\n", "{ a; }\n",
		"f(){ a;}\n", "=", "a=b ", "2>f ", "<(", "!", "! ", "\xff", "E\\\n", ">"};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		for (int doc = 0; doc < 2; doc++) {
			struct buf text = BUF_INIT(2 << 20);
			struct split_pieces p;
			clock_t start;

			if (doc)
				buf_puts(&text, "cat <<EEEEEEEEEEEE\n");
			repeat(&text, units[i], (1 << 20) / strlen(units[i]));
			start = clock();
			(void)split(buf_view(&text), &p);
			ok(clock() - start < 5 * CLOCKS_PER_SEC, "1 MB of %s%s",
				label(str_c(units[i])), doc ? " in a document" : "");
			buf_free(&text);
		}
	}
}

/* --- The refusal -------------------------------------------------------------- */

static void test_refusal(void)
{
	struct str text = STR("echo a\n\n  echo b # c\n");
	struct buf out = BUF_INIT(4096);
	struct split_pieces p;

	is_int(split(text, &p), SPLIT_MULTIPLE, "a text to refuse");
	split_write_refusal(text, &p, &out);
	is_view(buf_view(&out),
		"ERROR: Cannot execute multiple commands at once.\nPlease run each "
		"command "
		"separately OR chain them into a single command via && or ;\n"
		"Provided commands:\n(1) echo a\n(2) echo b # c",
		"the refusal in the contract's words");
	buf_free(&out);
}

/* --- What bash says ----------------------------------------------------------- */

/* Does bash read the text to its end without a word? -1 where there is no bash. */
static int bash_accepts(const char *text)
{
	char *argv[] = {(char *)"bash", (char *)"-O", (char *)"extglob", (char *)"-n",
		(char *)"-c", (char *)"--", (char *)text, NULL};
	posix_spawn_file_actions_t moves;
	char words[256];
	int fds[2], status = -1, failed;
	size_t said = 0;
	ssize_t n;
	pid_t pid = -1;

	if (pipe(fds) < 0)
		return -1;
	posix_spawn_file_actions_init(&moves);
	posix_spawn_file_actions_adddup2(&moves, fds[1], 2);
	posix_spawn_file_actions_addclose(&moves, fds[0]);
	posix_spawn_file_actions_addclose(&moves, fds[1]);
	failed = posix_spawnp(&pid, "bash", &moves, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&moves);
	close(fds[1]);
	while ((n = read(fds[0], words, sizeof(words))) > 0)
		said += (size_t)n;
	close(fds[0]);
	if (failed || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 0 && said == 0;
}

static void test_bash(void)
{
	if (bash_accepts("ls") != 1 || bash_accepts("fi") != 0) {
		skip("what bash says", "there is no bash");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(one); i++)
		is_int(bash_accepts(one[i]), 1, "bash takes %s", label(str_c(one[i])));
	for (size_t i = 0; i < ARRAY_LEN(unfinished); i++)
		is_int(bash_accepts(unfinished[i]), 0, "bash misses something in %s",
			label(str_c(unfinished[i])));
	for (size_t i = 0; i < ARRAY_LEN(several); i++)
		for (size_t j = 0; j < PIECES && several[i].piece[j]; j++)
			if (!strchr(several[i].piece[j], '\r'))
				is_int(bash_accepts(several[i].piece[j]), 1,
					"bash takes %s",
					label(str_c(several[i].piece[j])));
}

int main(void)
{
	test_nothing();
	test_one();
	test_lost();
	test_unfinished();
	test_several();
	test_feeding();
	test_document();
	test_whole();
	test_prefixes();
	test_depth();
	test_many_pieces();
	test_docs();
	test_nul();
	test_linear();
	test_refusal();
	test_bash();
	return done_testing();
}

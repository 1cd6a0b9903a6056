#include "inject/options/manual.h"

enum { MARKDOWN_COLUMNS = 120 };

const struct manual_row manual_environment[] = {
	{"DOCKER_HOST", "set the default of --host"},
	{"DOCKER_CERT_PATH",
		"set the folder of ca.pem, cert.pem and key.pem for an engine at "
		"tcp://... (default: DOCKER_CONFIG, else ~/.docker)"},
	{"OD_RUNTIME_CLIENT", "set the default of --client"},
	{"OD_STATE_DIR",
		"set the folder for the keys of sandboxes (default: "
		"$XDG_STATE_HOME/od-runtime, else ~/.local/state/od-runtime)"},
	{"XDG_CACHE_HOME",
		"set the folder for the client that containers mount (default: "
		"~/.cache)"},
	{"SANDBOX_UPDATE_SOURCE_CODE",
		"add the client at each run, for developers of the client"},
	{"DOCKER_CONFIG",
		"set the folder of config.json with the logins (default: ~/.docker)"},
	{"SSL_CERT_FILE", "set the default of --ca"},
	{"OD_RESOLV_CONF", "set a file that replaces /etc/resolv.conf"},
	{0},
};

const struct manual_row manual_exits[] = {
	{"0", "success"},
	{"100", "the command line is wrong"},
	{"101", "od-runtime has a bug"},
	{"111", "the environment is at fault: no engine, no image, not ready, ..."},
	{"124",
		"exec and run: --timeout ended, and the command was killed; action: "
		"--timeout ended before the answer"},
	{"126", "exec and run: the program cannot be executed"},
	{"127", "exec and run: the program does not exist"},
	{"129 130 143",
		"SIGHUP, SIGINT or SIGTERM ended od-runtime; nothing remains except a "
		"sandbox that was ready (run without --rm) and programs that inject has "
		"started"},
	{"other",
		"exec, shell, and run with CMD, return the exit code of their program, 0 "
		"to 255, as ssh does. It may be one of the codes above; only those of "
		"od-runtime come with a line 'od-runtime: ...' on stderr."},
	{0},
};

const struct manual_row manual_examples[] = {
	{"od-runtime run debian:12 --name box -v ./src:/work:overlay -p 8080:80",
		"start a sandbox of debian:12 that can read the folder src and cannot "
		"change it; its port 80 is 127.0.0.1:8080 on this machine"},
	{"od-runtime exec box make -C /work test",
		"execute a command in the sandbox; its exit code is that of od-runtime"},
	{"od-runtime cp box:/work/out .", "copy files from the sandbox"},
	{"eval \"$(od-runtime env box)\"; curl -H \"X-Session-API-Key: $OD_KEY\" "
	 "\"$OD_URL/v1/status\"",
		"send a request to the API of the sandbox; with --tls, curl also needs "
		"-k --pinnedpubkey \"$OD_TLS_PIN\""},
	{"od-runtime rm -f box", "remove the sandbox"},
	{"od-runtime build -t agent:1 debian:12",
		"make an image agent:1, from which od-runtime run starts sandboxes on "
		"any engine"},
	{"od-runtime run --name box --connect ws://10.0.0.1:8787/connect --connect-token "
	 "box.token debian:12",
		"start a sandbox that connects to od-runtime listen --address "
		"10.0.0.1:8787"},
	{0},
};

void manual_write_option(const struct option *o, struct buf *out)
{
	if (o->letter)
		buf_fmt(out, "-%c, ", o->letter);
	buf_fmt(out, "--%s", o->name);
	if (o->value && o->default_choice)
		buf_fmt(out, " [%s]", o->value);
	else if (o->value)
		buf_fmt(out, " %s", o->value);
}

void manual_write_help(const struct option *o, struct buf *out)
{
	buf_puts(out, o->help);
	if (o->example)
		buf_fmt(out, " (example: %s", o->example);
	if (o->by_default)
		buf_fmt(out, "%sdefault: %s", o->example ? "; " : " (", o->by_default);
	if (o->example || o->by_default)
		buf_putc(out, ')');
}

static bool manual_has_group(const struct command *c, enum option_group group)
{
	const struct option *o;
	struct option_walk w;

	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w)))
		if (o->group == group)
			return true;
	return false;
}

const char *manual_group_title(const struct command *c, enum option_group group)
{
	static const char *const titles[OPTION_GROUPS] = {
		[OPTION_GROUP_IMAGE] = "Image",
		[OPTION_GROUP_CLIENT] = "Client and API",
		[OPTION_GROUP_COMMAND] = "Command and environment",
		[OPTION_GROUP_FILES] = "Files",
		[OPTION_GROUP_NETWORK] = "Network",
		[OPTION_GROUP_RESOURCES] = "Resources",
		[OPTION_GROUP_PRIVILEGES] = "Privileges and isolation",
		[OPTION_GROUP_LIFECYCLE] = "Name, lifecycle and log",
		[OPTION_GROUP_COMMON] = "Options of every command",
	};

	if (!manual_has_group(c, group))
		return NULL;
	if (group == OPTION_GROUP_COMMON)
		return titles[group];
	for (unsigned g = OPTION_GROUP_IMAGE; g < OPTION_GROUP_COMMON; g++)
		if (g != group && manual_has_group(c, (enum option_group)g))
			return titles[group];
	return "Options";
}

static bool manual_has_kind(const struct command *c, enum option_kind kind)
{
	const struct option *o;
	struct option_walk w;

	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w)))
		if (o->kind == kind)
			return true;
	return false;
}

void manual_write_forms(const struct command *c, struct buf *out)
{
	if (manual_has_kind(c, OPTION_DURATION))
		buf_puts(out,
			"DURATION is a number of seconds, or has units: 90s, 5m, 1h30m, "
			"1d.");
	if (manual_has_kind(c, OPTION_SIZE))
		buf_fmt(out,
			"%sBYTES is a number, or has a unit in powers of 1024: 64k, "
			"512m, 2g.",
			out->n ? " " : "");
}

void manual_write_sentence(struct buf *out, const char *text)
{
	size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	bool capital = word && (text[word] == ' ' || text[word] == ',' || !text[word]);

	/* The first letter of an address or the like stays as it is. */
	if (capital)
		buf_putc(out, (char)(*text++ - 32));
	buf_puts(out, text);
	if (!str_ends(str_c(text), STR(".")))
		buf_putc(out, '.');
}

void manual_wrap_text(
	struct str text, size_t at, size_t column, size_t width, struct buf *out)
{
	bool begun = at <= column;

	while (text.n) {
		struct str word = str_cut(&text, ' ');

		if (!begun || at + 1 + word.n > width) {
			buf_putc(out, '\n');
			at = 0;
		} else if (at > column) {
			buf_putc(out, ' ');
			at++;
		}
		begun = true;
		for (; at < column; at++)
			buf_putc(out, ' ');
		buf_str(out, word);
		at += word.n;
	}
	buf_putc(out, '\n');
}

/* The functions that differ between the forms of the page. */
struct form {
	void (*section)(struct buf *out, const char *title);
	void (*command)(struct buf *out, const struct command *c);
	void (*group)(struct buf *out, const char *title);
	void (*list)(struct buf *out); /* the beginning of a list of terms */
	void (*term)(struct buf *out, struct str term, const char *text);
	void (*line)(struct buf *out, const char *line);
	void (*text)(struct buf *out, const char *text);
};

static void manual_list_terms(
	const struct form *f, const struct manual_row *row, struct buf *out)
{
	f->list(out);
	for (; row->name; row++)
		f->term(out, str_c(row->name), row->text);
}

/* Lists a group of the options of c, or, for NULL, of every command. */
static void manual_list_group(const struct form *f, const struct command *c,
	enum option_group group, struct buf *out)
{
	const struct option *o;
	struct option_walk w;
	struct buf term = BUF_INIT(512), text = BUF_INIT(INJECT_TEXT_MAX);

	f->list(out);
	option_walk_begin(&w, c);
	while ((o = option_walk_next(&w))) {
		const char *help;

		if (o->group != group)
			continue;
		buf_reset(&term);
		manual_write_option(o, &term);
		buf_reset(&text);
		manual_write_help(o, &text);
		help = buf_cstr(&text);
		f->term(out, buf_view(&term), help ? help : "");
	}
	buf_free(&term);
	buf_free(&text);
}

static void manual_write_command(
	const struct form *f, const struct command *c, struct buf *out)
{
	struct buf forms = BUF_INIT(INJECT_TEXT_MAX);
	const char *text;

	f->command(out, c);
	if (c->more)
		f->text(out, c->more);
	for (unsigned g = OPTION_GROUP_IMAGE; g < OPTION_GROUP_COMMON; g++) {
		const char *title = manual_group_title(c, (enum option_group)g);

		if (!title)
			continue;
		f->group(out, title);
		manual_list_group(f, c, (enum option_group)g, out);
	}
	manual_write_forms(c, &forms);
	text = buf_cstr(&forms);
	if (text && *text)
		f->text(out, text);
	buf_free(&forms);
	f->group(out, c->examples[1] ? "Examples" : "Example");
	for (size_t i = 0; i < COMMAND_EXAMPLES_MAX && c->examples[i]; i++)
		f->line(out, c->examples[i]);
}

static void manual_write_page(const struct form *f, struct buf *out)
{
	f->section(out, "Commands");
	for (const struct command *const *c = commands; *c; c++)
		manual_write_command(f, *c, out);
	f->section(out, "Options of every command");
	manual_list_group(f, NULL, OPTION_GROUP_COMMON, out);
	f->section(out, "Environment");
	manual_list_terms(f, manual_environment, out);
	f->section(out, "Exit status");
	manual_list_terms(f, manual_exits, out);
	f->section(out, "Examples");
	for (const struct manual_row *row = manual_examples; row->name; row++) {
		f->line(out, row->name);
		f->text(out, row->text);
	}
}

/*
 * Escapes characters with a meaning in roff: backslashes, and a dot or a quote at the
 * start of a line.
 */
static void manual_roff_text(struct buf *out, struct str s)
{
	if (s.n && (s.p[0] == '.' || s.p[0] == '\''))
		buf_puts(out, "\\&");
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\')
			buf_puts(out, "\\e");
		else if (s.p[i] == '-')
			buf_puts(out, "\\-");
		else if (s.p[i] == '\'')
			buf_puts(out, "\\(aq");
		else if (s.p[i] == '~')
			buf_puts(out, "\\(ti");
		else
			buf_putc(out, s.p[i]);
	}
}

static void manual_roff_section(struct buf *out, const char *title)
{
	buf_puts(out, ".SH ");
	for (; *title; title++)
		buf_putc(out,
			*title >= 'a' && *title <= 'z' ? (char)(*title - 32) : *title);
	buf_putc(out, '\n');
}

static void manual_roff_sentence(struct buf *out, const char *text)
{
	struct buf sentence = BUF_INIT(INJECT_TEXT_MAX);

	manual_write_sentence(&sentence, text);
	manual_roff_text(out, buf_view(&sentence));
	buf_putc(out, '\n');
	buf_free(&sentence);
}

static void manual_roff_command(struct buf *out, const struct command *c)
{
	buf_fmt(out, ".SS %s\n.B od\\-runtime %s\n", c->name, c->name);
	manual_roff_text(out, str_c(c->usage));
	buf_puts(out, "\n.PP\n");
	manual_roff_sentence(out, c->purpose);
}

static void manual_roff_term(struct buf *out, struct str term, const char *text)
{
	buf_puts(out, ".TP\n.B ");
	manual_roff_text(out, term);
	buf_putc(out, '\n');
	manual_roff_sentence(out, text);
}

static void manual_roff_group(struct buf *out, const char *title)
{
	buf_puts(out, ".PP\n.B ");
	manual_roff_text(out, str_c(title));
	buf_puts(out, ":\n");
}

static void manual_roff_list(struct buf *out)
{
	(void)out;
}

static void manual_roff_line(struct buf *out, const char *line)
{
	buf_puts(out, ".PP\n.EX\n");
	manual_roff_text(out, str_c(line));
	buf_puts(out, "\n.EE\n");
}

void manual_write_roff(struct buf *out)
{
	static const struct form form = {
		.section = manual_roff_section,
		.command = manual_roff_command,
		.group = manual_roff_group,
		.list = manual_roff_list,
		.term = manual_roff_term,
		.line = manual_roff_line,
		.text = manual_roff_sentence,
	};

	buf_puts(out,
		".\\\" Made by \"od-runtime man\"; not to be edited.\n"
		".TH OD\\-RUNTIME 1 \"\" \"od\\-runtime " OD_VERSION "\"\n"
		".SH NAME\nod\\-runtime \\- turns images into sandboxes that execute "
		"actions\n"
		".SH SYNOPSIS\n.B od\\-runtime\n.I COMMAND\n"
		"[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
		".SH DESCRIPTION\n"
		"od\\-runtime puts a server into any image, starts it as a sandbox by "
		"way of Docker "
		"or\n"
		"Podman, and talks to it. Options may follow the command in any place;\n"
		"the words after \\fB\\-\\-\\fR are a command for the sandbox.\n");
	manual_write_page(&form, out);
}

/* Escapes characters with a meaning in Markdown. */
static void manual_markdown_text(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (strchr("|<*_", s.p[i]))
			buf_putc(out, '\\');
		buf_putc(out, s.p[i]);
	}
}

static void manual_markdown_section(struct buf *out, const char *title)
{
	buf_fmt(out, "\n## %s\n", title);
}

/* A paragraph: the text as a sentence, in lines. */
static void manual_markdown_paragraph(struct buf *out, const char *text)
{
	struct buf sentence = BUF_INIT(INJECT_TEXT_MAX),
		   escaped = BUF_INIT(INJECT_TEXT_MAX);

	manual_write_sentence(&sentence, text);
	manual_markdown_text(&escaped, buf_view(&sentence));
	buf_putc(out, '\n');
	manual_wrap_text(buf_view(&escaped), 0, 0, MARKDOWN_COLUMNS, out);
	buf_free(&sentence);
	buf_free(&escaped);
}

static void manual_markdown_command(struct buf *out, const struct command *c)
{
	buf_fmt(out, "\n### %s\n\n`od-runtime %s %s`\n", c->name, c->name, c->usage);
	manual_markdown_paragraph(out, c->purpose);
}

static void manual_markdown_group(struct buf *out, const char *title)
{
	buf_fmt(out, "\n%s:\n", title);
}

static void manual_markdown_list(struct buf *out)
{
	buf_putc(out, '\n');
}

static void manual_markdown_term(struct buf *out, struct str term, const char *text)
{
	struct buf line = BUF_INIT(INJECT_TEXT_MAX);

	buf_fmt(&line, "`%.*s`: ", STR_ARG(term));
	manual_markdown_text(&line, str_c(text));
	buf_puts(out, "* ");
	manual_wrap_text(buf_view(&line), 2, 2, MARKDOWN_COLUMNS, out);
	buf_free(&line);
}

static void manual_markdown_line(struct buf *out, const char *line)
{
	buf_fmt(out, "\n```sh\n%s\n```\n", line);
}

void manual_write_markdown(struct buf *out)
{
	static const struct form form = {
		.section = manual_markdown_section,
		.command = manual_markdown_command,
		.group = manual_markdown_group,
		.list = manual_markdown_list,
		.term = manual_markdown_term,
		.line = manual_markdown_line,
		.text = manual_markdown_paragraph,
	};

	buf_puts(out,
		"# Commands of od-runtime\n\n"
		"`make docs` writes this page with `od-runtime man markdown`. "
		"`od-runtime man | man -l -` shows the manual page.\n\n"
		"Options may follow the command in any place. The words after `--` are a "
		"command for the sandbox.\n");
	manual_write_page(&form, out);
}

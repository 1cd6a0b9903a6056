#include "inject/options/manual.h"

const struct manual_row manual_environment[] = {
	{"DOCKER_HOST", "as --host"},
	{"DOCKER_CERT_PATH",
		"the folder of ca.pem, cert.pem and key.pem for an engine at tcp://...; "
		"else DOCKER_CONFIG, else ~/.docker"},
	{"OD_RUNTIME_CLIENT", "as --client"},
	{"OD_STATE_DIR",
		"where the keys of sandboxes are kept; else $XDG_STATE_HOME/od-runtime, "
		"else ~/.local/state/od-runtime"},
	{"XDG_CACHE_HOME", "where the client lies that containers see; else ~/.cache"},
	{"SANDBOX_UPDATE_SOURCE_CODE", "run puts the client in; for its developers"},
	{"DOCKER_CONFIG", "the folder of config.json with logins; else ~/.docker"},
	{"SSL_CERT_FILE", "as --ca"},
	{"OD_RESOLV_CONF", "instead of /etc/resolv.conf"},
	{0},
};

const struct manual_row manual_exits[] = {
	{"0", "done"},
	{"100", "the command line is wrong"},
	{"101", "a bug of od-runtime"},
	{"111", "the environment: no engine, no image, not ready, ..."},
	{"124",
		"exec and run: --timeout ended, and the command was killed; action: it "
		"ended before the answer was there"},
	{"126, 127",
		"exec and run: the program cannot be executed; there is no such one"},
	{"129 130 143",
		"ended by SIGHUP, SIGINT, SIGTERM; nothing is left behind but a sandbox "
		"that was ready (run without --rm) and what inject has started"},
	{"other",
		"exec, shell, and run with CMD, end with the code of what they ran, 0 to "
		"255, as ssh does. It may be one of the codes above; only those of "
		"od-runtime come with a line 'od-runtime: ...' on stderr."},
	{0},
};

const struct manual_row manual_examples[] = {
	{"od-runtime run debian:12 --name box -v ./src:/work:overlay -p 8080:80",
		"A sandbox of debian:12 that sees the folder src and cannot change it; "
		"its port 80 is 127.0.0.1:8080 here."},
	{"od-runtime exec box make -C /work test",
		"A command in it; its exit code becomes that of od-runtime."},
	{"od-runtime shell box", "A terminal in it."},
	{"od-runtime cp box:/work/out .", "Files from it."},
	{"od-runtime sessions box --kill build",
		"Ends the shell session build of it with all its processes."},
	{"od-runtime inspect box", "The sandbox as JSON, for programs."},
	{"eval \"$(od-runtime env box)\"; curl -H \"X-Session-API-Key: $OD_KEY\" "
	 "\"$OD_URL/v1/status\"",
		"A request to its API; with --tls curl also needs -k --pinnedpubkey "
		"\"$OD_TLS_PIN\"."},
	{"od-runtime restart box", "Its processes end; its files and its key stay."},
	{"od-runtime rm -f box", "The end of it."},
	{"od-runtime build -t agent:1 debian:12",
		"An image agent:1, from which od-runtime run starts sandboxes on any "
		"engine."},
	{"od-runtime run --name box --connect ws://10.0.0.1:8787/connect --connect-token "
	 "box.token debian:12",
		"A sandbox that dials out to od-runtime listen --address 10.0.0.1:8787."},
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

/* The functions that differ between the forms of the page. */
struct form {
	void (*section)(struct buf *out, const char *title);
	void (*command)(struct buf *out, const struct command *c);
	void (*term)(struct buf *out, struct str term, const char *text);
	void (*example)(struct buf *out, const char *line, const char *text);
};

static void manual_list_terms(
	const struct form *f, const struct manual_row *row, struct buf *out)
{
	for (; row->name; row++)
		f->term(out, str_c(row->name), row->text);
}

static void manual_list_options(
	const struct form *f, uint64_t bit, bool shared, struct buf *out)
{
	const struct option *o;
	struct buf term = BUF_INIT(512);

	for (size_t i = 0; (o = options_get_row(i)); i++) {
		if (!(o->commands & bit) || (o->commands == FOR_ALL) != shared)
			continue;
		buf_reset(&term);
		manual_write_option(o, &term);
		f->term(out, buf_view(&term), o->help);
	}
	buf_free(&term);
}

static void manual_write_page(const struct form *f, struct buf *out)
{
	f->section(out, "Commands");
	for (const struct command *c = commands; c->name; c++) {
		f->command(out, c);
		manual_list_options(f, c->bit, false, out);
	}
	f->section(out, "Options of every command");
	manual_list_options(f, FOR_ALL, true, out);
	f->section(out, "Environment");
	manual_list_terms(f, manual_environment, out);
	f->section(out, "Exit status");
	manual_list_terms(f, manual_exits, out);
	f->section(out, "Examples");
	for (const struct manual_row *row = manual_examples; row->name; row++)
		f->example(out, row->name, row->text);
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

static void manual_write_sentence(
	struct buf *out, const char *text, void (*put)(struct buf *, struct str))
{
	struct str s = str_c(text);
	size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	/* The first letter of an address or the like stays as it is. */
	if (word && (text[word] == ' ' || text[word] == ',' || !text[word])) {
		buf_putc(out, (char)(s.p[0] - 32));
		s = str_skip(s, 1);
	}
	put(out, s);
	buf_puts(out, str_ends(s, STR(".")) ? "\n" : ".\n");
}

static void manual_roff_command(struct buf *out, const struct command *c)
{
	buf_fmt(out, ".SS %s\n.B od\\-runtime %s\n", c->name, c->name);
	manual_roff_text(out, str_c(c->args));
	buf_puts(out, "\n.PP\n");
	manual_write_sentence(out, c->help, manual_roff_text);
}

static void manual_roff_term(struct buf *out, struct str term, const char *text)
{
	buf_puts(out, ".TP\n.B ");
	manual_roff_text(out, term);
	buf_putc(out, '\n');
	manual_write_sentence(out, text, manual_roff_text);
}

static void manual_roff_example(struct buf *out, const char *line, const char *text)
{
	buf_puts(out, ".PP\n.EX\n");
	manual_roff_text(out, str_c(line));
	buf_puts(out, "\n.EE\n");
	manual_write_sentence(out, text, manual_roff_text);
}

void manual_write_roff(struct buf *out)
{
	static const struct form form = {
		.section = manual_roff_section,
		.command = manual_roff_command,
		.term = manual_roff_term,
		.example = manual_roff_example,
	};

	buf_puts(out,
		".\\\" Made by \"od-runtime man\"; not to be edited.\n"
		".TH OD\\-RUNTIME 1 \"\" \"od\\-runtime " OD_VERSION "\"\n"
		".SH NAME\nod\\-runtime \\- turns images into sandboxes that execute "
		"actions\n"
		".SH SYNOPSIS\n.B od\\-runtime\n.I COMMAND\n"
		"[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
		".SH DESCRIPTION\n"
		"Puts a server into any image, starts it as a sandbox by way of Docker "
		"or\n"
		"Podman, and talks to it. Options may follow the command in any place;\n"
		"the words after \\fB\\-\\-\\fR are a command for the sandbox.\n");
	manual_write_page(&form, out);
}

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
	buf_fmt(out, "\n## %s\n\n", title);
}

static void manual_markdown_command(struct buf *out, const struct command *c)
{
	buf_fmt(out, "\n### %s\n\n`od-runtime %s %s`\n\n", c->name, c->name, c->args);
	manual_write_sentence(out, c->help, manual_markdown_text);
	buf_putc(out, '\n');
}

static void manual_markdown_term(struct buf *out, struct str term, const char *text)
{
	buf_fmt(out, "* `%.*s`: ", STR_ARG(term));
	manual_markdown_text(out, str_c(text));
	buf_putc(out, '\n');
}

static void manual_markdown_example(struct buf *out, const char *line, const char *text)
{
	buf_fmt(out, "```\n%s\n```\n", line);
	manual_write_sentence(out, text, manual_markdown_text);
	buf_putc(out, '\n');
}

void manual_write_markdown(struct buf *out)
{
	static const struct form form = {
		.section = manual_markdown_section,
		.command = manual_markdown_command,
		.term = manual_markdown_term,
		.example = manual_markdown_example,
	};

	buf_puts(out,
		"# Commands of od-runtime\n\n"
		"Made by `od-runtime man markdown`; `od-runtime man | man -l -` shows "
		"the "
		"same.\nOptions may follow the command in any place; the words after "
		"`--` is a command\nfor the sandbox.\n");
	manual_write_page(&form, out);
}

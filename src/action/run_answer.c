#include "action/run_answer.h"

#include "action/observe.h"
#include "action/run_text.h"

#include "base/log.h"
#include "limits.h"

/* The output not reported so far, after the output of an earlier command. */
static struct str run_answer_read_report(
	const struct run_answer *r, struct buf *text, size_t *kept)
{
	struct str content;

	if (shell_report(r->shell, text, kept) < 0)
		log_warn("run: out of memory: a part of the output of a command is left "
			 "out");
	content = run_strip_blanks(buf_view(text));
	if (!r->before || !r->before->n)
		return content;
	buf_str(r->before, content);
	return buf_view(r->before);
}

/* reports: the number of earlier answers about this command. */
static void run_answer_put_prefix(struct buf *out, const struct run_answer *r,
	bool previous, unsigned reports, size_t kept)
{
	if (previous || (r->before && r->before->n))
		buf_puts(out, RUN_OUTPUT_OF_PREVIOUS);
	else if (kept && !reports)
		run_prefix_truncated(out, kept);
}

/* The suffix, followed once by the notice that there is no terminal. */
static struct str run_answer_make_suffix(
	const struct run_answer *r, struct str suffix, struct buf *room)
{
	int err = r->is_static ? 0 : shell_report_no_terminal(r->shell);

	if (err == 0)
		return suffix;
	buf_str(room, suffix);
	run_suffix_no_terminal(room, err);
	return room->err ? suffix : buf_view(room);
}

void run_answer_finished(const struct run_answer *r)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	struct buf prefix = BUF_INIT(RUN_WORDS_MAX);
	struct buf suffix = BUF_INIT(RUN_WORDS_MAX);
	struct buf noted = BUF_INIT(RUN_WORDS_MAX);
	unsigned reports = shell_reports(r->shell);
	const struct box *box = r->act->box;
	size_t kept = 0;
	struct str content = run_answer_read_report(r, &text, &kept);
	struct shell_result res = shell_take_result(r->shell);

	if (r->is_static)
		res.note = NULL;
	run_suffix_finished(
		&suffix, &res, r->is_static ? '\0' : run_parse_key(r->command));
	run_answer_put_prefix(&prefix, r, false, reports, kept);
	observe_run(r->act->out,
		&(struct run_observation){
			.command = r->command,
			.content = content,
			.hidden = r->hidden,
			.exit_code = res.status,
			.pid = res.background,
			.known = true,
			.username = str_c(box->user_name),
			.hostname = str_c(box->host_name),
			.working_dir = shell_cwd(r->shell),
			.python = shell_python(r->shell),
			.prefix = buf_view(&prefix),
			.suffix = run_answer_make_suffix(r, buf_view(&suffix), &noted),
		});
	buf_free(&text);
	buf_free(&prefix);
	buf_free(&suffix);
	buf_free(&noted);
}

void run_answer_running(const struct run_answer *r, bool refused, struct str suffix)
{
	struct buf text = BUF_INIT(RUN_OUTPUT_MAX);
	struct buf prefix = BUF_INIT(RUN_WORDS_MAX);
	struct buf noted = BUF_INIT(OBSERVATION_MAX);
	unsigned reports = shell_reports(r->shell);
	size_t kept = 0;
	struct str content = run_answer_read_report(r, &text, &kept);

	run_answer_put_prefix(&prefix, r, refused || reports, reports, kept);
	observe_run(r->act->out,
		&(struct run_observation){
			.command = r->command,
			.content = content,
			.hidden = r->hidden,
			.exit_code = -1,
			.pid = -1,
			.prefix = buf_view(&prefix),
			.suffix = run_answer_make_suffix(r, suffix, &noted),
		});
	buf_free(&text);
	buf_free(&prefix);
	buf_free(&noted);
}

void run_answer_text(
	struct act *a, struct str command, struct str content, struct str suffix)
{
	observe_run(a->out,
		&(struct run_observation){
			.command = command,
			.content = content,
			.hidden = a->hidden,
			.exit_code = -1,
			.pid = -1,
			.prefix = STR(""),
			.suffix = suffix,
		});
}

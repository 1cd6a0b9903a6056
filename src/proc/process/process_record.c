/* The record of a process, in memory that outlives serve. */
#include "proc/process/process_private.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *process_record_map(int fd, size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static size_t process_text_size(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

/* Appends a text to the record and returns its offset. */
static uint32_t process_put_text(struct process_record *r, size_t *at, const char *text)
{
	uint32_t from = (uint32_t)*at;

	memcpy(r->text + from, text ? text : "", process_text_size(text));
	*at += process_text_size(text);
	return from;
}

/* The number of arguments that are shown, and their size. */
static size_t process_count_argv(const struct process_spec *spec, size_t *bytes)
{
	size_t n = 0, next;

	*bytes = 0;
	for (; spec->argv[n]; n++) {
		next = *bytes + process_text_size(spec->argv[n]);
		if (next > PROCESS_ARGV_SHOWN)
			break;
		*bytes = next;
	}
	return n;
}

static void process_record_fill(struct process *p, const struct process_spec *spec,
	const char *cwd, const char *user)
{
	struct process_record *r = p->record;
	size_t at = 0, bytes, shown = process_count_argv(spec, &bytes);

	r->size = (uint32_t)p->record_n;
	r->state = PROCESS_STARTING;
	r->pty = spec->pty;
	r->wait_when_full = spec->wait_when_full;
	r->kill_on_disconnect = spec->kill_on_disconnect;
	r->stops_sandbox = spec->stops_sandbox;
	r->output_limit = spec->output_limit;
	r->started_at = clock_unix_time();
	r->in.open = spec->pty || spec->takes_stdin;
	for (unsigned i = 0; i < process_outputs(p); i++)
		r->out[i] = (struct process_output_record){
			.open = !spec->writes_to_log, .at_exit = UINT64_MAX};
	r->argv_truncated = spec->argv[shown];
	for (; r->argv_n < shown; r->argv_n++)
		process_put_text(r, &at, spec->argv[r->argv_n]);
	r->cwd_at = process_put_text(r, &at, cwd);
	r->user_at = process_put_text(r, &at, user);
	r->tag_at = process_put_text(r, &at, spec->tag);
}

int process_record_make(struct process *p, const struct process_spec *spec)
{
	const char *cwd = spec->cwd ? spec->cwd : p->all->conf->cwd;
	const char *user = spec->user ? spec->user : p->all->conf->user_name;
	size_t n;

	process_count_argv(spec, &n);
	n += sizeof(*p->record) + process_text_size(cwd) + process_text_size(user) +
		process_text_size(spec->tag);
	p->record_fd = fd_create_memory("od-process", n);
	if (p->record_fd < 0)
		return p->record_fd;
	p->record = process_record_map(p->record_fd, n);
	if (!p->record)
		return -ENOMEM;
	p->record_n = n;
	process_record_fill(p, spec, cwd, user);
	return 0;
}

/* Whether a text begins at offset at: the last of the n bytes is a NUL. */
static bool process_is_text(uint32_t at, size_t n)
{
	return at < n;
}

int process_record_restore(struct process *p, int fd)
{
	struct process_record *r;
	struct stat st;
	size_t texts;

	p->record_fd = fd;
	if (fstat(fd, &st) < 0 || st.st_size <= (off_t)sizeof(*r))
		return -EBADMSG;
	p->record_n = (size_t)st.st_size;
	p->record = r = process_record_map(fd, p->record_n);
	if (!r)
		return -ENOMEM;
	texts = p->record_n - sizeof(*r);
	if (r->size != p->record_n || r->text[texts - 1] ||
		!process_is_text(r->cwd_at, texts) ||
		!process_is_text(r->user_at, texts) ||
		!process_is_text(r->tag_at, texts) || r->state > PROCESS_FAILED)
		return -EBADMSG;
	return 0;
}

void process_record_free(struct process *p)
{
	if (p->record)
		munmap(p->record, p->record_n);
	p->record = NULL;
	fd_close(&p->record_fd);
}

#include "inject/commands.h"

#include "base/jw.h"
#include "inject/out.h"
#include "inject/sandbox.h"
#include "limits.h"

#include <stdio.h>

static int print(const struct options *o, const struct sandbox *s, const char *done)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (o->json) {
		jw_init(&w, &out);
		jw_object(&w);
		jw_key(&w, "name");
		jw_cstr(&w, s->state.name);
		jw_key(&w, done);
		jw_bool(&w, true);
		jw_end(&w);
	} else {
		buf_puts(&out, s->state.name);
	}
	buf_putc(&out, '\n');
	r = out_buf(&out);
	buf_free(&out);
	return r;
}

/* The engine answers when it has stopped, which takes its time. */
static int stop(const struct options *o, const struct engine *e, const struct sandbox *s)
{
	char target[256];
	const struct call_request q = {.method = "POST", .target = target};
	struct reply reply;
	struct call c;
	int r;

	reply_init(&reply);
	snprintf(target, sizeof(target), "/containers/%s/stop?t=%llu", s->state.id,
		(unsigned long long)o->time);
	r = engine_stream(e, &c, &q, (uint32_t)o->time * 1000 + INJECT_ENGINE_MS);
	if (!r) {
		reply.status = c.head.status;
		r = call_collect(&c, &reply.body);
		r = r ? engine_fail(e, r) : 0;
	}
	/* 304: stopped already; 404: it removed itself meanwhile. */
	if (!r && reply.status >= 400 && reply.status != 404)
		r = engine_refused(&reply, NULL, "stopping %s", s->state.name);
	call_close(&c);
	reply_free(&reply);
	return r;
}

int cmd_stop(const struct options *o)
{
	struct sandbox s;
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = sandbox_need(&e, o->operand[0], &s);
	if (r)
		return r;
	out_step("stopping: %s", s.state.name);
	r = stop(o, &e, &s);
	if (!r && s.auto_remove)
		state_remove(s.state.name);
	return r ? r : print(o, &s, "stopped");
}

int cmd_rm(const struct options *o)
{
	struct reply reply;
	struct sandbox s;
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = sandbox_need(&e, o->operand[0], &s);
	if (r)
		return r;
	if (s.running && !o->force)
		return out_fail(
			"stop it first, or rm -f", "the sandbox %s runs", s.state.name);
	r = engine_ask(&e, &reply, "DELETE", (struct str){0},
		"/containers/%s?v=1&force=%d", s.state.id, o->force);
	if (!r && reply.status >= 400 && reply.status != 404)
		r = engine_refused(&reply, NULL, "removing %s", s.state.name);
	reply_free(&reply);
	if (r)
		return r;
	state_remove(s.state.name);
	return print(o, &s, "removed");
}

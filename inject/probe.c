#include "inject/probe.h"

#include "base/b64.h"
#include "base/jw.h"
#include "inject/out.h"
#include "limits.h"

/* Go's os.FileMode. */
static const int64_t mode_dir = (int64_t)1 << 31;
static const int64_t mode_link = (int64_t)1 << 27;

int probe_read_stat(struct str header, enum probe_kind *kind)
{
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);
	struct doc d;
	int64_t mode = -1;
	int r = b64_decode(&text, header);

	if (!r)
		r = doc_parse(&d, buf_view(&text));
	if (!r) {
		mode = doc_int(json_get(doc_root(&d), "mode"), -1);
		doc_free(&d);
	}
	buf_free(&text);
	if (r)
		return r;
	if (mode < 0)
		return ERR_TYPE;
	*kind = (mode & mode_dir) && !(mode & mode_link) ? PROBE_FOLDER : PROBE_OTHER;
	return 0;
}

static int ask_path(
	const struct engine *e, const char *id, const char *path, enum probe_kind *kind)
{
	struct buf target = BUF_INIT(ENGINE_TARGET_MAX);
	struct call_request q = {.method = "HEAD"};
	struct str stat;
	struct call c;
	int r;

	buf_fmt(&target, "/containers/%s/archive?path=%s", id, path);
	q.target = buf_cstr(&target);
	if (!q.target)
		return target.err;
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r && c.head.status == 404)
		*kind = PROBE_ABSENT;
	else if (!r && c.head.status != 200)
		r = out_fail(NULL, "looking for %s in the image: status %u", path,
			c.head.status);
	else if (!r &&
		(http_field_find(&c.head.head, c.in.p,
			 STR("X-Docker-Container-Path-Stat"), &stat) ||
			probe_read_stat(stat, kind)))
		r = out_fail(
			NULL, "the engine's description of %s is not understood", path);
	call_close(&c);
	buf_free(&target);
	return r;
}

static int create(const struct engine *e, struct str image, struct reply *reply)
{
	const struct engine calm = engine_calm(e);
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "Image");
	jw_str(&w, image);
	/* Never run; an image without a command needs one to be created at all. */
	jw_key(&w, "Entrypoint");
	jw_array(&w);
	jw_cstr(&w, "/");
	jw_end(&w);
	jw_key(&w, "NetworkDisabled");
	jw_bool(&w, true);
	jw_end(&w);
	r = body.err;
	if (r)
		reply_init(reply);
	else
		r = engine_ask(
			&calm, reply, "POST", buf_view(&body), "/containers/create");
	buf_free(&body);
	if (!r && reply->status != 201)
		r = engine_refused(reply, NULL, "looking into the image");
	return r;
}

int probe_image(const struct engine *e, struct str image, struct probe *p)
{
	struct reply reply;
	struct probe got = {PROBE_ABSENT, PROBE_ABSENT};
	struct buf id = BUF_INIT(256);
	struct doc d;
	const char *name = NULL;
	int r = create(e, image, &reply);

	if (!r && doc_parse(&d, buf_view(&reply.body)) == 0) {
		buf_str(&id, doc_str(&d, json_get(doc_root(&d), "Id")));
		name = id.n ? buf_cstr(&id) : NULL;
		doc_free(&d);
	}
	if (!r && !name)
		r = out_fail(NULL, "the engine created a container without an id");
	if (!r)
		r = ask_path(e, name, "/.od", &got.od);
	if (!r)
		r = ask_path(e, name, "/openhands", &got.openhands);
	if (name)
		engine_tidy(e, NULL, "DELETE", "/containers/%s?force=1&v=1", name);
	reply_free(&reply);
	buf_free(&id);
	if (!r)
		*p = got;
	return r;
}

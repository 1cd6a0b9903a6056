#include "inject/sandbox/injection_private.h"

#include "base/clock.h"
#include "base/jw.h"
#include "codec/archive/untar.h"
#include "inject/console/stop.h"
#include "inject/image/client_files.h"
#include "inject/image/probe.h"
#include "inject/names/sandbox_label.h"
#include "inject/names/state.h"

#include <errno.h>
#include <stdio.h>

#define VOLUME_LABEL "od.client.volume"

enum { TURN_MS = 50, TURNS_MS = 10000 };

int injection_volume_prepare(struct injection *v)
{
	if (image_label(v->image, "od.plugins").n)
		return injection_set_reason(
			v, "a volume would hide the plugins in /.od of the image");
	program_digest(v->client, v->digest);
	snprintf(v->volume, sizeof(v->volume), "od-client-%.16s-%s", v->digest,
		v->client->arch);
	injection_add_mount(v,
		(struct spec_parse_mount){
			.type = SPEC_VOLUME,
			.source = str_c(v->volume),
			.target = STR("/.od"),
			.no_copy = true,
		});
	return 0;
}

static int injection_make_volume(struct injection *v)
{
	const struct engine calm = engine_copy_nosignal(v->engine);
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	struct jw w;
	int r;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "Name");
	jw_cstr(&w, v->volume);
	jw_key(&w, "Labels");
	jw_object(&w);
	jw_key(&w, VOLUME_LABEL);
	jw_cstr(&w, v->digest);
	jw_end(&w);
	jw_end(&w);
	reply_init(&reply);
	r = body.err ? body.err
		     : engine_request(
			       &calm, &reply, "POST", buf_view(&body), "/volumes/create");
	if (!r && reply.status != 201)
		r = engine_fail_reply(&reply, NULL, "creating the volume %s", v->volume);
	reply_free(&reply);
	buf_free(&body);
	return r;
}

/* Hashes the content of the files in a piece of an archive. */
static int injection_hash_piece(struct untar *t, struct str in, struct sha256 *h)
{
	struct str data = {0};
	int r;

	while ((r = untar_next(t, &in, &data)) > UNTAR_MORE && r != UNTAR_DONE)
		if (r == UNTAR_DATA)
			sha256_update(h, data.p, data.n);
	return r < 0 ? r : 0;
}

/*
 * The digest of the file at path; if it cannot be read, a digest that equals no
 * program's.
 */
static int injection_hash_file(
	struct injection *v, const char *id, const char *path, char *hex)
{
	struct target target;
	const struct http_client_request q = {.method = "GET", .target = &target};
	uint8_t digest[SHA256_LEN];
	struct str piece = {0};
	struct sha256 h;
	struct untar t;
	struct http_client c;
	int r;

	sha256_init(&h);
	untar_init(&t);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/archive?path=%s", id, path);
	http_client_begin(&c, -1, 0, false);
	r = engine_stream(v->engine, &c, &q, INJECT_ENGINE_MS);
	if (!r && c.head.status == 200) {
		while ((r = http_client_read(&c, &piece)) == 1 &&
			injection_hash_piece(&t, piece, &h) == 0)
			;
		r = r < 0 ? engine_fail(v->engine, r) : 0;
	}
	sha256_final(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	http_client_close(&c);
	untar_free(&t);
	target_free(&target);
	return r;
}

/*
 * 0: the file at path equals p. The digest is compared, because after a crash a truncated
 * file may have the right length.
 */
static int injection_has_program(
	struct injection *v, const char *id, const char *path, const struct program *p)
{
	char hex[SHA256_HEX + 1];
	int r = injection_check_program(v, id, path, p);

	if (!r)
		r = injection_hash_file(v, id, path, hex);
	return r ? r : strcmp(hex, p->sha256) == 0 ? 0 : 1;
}

static bool injection_is_complete(const struct client_files *missing)
{
	return !missing->client.n && !missing->busybox.n && !missing->plugins_program.n;
}

/* Fills in *missing with the files that the container lacks. */
static int injection_find_missing(
	struct injection *v, const char *id, struct client_files *missing)
{
	struct client_files m = {.volume = true};
	int r = injection_has_program(v, id, IMAGE_CLIENT, v->client);

	if (r == 1)
		m.client = buf_view(&v->client->bytes);
	if (r >= 0 && v->client->plugins) {
		r = injection_has_program(v, id, IMAGE_PLUGINS, v->client->plugins);
		if (r == 1)
			m.plugins_program = program_plugins_bytes(v->client);
	}
	if (r >= 0 && v->with_busybox) {
		r = injection_has_program(v, id, INJECTION_BUSYBOX, v->busybox);
		if (r == 1)
			m.busybox = buf_view(&v->busybox->bytes);
	}
	if (r < 0)
		return r;
	v->volume_is_poor = !injection_is_complete(&m);
	*missing = m;
	return 0;
}

/*
 * Copies the missing files into the container. *taken: the container is gone, because
 * another process removed it at the end of its time.
 */
static int injection_put_missing(struct injection *v, const char *id,
	const struct client_files *missing, bool *taken)
{
	struct reply reply;
	int r = client_files_put(v->engine, id, missing, &reply);

	if (!r && reply.status == 404)
		*taken = true;
	else if (!r && reply.status != 200)
		r = injection_set_reply_reason(v, &reply);
	reply_free(&reply);
	return r;
}

/*
 * Fills the volume, if this process gets the turn: it has the turn if it creates the
 * container that has the volume's name, which never runs. *taken: another process has the
 * turn. The content of the volume is read through the container own, which no other
 * process removes.
 */
static int injection_try_lock(struct injection *v, const char *own, bool *taken)
{
	struct client_files missing = {0};
	struct buf id = BUF_INIT(256);
	int r = probe_open(v->engine, v->image->id, v->volume, &id);

	*taken = r == 1;
	if (r) {
		buf_free(&id);
		return *taken ? 0 : r;
	}
	/* Another process may have filled it since. */
	r = injection_find_missing(v, own, &missing);
	if (!r && !injection_is_complete(&missing)) {
		r = injection_put_missing(v, id.p, &missing, taken);
		if (!r && !*taken)
			r = injection_find_missing(v, own, &missing);
		if (!r && !*taken && !injection_is_complete(&missing))
			r = injection_set_reason(
				v, "the client is missing in the volume");
	}
	probe_close(v->engine, &id);
	return r;
}

/* The turn of another process, and its time limit. */
struct injection_lock {
	char id[STATE_ID_MAX + 1]; /* of its container */
	uint64_t until;
	bool ended; /* by this process */
};

static int injection_fail_lock(struct injection *v)
{
	buf_reset(&v->reason);
	buf_fmt(&v->reason, "a container with the name %s exists already", v->volume);
	return v->reason.err ? v->reason.err : 1;
}

/* Ends the turn of a process that was probably killed: removes its container. */
static int injection_break_lock(struct injection *v, struct injection_lock *t)
{
	if (t->ended)
		return injection_fail_lock(v);
	engine_cleanup(v->engine, NULL, "DELETE", "/containers/%s?force=1&v=1", t->id);
	t->ended = true;
	t->until = clock_ms() + TURNS_MS;
	return 0;
}

static bool injection_volume_is_probe(struct str text)
{
	struct json_doc d;
	bool is;

	if (json_doc_parse(&d, text))
		return false;
	is = sandbox_label_is_set(&d,
		json_get(json_get(json_doc_root(&d), "Config"), "Labels"),
		SANDBOX_LABEL_PROBE);
	json_doc_free(&d);
	return is;
}

/* Checks which process has the turn: each gets an equal time. */
static int injection_check_lock(struct injection *v, struct injection_lock *t)
{
	char id[STATE_ID_MAX + 1];
	struct reply reply;
	int r = engine_request(v->engine, &reply, "GET", (struct str){0},
		"/containers/%s/json", v->volume);

	reply_read_id(&reply, id, sizeof(id));
	if (r || reply.status != 200) {
		/* The turn has ended. */
	} else if (!injection_volume_is_probe(buf_view(&reply.body))) {
		r = injection_fail_lock(v);
	} else if (strcmp(id, t->id) != 0) {
		*t = (struct injection_lock){.until = clock_ms() + TURNS_MS};
		snprintf(t->id, sizeof(t->id), "%s", id);
	} else if (clock_ms() >= t->until) {
		r = injection_break_lock(v, t);
	}
	reply_free(&reply);
	return r;
}

/*
 * Whether the volume is ours. A volume that the engine created with our container has no
 * labels and is ours, too.
 */
static bool injection_volume_is_owned(const struct injection *v)
{
	struct reply reply = {0};
	struct json_val labels, first;
	struct json_doc d;
	bool ours = false;
	int it = 0;

	if (engine_cleanup(v->engine, &reply, "GET", "/volumes/%s", v->volume) == 0 &&
		reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		labels = json_get(json_doc_root(&d), "Labels");
		ours = !json_next(labels, &it, NULL, &first) ||
			str_eq(json_doc_str(&d, json_get(labels, VOLUME_LABEL)),
				str_c(v->digest));
		json_doc_free(&d);
	}
	reply_free(&reply);
	return ours;
}

void injection_undo(struct injection *v)
{
	/*
	 * The engine refuses while another sandbox or a container that fills the volume
	 * uses it.
	 */
	if (v->volume_is_poor && injection_volume_is_owned(v))
		engine_cleanup(v->engine, NULL, "DELETE", "/volumes/%s", v->volume);
	v->volume_is_poor = false;
}

int injection_volume_fill(struct injection *v, const char *id)
{
	struct injection_lock turn = {.id = ""};
	struct client_files missing = {0};
	bool taken = true;
	int r;

	/* The engine creates the volume with the container that names it. */
	v->volume_is_poor = true;
	r = injection_find_missing(v, id, &missing);
	if (r || injection_is_complete(&missing))
		return r;
	r = injection_make_volume(v);
	if (r)
		return r;
	for (;;) {
		r = injection_try_lock(v, id, &taken);
		if (r || !taken)
			return r;
		r = injection_check_lock(v, &turn);
		if (r)
			return r;
		r = stop_wait(-1, 0, clock_ms() + TURN_MS, false);
		if (r)
			return r;
		r = injection_find_missing(v, id, &missing);
		if (r || injection_is_complete(&missing))
			return r;
	}
}

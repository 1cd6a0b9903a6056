/*
 * Images in a registry (the OCI distribution specification): registry:HOST/NAME:TAG. A
 * push mounts contents of another repository of the same registry, so that only new bytes
 * are sent.
 */
#include "inject/console/out.h"
#include "inject/engine/bar.h"
#include "inject/names/ref.h"
#include "inject/registry/remote.h"
#include "inject/registry/store.h"

#include <errno.h>
#include <stdio.h>

enum { SCOPE_MAX = 2 * (REF_NAME_MAX + 32) };

#define ACCEPT_MANIFESTS \
	"Accept: application/vnd.oci.image.index.v1+json, " \
	"application/vnd.oci.image.manifest.v1+json, " \
	"application/vnd.docker.distribution.manifest.list.v2+json, " \
	"application/vnd.docker.distribution.manifest.v2+json\r\n"

struct registry {
	struct remote remote;
	char name[REF_NAME_MAX + 16]; /* of the repository */
	char tag[REF_TAG_MAX + 1];    /* empty if a digest was given */
	char digest[DIGEST_MAX];      /* otherwise empty */
	char scope[SCOPE_MAX];
	struct target target; /* of the current request */
};

/* --- Opening ------------------------------------------------------------------------ */

static struct str store_registry_scope(const struct registry *g)
{
	return str_c(g->scope);
}

static int store_registry_set_target(
	struct registry *g, const char *kind, const char *what)
{
	target_reset(&g->target);
	target_add(&g->target, "/v2/");
	target_add_name(&g->target, str_c(g->name));
	target_add(&g->target, "/%s/%s", kind, what);
	return target_error(&g->target);
}

static int store_registry_copy_text(char *to, size_t n, struct str from)
{
	if (from.n >= n)
		return ERR_LIMIT;
	memcpy(to, from.p ? from.p : "", from.n);
	to[from.n] = '\0';
	return 0;
}

/*
 * Chooses the tag that is read or written: of the name, else of -t, else "latest". A
 * value of -t without a tag is an error: as in docker it is a name, and "latest" is not
 * meant.
 */
static int store_registry_choose_tag(
	const struct image_store *s, struct registry *g, const struct ref *ref)
{
	struct ref other = {0};
	const char *why;

	if (g->digest[0] && !ref->tag.n)
		return 0;
	if (!ref->tag.n && s->tag.n && (ref_parse(&other, s->tag, &why) || !other.tag.n))
		return out_fail_usage("add :TAG to the name of the image in --output",
			"-t %.*s has no tag", STR_ARG(s->tag));
	if (ref->tag.n)
		other.tag = ref->tag;
	else if (!other.tag.n)
		other.tag = STR("latest");
	if (store_registry_copy_text(g->tag, sizeof(g->tag), other.tag))
		return out_fail_usage(
			"give a name such as registry:localhost:5000/name:tag",
			"'%.*s' is too long", STR_ARG(s->text));
	return 0;
}

static int store_registry_parse_name(
	struct image_store *s, struct registry *g, struct remote_conf *conf)
{
	const char *why = "an image id does not name a registry";
	bool hub;
	struct ref ref;

	if (ref_parse(&ref, s->name, &why) || ref.is_id)
		return out_fail_usage("give a name such as registry:host:5000/a/b:tag",
			"'%.*s' does not name an image of a registry: %s",
			STR_ARG(s->text), why);
	if (s->mode == STORE_WRITE && ref.digest.n)
		return out_fail_usage("give a tag instead of the digest",
			"'%.*s' contains a digest, but the digest results from the image "
			"that is written",
			STR_ARG(s->text));
	conf->host = ref.domain.n ? ref.domain : STR("docker.io");
	hub = login_is_hub(conf->host) && str_find_byte(ref.path, '/') == ref.path.n;
	if (snprintf(g->name, sizeof(g->name), "%s%.*s", hub ? "library/" : "",
		    STR_ARG(ref.path)) >= (int)sizeof(g->name) ||
		store_registry_copy_text(g->digest, sizeof(g->digest), ref.digest))
		return out_fail_usage(
			"give a name such as registry:localhost:5000/name:tag",
			"'%.*s' is too long", STR_ARG(s->text));
	snprintf(g->scope, sizeof(g->scope), "repository:%s:pull%s", g->name,
		s->mode == STORE_WRITE ? ",push" : "");
	return store_registry_choose_tag(s, g, &ref);
}

/* Checks that the registry admits us, before other places are read. */
static int store_registry_check_access(struct registry *g)
{
	struct remote_request q = {
		.method = "GET",
		.target = TARGET("/v2/"),
		.scope = store_registry_scope(g),
		.follow = true,
	};
	struct http_client *c = NULL;
	int r = remote_perform(&g->remote, &q, &c);

	if (!r && c->head.status != 200)
		r = remote_fail_status(&g->remote, c, "connecting to the registry");
	if (!r)
		r = remote_drain(c);
	remote_release(&g->remote);
	return r;
}

static int store_registry_open(struct image_store *s)
{
	struct registry *g = arena_alloc(&s->arena, sizeof(*g));
	struct remote_conf conf = {
		.ca = s->ca,
		.realm_host = s->realm,
		.plain = s->plain_http,
	};
	int r;

	if (!g)
		return -ENOMEM;
	target_init(&g->target, REGISTRY_URL_MAX);
	r = store_registry_parse_name(s, g, &conf);
	if (r)
		return r;
	s->state = g;
	r = remote_init(&g->remote, &conf);
	return r || s->mode == STORE_READ ? r : store_registry_check_access(g);
}

static void store_registry_close(struct image_store *s)
{
	struct registry *g = s->state;

	if (!g)
		return;
	remote_free(&g->remote);
	target_free(&g->target);
	s->state = NULL;
}

/* --- Reading ------------------------------------------------------------------------ */

static int store_registry_find_field(
	const struct http_client *c, struct str name, struct str *value)
{
	return http_field_find(&c->head.head, c->in.p, name, value);
}

/* The bytes of a tag must have the digest that the registry sent. */
static int store_registry_check_digest(
	struct registry *g, const char *said, struct str bytes)
{
	struct content is = {0};

	if (!str_starts(str_c(said), STR("sha256:")))
		return 0;
	content_from_bytes(bytes, &is);
	if (str_eq(str_c(is.digest), str_c(said)))
		return 0;
	return out_fail("try again; if it fails again, the registry is damaged",
		"%s:%s is damaged: its manifest does not have the digest that the "
		"registry announced",
		g->name, g->tag);
}

static int store_registry_manifest(
	struct image_store *s, const char *digest, struct buf *out, char media[MEDIA_MAX])
{
	struct registry *g = s->state;
	struct remote_request q = {
		.method = "GET",
		.scope = store_registry_scope(g),
		.headers = ACCEPT_MANIFESTS,
		.follow = true,
	};
	bool by_tag = !digest[0] && !g->digest[0];
	char said[DIGEST_MAX] = "";
	size_t from = out->n;
	struct str value;
	struct http_client *c = NULL;
	int r;

	r = store_registry_set_target(g, "manifests",
		digest[0]        ? digest
			: by_tag ? g->tag
				 : g->digest);
	q.target = &g->target;
	if (!r)
		r = remote_perform(&g->remote, &q, &c);
	if (r)
		goto out;
	if (c->head.status != 200) {
		r = remote_fail_status(&g->remote, c, "fetching %.*s", STR_ARG(s->text));
		goto out;
	}
	if (store_registry_find_field(c, STR("Content-Type"), &value) == 0) {
		value = str_trim(str_cut(&value, ';'), " ");
		if (store_registry_copy_text(media, MEDIA_MAX, value))
			media[0] = '\0';
	}
	if (by_tag &&
		!store_registry_find_field(c, STR("Docker-Content-Digest"), &value) &&
		store_registry_copy_text(said, sizeof(said), value))
		said[0] = '\0';
	r = http_client_read_all(c, out);
	if (r)
		r = remote_fail(&g->remote, r);
out:
	remote_release(&g->remote);
	/* "registry:name@digest" has the digest of the bytes. */
	if (!r && !digest[0])
		r = store_registry_check_digest(g, by_tag ? said : g->digest,
			str_make(out->p + from, out->n - from));
	return r;
}

static int store_registry_fetch(
	struct image_store *s, const struct content *content, struct sink to)
{
	struct registry *g = s->state;
	struct remote_request q = {
		.method = "GET", .scope = store_registry_scope(g), .follow = true};
	struct str piece;
	struct http_client *c = NULL;
	int put = 0, r = store_registry_set_target(g, "blobs", content->digest);

	q.target = &g->target;
	if (!r)
		r = remote_perform(&g->remote, &q, &c);
	if (r)
		goto out;
	if (c->head.status != 200) {
		r = remote_fail_status(&g->remote, c, "fetching %s", content->digest);
		goto out;
	}
	while ((r = http_client_read(c, &piece)) == 1) {
		put = to.put(to.arg, piece);
		if (put)
			break;
	}
	/* The sink that refused the bytes has printed the reason. */
	r = put ? put : r ? remote_fail(&g->remote, r) : 0;
out:
	remote_release(&g->remote);
	return r;
}

/* --- Writing ------------------------------------------------------------------------ */

/* Sends a request and discards the body of its answer. 0 with the status. */
static int store_registry_request(struct registry *g, struct remote_request *q,
	unsigned *status, struct buf *location)
{
	struct str where;
	struct http_client *c = NULL;
	int r;

	r = remote_perform(&g->remote, q, &c);
	if (!r) {
		*status = c->head.status;
		if (location) {
			buf_reset(location);
			if (store_registry_find_field(c, STR("Location"), &where) == 0)
				buf_str(location, where);
		}
		r = remote_drain(c);
	}
	remote_release(&g->remote);
	return r;
}

/* 0: the registry has the blob; 1: it does not. */
static int store_registry_has_blob(struct registry *g, const char *digest)
{
	struct remote_request q = {
		.method = "HEAD", .scope = store_registry_scope(g), .follow = true};
	unsigned status;
	int r = store_registry_set_target(g, "blobs", digest);

	q.target = &g->target;
	if (!r)
		r = store_registry_request(g, &q, &status, NULL);
	return r ? r : status != 200;
}

/* The repository that the item comes from, if it is in the same registry; or NULL. */
static const char *store_registry_mount_source(
	const struct registry *g, const struct store_item *i)
{
	const struct registry *from;

	if (i->is_new || !i->from || i->from->ops != &store_registry)
		return NULL;
	from = i->from->state;
	return url_is_same_origin(&g->remote.home, &from->remote.home) ? from->name
								       : NULL;
}

/*
 * Begins an upload, or requests a mount. 0: mounted; 1: *location is the address of the
 * upload; 2: the mount is not supported.
 */
static int store_registry_begin_upload(struct registry *g, const struct store_item *i,
	const char *from, struct buf *location)
{
	char scope[SCOPE_MAX + REF_NAME_MAX + 64];
	struct remote_request q = {.method = "POST", .scope = store_registry_scope(g)};
	unsigned status;
	int r = store_registry_set_target(g, "blobs", "uploads");

	target_add(&g->target, "/");
	if (!r && from) {
		/* The push scope comes first: some token servers read no other. */
		snprintf(scope, sizeof(scope), "%s repository:%s:pull", g->scope, from);
		q.scope = str_c(scope);
		target_add(&g->target, "?mount=%s&from=%s", i->content.digest, from);
		r = target_error(&g->target);
	}
	q.target = &g->target;
	if (!r)
		r = store_registry_request(g, &q, &status, location);
	if (r)
		return r;
	if (from && status == 201)
		return 0;
	if (status == 202 && location->n)
		return 1;
	if (from)
		return 2;
	return out_fail("run docker login, or check the permissions of the login",
		"the registry does not accept an upload to %s: HTTP status %u", g->name,
		status);
}

static void store_registry_report(
	struct bar *bar, const struct store_item *i, const char *words, uint64_t sent)
{
	const struct progress p = {
		.kind = PROGRESS_TEXT,
		.text = str_c(words),
		.id = str_c(i->content.digest),
		.current = sent,
		.total = i->content.size,
	};

	bar_update(bar, &p);
}

struct upload {
	const struct store_item *item;
	struct bar *bar;
	struct http_client *call;
	uint64_t sent;
};

static int store_registry_put_piece(void *arg, struct str piece)
{
	struct upload *u = arg;
	int r = http_client_push(u->call, piece);

	if (!r && u->call->is_rejected)
		return ERR_CLOSED; /* the registry has answered before the end */
	u->sent += piece.n;
	store_registry_report(u->bar, u->item, "Pushing", u->sent);
	return r;
}

static int store_registry_feed_upload(void *arg, struct http_client *c)
{
	struct upload *u = arg;
	struct sink to = {store_registry_put_piece, u};
	int r;

	*u = (struct upload){.item = u->item, .bar = u->bar, .call = c};
	r = store_feed(u->item, to);
	return u->call->is_rejected ? 1 : r;
}

static int store_registry_send_blob(struct registry *g, const struct store_item *i,
	struct buf *location, struct bar *bar)
{
	struct upload u = {.item = i, .bar = bar};
	struct remote_request q = {
		.method = "PUT",
		.scope = store_registry_scope(g),
		.type = "application/octet-stream",
		.put_n = i->content.size,
		.put = store_registry_feed_upload,
		.arg = &u,
	};
	struct http_client *c = NULL;
	int r;

	/* The registry stores its data of the upload in the query. */
	target_set_reference(&g->target, buf_view(location));
	target_add(&g->target, g->target.query ? "&digest=%s" : "?digest=%s",
		i->content.digest);
	q.target = &g->target;
	r = remote_perform(&g->remote, &q, &c);
	if (!r && c->head.status / 100 != 2)
		r = remote_fail_status(&g->remote, c, "pushing %s", i->content.digest);
	remote_release(&g->remote);
	return r;
}

static int store_registry_write_blob(
	struct registry *g, const struct store_item *i, struct bar *bar)
{
	struct buf location = BUF_INIT(REGISTRY_URL_MAX);
	const char *from = store_registry_mount_source(g, i);
	int r = store_registry_has_blob(g, i->content.digest);

	if (r == 1) {
		r = store_registry_begin_upload(g, i, from, &location);
		/* Some registries answer an unsupported mount with an error. */
		if (r == 2)
			r = store_registry_begin_upload(g, i, NULL, &location);
		if (r == 1)
			r = store_registry_send_blob(g, i, &location, bar);
	}
	buf_free(&location);
	return r;
}

static int store_registry_put_manifest(
	struct registry *g, const struct store_item *i, const char *name)
{
	struct remote_request q = {
		.method = "PUT",
		.scope = store_registry_scope(g),
		.type = i->content.media,
	};
	struct buf bytes = BUF_INIT(INJECT_MANIFEST_MAX);
	struct sink to = {sink_put_buf, &bytes};
	struct http_client *c = NULL;
	int r = store_feed(i, to);

	if (!r)
		r = store_registry_set_target(g, "manifests", name);
	q.target = &g->target;
	q.body = buf_view(&bytes);
	if (!r)
		r = remote_perform(&g->remote, &q, &c);
	if (!r && c->head.status / 100 != 2)
		r = remote_fail_status(
			&g->remote, c, "pushing the manifest %s of %s", name, g->name);
	remote_release(&g->remote);
	buf_free(&bytes);
	return r;
}

static int store_registry_write(
	struct image_store *s, const struct store_item *items, size_t n)
{
	struct registry *g = s->state;
	struct bar bar = {.doing = "pushing"};
	int r = 0;

	for (size_t i = 0; i < n; i++)
		store_registry_report(&bar, &items[i], "Preparing", 0);
	for (size_t i = 0; i < n && !r; i++) {
		const struct store_item *it = &items[i];

		r = !it->is_manifest ? store_registry_write_blob(g, it, &bar)
				     : store_registry_put_manifest(g, it,
					       i + 1 == n ? g->tag : it->content.digest);
		/* Also a blob that existed or was mounted. */
		if (!r)
			store_registry_report(&bar, it, "Pushed", it->content.size);
	}
	out_step_end();
	return r;
}

const struct store_ops store_registry = {
	.kind = "registry",
	.open = store_registry_open,
	.manifest = store_registry_manifest,
	.fetch = store_registry_fetch,
	.write = store_registry_write,
	.close = store_registry_close,
};

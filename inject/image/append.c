#include "inject/image/append.h"

#include "inject/console/out.h"
#include "inject/http/edit.h"
#include "inject/names/ref.h"
#include "limits.h"

#include <errno.h>

enum { INJECT_ITEMS_MAX = 8192 }; /* contents of all images of an index */

int append_add_existing(struct append *a, const struct content *c)
{
	const struct store_item i = {.content = *c, .from = &a->from};

	buf_put(&a->items, &i, sizeof(i));
	return a->items.err;
}

int append_add_new(
	struct append *a, struct str bytes, bool is_manifest, struct content *c)
{
	char *copy = arena_cstr(&a->arena, bytes);
	struct store_item i = {.is_manifest = is_manifest, .is_new = true};

	if (!copy)
		return -ENOMEM;
	i.bytes = str_make(copy, bytes.n);
	content_from_bytes(i.bytes, c);
	i.content = *c;
	buf_put(&a->items, &i, sizeof(i));
	return a->items.err;
}

int append_find_client(struct append *a, struct str arch, const struct program **client)
{
	struct program *p;
	int r;

	for (size_t i = 0; i < a->clients_n; i++)
		if (str_eq(str_c(a->clients[i].arch), arch)) {
			*client = &a->clients[i];
			return 0;
		}
	if (a->clients_n == APPEND_CLIENTS)
		return append_refuse(a, "it contains images for too many architectures");
	p = &a->clients[a->clients_n];
	r = program_find_other(p, a->options->client, arch, !a->options->no_od_plugins);
	if (r)
		return r;
	a->clients_n++;
	*client = p;
	return 0;
}

int append_refuse(const struct append *a, const char *why)
{
	return out_fail("choose another image", "%.*s cannot be used: %s",
		STR_ARG(a->from.text), why);
}

/*
 * Reads the manifest or index of c's digest, or, without a digest, of the image's name.
 */
static int append_read_manifest(
	struct append *a, struct content *c, struct buf *text, struct manifest *m)
{
	const char *why;
	int r = store_manifest(&a->from, c, text);

	if (r)
		return r;
	r = manifest_read(m, buf_view(text), c->media, &why);
	return r == ERR_SYNTAX ? append_refuse(a, why) : r;
}

/* --- Several platforms ------------------------------------------------------------ */

/* Parses --platform. */
static int append_parse_platform(struct append *a, struct platform *p)
{
	struct str rest = str_c(a->options->platform);

	p->os = str_cut(&rest, '/');
	p->arch = str_cut(&rest, '/');
	p->variant = rest;
	if (str_eq(p->os, STR("linux")) && p->arch.n)
		return 0;
	return out_fail_usage("give a platform such as linux/amd64 or linux/arm64/v8",
		"--platform '%s' is not a Linux platform", a->options->platform);
}

/* The variant of a platform; an index may leave out the usual one of the architecture. */
static struct str append_default_variant(const struct platform *p)
{
	if (p->variant.n)
		return p->variant;
	if (str_eq(p->arch, STR("arm64")))
		return STR("v8");
	return str_eq(p->arch, STR("arm")) ? STR("v7") : p->variant;
}

static bool append_match_platform(const struct platform *is, const struct platform *wish)
{
	struct str variant = append_default_variant(wish);

	return str_eq(is->os, wish->os) && str_eq(is->arch, wish->arch) &&
		(!variant.n || str_eq(append_default_variant(is), variant));
}

/*
 * Handles an entry of an index: makes its runtime image, whose manifest is *c. 1: the
 * entry is left out.
 */
static int append_make_entry(struct append *a, struct manifest *index,
	struct json_val entry, struct content *c)
{
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	struct manifest m = {0};
	const struct program *client;
	struct platform p;
	int r;

	platform_read(&index->doc, entry, &p);
	/* Attestations describe the bytes of the old image, which no longer run. */
	if (str_eq(p.os, STR("unknown")))
		return 1;
	if (p.os.n && !str_eq(p.os, STR("linux")))
		r = 1;
	else
		r = p.arch.n ? append_find_client(a, p.arch, &client) : 0;
	if (r == 1)
		out_note("od-runtime: the image of %.*s for %.*s/%.*s is left out, "
			 "because there is no client for it",
			STR_ARG(a->from.text), STR_ARG(p.os), STR_ARG(p.arch));
	if (r)
		return r;
	r = content_read(&index->doc, entry, c);
	if (!r)
		r = append_read_manifest(a, c, &text, &m);
	if (!r && m.kind == MANIFEST_INDEX)
		r = append_refuse(a, "it is an index that contains another index");
	if (!r)
		r = append_make_image(a, &m, c);
	manifest_free(&m);
	buf_free(&text);
	return r;
}

/* Appends the entry with its new digest and size to the list. */
static void append_write_entry(
	struct buf *list, struct json_val entry, const struct content *c)
{
	struct buf digest = BUF_INIT(2 * DIGEST_MAX), size = BUF_INIT(32);
	const struct edit edits[] = {{"digest", .text = &digest}, {"size", .text = &size},
		{.key = "data"}, {.key = "urls"}};

	buf_fmt(&digest, "\"%s\"", c->digest);
	buf_fmt(&size, "%llu", (unsigned long long)c->size);
	if (list->n > 1)
		buf_putc(list, ',');
	edit_object(list, entry, edits, ARRAY_LEN(edits));
	buf_free(&digest);
	buf_free(&size);
}

static int append_make_index(
	struct append *a, struct manifest *index, struct content *root)
{
	struct buf list = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	const struct edit edits[] = {{"manifests", .text = &list}, {.key = "subject"}};
	struct json_val entry;
	int it = 0, r = 0;

	buf_putc(&list, '[');
	while (r >= 0 && json_next(index->entries, &it, NULL, &entry)) {
		struct content c;

		r = append_make_entry(a, index, entry, &c);
		if (!r)
			append_write_entry(&list, entry, &c);
	}
	buf_putc(&list, ']');
	if (r < 0)
		goto out;
	if (!a->made) {
		r = out_fail("give the od-runtime-client for one of its architectures "
			     "with --client",
			"%.*s contains only images of architectures without a client",
			STR_ARG(a->from.text));
		goto out;
	}
	edit_object(&text, json_doc_root(&index->doc), edits, ARRAY_LEN(edits));
	*root = (struct content){0};
	memcpy(root->media, index->media, strlen(index->media) + 1);
	r = text.err ? text.err : append_add_new(a, buf_view(&text), true, root);
out:
	buf_free(&list);
	buf_free(&text);
	return r;
}

static int append_make_platform(
	struct append *a, struct manifest *index, struct content *root)
{
	struct platform wish, is;
	struct json_val entry;
	int it = 0, r = append_parse_platform(a, &wish);

	if (r)
		return r;
	while (json_next(index->entries, &it, NULL, &entry)) {
		platform_read(&index->doc, entry, &is);
		if (!append_match_platform(&is, &wish))
			continue;
		r = append_make_entry(a, index, entry, root);
		if (r == 1)
			r = out_fail("give the od-runtime-client for that architecture "
				     "with --client",
				"there is no client for %s", a->options->platform);
		return r;
	}
	return out_fail("'skopeo inspect --raw' shows its platforms",
		"%.*s does not contain an image for %s", STR_ARG(a->from.text),
		a->options->platform);
}

static int append_make_images(struct append *a, struct content *root)
{
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	struct manifest m = {0};
	struct content c = {0};
	int r = append_read_manifest(a, &c, &text, &m);

	if (!r && m.kind == MANIFEST_IMAGE)
		r = append_make_image(a, &m, root);
	else if (!r)
		r = a->options->platform ? append_make_platform(a, &m, root)
					 : append_make_index(a, &m, root);
	manifest_free(&m);
	buf_free(&text);
	return r;
}

/* --- The command -------------------------------------------------------------------- */

static int append_print_result(struct append *a, const struct content *root)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (a->options->json) {
		jw_init(&w, &out);
		jw_object(&w);
		jw_key(&w, "image");
		jw_str(&w, a->to.text);
		jw_key(&w, "digest");
		jw_cstr(&w, root->digest);
		jw_key(&w, "images");
		jw_raw(&w, buf_view(&a->report_text));
		jw_end(&w);
	} else {
		buf_puts(&out, root->digest);
	}
	buf_putc(&out, '\n');
	r = a->report_text.err ? a->report_text.err : out_write_buf(&out);
	buf_free(&out);
	return r;
}

static int append_check_tag(const struct options *o)
{
	const char *why = "it contains a digest, which cannot be chosen";
	struct ref ref;

	if (!o->tag || (ref_parse(&ref, str_c(o->tag), &why) == 0 && !ref.digest.n))
		return 0;
	return out_fail_usage("give a name such as team/image:1.0",
		"--tag '%s' is not a valid image name: %s", o->tag, why);
}

static int append_run_command(struct append *a)
{
	const struct options *o = a->options;
	struct content root = {0};
	int r = append_check_tag(o);

	if (!r)
		r = program_find_client(
			&a->clients[0], o->client, (struct str){0}, !o->no_od_plugins);
	if (r)
		return r;
	a->clients_n = 1;
	a->from.ca = a->to.ca = o->ca;
	a->from.realm = a->to.realm = o->realm;
	a->from.plain_http = a->to.plain_http = o->plain_http;
	a->from.verify = o->verify;
	r = store_open(&a->from, str_c(o->operand[0]), STORE_READ, (struct str){0});
	if (!r)
		r = store_open(&a->to, str_c(o->output), STORE_WRITE, str_c(o->tag));
	if (!r)
		r = append_make_images(a, &root);
	jw_end(&a->report);
	if (r)
		return r;
	out_step("writing %.*s", STR_ARG(a->to.text));
	r = store_write(&a->to, (const struct store_item *)(const void *)a->items.p,
		a->items.n / sizeof(struct store_item));
	out_step_end();
	return r ? r : append_print_result(a, &root);
}

int append_run(const struct options *o)
{
	struct append a = {.options = o};
	int r;

	arena_init(&a.arena, INJECT_ARENA_MAX);
	buf_init(&a.items, INJECT_ITEMS_MAX * sizeof(struct store_item));
	buf_init(&a.report_text, INJECT_TEXT_MAX);
	jw_init(&a.report, &a.report_text);
	jw_array(&a.report);
	r = append_run_command(&a);
	store_close(&a.from);
	store_close(&a.to);
	for (size_t i = 0; i < a.clients_n; i++)
		program_free(&a.clients[i]);
	buf_free(&a.items);
	buf_free(&a.report_text);
	arena_reset(&a.arena);
	return r;
}

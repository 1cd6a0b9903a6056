#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/image/build.h"
#include "inject/image/plan_part.h"
#include "inject/names/tag.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "limits.h"

struct tags_options {
	struct image_options image;
};

/* A name; present: the engine has such an image, made from the inputs. */
struct row {
	const char *what;
	struct buf name;
	bool present;
};

enum { ROWS = 3 };

static const enum image_stage rungs[ROWS] = {
	IMAGE_STAGE_SOURCE, IMAGE_STAGE_LOCK, IMAGE_STAGE_VERSIONED};

static int tags_inspect_row(struct plan *p, enum image_stage rung, struct row *row)
{
	struct image im = {0};
	const char *name = buf_cstr(&row->name);
	int r = name ? plan_inspect(p->engine, name, &im) : row->name.err;

	if (r)
		return r == 1 ? 0 : r;
	row->present = rung == IMAGE_STAGE_SOURCE ? plan_matches(p, &im)
						  : plan_is_stage(p, &im, rung);
	image_free(&im);
	return 0;
}

static void tags_write_inputs(struct plan *p, struct jw *w)
{
	const struct {
		const char *key;
		struct str value;
	} rows[] = {
		{"base", buf_view(&p->canonical)},
		{"base_id", p->base->id},
		{"base_digest", image_digest(p->base)},
		{"architecture", p->base->arch},
		{"extra_deps", str_c(p->options->extra_deps)},
		{"plugins", buf_view(&p->plugins_label)},
		{"template", STR(TAG_TEMPLATE)},
		{"version", STR(OD_VERSION)},
		{"client_sha256", str_c(p->client.sha256)},
		{"busybox_sha256", plan_busybox_sha256(p)},
		{"plugins_sha256", program_plugins_sha256(&p->client)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		jw_key(w, rows[i].key);
		jw_str(w, rows[i].value);
	}
}

static void tags_write_json(
	struct plan *p, const struct row *rows, struct buf *legacy, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	for (size_t i = 0; i < ROWS; i++) {
		jw_key(&w, rows[i].what);
		jw_object(&w);
		jw_key(&w, "name");
		jw_str(&w, buf_view(&rows[i].name));
		jw_key(&w, "present");
		jw_bool(&w, rows[i].present);
		jw_end(&w);
	}
	jw_key(&w, "legacy");
	jw_str(&w, buf_view(legacy));
	jw_key(&w, "inputs");
	jw_object(&w);
	tags_write_inputs(p, &w);
	jw_end(&w);
	jw_end(&w);
	buf_putc(out, '\n');
}

static void tags_append_input(struct buf *out, const char *what, struct str value)
{
	buf_fmt(out, "  %-13s ", what);
	out_clean(out, value.n ? value : STR("-"), false);
	buf_putc(out, '\n');
}

static void tags_write_text(
	struct plan *p, const struct row *rows, struct buf *legacy, struct buf *out)
{
	for (size_t i = 0; i < ROWS; i++)
		buf_fmt(out, "%-10s %.*s%s\n", rows[i].what,
			STR_ARG(buf_view(&rows[i].name)),
			rows[i].present ? "  (is here)" : "");
	if (p->options->tag_style == TAG_STYLE_LEGACY)
		buf_fmt(out, "legacy     %.*s\n", STR_ARG(buf_view(legacy)));
	buf_puts(out, "versioned, from:\n");
	tags_append_input(out, "base", buf_view(&p->canonical));
	tags_append_input(out, "version", STR(OD_VERSION));
	buf_puts(out, "lock, from these as well:\n");
	tags_append_input(out, "base id", p->base->id);
	tags_append_input(out, "base digest", image_digest(p->base));
	tags_append_input(out, "architecture", p->base->arch);
	tags_append_input(out, "extra deps", str_c(p->options->extra_deps));
	tags_append_input(out, "plugins", buf_view(&p->plugins_label));
	tags_append_input(out, "template", STR(TAG_TEMPLATE));
	buf_puts(out, "source, from these as well:\n");
	tags_append_input(out, "client", str_c(p->client.sha256));
	tags_append_input(out, "busybox", plan_busybox_sha256(p));
	tags_append_input(out, "od-plugins", program_plugins_sha256(&p->client));
}

static int tags_print(struct plan *p, bool json)
{
	struct row rows[ROWS] = {
		{.what = "source"}, {.what = "lock"}, {.what = "versioned"}};
	struct buf out = BUF_INIT(INJECT_FILE_MAX), legacy = BUF_INIT(1024);
	int r = 0;

	for (size_t i = 0; i < ROWS && !r; i++) {
		rows[i].name = (struct buf)BUF_INIT(1024);
		buf_puts(&rows[i].name, TAG_REPO ":");
		buf_str(&rows[i].name, plan_stage_tag(p, rungs[i]));
		r = tags_inspect_row(p, rungs[i], &rows[i]);
	}
	build_write_legacy_name(p, &legacy);
	if (!r && json)
		tags_write_json(p, rows, &legacy, &out);
	else if (!r)
		tags_write_text(p, rows, &legacy, &out);
	if (!r)
		r = out_write_buf(&out);
	for (size_t i = 0; i < ROWS; i++)
		buf_free(&rows[i].name);
	buf_free(&legacy);
	buf_free(&out);
	return r;
}

static int cmd_tags(const struct command_line *line)
{
	const struct tags_options *o = line->options;
	struct plan p = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = plan_make(&p, &e, &o->image, line->operand[0]);
	if (!r && p.kind == PLAN_AS_IS)
		r = out_fail("name the image from which it was built",
			"%s already contains this od-runtime-client", line->operand[0]);
	if (!r)
		r = tags_print(&p, line->json);
	plan_free(&p);
	return r;
}

#define OPTIONS struct tags_options
static const struct option tags_options[] = {
	{SET(pull_set, image)},
	{SET(platform_set, image)},
	{SET(extra_deps_set, image)},
	{SET(tag_style_set, image)},
	{SET(client_set, image.client)},
	{SET(plugin_source_set, image.plugin)},
	{0},
};
#undef OPTIONS

const struct command command_tags = {
	.name = "tags",
	.usage = "IMAGE [OPTION...]",
	.purpose = "print the names of the runtime images of IMAGE",
	.more = "It also prints the inputs from which each name is computed.",
	.examples = {"od-runtime tags debian:12"},
	.operands = 1,
	.subject = SUBJECT_IMAGE,
	.options = tags_options,
	.options_size = sizeof(struct tags_options),
	.run = cmd_tags,
};

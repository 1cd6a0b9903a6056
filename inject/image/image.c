#include "inject/image/image.h"

#include "inject/names/tag.h"

static int image_parse_take(struct image *im, struct buf *text)
{
	int r;

	*im = (struct image){.text = *text};
	buf_init(text, text->max);
	r = json_doc_parse(&im->doc, buf_view(&im->text));
	if (r)
		image_free(im);
	return r;
}

int image_read_take(struct image *im, struct buf *text)
{
	struct json_val root;
	int r = image_parse_take(im, text);

	if (r)
		return r;
	root = json_doc_root(&im->doc);
	im->id = json_doc_str(&im->doc, json_get(root, "Id"));
	im->os = json_doc_str(&im->doc, json_get(root, "Os"));
	im->arch = json_doc_str(&im->doc, json_get(root, "Architecture"));
	im->config = json_get(root, "Config");
	im->layers = json_get(json_get(root, "RootFS"), "Layers");
	if (im->id.n)
		return 0;
	image_free(im);
	return ERR_TYPE;
}

int image_read_config_take(struct image *im, struct buf *text, struct str id)
{
	struct json_val root;
	int r = image_parse_take(im, text);

	if (r)
		return r;
	root = json_doc_root(&im->doc);
	im->id = id;
	im->os = json_doc_str(&im->doc, json_get(root, "os"));
	im->arch = json_doc_str(&im->doc, json_get(root, "architecture"));
	im->config = json_get(root, "config");
	im->layers = json_get(json_get(root, "rootfs"), "diff_ids");
	if (json_type(im->layers) == JSON_ARRAY)
		return 0;
	image_free(im);
	return ERR_TYPE;
}

void image_free(struct image *im)
{
	json_doc_free(&im->doc);
	buf_free(&im->text);
	*im = (struct image){0};
}

struct str image_label(struct image *im, const char *name)
{
	return json_doc_str(&im->doc, json_get(json_get(im->config, "Labels"), name));
}

struct str image_shell_name(enum image_shell shell)
{
	static const char *const words[] = {
		[IMAGE_SHELL_UNKNOWN] = "unknown",
		[IMAGE_SHELL_OWN] = "own",
		[IMAGE_SHELL_BUSYBOX] = "busybox",
		[IMAGE_SHELL_NONE] = "none",
	};

	return str_c(words[shell]);
}

enum image_shell image_shell(struct image *im)
{
	struct str word = image_label(im, "od.shell");

	for (unsigned i = IMAGE_SHELL_OWN; i <= IMAGE_SHELL_NONE; i++)
		if (str_eq(word, image_shell_name(i)))
			return i;
	return IMAGE_SHELL_UNKNOWN;
}

static bool image_is_client_hidden(struct str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return str_eq(path, STR("/")) || str_eq(path, STR("/.od")) ||
		str_starts(path, STR("/.od/"));
}

const char *image_refusal(struct image *im)
{
	struct json_val volumes = json_get(im->config, "Volumes");
	struct json_val key, value;
	int it = 0;

	if (!str_eq(im->os, STR("linux")))
		return "it is not a Linux image";
	if (!im->arch.n)
		return "it does not declare its architecture";
	while (json_next(volumes, &it, &key, &value))
		if (image_is_client_hidden(json_doc_str(&im->doc, key)))
			return "it declares a VOLUME at or above /.od, which is the "
			       "folder of the client";
	return NULL;
}

const char *image_build_refusal(struct image *im)
{
	return json_count(json_get(im->config, "OnBuild"))
		? "it has ONBUILD instructions, which would run during the build"
		: NULL;
}

bool image_has_healthcheck(struct image *im)
{
	struct json_val test = json_get(json_get(im->config, "Healthcheck"), "Test");
	struct json_val first;
	int it = 0;

	return json_next(test, &it, NULL, &first) &&
		!str_eq(json_doc_str(&im->doc, first), STR("NONE"));
}

bool image_begins_with(struct image *im, struct image *base)
{
	struct json_val above, below;
	int i = 0, k = 0;

	while (json_next(base->layers, &k, NULL, &below)) {
		if (!json_next(im->layers, &i, NULL, &above))
			return false;
		if (!str_eq(json_raw(above), json_raw(below)))
			return false;
	}
	return true;
}

bool image_is_above(struct image *im, struct image *base)
{
	return json_count(im->layers) > json_count(base->layers) &&
		image_begins_with(im, base);
}

bool image_has_name(struct image *im)
{
	struct json_val root = json_doc_root(&im->doc);

	return json_count(json_get(root, "RepoTags")) ||
		json_count(json_get(root, "RepoDigests"));
}

bool image_is_product(struct image *im)
{
	struct json_val names = json_get(json_doc_root(&im->doc), "RepoTags"), v;
	struct buf name = BUF_INIT(1024);
	bool found = false;
	int it = 0;

	buf_puts(&name, TAG_REPO ":");
	buf_str(&name, image_label(im, "od.key.source"));
	/* Podman prepends "localhost/". */
	while (!found && json_next(names, &it, NULL, &v))
		found = str_ends(json_doc_str(&im->doc, v), buf_view(&name));
	buf_free(&name);
	return found;
}

struct str image_top_layer(struct image *im)
{
	struct json_val v, last = {0};
	int it = 0;

	while (json_next(im->layers, &it, NULL, &v))
		last = v;
	return it ? json_doc_str(&im->doc, last) : str_c("");
}

struct str image_digest(struct image *im)
{
	struct json_val names = json_get(json_doc_root(&im->doc), "RepoDigests"), v;
	struct str name = {0};
	int it = 0;

	if (!json_next(names, &it, NULL, &v))
		return name;
	name = json_doc_str(&im->doc, v);
	return str_skip(name, str_find_byte(name, '@') + 1);
}

/*
 * Whether the layers that the labels name exist. Labels outlive their layers: a squashed
 * or an imported image has them too. The base's last layer must be at the position in the
 * labels. If the labels name our layer, it must be above.
 */
static bool image_has_layers(struct image *im, size_t base)
{
	struct str top = image_label(im, "od.base.top"), at = {0};
	struct str ours = image_label(im, "od.layer");
	struct json_val v;
	bool found = !ours.n;
	size_t i = 0;
	int it = 0;

	while (json_next(im->layers, &it, NULL, &v)) {
		struct str layer = json_doc_str(&im->doc, v);

		if (++i == base)
			at = layer;
		found = found || (i > base && str_eq(layer, ours));
	}
	return found && str_eq(at, top);
}

int image_base_layers(struct image *im, size_t *n)
{
	uint64_t v;

	if (!str_eq(image_label(im, "od.managed"), STR("1")))
		return ERR_TYPE;
	if (str_u64(image_label(im, "od.base.layers"), 1000, &v))
		return ERR_TYPE;
	if (json_count(im->layers) <= v || !image_has_layers(im, (size_t)v))
		return ERR_TYPE;
	*n = (size_t)v;
	return 0;
}

/* Manifests, indexes and index.json: whatever is read keeps what it had when edited. */
#include "inject/http/edit.h"
#include "inject/registry/layout.h"
#include "inject/registry/manifest.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_manifest(struct str text)
{
	const char *why = NULL;
	struct manifest m;
	struct platform p;
	struct json_val v;
	struct content c;
	int it = 0;

	if (manifest_read(&m, text, "", &why)) {
		assert(why);
		return;
	}
	if (m.kind == MANIFEST_IMAGE) {
		while (json_next(m.layers, &it, NULL, &v))
			assert(content_read(&m.doc, v, &c) == 0 &&
				digest_is_valid(str_c(c.digest)));
	} else {
		while (json_next(m.entries, &it, NULL, &v)) {
			assert(content_read(&m.doc, v, &c) == 0);
			platform_read(&m.doc, v, &p);
		}
	}
	manifest_free(&m);
}

static void edit(struct str text)
{
	const struct edit edits[] = {
		{.key = "a", .value = STR("7")}, {.key = "b", .value = {NULL, 0}}};
	struct buf out = BUF_INIT(1 << 20);
	struct json_doc before, after;

	if (json_doc_parse(&before, text))
		return;
	edit_object(&out, json_doc_root(&before), edits, 2);
	assert(json_doc_parse(&after, buf_view(&out)) == 0);
	assert(json_doc_int(json_get(json_doc_root(&after), "a"), 0) == 7);
	assert(json_type(json_get(json_doc_root(&after), "b")) == JSON_ABSENT);
	json_doc_free(&after);
	json_doc_free(&before);
	buf_free(&out);
}

static void add(struct str text)
{
	static const struct content c = {
		.digest = "sha256:"
			  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"
			  "ef",
		.media = "m",
		.size = 1,
	};
	struct buf out = BUF_INIT(1 << 20);
	struct content got;

	(void)layout_find(text, STR("r"), &got);
	if (layout_add(text, STR("r"), STR(""), &c, &out) == 0 && text.n)
		assert(layout_find(buf_view(&out), STR("r"), &got) == 0);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n ? n : 1);

	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	read_manifest(str_make(text, n));
	edit(str_make(text, n));
	add(str_make(text, n));
	free(text);
	return 0;
}

#include "inject/image/image.h"

#include "tests/tap.h"

#define HEAD "{\"Id\":\"sha256:ab\",\"Os\":\"linux\",\"Architecture\":\"amd64\""

static int load(struct image *im, const char *json)
{
	struct buf text = BUF_INIT(1 << 16);
	int r;

	buf_puts(&text, json);
	r = image_read_take(im, &text);
	if (r)
		buf_free(&text);
	return r;
}

static void test_refusal(void)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{HEAD "}", NULL},
		{HEAD ",\"Config\":null}", NULL},
		{HEAD ",\"Config\":{\"OnBuild\":null,\"Volumes\":null}}", NULL},
		{HEAD ",\"Config\":{\"OnBuild\":[],\"Volumes\":{}}}", NULL},
		{HEAD ",\"Config\":{\"Volumes\":{\"/data\":{},\"/.odx\":{}}}}", NULL},
		{HEAD ",\"Config\":{\"OnBuild\":[\"RUN x\"]}}", "ONBUILD"},
		{HEAD ",\"Config\":{\"Volumes\":{\"/x\":{},\"/.od\":{}}}}", "VOLUME"},
		{HEAD ",\"Config\":{\"Volumes\":{\"/.od//\":{}}}}", "VOLUME"},
		{HEAD ",\"Config\":{\"Volumes\":{\"/.od/bin\":{}}}}", "VOLUME"},
		{HEAD ",\"Config\":{\"Volumes\":{\"/\":{}}}}", "VOLUME"},
		{"{\"Id\":\"a\",\"Os\":\"windows\",\"Architecture\":\"amd64\"}", "Linux"},
		{"{\"Id\":\"a\",\"Architecture\":\"amd64\"}", "Linux"},
		{"{\"Id\":\"a\",\"Os\":\"linux\"}", "architecture"},
		{"{\"Id\":\"a\",\"Os\":\"linux\",\"Architecture\":\"\"}", "architecture"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image im;
		const char *why;

		if (!is_int(load(&im, rows[i].json), 0, "read %s", rows[i].json))
			continue;
		why = image_refusal(&im);
		if (!why)
			why = image_build_refusal(&im);
		ok(!why == !rows[i].want && (!why || strstr(why, rows[i].want)),
			"refused for %s", rows[i].want ? rows[i].want : "nothing");
		image_free(&im);
	}
}

static void test_garbage(void)
{
	static const char *const rows[] = {"", "{", "[]", "{}", "{\"Id\":1}", "null",
		"{\"Id\":\"\"}", "{\"Id\":\"a\",\"Id\":\"b\"}"};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image im;

		ok(load(&im, rows[i]) < 0, "refused: '%s'", rows[i]);
		image_free(&im);
	}
}

#define LAYERS(l) HEAD ",\"RootFS\":{\"Layers\":[" l "]}"

static void test_layers(void)
{
	struct image base = {0}, above = {0}, other = {0}, none = {0};

	if (load(&base, LAYERS("\"1\",\"2\"") "}") ||
		load(&above, LAYERS("\"1\",\"2\",\"3\"") "}") ||
		load(&other, LAYERS("\"1\",\"3\",\"2\"") "}") || load(&none, HEAD "}"))
		ok(false, "images are read");
	ok(image_is_above(&above, &base), "one layer above");
	ok(!image_is_above(&base, &above), "not the other way");
	ok(!image_is_above(&base, &base), "not above itself");
	ok(!image_is_above(&other, &base), "the same number is not enough");
	ok(image_is_above(&base, &none), "two layers above a base without any");
	image_free(&base);
	image_free(&above);
	image_free(&other);
	image_free(&none);
}

#define LABELS(l) ",\"Config\":{\"Labels\":{" l "}}}"

static void test_ours(void)
{
	static const struct {
		const char *json;
		int want;
		size_t layers;
	} rows[] = {
		{LAYERS("\"1\",\"2\"")
				LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"1\","
				       "\"od.base.top\":\"1\""),
			0, 1},
		{LAYERS("\"1\"") LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"0\""),
			0, 0},
		/* Another layer in the place of the base's last one, after a squash. */
		{LAYERS("\"1\",\"2\"")
				LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"1\","
				       "\"od.base.top\":\"x\""),
			ERR_TYPE, 0},
		{LAYERS("\"1\",\"2\"")
				LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"1\","
				       "\"od.base.top\":\"1\",\"od.layer\":\"2\""),
			0, 1},
		{LAYERS("\"1\",\"2\"")
				LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"1\","
				       "\"od.base.top\":\"1\",\"od.layer\":\"3\""),
			ERR_TYPE, 0},
		{LAYERS("\"1\"") LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"1\""),
			ERR_TYPE, 0},
		{LAYERS("\"1\"") LABELS("\"od.managed\":\"1\""), ERR_TYPE, 0},
		{LAYERS("\"1\"") LABELS("\"od.base.layers\":\"0\""), ERR_TYPE, 0},
		{LAYERS("\"1\"") LABELS("\"od.managed\":\"1\",\"od.base.layers\":\"x\""),
			ERR_TYPE, 0},
		{LAYERS("\"1\"") "}", ERR_TYPE, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image im;
		size_t n = 0;

		if (!is_int(load(&im, rows[i].json), 0, "row %zu", i))
			continue;
		is_int(image_base_layers(&im, &n), rows[i].want, "verdict");
		is_int(n, rows[i].layers, "layers");
		image_free(&im);
	}
}

static void test_product(void)
{
	static const struct {
		const char *names;
		bool want;
	} rows[] = {
		{"[\"od-runtime:oh_v1\"]", true},
		{"[\"x:1\",\"localhost/od-runtime:oh_v1\"]", true},
		{"[\"od-runtime:oh_v12\"]", false},
		{"[\"x:oh_v1\"]", false},
		{"[]", false},
		{"null", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image im;
		char json[512];

		snprintf(json, sizeof(json),
			HEAD ",\"RepoTags\":%s" LABELS("\"od.key.source\":\"oh_v1\""),
			rows[i].names);
		if (!is_int(load(&im, json), 0, "row %zu", i))
			continue;
		is_int(image_is_product(&im), rows[i].want, "verdict");
		image_free(&im);
	}
}

int main(void)
{
	test_refusal();
	test_garbage();
	test_layers();
	test_ours();
	test_product();
	return done_testing();
}

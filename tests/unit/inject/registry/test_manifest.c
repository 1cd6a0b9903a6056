#include "inject/registry/layout.h"
#include "inject/registry/manifest.h"
#include "tests/tap.h"

#include <errno.h>

#define D "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define E "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define DESC(media) "{\"mediaType\":\"" media "\",\"digest\":\"" D "\",\"size\":7}"
#define CONFIG "\"config\":" DESC(MEDIA_OCI_CONFIG)
#define IMAGE "{\"schemaVersion\":2," CONFIG ",\"layers\":[" DESC("l") "]"

static void test_digest(void)
{
	char sha512[7 + 128 + 1] = "sha512:";
	struct content c = {0};

	memset(sha512 + 7, 'a', 128);
	ok(digest_is_valid(STR(D)), "sha256");
	ok(digest_is_valid(str_c(sha512)), "sha512");
	ok(!digest_is_valid(str_make(D, sizeof(D) - 2)), "too short");
	ok(!digest_is_valid(STR(D "0")), "too long");
	ok(!digest_is_valid(STR("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709")),
		"sha1");
	ok(!digest_is_valid(STR("")), "empty");
	sha512[9] = 'G';
	ok(!digest_is_valid(str_c(sha512)), "no digit");
	sha512[9] = 'A';
	ok(!digest_is_valid(str_c(sha512)), "an upper-case digit");
	content_from_bytes(STR("abc"), &c);
	is_str(c.digest,
		"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"of bytes");
	is_int(c.size, 3, "and their number");
}

static void good(
	const char *text, const char *media, enum manifest_kind kind, bool docker)
{
	const char *why = "";
	struct manifest m;

	if (!is_int(manifest_read(&m, str_c(text), media, &why), 0, "read: %s %s", text,
		    why))
		return;
	is_int(m.kind, kind, "its kind");
	is_int(m.docker, docker, "its family");
	manifest_free(&m);
}

static void bad(const char *text, const char *media, const char *words)
{
	const char *why = "";
	struct manifest m;

	is_int(manifest_read(&m, str_c(text), media, &why), ERR_SYNTAX, "refused: %s",
		text);
	ok(strstr(why, words), "because %s (%s)", words, why);
}

static void test_kinds(void)
{
	good(IMAGE "}", "", MANIFEST_IMAGE, false);
	good(IMAGE "}", MEDIA_OCI_MANIFEST, MANIFEST_IMAGE, false);
	good(IMAGE ",\"mediaType\":\"" MEDIA_OCI_MANIFEST "\"}", "", MANIFEST_IMAGE,
		false);
	good("{\"schemaVersion\":2,\"mediaType\":\"" MEDIA_DOCKER_MANIFEST
	     "\",\"config\":" DESC(MEDIA_DOCKER_CONFIG) ",\"layers\":[]}",
		MEDIA_DOCKER_MANIFEST, MANIFEST_IMAGE, true);
	good("{\"schemaVersion\":2,\"manifests\":[" DESC("x") "]}", "", MANIFEST_INDEX,
		false);
	good("{\"schemaVersion\":2,\"manifests\":[]}", MEDIA_DOCKER_INDEX, MANIFEST_INDEX,
		true);

	bad("", "", "not JSON");
	bad("[]", "", "not the manifest");
	bad("{}", "", "not the manifest");
	bad("{\"schemaVersion\":1,\"fsLayers\":[]}", "", "schema version 1");
	bad("{\"schemaVersion\":3}", "", "not the manifest");
	bad("{\"schemaVersion\":2}", "", "of neither an image");
	bad(IMAGE ",\"manifests\":[]}", "", "both");
	bad("{\"schemaVersion\":2,\"manifests\":[]," CONFIG "}", "", "both");
	bad(IMAGE "}", MEDIA_OCI_INDEX, "contradict");
	bad(IMAGE "}", "text/html", "neither that of an image");
	bad(IMAGE ",\"mediaType\":\"" MEDIA_OCI_MANIFEST "\"}", MEDIA_DOCKER_MANIFEST,
		"mediaType differs");
	bad(IMAGE ",\"mediaType\":7}", MEDIA_OCI_MANIFEST, "mediaType differs");
	bad(IMAGE "}", MEDIA_DOCKER_MANIFEST, "not the config of an image");
	bad("{\"schemaVersion\":2," CONFIG "}", "", "no list of layers");
	bad("{\"schemaVersion\":2,\"layers\":[]}", "", "descriptor of its config");
	bad("{\"schemaVersion\":2," CONFIG ",\"layers\":[{}]}", "",
		"descriptor of a layer");
	bad("{\"schemaVersion\":2,\"manifests\":{}}", "", "no list of images");
	bad("{\"schemaVersion\":2,\"manifests\":[7]}", "", "descriptor of an entry");
	bad("{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"" D "\",\"size\":-1}]}",
		"", "descriptor of an entry");
	bad("{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"" D "\",\"size\":1,"
	    "\"mediaType\":\"a\\u0000b\"}]}",
		"", "descriptor of an entry");
}

static void test_layout(void)
{
	struct content c = {.digest = E, .media = "m", .size = 9}, got;
	struct buf one = BUF_INIT(4096), two = BUF_INIT(4096), three = BUF_INIT(4096);
	char path[LAYOUT_PATH_MAX];

	layout_path(D, path);
	is_str(path,
		"blobs/sha256/0123456789abcdef0123456789abcdef0123456789abcdef"
		"0123456789abcdef",
		"where a blob lies");
	is_int(layout_add(STR(""), STR("a"), STR("docker.io/library/n:1"), &c, &one), 0,
		"a new index");
	memcpy(c.digest, D, sizeof(D));
	is_int(layout_add(buf_view(&one), STR("b"), STR(""), &c, &two), 0,
		"a second name");
	is_int(layout_find(buf_view(&two), STR("a"), &got), 0, "the first is found");
	is_str(got.digest, E, "with its digest");
	is_int(layout_find(buf_view(&two), STR("n:1"), &got), 0,
		"by the engine's name too");
	is_int(layout_find(buf_view(&two), STR("c"), &got), -ENOENT, "another is not");
	is_int(layout_find(buf_view(&two), STR(""), &got), ERR_RANGE,
		"none means the only");
	is_int(layout_find(buf_view(&one), STR(""), &got), 0, "if there is one");
	is_int(layout_add(buf_view(&two), STR("a"), STR(""), &c, &three), 0,
		"a name moves");
	is_int(layout_find(buf_view(&three), STR("a"), &got), 0, "it is there");
	is_str(got.digest, D, "with its new digest");
	ok(str_find(buf_view(&three), STR(E)) == three.n, "and the old one is gone");
	is_int(layout_find(STR("{\"manifests\":{}}"), STR(""), &got), ERR_SYNTAX,
		"no list");
	is_int(layout_find(STR("7"), STR(""), &got), ERR_SYNTAX, "no object");
	is_int(layout_add(STR("{"), STR("a"), STR(""), &c, &one), ERR_SYNTAX, "no JSON");
	buf_free(&one);
	buf_free(&two);
	buf_free(&three);
}

int main(void)
{
	test_digest();
	test_kinds();
	test_layout();
	return done_testing();
}

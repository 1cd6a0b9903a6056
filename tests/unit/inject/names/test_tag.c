#include "inject/names/tag.h"

#include "base/hash.h"
#include "inject/names/ref.h"
#include "tests/tap.h"

static void test_truncate(void)
{
	static const struct {
		const char *hex, *want;
	} rows[] = {
		{"b08f254d76b1c6a7ad924708c0032251", "pma2wc71uq3c9a85"},
		{"102aecc0cea025253c0278f54ebef078", "4titk6gquia3taj5"},
		{"00000000000000000000000000000000", ""},
		{"00000000000000000000000000000023", "z"},
		{"00000000000000000000000000000024", "01"},
		{"ffffffffffffffffffffffffffffffff", "33psmzhlgqnyronp"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t digest[16];
		char out[TAG_HASH_MAX];

		if (hex_decode(str_c(rows[i].hex), digest, 16))
			continue;
		tag_truncate(digest, out);
		is_str(out, rows[i].want, "%s", rows[i].hex);
	}
}

static struct tag_inputs inputs(void)
{
	return (struct tag_inputs){
		.base_ref = STR("docker.io/library/debian:12"),
		.base_id = STR("sha256:ab"),
		.arch = STR("amd64"),
		.client_sha256 = STR("cd"),
	};
}

static struct buf tag_of(struct tag_inputs in)
{
	struct buf out = BUF_INIT(256);

	tag_write_source(&in, &out);
	return out;
}

/* Whether the tag changes, and in which of its two hashes. */
static void changes(struct tag_inputs in, bool lock, const char *name)
{
	struct buf a = tag_of(inputs()), b = tag_of(in);
	size_t at = sizeof("oh_v" OD_VERSION "_") - 1;
	bool same_lock = a.n == b.n && memcmp(a.p, b.p, at + TAG_DIGITS) == 0;
	bool same = str_eq(buf_view(&a), buf_view(&b));

	ok(!same && same_lock == !lock, "depends on %s", name);
	buf_free(&a);
	buf_free(&b);
}

static void test_source(void)
{
	struct buf a = tag_of(inputs()), b = tag_of(inputs());
	char ref[512] = "x:";
	struct tag_inputs in = inputs();
	const char *why;
	struct ref r;

	is_mem(a.p, a.n, b.p, b.n, "the same inputs give the same tag");
	is_int(a.n, strlen("oh_v" OD_VERSION) + 34, "its length");
	ok(str_starts(buf_view(&a), STR("oh_v" OD_VERSION "_")), "its start");
	memcpy(ref + 2, a.p, a.n);
	is_int(ref_parse(&r, str_make(ref, a.n + 2), &why), 0, "is a legal tag");
	in.base_ref = STR("docker.io/library/debian:13");
	changes(in, true, "the reference");
	in = inputs();
	in.base_id = STR("sha256:ac");
	changes(in, true, "the image id");
	in = inputs();
	in.arch = STR("arm64");
	changes(in, true, "the architecture");
	in = inputs();
	in.deps = STR("\"apt-get install git\"");
	changes(in, true, "the extra dependencies");
	in = inputs();
	in.plugins = STR("a=00");
	changes(in, true, "the plugins");
	in = inputs();
	in.client_sha256 = STR("ce");
	changes(in, false, "the client");
	in = inputs();
	in.busybox_sha256 = STR("cd");
	changes(in, false, "the busybox");
	in.client_sha256 = STR("");
	in.busybox_sha256 = STR("cd");
	changes(in, false, "which of the two it is");
	in = inputs();
	in.plugins_sha256 = STR("ef");
	changes(in, false, "od-plugins");
	in = inputs();
	in.base_ref = STR("docker.io/library/debian:12sha256:ab");
	in.base_id = STR("");
	changes(in, true, "where one part ends");
	buf_free(&a);
	buf_free(&b);
}

/* One of the tags that go by a name. */
static void named(void (*tag)(const struct tag_inputs *, struct buf *), const char *ref,
	const char *want)
{
	struct buf out = BUF_INIT(1024), name = BUF_INIT(2048);
	struct tag_inputs in = inputs();
	const char *why;
	struct ref r;

	in.base_ref = str_c(ref);
	tag(&in, &out);
	is_view(buf_view(&out), want, "%s", ref);
	buf_puts(&name, "x:");
	buf_str(&name, buf_view(&out));
	is_int(ref_parse(&r, buf_view(&name), &why), 0, "is a legal tag");
	buf_free(&out);
	buf_free(&name);
}

#define TEN "aaaaaaaaa/"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void test_named(void)
{
	const struct tag_inputs one = {.base_ref = STR("a.b/" HUNDRED "x:1")};
	const struct tag_inputs two = {.base_ref = STR("b.b/" HUNDRED "x:1")};
	struct buf a = BUF_INIT(256), b = BUF_INIT(256);

	named(tag_write_versioned, "docker.io/nikolaik/python-nodejs:python3.12-nodejs22",
		"oh_v" OD_VERSION "_nikolaik_s_python-nodejs_t_python3.12-nodejs22");
	named(tag_write_versioned, "docker.io/library/ubuntu:22.04",
		"oh_v" OD_VERSION "_ubuntu_t_22.04");
	named(tag_write_versioned, "Host:5000/a/b:T",
		"oh_v" OD_VERSION "_host_t_5000_s_a_s_b_t_t");
	named(tag_write_versioned, "[::1]:5000/x@sha256:ab",
		"oh_v" OD_VERSION "___t__t_1__t_5000_s_x_d_sha256_t_ab");
	named(tag_write_legacy, "docker.io/library/ubuntu:22.04",
		"od_v" OD_VERSION "_image_ubuntu__22.04");
	named(tag_write_legacy, "ghcr.io/a/b:c",
		"od_v" OD_VERSION "_image_ghcr.io___a___b__c");
	tag_write_versioned(&one, &a);
	tag_write_versioned(&two, &b);
	is_int(a.n, strlen("oh_v" OD_VERSION "_") + 96, "a long name is cut");
	ok(str_ends(buf_view(&a), STR("_s_x_t_1")) &&
			str_ends(buf_view(&b), STR("_s_x_t_1")),
		"in front");
	ok(!str_eq(buf_view(&a), buf_view(&b)), "two that end alike stay apart");
	buf_reset(&a);
	tag_write_lock(&(struct tag_inputs){.base_ref = STR("x")}, &a);
	buf_reset(&b);
	tag_write_source(&(struct tag_inputs){.base_ref = STR("x")}, &b);
	ok(str_starts(buf_view(&b), buf_view(&a)) && b.p[a.n] == '_',
		"the source tag begins with the lock");
	buf_free(&a);
	buf_free(&b);
}

int main(void)
{
	test_named();
	test_truncate();
	test_source();
	return done_testing();
}

#include "inject/image/layer.h"

#include "inject/image/scan.h"
#include "limits.h"
#include "tests/tap.h"

static struct layer make(struct str busybox, bool drop_in)
{
	const struct rootfs files = {.prefix = "",
		.client = STR("client"),
		.busybox = busybox,
		.drop_in = drop_in};
	struct layer l = {0};

	is_int(layer_make(&l, &files), 0, "made");
	return l;
}

static void test_same(void)
{
	struct layer a = make(STR(""), true), b = make(STR(""), true);
	struct layer c = make(STR("box"), true);

	is_mem(a.gzip.p, a.gzip.n, b.gzip.p, b.gzip.n, "the same bytes");
	ok(strcmp(a.unpacked.digest, c.unpacked.digest) != 0, "or not, with a busybox");
	is_mem(a.gzip.p, 10, "\x1f\x8b\x08\0\0\0\0\0\x02\x03", 10, "no time, no name");
	layer_free(&a);
	layer_free(&b);
	layer_free(&c);
}

/* Feeds the layer in pieces of step bytes. */
static int feed(struct scan *s, struct str text, size_t step)
{
	int r = scan_begin_layer(s);

	for (size_t i = 0; i < text.n && !r; i += step)
		r = scan_put(
			s, str_make(text.p + i, text.n - i < step ? text.n - i : step));
	return r;
}

static void test_scan(void)
{
	struct layer l = make(STR("box"), true);

	for (size_t step = 1; step <= l.gzip.n; step += step > 16 ? l.gzip.n / 3 : 1) {
		struct scan s;

		scan_init(&s);
		is_int(feed(&s, buf_view(&l.gzip), step), 0, "read, %zu at a time", step);
		ok(s.state == SCAN_END && !s.others && s.openhands && !scan_has_shell(&s),
			"it is ours");
		scan_free(&s);
	}
	/* The end of the archive comes before that of the gzip. */
	for (size_t cut = 0; cut + 20 < l.gzip.n; cut += 7) {
		struct scan s;

		scan_init(&s);
		ok(feed(&s, str_make(l.gzip.p, cut), 64) || s.state != SCAN_END,
			"cut after %zu bytes", cut);
		scan_free(&s);
	}
	layer_free(&l);
}

/* A layer of one entry, not packed. */
static void one(struct buf *out, enum tar_type type, const char *name, unsigned mode)
{
	const struct tar_entry e = {.type = type,
		.name = name,
		.mode = mode,
		.target = type == TAR_LINK ? "x" : NULL};
	struct tar t;

	buf_reset(out);
	tar_init(&t, out);
	is_int(tar_write_header(&t, &e), 0, "%s", name);
	tar_end(&t);
}

static void test_shells(void)
{
	static const struct {
		enum tar_type type;
		const char *name;
		unsigned mode;
		bool shell;
	} steps[] = {
		{TAR_FILE, "etc/passwd", 0644, false},
		{TAR_FILE, "bin/sh", 0644, false},
		{TAR_FILE, "bin/sh", 0755, true},
		{TAR_FILE, "bin/.wh.bash", 0, true},
		{TAR_FILE, "bin/.wh.sh", 0, false},
		{TAR_LINK, "usr/bin/bash", 0777, true},
		{TAR_FILE, "usr/bin/.wh.bash", 0, false},
		{TAR_LINK, "busybox/busybox", 0777, true},
		{TAR_FILE, "busybox/busybox", 0, false},
		{TAR_FILE, "opt/bin/sh", 0755, false},
	};
	struct buf layer = BUF_INIT(1 << 16);
	struct scan s;

	scan_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		one(&layer, steps[i].type, steps[i].name, steps[i].mode);
		is_int(feed(&s, buf_view(&layer), 100), 0, "read");
		is_int(scan_has_shell(&s), steps[i].shell, "a shell after step %zu", i);
		ok(s.others, "not of ours");
	}
	scan_free(&s);
	buf_free(&layer);
}

int main(void)
{
	test_same();
	test_scan();
	test_shells();
	return done_testing();
}

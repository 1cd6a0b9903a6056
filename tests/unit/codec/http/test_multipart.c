#include "codec/http/multipart.h"

#include "tests/tap.h"

#define TYPE "multipart/form-data; boundary=XyZ"
#define PART(disposition) \
	"--XyZ\r\nContent-Disposition: form-data; " disposition "\r\n\r\n"

/* Everything that is told, as text: [name|file]content.! */
static int feed(struct multipart *m, struct str in, struct buf *out)
{
	int r;

	do {
		struct str piece;

		r = multipart_next(m, &in, &piece);
		if (r == MULTIPART_PART) {
			buf_fmt(out, "[%.*s|", STR_ARG(m->name));
			if (m->file_name.p)
				buf_fmt(out, "%.*s]", STR_ARG(m->file_name));
			else
				buf_puts(out, "-]");
		} else if (r == MULTIPART_DATA) {
			buf_str(out, piece);
		} else if (r == MULTIPART_END) {
			buf_puts(out, ".");
		} else if (r == MULTIPART_DONE) {
			buf_puts(out, "!");
		}
	} while (r > 0);
	return r;
}

struct sample {
	const char *name, *in, *want;
	int r;
};

static const struct sample samples[] = {
	{"one file", PART("name=\"file\"; filename=\"t.txt\"") "hello\r\n--XyZ--\r\n",
		"[file|t.txt]hello.!", 0},
	{"an empty one", PART("name=\"file\"; filename=\"\"") "\r\n--XyZ--", "[file|].!",
		0},
	{"two parts", PART("name=\"a\"") "1\r\n" PART("name=\"b\"") "2\r\n--XyZ--\r\n",
		"[a|-]1.[b|-]2.!", 0},
	{"preamble, padding and epilogue",
		"pre\r\n--Xy\r\n" PART(
			"name=a") "x\r\n--XyZ \t\r\n\r\ny\r\n--XyZ--post\r\n",
		"[a|-]x.[|-]y.!", 0},
	{"near misses", PART("name=a") "\r\n--Xy\r\r\n--Xz\r\n\r\n-\r\r\n--XyZ--",
		"[a|-]\r\n--Xy\r\r\n--Xz\r\n\r\n-\r.!", 0},
	{"an end inside the boundary", PART("name=a") "x\r\n--XyZ-", "[a|-]x.", 0},
	{"escaped quotes", PART("name=\"a\\\"b\"; filename=\"c\\\\d\\e\"") "\r\n--XyZ--",
		"[a\"b|c\\d\\e].!", 0},
	{"semicolons in quotes", PART("name=\"a;b\" ; filename=\"x; y\"") "\r\n--XyZ--",
		"[a;b|x; y].!", 0},
	{"an extended name",
		PART("name=f; filename=\"a\"; filename*=utf-8''%c3%a4%0A") "\r\n--XyZ--",
		"[f|\xc3\xa4\n].!", 0},
	{"another charset",
		PART("name=f; filename=\"a\"; filename*=latin1''%e4") "\r\n--XyZ--",
		"[f|a].!", 0},
	{"a name that is no UTF-8", PART("name=f; filename=\"\xff\xfe\"") "\r\n--XyZ--",
		"[f|\xff\xfe].!", 0},
	{"other fields",
		"--XyZ\r\nContent-Type: a/b\r\ncontent-DISPOSITION:form-data;"
		"name=f\r\nX: \r\n\r\n1\r\n--XyZ--",
		"[f|-]1.!", 0},
	{"what is no boundary", PART("name=a") "\r\n--XyZa", "[a|-].", ERR_SYNTAX},
	{"half an end", PART("name=a") "\r\n--XyZ-a", "[a|-].", ERR_SYNTAX},
	{"a bare CR", "--XyZ\ra", "", ERR_SYNTAX},
	{"a folded line", "--XyZ\r\nA: b\r\n c\r\n\r\n", "", ERR_SYNTAX},
	{"no colon", "--XyZ\r\nA\r\n\r\n", "", ERR_SYNTAX},
	{"a control byte", "--XyZ\r\nA: \x01\r\n\r\n", "", ERR_SYNTAX},
	{"an open quote", PART("name=\"a"), "", ERR_SYNTAX},
	{"words behind a quote", PART("name=\"a\"b"), "", ERR_SYNTAX},
	{"a parameter without value", PART("name"), "", ERR_SYNTAX},
	{"a bad escape", PART("filename*=utf-8''%zz"), "", ERR_SYNTAX},
	{"another disposition", "--XyZ\r\nContent-Disposition: attachment\r\n\r\n", "",
		ERR_SYNTAX},
};

static void check(const struct sample *s, size_t cut, bool bytewise)
{
	struct buf out = BUF_INIT(1 << 16);
	struct str all = str_c(s->in);
	struct multipart m;
	int r = multipart_init(&m, STR(TYPE));

	if (bytewise) {
		for (size_t i = 0; i < all.n && r == 0; i++)
			r = feed(&m, str_make(all.p + i, 1), &out);
	} else {
		r = feed(&m, str_make(all.p, cut), &out);
		if (r == 0)
			r = feed(&m, str_skip(all, cut), &out);
	}
	if (r != s->r || !str_eq(buf_view(&out), str_c(s->want))) {
		is_int(r, s->r, "%s: verdict with a cut at %zu", s->name, cut);
		is_view(buf_view(&out), s->want, "%s: events", s->name);
	}
	buf_free(&out);
	multipart_free(&m);
}

static void test_samples(void)
{
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		int before = tap_failed;

		for (size_t cut = 0; cut <= strlen(samples[i].in); cut++)
			check(&samples[i], cut, false);
		check(&samples[i], 0, true);
		ok(tap_failed == before, "%s: at every split", samples[i].name);
	}
}

static void test_types(void)
{
	static const struct {
		const char *type;
		int r;
	} types[] = {
		{TYPE, 0},
		{"Multipart/Form-Data;BOUNDARY=\"a b\"", 0},
		{"multipart/form-data; charset=utf-8; boundary=a=b", 0},
		{"multipart/mixed; boundary=a", ERR_TYPE},
		{"application/json", ERR_TYPE},
		{"", ERR_TYPE},
		{"multipart/form-data", ERR_SYNTAX},
		{"multipart/form-data; boundary=", ERR_SYNTAX},
		{"multipart/form-data; boundary=\"a", ERR_SYNTAX},
		{"multipart/form-data; boundary=\"a \"", ERR_SYNTAX},
		{"multipart/form-data; boundary=a\xc3\xa4", ERR_SYNTAX},
		{"multipart/form-data; boundary=\"a\rb\"", ERR_SYNTAX},
		{"multipart/form-data; boundary="
		 "0123456789012345678901234567890123456789012345678901234567890123456789"
		 "0",
			ERR_SYNTAX},
		{"multipart/form-data; boundary="
		 "0123456789012345678901234567890123456789012345678901234567890123456789",
			0},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct multipart m;

		is_int(multipart_init(&m, str_c(types[i].type)), types[i].r, "%s",
			types[i].type);
		multipart_free(&m);
	}
}

static void test_limits(void)
{
	struct buf in = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	struct multipart m;

	for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
		buf_puts(&in, PART("name=a") "\r\n");
	ok(multipart_init(&m, STR(TYPE)) == 0, "a form");
	is_int(feed(&m, buf_view(&in), &out), ERR_LIMIT, "one part too many");
	multipart_free(&m);

	buf_reset(&in);
	buf_puts(&in, "--XyZ\r\nA: ");
	for (int i = 0; i < MULTIPART_HEAD_MAX; i++)
		buf_putc(&in, 'a');
	ok(multipart_init(&m, STR(TYPE)) == 0, "a form");
	is_int(feed(&m, buf_view(&in), &out), ERR_LIMIT, "an endless head");
	multipart_free(&m);

	/* The largest head that may be; all of it is a name. */
	buf_reset(&in);
	buf_reset(&out);
	buf_puts(&in, PART("filename*=utf-8''"));
	in.n -= 4;
	while (in.n < MULTIPART_HEAD_MAX + 3)
		buf_putc(&in, 'a');
	buf_puts(&in, "\r\n\r\n");
	ok(multipart_init(&m, STR(TYPE)) == 0, "a form");
	is_int(feed(&m, buf_view(&in), &out), 0, "the largest head");
	ok(m.file_name.n > MULTIPART_HEAD_MAX - 70, "with its name");
	multipart_free(&m);
	buf_free(&in);
	buf_free(&out);
}

static void test_base(void)
{
	is_view(multipart_get_base(STR("a/b/c.txt")), "c.txt", "without folders");
	is_view(multipart_get_base(STR("../../x")), "x", "nor ways up");
	is_view(multipart_get_base(STR("/etc/passwd")), "passwd", "nor a root");
	is_view(multipart_get_base(STR("a/")), "", "nothing is left of a folder");
	is_view(multipart_get_base(STR("..")), "..", "two dots stay");
}

int main(void)
{
	test_samples();
	test_types();
	test_limits();
	test_base();
	return done_testing();
}

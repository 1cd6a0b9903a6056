#include "inject/image/dockerfile.h"

#include "inject/image/context.h"
#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static bool load(struct image *im, const char *config)
{
	struct buf text = BUF_INIT(1 << 20);

	buf_fmt(&text,
		"{\"Id\":\"sha256:ab\",\"Os\":\"linux\",\"Architecture\":\"amd64\","
		"\"RootFS\":{\"Type\":\"layers\",\"Layers\":[\"l1\",\"l2\"]}%s%s}",
		*config ? ",\"Config\":" : "", config);
	return ok(image_read_take(im, &text) == 0, "image is read");
}

static int write(struct image *im, struct buf *out)
{
	struct dockerfile d = {
		.below = IMAGE_STAGE_BASE,
		.upto = IMAGE_STAGE_SOURCE,
		.from = STR("base:x"),
		.base = im,
		.base_ref = STR("debian:12"),
		.arch = STR("amd64"),
		.client_sha256 = STR("cafe"),
		.shell = STR("busybox"),
		.busybox_sha256 = STR("babe"),
		.key = STR("oh_v1"),
	};

	return dockerfile_write(&d, out);
}

/* The Dockerfile of an image with this Config; freed by the caller. */
static struct buf text_of(const char *config)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct image im;

	if (load(&im, config)) {
		is_int(write(&im, &out), 0, "written");
		image_free(&im);
	}
	return out;
}

static bool has(const struct buf *b, const char *part)
{
	return str_find(buf_view(b), str_c(part)) < b->n;
}

static void test_plain(void)
{
	struct buf b = text_of("");

	is_view(buf_view(&b),
		"# od-runtime " OD_VERSION "\n"
		"FROM base:x\n"
		"LABEL od.version=\"" OD_VERSION "\" \\\n"
		"\tod.protocol=\"openhands-v0\" \\\n"
		"\tod.arch=\"amd64\" \\\n"
		"\tod.client.sha256=\"cafe\" \\\n"
		"\tod.shell=\"busybox\" \\\n"
		"\tod.busybox.sha256=\"babe\" \\\n"
		"\tod.plugins.sha256=\"\" \\\n"
		"\tod.layer=\"\" \\\n"
		"\tod.base.ref=\"debian:12\" \\\n"
		"\tod.base.id=\"sha256:ab\" \\\n"
		"\tod.base.layers=\"2\" \\\n"
		"\tod.base.top=\"l2\" \\\n"
		"\tod.deps=\"\" \\\n"
		"\tod.plugins=\"\" \\\n"
		"\tod.stage=\"\" \\\n"
		"\tod.key.version=\"\" \\\n"
		"\tod.key.lock=\"\" \\\n"
		"\tod.key.source=\"oh_v1\" \\\n"
		"\torg.opencontainers.image.base.name=\"debian:12\" \\\n"
		"\torg.opencontainers.image.base.digest=\"\" \\\n"
		"\tod.managed=\"1\"\n"
		"COPY rootfs/ /\n"
		"ENTRYPOINT [\"/.od/od-runtime-client\",\"init\"]\n",
		"all of it, for a base without settings");
	buf_free(&b);
	b = text_of("{\"Entrypoint\":null,\"Cmd\":[],\"User\":\"\",\"WorkingDir\":\"\","
		    "\"Healthcheck\":null,\"StopSignal\":\"\"}");
	ok(!has(&b, "od.orig"), "null and empty are left out");
	ok(!has(&b, "HEALTHCHECK"), "no check to switch off");
	buf_free(&b);
}

static void test_originals(void)
{
	struct buf b =
		text_of("{\"Entrypoint\":[\"/bin/sh\",\"-c\"],\"Cmd\":[\"a "
			"b\"],\"User\":\"1001:7\","
			"\"WorkingDir\":\"/srv\",\"StopSignal\":\"SIGQUIT\","
			"\"Healthcheck\":{\"Test\":[\"CMD\",\"x\"],\"Interval\":5}}");

	ok(has(&b, "od.orig.entrypoint=\"[\\\"/bin/sh\\\",\\\"-c\\\"]\""), "entrypoint");
	ok(has(&b, "od.orig.cmd=\"[\\\"a b\\\"]\""), "cmd");
	ok(has(&b, "od.orig.user=\"\\\"1001:7\\\"\""), "user");
	ok(has(&b, "od.orig.workdir=\"\\\"/srv\\\"\""), "workdir");
	ok(has(&b, "od.orig.stopsignal=\"\\\"SIGQUIT\\\"\""), "stopsignal");
	ok(has(&b,
		   "od.orig.healthcheck=\"{\\\"Test\\\":[\\\"CMD\\\",\\\"x\\\"],"
		   "\\\"Interval\\\":5}\""),
		"healthcheck");
	ok(has(&b, "\nHEALTHCHECK NONE\n"), "the check is switched off");
	ok(!has(&b, "RUN") && !has(&b, "\nENV") && !has(&b, "\nUSER") &&
			!has(&b, "\nWORKDIR"),
		"nothing else is set");
	buf_free(&b);
	b = text_of("{\"Healthcheck\":{\"Test\":[\"NONE\"]}}");
	ok(!has(&b, "HEALTHCHECK"), "a check that is off already");
	buf_free(&b);
	b = text_of(
		"{\"Entrypoint\":[\"/.od/od-runtime-client\",\"init\"],\"User\":\"u\"}");
	ok(!has(&b, "od.orig.entrypoint") && has(&b, "od.orig.user"),
		"our own entry point is nobody's original");
	buf_free(&b);
	b = text_of("{\"User\":\"u\",\"Labels\":{\"od.orig.cmd\":\"[1]\",\"od.orig."
		    "user\":\"x\"}}");
	ok(has(&b, "od.orig.cmd=\"\"") && has(&b, "od.orig.user=\"\\\"u\\\"\""),
		"a label of the base is not taken for its setting");
	buf_free(&b);
}

/* The rungs from below to upto of an image with this Config. */
static struct buf rungs_of(
	const char *config, enum image_stage below, enum image_stage upto)
{
	struct plugins plugins = {.n = 2};
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX), deps = BUF_INIT(1024);
	struct buf lent[2] = {BUF_INIT(64), BUF_INIT(64)};
	struct dockerfile d = {
		.from = STR("base:x"),
		.below = below,
		.upto = upto,
		.base_ref = STR("debian:12"),
		.arch = STR("amd64"),
		.version = STR("oh_v1_v"),
		.lock = STR("oh_v1_l"),
		.key = STR("oh_v1_l_s"),
		.plugins_label = STR("a=1 b=2"),
		.plugins = &plugins,
		.plugin_refs = lent,
	};
	struct image im;

	plugins.list[0] = (struct plugin){.name = STR("a")};
	plugins.list[1] = (struct plugin){.name = STR("b"), .image = "x:1"};
	buf_puts(&lent[1], "lent:b");
	dockerfile_quote(STR("a \"b\" $C\n<<EOF"), &deps);
	d.deps = buf_view(&deps);
	if (load(&im, config)) {
		d.base = &im;
		is_int(dockerfile_write(&d, &out), 0, "written");
		image_free(&im);
	}
	buf_free(&deps);
	buf_free(&lent[1]);
	return out;
}

#define DEPS "\"a \\\"b\\\" $C\\n\\u003c\\u003cEOF\""

static void test_rungs(void)
{
	struct buf b =
		rungs_of("{\"User\":\"www:7\"}", IMAGE_STAGE_BASE, IMAGE_STAGE_VERSIONED);

	ok(str_ends(buf_view(&b),
		   STR("\nUSER 0:0\nRUN [\"/bin/sh\",\"-c\"," DEPS "]\n"
		       "USER www:7\n")),
		"extra dependencies run as root in the usual shell");
	ok(has(&b, "od.stage=\"versioned\"") && has(&b, "od.key.version=\"oh_v1_v\"") &&
			has(&b, "od.key.lock=\"\"") && has(&b, "od.plugins=\"\"") &&
			has(&b, "od.managed=\"1\""),
		"the labels of that rung");
	ok(!has(&b, "COPY"), "and nothing else");
	buf_free(&b);
	b = rungs_of("{\"Shell\":[\"/bin/bash\",\"-ec\"]}", IMAGE_STAGE_BASE,
		IMAGE_STAGE_VERSIONED);
	ok(has(&b, "\nRUN [\"/bin/bash\",\"-ec\"," DEPS "]\nUSER 0:0\n"),
		"in the shell that the base names, and back to root where nobody is");
	buf_free(&b);
	b = rungs_of("", IMAGE_STAGE_VERSIONED, IMAGE_STAGE_LOCK);
	ok(str_ends(buf_view(&b),
		   STR("\nCOPY plugins/a/ /\n"
		       "COPY --from=lent:b / /.od/plugins/b/\n")) &&
			!has(&b, "\nRUN") && has(&b, "od.plugins=\"a=1 b=2\"") &&
			has(&b, "od.stage=\"lock\""),
		"plugins from folders and from images");
	buf_free(&b);
	b = rungs_of("", IMAGE_STAGE_LOCK, IMAGE_STAGE_SOURCE);
	ok(!has(&b, "\nRUN") && !has(&b, "plugins/") && has(&b, "COPY rootfs/ /") &&
			has(&b, "od.stage=\"\"") && has(&b, "od.key.lock=\"oh_v1_l\""),
		"the client alone, on the lock");
	buf_free(&b);
	b = rungs_of("", IMAGE_STAGE_BASE, IMAGE_STAGE_SOURCE);
	ok(has(&b, "\nRUN") && has(&b, "COPY plugins/a/ /") && has(&b, "COPY rootfs/ /"),
		"all rungs in one file");
	buf_free(&b);
}

static void test_user(void)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct dockerfile d = {.deps = STR("\"x\""), .upto = IMAGE_STAGE_VERSIONED};
	struct image im;

	if (load(&im, "{\"User\":\"a\\nRUN evil\"}")) {
		d.base = &im;
		is_int(dockerfile_write(&d, &out), ERR_SYNTAX,
			"a user that no line can name");
		image_free(&im);
	}
	buf_free(&out);
}

static void test_hostile(void)
{
	struct buf b = text_of("{\"Cmd\":[\"$HOME ${x} \\\" ' \\\\ ` \\n \\u001b[2J #\"],"
			       "\n\"User\":\"a\\\"\\nRUN evil\\nUSER x\"}");
	struct str rest = buf_view(&b);
	size_t lines = 0;

	ok(has(&b,
		   "\"[\\\"\\$HOME \\${x} \\\\\\\" ' \\\\\\\\ ` \\\\n \\\\u001b[2J "
		   "#\\\"]\""),
		"quotes, dollars, backslashes");
	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		lines++;
		ok(!str_starts(line, STR("RUN")) && !str_starts(line, STR("USER")),
			"no line of theirs");
	}
	is_int(lines, 3 + 21 + 2 + 1, "as many lines as values");
	buf_free(&b);
	b = text_of("{\"Cmd\":[\n\"a\"\r\n,\n\"b\"]}");
	ok(has(&b, "od.orig.cmd=\"[ \\\"a\\\"  , \\\"b\\\"]\""),
		"line ends between tokens become blanks");
	buf_free(&b);
}

static void test_limit(void)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct buf config = BUF_INIT(1 << 18);
	struct image im;

	buf_puts(&config, "{\"Cmd\":[\"");
	for (size_t i = 0; i < INJECT_LABEL_MAX; i++)
		buf_putc(&config, 'a');
	buf_puts(&config, "\"]}");
	if (load(&im, buf_cstr(&config))) {
		is_int(write(&im, &out), ERR_LIMIT, "a value too long for a line");
		image_free(&im);
	}
	buf_free(&out);
	buf_free(&config);
}

static int take(void *all, struct str piece)
{
	buf_str(all, piece);
	return 0;
}

static struct buf pack(struct str busybox, bool drop_in)
{
	const struct context_files files = {
		.dockerfile = STR("FROM x\n"),
		.client = STR("\177ELF"),
		.busybox = busybox,
		.drop_in = drop_in,
	};
	struct buf all = BUF_INIT(1 << 20);
	struct context c;

	is_int(context_init(&c, &files), 0, "packed");
	is_int(context_put(&c, take, &all), 0, "put");
	context_free(&c);
	return all;
}

static void test_context(void)
{
	struct buf a = pack((struct str){0}, true), b = pack((struct str){0}, true);
	struct buf c = pack((struct str){0}, false);
	const char *client = a.p + 4 * 512;

	is_mem(a.p, a.n, b.p, b.n, "the same bytes each time");
	is_int(a.n % 512, 0, "whole blocks");
	is_int(a.n, 512 * (2 + 1 + 1 + 2 + 3 + 1 + 2), "the number of entries");
	is_int(c.n, 512 * (2 + 1 + 1 + 2 + 2), "and without the drop-in link");
	is_str(a.p, "Dockerfile", "first entry");
	is_str(client, "rootfs/.od/od-runtime-client", "the client");
	is_str(client + 100, "0000555", "its mode");
	is_mem(client + 512, 4, "\177ELF", 4, "its bytes");
	is_str(client + 5 * 512, "rootfs/openhands/micromamba/bin/micromamba", "link");
	is_str(client + 5 * 512 + 157, "/.od/od-runtime-client", "its target");
	buf_free(&a);
	buf_free(&b);
	buf_free(&c);
}

/* Each program has its own place, whichever others there are. */
static void test_plugins_program(void)
{
	const struct context_files files = {
		.dockerfile = STR("FROM x\n"),
		.client = STR("\177ELF"),
		.busybox = STR("shell"),
		.plugins_program = STR("plugins"),
	};
	struct buf all = BUF_INIT(1 << 20);
	struct context c;
	const char *shell, *plugins, *client;

	is_int(context_init(&c, &files), 0, "all three programs are packed");
	is_int(context_put(&c, take, &all), 0, "all three programs are put");
	context_free(&c);
	is_int(all.n, 512 * (2 + 1 + 1 + 1 + 2 + 2 + 2 + 2), "the number of blocks");
	shell = all.p + 5 * 512;
	plugins = shell + 1024;
	client = plugins + 1024;
	is_str(shell, "rootfs/.od/bin/busybox", "the first program is the busybox");
	is_mem(shell + 512, 6, "shell\0", 6, "the busybox has its bytes");
	is_str(plugins, "rootfs/.od/od-plugins", "the second program is od-plugins");
	is_str(plugins + 100, "0000555", "od-plugins has the mode of the client");
	is_mem(plugins + 512, 8, "plugins\0", 8, "od-plugins has its bytes");
	is_str(client, "rootfs/.od/od-runtime-client", "the last program is the client");
	is_mem(client + 512, 4, "\177ELF", 4, "the client has its bytes");
	buf_free(&all);
}

static void test_busybox(void)
{
	struct buf a = pack(STR("shell"), false);
	const char *shell = a.p + 5 * 512;

	is_int(a.n, 512 * (2 + 1 + 1 + 1 + 2 + 2 + 2), "a folder and a file more");
	is_str(shell, "rootfs/.od/bin/busybox", "busybox");
	is_str(shell + 100, "0000755", "its mode");
	is_mem(shell + 512, 6, "shell\0", 6, "its bytes");
	is_str(shell + 1024, "rootfs/.od/od-runtime-client", "then the client");
	is_mem(shell + 1536, 4, "\177ELF", 4, "with its own");
	buf_free(&a);
}

int main(void)
{
	test_rungs();
	test_user();
	test_plain();
	test_originals();
	test_hostile();
	test_limit();
	test_context();
	test_busybox();
	test_plugins_program();
	return done_testing();
}

/*
 * Any bytes as what an engine, or the config of an image, says of a user's image, and the
 * Dockerfile that is made on top of it: whatever stands in the image, each instruction is
 * one of ours, and its labels say as JSON what was there.
 */
#include "inject/image/dockerfile.h"
#include "inject/image/labels.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the order in which they come: an image has some of them, and no other. */
static const char *const instructions[] = {"# od-runtime ", "FROM b:x\n",
	"LABEL od.version=\"", "USER 0:0\n", "RUN [\"", "USER ", "LABEL od.version=\"",
	"COPY rootfs/ /\n", "HEALTHCHECK NONE\n",
	"ENTRYPOINT [\"" IMAGE_CLIENT "\",\"init\"]\n"};

/* Of a label: the rest of its line is one value in quotes. */
static void check_quoted(struct str line)
{
	size_t at = str_find(line, STR("=\"")) + 2;

	assert(at < line.n);
	for (; line.p[at] != '"'; at++) {
		assert(line.p[at] != '$');
		at += line.p[at] == '\\';
		assert(at + 1 < line.n);
	}
	line = str_skip(line, at + 1);
	assert(!line.n || str_eq(line, STR(" \\")));
}

static bool is_instruction(struct str *text, size_t *at)
{
	while (*at < ARRAY_LEN(instructions))
		if (str_starts(*text, str_c(instructions[(*at)++])))
			return true;
	return false;
}

static void check_dockerfile(struct str text)
{
	size_t at = 0;
	bool more = false;

	while (text.n) {
		struct str line = text;

		line.n = str_find_byte(line, '\n');
		assert(line.n < text.n && !memchr(line.p, '\r', line.n));
		assert(more ? line.p[0] == '\t' : is_instruction(&text, &at));
		if (more || str_starts(line, STR("LABEL ")))
			check_quoted(line);
		else if (str_starts(line, STR("RUN ")))
			assert(!str_ends(line, STR("\\")) &&
				str_find(line, STR("<<")) == line.n);
		more = str_ends(line, STR("\" \\"));
		text = str_skip(text, line.n + 1);
	}
	assert(at == ARRAY_LEN(instructions));
}

static void write_on(struct image *im)
{
	struct buf out = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct dockerfile d = {
		.below = IMAGE_STAGE_BASE,
		.upto = IMAGE_STAGE_SOURCE,
		.from = STR("b:x"),
		.base = im,
		.base_ref = STR("b"),
		.arch = im->arch,
		.deps = STR("\"true\""),
	};

	if (dockerfile_write(&d, &out) == 0)
		check_dockerfile(buf_view(&out));
	buf_free(&out);
}

static void check_words(void *arg, struct str word)
{
	size_t *n = arg;

	assert(word.n <= INJECT_REPLY_MAX);
	++*n;
}

static void check(struct image *im)
{
	size_t n = 0, words = 0, layers = 0;

	(void)image_refusal(im);
	(void)image_build_refusal(im);
	(void)image_is_product(im);
	(void)image_has_name(im);
	(void)image_digest(im);
	assert(image_begins_with(im, im) && !image_is_above(im, im));
	assert(image_shell(im) <= IMAGE_SHELL_NONE);
	if (image_base_layers(im, &layers) == 0)
		assert(layers <= json_count(im->layers));
	if (labels_command(im, check_words, &words, &n) == 0)
		assert(words == n);
	write_on(im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = BUF_INIT(INJECT_REPLY_MAX), again = BUF_INIT(INJECT_REPLY_MAX);
	struct image im;

	buf_put(&text, data, size);
	buf_put(&again, data, size);
	if (image_read_take(&im, &text) == 0) {
		check(&im);
		image_free(&im);
	}
	if (image_read_config_take(&im, &again, STR("sha256:ab")) == 0) {
		check(&im);
		image_free(&im);
	}
	return 0;
}

/*
 * The parts of a document of Word, or where the first byte is odd of PowerPoint, with a
 * NUL between them, packed as one: it is told as text, or why not.
 */
#include "base/fd.h"
#include "base/utf8.h"
#include "codec/archive/zip.h"
#include "limits.h"
#include "skill/private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTS = 4 };

static const char *const names[2][PARTS] = {
	{"_rels/.rels", "word/document.xml", "a.xml", "word/b.xml"},
	{"_rels/.rels", "ppt/presentation.xml", "ppt/_rels/presentation.xml.rels",
		"ppt/slides/slide1.xml"},
};

/* A file with them, as a path. */
static int pack(const char *const name[PARTS], struct str rest, char path[64])
{
	struct buf out = BUF_INIT(1 << 22);
	struct zip z;
	int fd = fd_create_memory("fuzz", 0);

	zip_init(&z, &out);
	for (size_t i = 0; i < PARTS && rest.n; i++) {
		struct zip_entry e = {.name = str_c(name[i]), .mode = S_IFREG | 0644};

		assert(!zip_put(&z, &e, str_cut(&rest, '\0')));
	}
	assert(!zip_finish(&z, STR("")) && !out.err);
	assert(fd >= 0 && !fd_write_all(fd, out.p, out.n));
	zip_free(&z);
	buf_free(&out);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = str_make((const char *)data, size);
	bool slides = size && data[0] & 1;
	char path[64];
	struct skill_call c = {.args = {path}, .out = BUF_INIT(1 << 24)};
	int fd = pack(names[slides], str_skip(in, 1), path);
	struct str said;

	(slides ? skill_parse_pptx : skill_parse_docx)(&c);
	said = buf_view(&c.out);
	assert(!c.out.err && utf8_is_valid(said) && str_ends(said, STR("\n")));
	if (c.failed)
		assert(str_starts(said, STR("ERROR: ")) ||
			(slides &&
				str_starts(said, STR("[Reading PowerPoint file from "))));
	else
		assert(str_starts(said, STR("[Reading ")));
	buf_free(&c.out);
	fd_close(&fd);
	return 0;
}

#include "inject/image/scan.h"

#include "proc/shells.h"

#include <errno.h>

enum { INJECT_SCAN_MAX = 256 << 20 }; /* bytes of an unpacked layer */

enum { GZIP_WINDOW = 15 + 16, ROOM = 64 << 10 };

void scan_init(struct scan *s)
{
	*s = (struct scan){.memory = BUF_INIT(ROOM)};
	untar_init(&s->untar);
}

static void scan_end_layer(struct scan *s)
{
	untar_free(&s->untar);
	if (s->inflates)
		inflateEnd(&s->z);
	s->inflates = false;
}

void scan_free(struct scan *s)
{
	scan_end_layer(s);
	buf_free(&s->memory);
}

int scan_begin_layer(struct scan *s)
{
	scan_end_layer(s);
	untar_init(&s->untar);
	s->z = (z_stream){0};
	if (inflateInit2(&s->z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	s->inflates = true;
	s->state = SCAN_START;
	s->others = false;
	s->room = (unsigned char *)s->memory.p;
	if (!s->room) {
		s->room = (unsigned char *)buf_reserve(&s->memory, ROOM);
		if (!s->room)
			return s->memory.err;
	}
	return 0;
}

/* The name without "./" in front; paths are compared without "usr/" (scan_trim_usr). */
static struct str scan_trim_name(struct str name)
{
	if (str_starts(name, STR("./")))
		name = str_skip(name, 2);
	return name;
}

static struct str scan_trim_usr(struct str path)
{
	return str_starts(path, STR("usr/")) ? str_skip(path, 4) : path;
}

/*
 * Sets or clears a shell's bit; a whiteout "bin/.wh.sh" removes the file of lower layers.
 */
static void scan_on_shell(struct scan *s, struct str name, bool runs)
{
	struct str path = scan_trim_usr(name);

	for (size_t i = 0; shells_paths[i]; i++) {
		struct str want = scan_trim_usr(str_skip(str_c(shells_paths[i]), 1));
		struct str file = want;
		struct str folder = str_cut(&file, '/');

		if (str_eq(path, want)) {
			s->shells &= ~(1u << i);
			s->shells |= runs ? 1u << i : 0;
		} else if (str_starts(path, folder) &&
			str_starts(str_skip(path, folder.n), STR("/.wh.")) &&
			str_eq(str_skip(path, folder.n + 5), file)) {
			s->shells &= ~(1u << i);
		}
	}
}

static void scan_on_entry(struct scan *s, const struct untar_entry *e)
{
	struct str name = scan_trim_name(e->name), rest = name;
	struct str top = str_cut(&rest, '/');
	bool link = e->type == UNTAR_SYMLINK || e->type == UNTAR_HARDLINK;

	if (str_eq(top, STR("openhands")))
		s->openhands = true;
	if (!str_eq(top, STR("openhands")) && !str_eq(top, STR(".od")))
		s->others = true;
	else if (str_eq(top, STR(".od")))
		return;
	scan_on_shell(s, name, link || (e->type == UNTAR_FILE && (e->mode & 0111)));
}

static int scan_read_tar(struct scan *s, struct str in)
{
	struct str piece;

	while (in.n) {
		int r = untar_next(&s->untar, &in, &piece);

		if (r == UNTAR_DONE) {
			s->state = SCAN_END;
			return 0;
		}
		if (r < 0)
			return r == -ENOMEM ? r : ERR_SYNTAX;
		if (r == UNTAR_ENTRY)
			scan_on_entry(s, &s->untar.entry);
	}
	return 0;
}

static int scan_read_gzip(struct scan *s, struct str in)
{
	s->z.next_in = (Bytef *)(uintptr_t)in.p;
	s->z.avail_in = (uInt)in.n;
	while (s->z.avail_in && s->state == SCAN_GZIP) {
		int z, r;

		s->z.next_out = s->room;
		s->z.avail_out = ROOM;
		z = inflate(&s->z, Z_NO_FLUSH);
		/*
		 * Output before an error counts: the result must not depend on the
		 * pieces.
		 */
		r = scan_read_tar(
			s, str_make((const char *)s->room, ROOM - s->z.avail_out));
		if (r || s->state == SCAN_END)
			return r;
		if (z == Z_MEM_ERROR)
			return -ENOMEM;
		/*
		 * Z_BUF_ERROR requests more input; after the end of the gzip data any
		 * input is an error.
		 */
		if ((z != Z_OK && z != Z_BUF_ERROR) || s->z.total_out > INJECT_SCAN_MAX)
			return ERR_SYNTAX;
	}
	return 0;
}

int scan_put(void *arg, struct str piece)
{
	struct scan *s = arg;

	if (s->state == SCAN_START && piece.n)
		s->state = (unsigned char)piece.p[0] == 0x1f ? SCAN_GZIP : SCAN_PLAIN;
	switch (s->state) {
	case SCAN_PLAIN:
		return scan_read_tar(s, piece);
	case SCAN_GZIP:
		return scan_read_gzip(s, piece);
	default:
		return 0;
	}
}

bool scan_has_shell(const struct scan *s)
{
	return s->shells != 0;
}

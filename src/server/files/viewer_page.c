#include "server/files/viewer_page.h"

#include "base/b64.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "fs/load.h"
#include "fs/path.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>

static const char style[] = "body{font-family:sans-serif;margin:20px}"
			    "img{max-width:100%}"
			    "canvas{display:block;margin:10px 0;border:1px solid #ccc}";

/* Draws the text of each page. Screen readers find the same text. */
static const char script[] = "for(const c of document.querySelectorAll('canvas')){"
			     "const t=c.textContent.split('\\n'),g=c.getContext('2d');"
			     "c.width=816;c.height=Math.max(1056,t.length*18+80);"
			     "g.fillStyle='#fff';g.fillRect(0,0,c.width,c.height);"
			     "g.fillStyle='#000';g.font='14px sans-serif';"
			     "t.forEach((s,i)=>g.fillText(s,40,50+i*18,736))}";

/* The type of a file by its first bytes, whatever its name is. */
static const struct viewer_kind {
	struct str sign;
	const char *type; /* NULL: PDF */
} kinds[] = {
	{STR("\x89PNG\r\n\x1a\n"), "image/png"},
	{STR("\xff\xd8\xff"), "image/jpeg"},
	{STR("GIF87a"), "image/gif"},
	{STR("GIF89a"), "image/gif"},
	{STR("%PDF-"), NULL},
};

static const char *const extensions[] = {"pdf", "png", "jpg", "jpeg", "gif"};

static void viewer_page_escape(struct buf *out, struct str text)
{
	struct buf good = BUF_INIT(3 * text.n + 1);

	utf8_repair(&good, text);
	if (good.err)
		out->err = good.err;
	for (size_t i = 0; i < good.n; i++)
		switch (good.p[i]) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, good.p[i]);
		}
	buf_free(&good);
}

/*
 * Style and script are allowed by their hashes, so nothing else in the page is executed.
 */
static void viewer_page_put_hash(struct buf *out, const char *what, const char *text)
{
	uint8_t digest[SHA256_LEN];

	sha256_compute(str_c(text), digest);
	buf_fmt(out, "; %s 'sha256-", what);
	b64_encode(out, str_make((const char *)digest, sizeof(digest)));
	buf_putc(out, '\'');
}

void viewer_write_policy(struct buf *out)
{
	buf_puts(out, "default-src 'none'; img-src data:; frame-ancestors 'none'");
	viewer_page_put_hash(out, "style-src", style);
	viewer_page_put_hash(out, "script-src", script);
}

void viewer_write_error(struct buf *out, const char *heading, struct str words)
{
	buf_fmt(out, "<h1>%s</h1><p>", heading);
	viewer_page_escape(out, words);
	buf_puts(out, "</p>");
}

static int viewer_page_send(struct transfer_io *io, unsigned status)
{
	struct transfer_head head = {
		.status = status, .length = io->buf.n, .type = VIEWER_HTML};
	int r;

	if (io->buf.err)
		return io->buf.err;
	r = transfer_begin(io, &head);
	return r ? r : transfer_flush(io);
}

static int viewer_page_send_error(struct transfer_io *io, unsigned status,
	const char *heading, struct str path, const char *why)
{
	viewer_write_error(&io->buf, heading, path);
	if (why) {
		buf_puts(&io->buf, "<p>");
		viewer_page_escape(&io->buf, str_c(why));
		buf_puts(&io->buf, "</p>");
	}
	return viewer_page_send(io, status);
}

/*
 * The content decides, not the name. A link x.png to a file of the sandbox user must not
 * show that file to other users, who can reach this port as well.
 */
static const struct viewer_kind *viewer_page_find_kind(struct str content)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_starts(content, kinds[i].sign))
			return &kinds[i];
	return NULL;
}

static void viewer_page_write(struct buf *out, struct str name,
	const struct viewer_kind *kind, struct str content)
{
	buf_puts(out,
		"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">"
		"<title>File Viewer - ");
	viewer_page_escape(out, name);
	buf_fmt(out, "</title><style>%s</style></head>\n<body><h1>File Viewer - ", style);
	viewer_page_escape(out, name);
	buf_puts(out, "</h1>\n");
	if (kind->type) {
		buf_fmt(out, "<img src=\"data:%s;base64,", kind->type);
		b64_encode(out, content);
		buf_puts(out, "\" alt=\"");
		viewer_page_escape(out, name);
		buf_puts(out, "\">");
	} else {
		buf_puts(out, "<canvas></canvas>");
		buf_fmt(out, "<script>%s</script>", script);
	}
	buf_puts(out, "\n</body></html>\n");
}

/*
 * Reads the file at path, which may be of any type. Returns 0, or an error with a message
 * in *why.
 */
static int viewer_page_load(const char *path, struct buf *content, const char **why)
{
	struct stat st;
	int fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	int r = fd;

	if (fd >= 0)
		r = load_read_part(fd, 0, VIEWER_FILE_MAX + 1, content);
	fd_close(&fd);
	if (r == 0 && content->n > VIEWER_FILE_MAX)
		r = ERR_LIMIT;
	if (r == ERR_TYPE)
		*why = "It is not a regular file.";
	else if (r == ERR_LIMIT)
		*why = "It is larger than 16 MiB.";
	else if (r)
		*why = err_text(r);
	return r;
}

static int viewer_page_show(
	struct transfer_io *io, const struct file_path *p, struct str sent)
{
	struct buf content = BUF_INIT(VIEWER_FILE_MAX + JOB_PIECE);
	const char *why = "It is neither PNG, JPEG, GIF nor PDF.";
	const struct viewer_kind *kind = NULL;
	int r = viewer_page_load(p->abs, &content, &why);

	if (!r)
		kind = viewer_page_find_kind(buf_view(&content));
	if (kind)
		viewer_page_write(&io->buf, file_path_base(p), kind, buf_view(&content));
	buf_free(&content);
	return kind ? viewer_page_send(io, 200)
		    : viewer_page_send_error(io, 500, "Error viewing file", sent, why);
}

static bool viewer_page_is_supported(struct str extension)
{
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
		if (str_eq_nocase(extension, str_c(extensions[i])))
			return true;
	return false;
}

int viewer_page_work(struct transfer_io *io, const struct transfer_request *ask)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct file_path p;
	struct stat st;
	int r;

	if (!str_starts(ask->path, STR("/")))
		return viewer_page_send_error(
			io, 400, "Error: Path must be absolute", ask->path, NULL);
	r = file_path_make(&p, STR("/"), ask->path, &why);
	buf_free(&why);
	if (r || stat(p.abs, &st) < 0)
		return viewer_page_send_error(
			io, 404, "Error: File not found", ask->path, NULL);
	if (S_ISDIR(st.st_mode))
		return viewer_page_send_error(
			io, 400, "Error: Path is a directory", ask->path, NULL);
	if (!viewer_page_is_supported(file_path_ext(&p)))
		return viewer_page_send_error(io, 500, "Error viewing file", ask->path,
			"Unsupported file extension. Only .pdf, .png, .jpg, .jpeg and "
			".gif are shown.");
	return viewer_page_show(io, &p, ask->path);
}

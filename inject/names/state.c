#include "inject/names/state.h"

#include "base/fd.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/http/json_doc.h"
#include "limits.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INJECT_STATE_MAX = 16 << 10 }; /* bytes; a state file has 400 */

bool state_is_name(struct str name)
{
	if (name.n < 2 || name.n > STATE_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9');

		if (!alnum && (i == 0 || !memchr("_.-", c, 3)))
			return false;
	}
	return true;
}

static int state_folder_path(char *path, size_t room)
{
	static const struct {
		const char *variable, *below;
	} places[] = {
		{"OD_STATE_DIR", "/sandboxes"},
		{"XDG_STATE_HOME", "/od-runtime/sandboxes"},
		{"HOME", "/.local/state/od-runtime/sandboxes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *top = getenv(places[i].variable);
		int n;

		if (!top || *top != '/')
			continue;
		n = snprintf(path, room, "%s%s", top, places[i].below);
		return n < 0 || (size_t)n >= room ? -ENAMETOOLONG : 0;
	}
	return -ENOENT;
}

/* Creates the missing folders of path, each with mode 0700. */
static int state_make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
		int r;

		if (p)
			*p = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		if (p)
			*p = '/';
		if (r || !p)
			return r;
	}
}

static int state_check_folder(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

/* Opens the folder: its fd, -ENOENT (only without make), or FAIL_*. */
static int state_open_folder(bool make)
{
	char path[FILE_PATH_MAX] = "";
	int r = state_folder_path(path, sizeof(path));
	int fd;

	if (r)
		return out_fail("set OD_STATE_DIR to a folder of your own",
			"the keys of sandboxes cannot be stored, because HOME is not "
			"set");
	if (make)
		r = state_make_folders(path);
	fd = r ? r : fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd == -ENOENT && !make)
		return fd;
	if (fd < 0)
		return out_fail("make it writable, or set OD_STATE_DIR to another folder",
			"cannot use the state folder %s: %s", path, err_text(fd));
	if (state_check_folder(fd)) {
		fd_close(&fd);
		return out_fail(
			"run chmod 700 on it, or set OD_STATE_DIR to another folder",
			"other users can access the state folder %s", path);
	}
	return fd;
}

/* The folder's descriptor if it exists and is private. Never prints. */
static int state_open_folder_quietly(void)
{
	char path[FILE_PATH_MAX] = "";
	int r = state_folder_path(path, sizeof(path));
	int fd = r ? r : fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd >= 0 && state_check_folder(fd)) {
		fd_close(&fd);
		return -EPERM;
	}
	return fd;
}

static int state_file_name(const char *name, char *out, size_t room)
{
	int n = snprintf(out, room, "%s.json", name);

	return n < 0 || (size_t)n >= room ? -ENAMETOOLONG : 0;
}

static int state_write_file(int dir, const char *name, struct str text)
{
	char temp[] = ".0123456789abcdef";
	uint8_t random[8];
	int r = random_bytes(random, sizeof(random));
	int fd;

	if (r)
		return r;
	hex_encode(random, sizeof(random), temp + 1);
	fd = fd_openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	r = fd_write_all(fd, text.p, text.n);
	fd_close(&fd);
	if (!r && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r)
		unlinkat(dir, temp, 0);
	return r;
}

int state_make_key(struct state *s, char hash[SHA256_HEX + 1])
{
	uint8_t random[STATE_KEY_LEN], digest[SHA256_LEN];
	int r = random_bytes(random, sizeof(random));

	if (r)
		return r;
	hex_encode(random, sizeof(random), s->key);
	sha256_compute(str_c(s->key), digest);
	hex_encode(digest, sizeof(digest), hash);
	explicit_bzero(random, sizeof(random));
	return 0;
}

int state_save(const struct state *s)
{
	struct buf text = BUF_SECRET(INJECT_STATE_MAX);
	char name[STATE_NAME_MAX + 8], pin[SHA256_HEX + 1] = "";
	struct jw w;
	int dir = state_open_folder(true);
	int r;

	if (dir < 0)
		return dir;
	jw_init(&w, &text);
	jw_object(&w);
	jw_key(&w, "name");
	jw_cstr(&w, s->name);
	jw_key(&w, "id");
	jw_cstr(&w, s->id);
	jw_key(&w, "engine");
	jw_cstr(&w, s->engine);
	jw_key(&w, "key");
	jw_cstr(&w, s->key);
	if (s->tls) {
		if (s->pinned)
			hex_encode(s->pin, sizeof(s->pin), pin);
		jw_key(&w, "tls");
		jw_cstr(&w, pin);
		jw_key(&w, "ended");
		jw_cstr(&w, s->ended);
	}
	if (s->port) {
		jw_key(&w, "port");
		jw_uint(&w, s->port);
	}
	jw_end(&w);
	buf_putc(&text, '\n');
	r = text.err ? text.err : state_file_name(s->name, name, sizeof(name));
	if (!r)
		r = state_write_file(dir, name, buf_view(&text));
	fd_close(&dir);
	buf_free(&text);
	if (r)
		return out_fail("free disk space, or set OD_STATE_DIR to another folder",
			"cannot write the state of the sandbox %s: %s", s->name,
			err_text(r));
	return 0;
}

static int state_copy_text(char *out, size_t room, struct str s)
{
	if (s.n >= room || (s.n && memchr(s.p, '\0', s.n)))
		return ERR_SYNTAX;
	if (s.n)
		memcpy(out, s.p, s.n);
	out[s.n] = '\0';
	return 0;
}

static int state_parse(struct str text, const char *name, struct state *s)
{
	struct state got = {0};
	const struct {
		const char *member;
		char *out;
		size_t room;
	} rows[] = {
		{"id", got.id, sizeof(got.id)},
		{"engine", got.engine, sizeof(got.engine)},
		{"key", got.key, sizeof(got.key)},
		{"ended", got.ended, sizeof(got.ended)},
	};
	uint8_t key[STATE_KEY_LEN];
	struct json_val tls;
	struct str pin;
	int64_t port;
	struct json_doc d;
	int r = json_doc_parse(&d, text);

	if (r)
		return r;
	r = state_copy_text(got.name, sizeof(got.name), str_c(name));
	for (size_t i = 0; i < ARRAY_LEN(rows) && !r; i++)
		r = state_copy_text(rows[i].out, rows[i].room,
			json_doc_str(&d, json_get(json_doc_root(&d), rows[i].member)));
	tls = json_get(json_doc_root(&d), "tls");
	pin = json_doc_str(&d, tls);
	got.tls = json_type(tls) == JSON_STRING;
	got.pinned = pin.n > 0;
	if (!r && got.pinned)
		r = hex_decode(pin, got.pin, sizeof(got.pin));
	port = json_doc_int(json_get(json_doc_root(&d), "port"), 0);
	got.port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
	if (!r)
		r = hex_decode(str_c(got.key), key, sizeof(key));
	if (!r)
		*s = got;
	explicit_bzero(key, sizeof(key));
	state_wipe_key(&got);
	json_doc_free(&d);
	return r;
}

static int state_read_file(int dir, const char *name, char *text, size_t room, size_t *n)
{
	int fd = fd_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = read(fd, text, room);
	if (got < 0)
		got = -errno;
	fd_close(&fd);
	if (got < 0)
		return (int)got;
	*n = (size_t)got;
	return 0;
}

static int state_read(int dir, const char *name, struct state *s)
{
	char text[1024], file[STATE_NAME_MAX + 8];
	size_t n = 0;
	int r = state_file_name(name, file, sizeof(file));

	if (!r)
		r = state_read_file(dir, file, text, sizeof(text), &n);
	if (!r)
		r = state_parse(str_make(text, n), name, s);
	explicit_bzero(text, sizeof(text));
	return r;
}

bool state_find(struct str name, struct str id, struct state *s)
{
	char own[STATE_NAME_MAX + 1];
	int dir, r;

	assert(s);
	if (!state_is_name(name))
		return false;
	dir = state_open_folder_quietly();
	if (dir < 0)
		return false;
	snprintf(own, sizeof(own), "%.*s", STR_ARG(name));
	r = state_read(dir, own, s);
	fd_close(&dir);
	if (!r && !str_eq(id, str_c(s->id))) {
		state_wipe_key(s);
		r = 1;
	}
	return r == 0;
}

/* Reads an entry of the folder; files that are no states are skipped. */
static int state_visit(
	int dir, const char *file, int (*fn)(void *arg, const struct state *s), void *arg)
{
	struct str name = str_c(file);
	char own[STATE_NAME_MAX + 1];
	struct state s;
	int r = 0;

	if (!str_ends(name, STR(".json")))
		return 0;
	name.n -= sizeof(".json") - 1;
	if (!state_is_name(name))
		return 0;
	snprintf(own, sizeof(own), "%.*s", STR_ARG(name));
	if (state_read(dir, own, &s) == 0) {
		r = fn(arg, &s);
		state_wipe_key(&s);
	}
	return r;
}

int state_each(int (*fn)(void *arg, const struct state *s), void *arg)
{
	int fd = state_open_folder_quietly(), r = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!list) {
		fd_close(&fd);
		return 0;
	}
	while (!r && (e = readdir(list)))
		r = state_visit(fd, e->d_name, fn, arg);
	closedir(list);
	return r;
}

int state_path(const char *name, char *path, size_t room)
{
	int n, r = state_folder_path(path, room);
	size_t at;

	if (r)
		return r;
	at = strlen(path);
	n = snprintf(path + at, room - at, "/%s.json", name);
	return n < 0 || (size_t)n >= room - at ? -ENAMETOOLONG : 0;
}

int state_load(const char *name, struct state *s)
{
	int dir = state_open_folder(false), r;

	if (dir < 0)
		return dir;
	r = state_read(dir, name, s);
	fd_close(&dir);
	if (r && r != -ENOENT)
		return out_fail(
			"remove the sandbox with od-runtime rm -f, then run it again",
			"cannot read the state of the sandbox %s: %s", name, err_text(r));
	return r;
}

void state_remove(const char *name)
{
	char file[STATE_NAME_MAX + 8];
	int dir;

	if (state_file_name(name, file, sizeof(file)))
		return;
	dir = state_open_folder(false);
	if (dir < 0)
		return;
	unlinkat(dir, file, 0);
	fd_close(&dir);
}

void state_wipe_key(struct state *s)
{
	explicit_bzero(s->key, sizeof(s->key));
}

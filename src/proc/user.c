#include "proc/user.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "proc/userdb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DB_PIECE = 4096, MODE_BITS = 07777 };

static const char passwd_path[] = "/etc/passwd";
static const char group_path[] = "/etc/group";
static const char shadow_path[] = "/etc/shadow";
static const char sudoers_path[] = "/etc/sudoers";

/* A path below the root, NUL-terminated in out. */
static int user_join_path(const char *root, const char *path, char out[FILE_PATH_MAX])
{
	int n = snprintf(out, FILE_PATH_MAX, "%s%s", root, path);

	return n < 0 || n >= FILE_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Opens a regular file below the root, nothing else, and without waiting. */
static int user_open_file(const char *root, const char *path, int flags, struct stat *st)
{
	char full[FILE_PATH_MAX];
	int r = user_join_path(root, path, full);
	int fd;

	if (r)
		return r;
	fd = fd_open(full, flags | O_NONBLOCK, 0644);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		r = -errno;
	else if (!S_ISREG(st->st_mode))
		r = -EINVAL;
	if (!r)
		return fd;
	fd_close(&fd);
	return r;
}

/*
 * Appends the file's text. If the file is larger than the maximum, the whole lines that
 * fit are kept and the result is ERR_LIMIT.
 */
static int user_load_file(const char *root, const char *path, struct buf *text)
{
	struct stat st;
	int fd = user_open_file(root, path, O_RDONLY, &st);
	ssize_t got = 1;

	if (fd < 0)
		return fd;
	while (got > 0 && text->max - text->n >= DB_PIECE) {
		char *room = buf_reserve(text, DB_PIECE);

		if (!room)
			break;
		got = read(fd, room, DB_PIECE);
		if (got > 0)
			buf_commit(text, (size_t)got);
	}
	fd_close(&fd);
	if (got == 0 || text->err)
		return text->err;
	while (text->n && text->p[text->n - 1] != '\n')
		text->n--;
	return got < 0 ? -EIO : ERR_LIMIT;
}

/* The user database of the image. */
struct db {
	struct buf passwd;
	struct buf group;
};

static int user_load_db(struct db *db, const char *root)
{
	*db = (struct db){BUF_INIT(USER_DB_MAX), BUF_INIT(USER_DB_MAX)};
	/* Without a group file, users are still valid. */
	if (user_load_file(root, group_path, &db->group))
		buf_free(&db->group);
	return user_load_file(root, passwd_path, &db->passwd);
}

static void user_free_db(struct db *db)
{
	buf_free(&db->passwd);
	buf_free(&db->group);
}

/* Copies a view that is shorter than size and free of NUL; else sets an empty text. */
static bool user_copy_text(char *to, size_t size, struct str s)
{
	bool fits = s.n < size && str_find_byte(s, '\0') == s.n;

	if (fits && s.n)
		memcpy(to, s.p, s.n);
	to[fits ? s.n : 0] = '\0';
	return fits;
}

static void user_add_group(struct user *u, gid_t gid)
{
	for (size_t i = 0; i < u->groups_n; i++)
		if (u->groups[i] == gid)
			return;
	if (u->groups_n < USER_GROUPS_MAX)
		u->groups[u->groups_n++] = gid;
}

static void user_add_memberships(struct user *u, const struct db *db)
{
	struct str text = buf_view(&db->group);
	struct userdb_group g;

	user_add_group(u, u->gid);
	while (userdb_next_group(&text, &g))
		if (userdb_has_member(&g, str_c(u->name)))
			user_add_group(u, g.gid);
}

/* Makes a user of an entry; false if the name is too long. */
static bool user_from_entry(
	const struct userdb_user *e, const struct db *db, struct user *out)
{
	struct user u = {.uid = e->uid, .gid = e->gid, .origin = USER_FOUND};

	if (!user_copy_text(u.name, sizeof(u.name), e->name))
		return false;
	if (!user_copy_text(u.home, sizeof(u.home), e->home) || !*u.home)
		user_copy_text(u.home, sizeof(u.home), STR("/"));
	/* passwd(5): empty means the default shell. */
	if (!user_copy_text(u.shell, sizeof(u.shell), e->shell) || !*u.shell)
		user_copy_text(u.shell, sizeof(u.shell), STR("/bin/sh"));
	user_add_memberships(&u, db);
	*out = u;
	return true;
}

static bool user_lookup_name(const struct db *db, struct str name, struct user *out)
{
	struct userdb_user e;

	return userdb_find_name(buf_view(&db->passwd), name, &e) &&
		user_from_entry(&e, db, out);
}

static bool user_lookup_uid(const struct db *db, uid_t uid, struct user *out)
{
	struct userdb_user e;

	return userdb_find_uid(buf_view(&db->passwd), uid, &e) &&
		user_from_entry(&e, db, out);
}

int user_find_uid(const char *root, uid_t uid, struct user *out)
{
	struct db db;
	int r = user_load_db(&db, root);

	if (user_lookup_uid(&db, uid, out))
		r = 0;
	else if (!r)
		r = -ENOENT;
	user_free_db(&db);
	return r;
}

/* A name of the group file, or a number. */
static int user_lookup_gid(const struct db *db, struct str text, gid_t *out)
{
	struct userdb_group g;
	uint64_t number;
	int r = -ENOENT;

	if (userdb_find_group(buf_view(&db->group), text, &g)) {
		*out = g.gid;
		return 0;
	}
	if (text.n && !str_trim(text, "0123456789").n)
		r = str_u64(text, UINT32_MAX - 1, &number);
	if (r == 0)
		*out = (gid_t)number;
	return r;
}

static int user_lookup_text(const struct db *db, struct str text, struct user *out)
{
	uint64_t number;
	int r;

	if (user_lookup_name(db, text, out))
		return 0;
	if (!text.n || str_trim(text, "0123456789").n)
		return -ENOENT;
	r = str_u64(text, UINT32_MAX - 1, &number);
	if (r < 0 || user_lookup_uid(db, (uid_t)number, out))
		return r;
	*out = (struct user){.uid = (uid_t)number, .home = "/", .groups_n = 1};
	out->origin = USER_NUMBER;
	return 0;
}

int user_find(const char *root, struct str text, struct user *out)
{
	bool grouped = str_find_byte(text, ':') < text.n;
	struct str name = str_cut(&text, ':');
	struct user found = {0};
	struct db db;
	int r;

	/* Numeric users are valid without the file. */
	if (user_load_db(&db, root) < 0)
		buf_free(&db.passwd);
	r = user_lookup_text(&db, name, &found);
	if (r == 0 && grouped) {
		r = user_lookup_gid(&db, text, &found.gid);
		found.groups[0] = found.gid;
		found.groups_n = 1;
	}
	user_free_db(&db);
	if (r == 0)
		*out = found;
	return r;
}

/*
 * Adds lines to the end of a file by one write, so that other readers see all of them or
 * none. A write cut short by a full disk is undone.
 */
static int user_append_lines(
	const char *root, const char *path, int flags, const char *lines)
{
	struct buf text = BUF_INIT(USER_NOTES_MAX);
	struct stat st;
	ssize_t put = -1;
	char last = '\n';
	int r = 0;
	int fd = user_open_file(root, path, O_RDWR | O_APPEND | flags, &st);

	if (fd < 0)
		return fd;
	if (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1)
		r = -EIO;
	if (last != '\n')
		buf_putc(&text, '\n');
	buf_puts(&text, lines);
	if (!r)
		r = text.err;
	if (!r)
		put = write(fd, text.p, text.n);
	if (!r && put != (ssize_t)text.n) {
		r = put < 0 ? -errno : -ENOSPC;
		if (ftruncate(fd, st.st_size) < 0)
			r = -errno;
	}
	fd_close(&fd);
	buf_free(&text);
	return r;
}

/* Adds a line: the step, its path, and the result. */
static void user_add_note(struct buf *notes, int err, const char *what, const char *path)
{
	buf_fmt(notes, "%s %s: %s\n", what, path, err ? err_text(err) : "done");
}

/*
 * Appends a line; a file that does not exist is made with the line first, since many
 * programs look up root.
 */
static int user_append_or_create(
	const char *root, const char *path, const char *first, const char *line)
{
	char full[FILE_PATH_MAX];
	int r = user_append_lines(root, path, 0, line);

	if (r != -ENOENT)
		return r;
	r = user_join_path(root, "/etc", full);
	if (!r && mkdir(full, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (!r)
		r = user_append_lines(root, path, O_CREAT, first);
	return r ? r : user_append_lines(root, path, 0, line);
}

static bool user_file_exists(const char *root, const char *path)
{
	char full[FILE_PATH_MAX];

	return user_join_path(root, path, full) == 0 && access(full, F_OK) == 0;
}

/* Adds the user to the members in the line of the group. */
static int user_join_group(const char *root, const struct user *u, struct str text,
	const struct userdb_group *g)
{
	size_t at = (size_t)(g->members.p - text.p) + g->members.n;
	struct str parts[] = {
		str_make(text.p, at),
		g->members.n ? STR(",") : STR(""),
		str_c(u->name),
		str_skip(text, at),
	};
	struct atomic_file_attr attr;
	char etc[FILE_PATH_MAX];
	struct stat st;
	int r = user_join_path(root, "/etc", etc);
	int dir;

	/* A line that ends before its last colon would get a wrong group number. */
	if (!r && g->members.p[-1] != ':')
		r = ERR_SYNTAX;
	if (r)
		return r;
	dir = fd_open(etc, O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return dir;
	/* A link or a mount would be destroyed by a rename: it is left alone. */
	if (fstatat(dir, "group", &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size != (off_t)text.n)
		r = -EBUSY;
	if (!r) {
		attr = (struct atomic_file_attr){
			st.st_mode & MODE_BITS, st.st_uid, st.st_gid};
		r = atomic_file_write(dir, "group", &attr, parts, ARRAY_LEN(parts), NULL);
	}
	fd_close(&dir);
	return r;
}

/* True when the user is a member of the group sudo afterwards. */
static bool user_join_sudo(
	const char *root, struct user *u, const struct db *db, struct buf *notes)
{
	struct str text = buf_view(&db->group);
	struct userdb_group g;
	int r;

	if (!userdb_find_group(text, STR("sudo"), &g))
		return false;
	if (!userdb_has_member(&g, str_c(u->name))) {
		r = user_join_group(root, u, text, &g);
		user_add_note(notes, r, "join the group sudo in", group_path);
		if (r)
			return false;
	}
	user_add_group(u, g.gid);
	return true;
}

static bool user_has_line(struct str text, struct str line)
{
	while (text.n)
		if (str_eq(str_trim(str_cut(&text, '\n'), " \t\r"), line))
			return true;
	return false;
}

/* Lets the user become root without a password, if sudo is installed. */
static void user_allow_sudo(
	const char *root, struct user *u, bool member, struct buf *notes)
{
	struct buf sudoers = BUF_INIT(USER_DB_MAX);
	char line[USER_NAME_MAX + 64];
	int r = user_load_file(root, sudoers_path, &sudoers);
	int n = snprintf(line, sizeof(line), "%s ALL=(ALL) NOPASSWD:ALL\n",
		member ? "%sudo" : u->name);

	/*
	 * If there is no file, sudo is not installed, and a new file would conflict with
	 * its package.
	 */
	if (r != -ENOENT &&
		!user_has_line(buf_view(&sudoers), str_make(line, (size_t)n - 1))) {
		r = user_append_lines(root, sudoers_path, 0, line);
		user_add_note(notes, r, "add the line for sudo to", sudoers_path);
	}
	buf_free(&sudoers);
}

static void user_make_home(const char *root, const struct user *u, struct buf *notes)
{
	char full[FILE_PATH_MAX];
	int r = user_join_path(root, "/home", full);

	if (!r && mkdir(full, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (!r)
		r = user_join_path(root, u->home, full);
	if (!r && mkdir(full, 0755) < 0)
		r = -errno;
	/*
	 * The home exists, made by others: it is left as it is. userdirs_find_home tests
	 * it later.
	 */
	if (r == -EEXIST)
		return;
	if (!r && lchown(full, u->uid, u->gid) < 0)
		r = -errno;
	user_add_note(notes, r, "make the home", u->home);
}

static void user_add_entry(
	const struct user_conf *w, struct user *u, const struct db *db, struct buf *notes)
{
	char line[USER_NAME_MAX + 2 * USER_PATH_MAX + 64];
	bool shadow = user_file_exists(w->root, shadow_path);
	/* A shell with a colon or a newline would break the line. */
	const char *shell = strpbrk(u->shell, ":\n") ? "/bin/sh" : u->shell;
	int r;

	snprintf(line, sizeof(line), "%s:%s:%u:%u::%s:%s\n", u->name, shadow ? "x" : "*",
		u->uid, u->gid, u->home, shell);
	r = user_append_or_create(
		w->root, passwd_path, "root:*:0:0:root:/root:/bin/sh\n", line);
	user_add_note(notes, r, "add the user to", passwd_path);
	if (r)
		return;
	u->origin = USER_MADE;
	if (shadow) {
		/* Locked, and without an expiry date. */
		snprintf(line, sizeof(line), "%s:!:::::::\n", u->name);
		r = user_append_lines(w->root, shadow_path, 0, line);
		user_add_note(notes, r, "add the user to", shadow_path);
	}
	if (!user_file_exists(w->root, group_path)) {
		r = user_append_lines(w->root, group_path, O_CREAT, "root:x:0:\n");
		user_add_note(notes, r, "make", group_path);
	}
	if (w->sudo)
		user_allow_sudo(w->root, u, user_join_sudo(w->root, u, db, notes), notes);
}

/* A user without an entry. */
static struct user user_from_ids(const struct user_conf *w, uid_t uid, gid_t gid)
{
	struct user u = {.uid = uid, .gid = gid, .origin = USER_NUMBER};

	if (!user_copy_text(u.name, sizeof(u.name), w->name) || !*u.name)
		snprintf(u.name, sizeof(u.name), "%u", uid);
	user_copy_text(u.shell, sizeof(u.shell), str_c(w->shell));
	user_copy_text(u.home, sizeof(u.home), STR("/"));
	user_add_group(&u, gid);
	return u;
}

/* The server is not root: it keeps its own identity, whatever user was configured. */
static void user_keep_identity(const struct user_conf *w, const struct db *db,
	struct user *out, struct buf *notes)
{
	gid_t groups[USER_GROUPS_MAX];
	int n = getgroups(USER_GROUPS_MAX, groups);

	if ((user_lookup_name(db, w->name, out) && out->uid == geteuid()) ||
		user_lookup_uid(db, geteuid(), out)) {
		out->gid = getegid();
		out->groups_n = 0;
		user_add_group(out, out->gid);
	} else {
		*out = user_from_ids(w, geteuid(), getegid());
		buf_fmt(notes, "uid %u has no entry in %s\n", geteuid(), passwd_path);
	}
	for (int i = 0; i < n; i++)
		user_add_group(out, groups[i]);
	if (!str_eq(str_c(out->name), w->name))
		buf_fmt(notes, "not root: working as %s (uid %u), not as %.*s\n",
			out->name, out->uid, STR_ARG(w->name));
	out->origin = USER_SELF;
}

static void user_create(const struct user_conf *w, const struct db *db, struct user *out,
	struct buf *notes)
{
	struct userdb_user other;

	*out = user_from_ids(w, w->uid, 0);
	if (userdb_find_uid(buf_view(&db->passwd), out->uid, &other))
		buf_fmt(notes, "uid %u also belongs to user %.*s\n", out->uid,
			STR_ARG(other.name));
	if (!w->manage) {
		buf_fmt(notes,
			"user %.*s is not in %s and is not added: commands run as uid "
			"%u. --manage-users adds the user (default in a container)\n",
			STR_ARG(w->name), passwd_path, out->uid);
		return;
	}
	if (!userdb_is_valid_name(w->name) || !str_eq(w->name, str_c(out->name))) {
		buf_puts(notes, "add the user: no name for an entry\n");
		return;
	}
	snprintf(out->home, sizeof(out->home), "/home/%s", out->name);
	user_add_entry(w, out, db, notes);
	user_make_home(w->root, out, notes);
}

void user_ensure(const struct user_conf *w, struct user *out, struct buf *notes)
{
	bool is_root = str_eq(w->name, STR("root"));
	bool given = w->env_user && str_eq(w->name, str_c(w->env_user)) && !is_root &&
		!str_eq(w->name, STR("openhands"));
	struct db db;
	int r = user_load_db(&db, w->root);

	if (r && r != -ENOENT)
		user_add_note(notes, r, "read", passwd_path);
	if (geteuid() != 0) {
		user_keep_identity(w, &db, out, notes);
	} else if (user_lookup_name(&db, w->name, out)) {
		if (out->uid != w->uid && !is_root)
			buf_fmt(notes, "user %s has the uid %u, not %u\n", out->name,
				out->uid, w->uid);
	} else if (is_root) {
		*out = user_from_ids(w, 0, 0);
		user_copy_text(out->home, sizeof(out->home), STR("/root"));
	} else if (given) {
		*out = user_from_ids(w, geteuid(), getegid());
	} else if (r && r != -ENOENT) {
		/*
		 * The entry may exist in the part that was not read; a second one would
		 * conflict.
		 */
		*out = user_from_ids(w, w->uid, 0);
	} else {
		user_create(w, &db, out, notes);
	}
	if (given)
		out->origin = USER_GIVEN;
	user_free_db(&db);
}

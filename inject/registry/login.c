#include "inject/registry/login.h"

#include "base/b64.h"
#include "base/fd.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/json_doc.h"
#include "limits.h"
#include "proc/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOGIN_FILE_MAX = 1 << 20 }; /* bytes of config.json; 200 per registry */

#define HUB_KEY "https://index.docker.io/v1/"

bool login_is_hub(struct str registry)
{
	static const struct str names[] = {
		STR("docker.io"),
		STR("index.docker.io"),
		STR("registry-1.docker.io"),
		STR("registry.hub.docker.com"),
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(registry, names[i]))
			return true;
	return false;
}

/* --- config.json -------------------------------------------------------------------- */

/*
 * Whether a key of config.json, a host or an address with an obsolete API version, names
 * the registry.
 */
static bool login_match_registry(struct str key, struct str registry)
{
	struct str host;

	if (str_starts(key, STR("https://")))
		key = str_skip(key, 8);
	else if (str_starts(key, STR("http://")))
		key = str_skip(key, 7);
	host = str_cut(&key, '/');
	if (key.n && !str_eq(key, STR("v1/")) && !str_eq(key, STR("v2/")) &&
		!str_eq(key, STR("v1")) && !str_eq(key, STR("v2")))
		return false;
	return str_eq_nocase(host, registry) ||
		(login_is_hub(host) && login_is_hub(registry));
}

static struct json_val login_find_entry(
	struct json_doc *d, struct json_val object, struct str registry)
{
	struct json_val key, value;
	int it = 0;

	while (json_type(object) == JSON_OBJECT && json_next(object, &it, &key, &value))
		if (login_match_registry(json_doc_str(d, key), registry))
			return value;
	return json_get(object, ""); /* absent: no registry has that name */
}

static int login_copy_text(struct arena *a, struct str from, struct str *to)
{
	char *p = arena_cstr(a, from);

	if (!p)
		return -ENOMEM;
	*to = str_make(p, from.n);
	return 0;
}

/* Decodes "user:secret" from base64; old versions of docker pad it with NULs. */
static int login_read_pair(struct str text, struct arena *a, struct login *l)
{
	struct buf pair = BUF_SECRET(LOGIN_FILE_MAX);
	struct str rest;
	size_t colon;
	int r = b64_decode(&pair, text);

	if (r)
		goto out;
	rest = buf_view(&pair);
	colon = str_find_byte(rest, ':');
	r = ERR_SYNTAX;
	if (colon == rest.n || !colon)
		goto out;
	r = login_copy_text(a, str_make(rest.p, colon), &l->user);
	if (r)
		goto out;
	rest = str_skip(rest, colon + 1);
	rest.n = str_find_byte(rest, '\0');
	r = login_copy_text(a, rest, &l->secret);
out:
	buf_free(&pair);
	return r;
}

static int login_read_entry(
	struct json_doc *d, struct json_val entry, struct arena *a, struct login *l)
{
	struct str pair = json_doc_str(d, json_get(entry, "auth"));
	struct str user = json_doc_str(d, json_get(entry, "username"));
	struct str secret = json_doc_str(d, json_get(entry, "password"));
	struct str identity = json_doc_str(d, json_get(entry, "identitytoken"));
	int r = 0;

	if (pair.n)
		r = login_read_pair(pair, a, l);
	else if (user.n)
		r = login_copy_text(a, user, &l->user);
	if (!r && !pair.n && user.n)
		r = login_copy_text(a, secret, &l->secret);
	if (!r && identity.n)
		r = login_copy_text(a, identity, &l->identity);
	return r;
}

/* Whether s can be a part of a program's name, and is no path. */
static bool login_is_helper(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= 'a' && s.p[i] <= 'z') ||
			    (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
			    (s.p[i] >= '0' && s.p[i] <= '9') || memchr("._-", s.p[i], 3)))
			return false;
	return s.n > 0 && s.n <= 100;
}

int login_read(
	struct str config, struct str registry, struct arena *a, struct login_source *s)
{
	struct login_source got = {0};
	struct json_val root;
	struct str helper;
	struct json_doc d;
	int r = json_doc_parse(&d, config);

	if (r)
		return r == -ENOMEM ? r : ERR_SYNTAX;
	root = json_doc_root(&d);
	helper = json_doc_str(
		&d, login_find_entry(&d, json_get(root, "credHelpers"), registry));
	if (!helper.n)
		r = login_read_entry(&d,
			login_find_entry(&d, json_get(root, "auths"), registry), a,
			&got.login);
	if (!helper.n && !got.login.user.n && !got.login.identity.n)
		helper = json_doc_str(&d, json_get(root, "credsStore"));
	if (!r && helper.n)
		r = login_is_helper(helper) ? login_copy_text(a, helper, &got.helper)
					    : ERR_SYNTAX;
	json_doc_free(&d);
	if (!r)
		*s = got;
	return r;
}

int login_read_helper(struct str answer, struct arena *a, struct login *l)
{
	struct login got = {0};
	struct str user, secret;
	struct json_doc d;
	int r = json_doc_parse(&d, answer);

	if (r)
		return r == -ENOMEM ? r : ERR_SYNTAX;
	user = json_doc_str(&d, json_get(json_doc_root(&d), "Username"));
	secret = json_doc_str(&d, json_get(json_doc_root(&d), "Secret"));
	if (!secret.n)
		r = ERR_SYNTAX;
	else if (str_eq(user, STR("<token>")))
		r = login_copy_text(a, secret, &got.identity);
	else
		r = login_copy_text(a, user, &got.user);
	if (!r && !got.identity.n)
		r = login_copy_text(a, secret, &got.secret);
	json_doc_free(&d);
	if (!r)
		*l = got;
	return r;
}

/* --- Helpers ------------------------------------------------------------------------ */

/* The absolute path of a program, searched in PATH as by a shell. */
static int login_search_path(const char *program, struct buf *out)
{
	const char *path = getenv("PATH");
	struct str rest = str_c(path ? path : "/usr/local/bin:/usr/bin:/bin");

	while (rest.n) {
		struct str folder = str_cut(&rest, ':');
		const char *full;

		/* A relative folder would depend on the working directory. */
		if (!folder.n || folder.p[0] != '/')
			continue;
		buf_reset(out);
		buf_str(out, folder);
		buf_fmt(out, "/%s", program);
		full = buf_cstr(out);
		if (!full)
			return out->err;
		if (access(full, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Passes the variables that helpers need to find their stores, and no others. */
static int login_make_environment(struct arena *a, const char **env)
{
	static const char *const names[] = {
		"HOME", "PATH", "USER", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};
	size_t n = 0;

	_Static_assert(ARRAY_LEN(names) == 5, "env has room for them and a NULL");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);
		struct buf b = BUF_INIT(65536);

		if (!value)
			continue;
		buf_fmt(&b, "%s=", names[i]);
		buf_puts(&b, value);
		env[n++] = arena_cstr(a, buf_view(&b));
		buf_free(&b);
		if (b.err || !env[n - 1])
			return -ENOMEM;
	}
	env[n] = NULL;
	return 0;
}

static int login_wait_helper(int fd, short events, uint64_t deadline)
{
	return stop_wait(fd, events, deadline, false);
}

static int login_run_helper(
	struct str helper, struct str registry, struct arena *a, struct login *l)
{
	const char *env[6], *argv[3] = {NULL, "get", NULL};
	struct buf name = BUF_INIT(256), path = BUF_INIT(4096);
	struct buf answer = BUF_SECRET(LOGIN_FILE_MAX);
	struct capture c = {.argv = argv,
		.env = env,
		.ms = LOGIN_HELPER_MS,
		.wait = login_wait_helper};
	int code = 0, r;

	buf_puts(&name, "docker-credential-");
	buf_str(&name, helper);
	argv[0] = buf_cstr(&name);
	c.input = login_is_hub(registry) ? STR(HUB_KEY) : registry;
	r = argv[0] ? login_search_path(argv[0], &path) : name.err;
	if (!r)
		r = login_make_environment(a, env);
	if (!r) {
		c.path = buf_cstr(&path);
		r = c.path ? capture(&c, &answer, &code) : path.err;
	}
	/* Helpers report "no such login" only by another exit code. */
	if (!r && code == 0)
		r = login_read_helper(buf_view(&answer), a, l);
	if (r && r != -EINTR)
		r = out_fail("log in again, or remove the helper from config.json",
			"the credential helper %s failed: %s", argv[0] ? argv[0] : "",
			err_text(r));
	buf_free(&answer);
	buf_free(&path);
	buf_free(&name);
	return r;
}

/* --- Finding ------------------------------------------------------------------------ */

static int login_read_config(struct buf *out, struct buf *path)
{
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME"), *p;
	char piece[4096];
	ssize_t n;
	int fd;

	if (!folder && !home)
		return 0;
	buf_puts(path, folder ? folder : home);
	buf_puts(path, folder ? "/config.json" : "/.docker/config.json");
	p = buf_cstr(path);
	if (!p)
		return path->err;
	fd = fd_open(p, 0, 0);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		buf_put(out, piece, (size_t)n);
	n = n < 0 ? -errno : 0;
	explicit_bzero(piece, sizeof(piece));
	fd_close(&fd);
	return n ? (int)n : out->err;
}

int login_find(struct str registry, struct arena *a, struct login *l)
{
	struct buf text = BUF_SECRET(LOGIN_FILE_MAX), path = BUF_INIT(4096);
	struct login_source s = {0};
	int r;

	r = login_read_config(&text, &path);
	if (!r && text.n)
		r = login_read(buf_view(&text), registry, a, &s);
	if (r)
		r = out_fail("correct the file, or run docker login again",
			"cannot use %.*s: %s", STR_ARG(buf_view(&path)), err_text(r));
	buf_free(&text);
	buf_free(&path);
	if (!r && s.helper.n)
		r = login_run_helper(s.helper, registry, a, &s.login);
	if (!r)
		*l = s.login;
	return r;
}

void login_write_engine_header(
	const struct login *l, struct str registry, struct buf *out)
{
	struct buf json = BUF_SECRET(REGISTRY_TOKEN_MAX);
	size_t from = out->n;
	struct jw w;

	jw_init(&w, &json);
	jw_object(&w);
	if (l->identity.n) {
		jw_key(&w, "identitytoken");
		jw_str(&w, l->identity);
	} else {
		jw_key(&w, "username");
		jw_str(&w, l->user);
		jw_key(&w, "password");
		jw_str(&w, l->secret);
	}
	jw_key(&w, "serveraddress");
	jw_str(&w, login_is_hub(registry) ? STR(HUB_KEY) : registry);
	jw_end(&w);
	if (json.err && !out->err)
		out->err = json.err;
	b64_encode(out, buf_view(&json));
	/* RFC 4648 5: the alphabet for URLs. */
	for (size_t i = from; i < out->n; i++)
		out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
	buf_free(&json);
}

#include "inject/sandbox/settings/connect.h"

#include "codec/archive/tar.h"
#include "codec/http/url.h"
#include "inject/console/out.h"
#include "inject/image/client_files.h"
#include "inject/names/listen_secret.h"
#include "inject/names/listen_token.h"
#include "inject/sandbox/injection.h"
#include "limits.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

/* A row per file. */
static const struct {
	const char *option, *name;
	size_t at; /* offset of its path in struct connect_options */
	size_t max;
} rows[CONNECT_FILES] = {
	[CONNECT_CA] = {"--connect-ca", CONNECT_FOLDER "ca",
		offsetof(struct connect_options, connect_ca), AUTHORITIES_FILE_MAX},
	[CONNECT_CERT] = {"--connect-cert", CONNECT_FOLDER "cert",
		offsetof(struct connect_options, connect_cert), TLS_PEM_MAX},
	[CONNECT_KEY] = {"--connect-key", CONNECT_FOLDER "key",
		offsetof(struct connect_options, connect_key), TLS_PEM_MAX},
	[CONNECT_TOKEN] = {"--connect-token", CONNECT_FOLDER "token",
		offsetof(struct connect_options, connect_token), DIAL_TOKEN_MAX},
};

static const char *connect_path(const struct connect_options *o, enum connect_file file)
{
	return *(const char *const *)((const char *)o + rows[file].at);
}

static bool connect_has_options(const struct connect_options *o)
{
	bool any = o->connect_id || o->connect_pin;

	for (unsigned i = 0; i < CONNECT_FILES; i++)
		any = any || connect_path(o, (enum connect_file)i);
	return any;
}

static int connect_check_url(const struct connect_options *o)
{
	struct str url = str_c(o->connect);
	struct url u;

	if (str_starts(url, STR("unix:/")))
		return 0;
	if (url_parse_ws(&u, url))
		return out_fail_usage("give a URL such as wss://backend.example/connect, "
				      "ws://HOST:PORT/connect or unix:/PATH",
			"--connect '%s' is not the URL of a backend", o->connect);
	if (u.secure && !o->connect_ca && !o->connect_pin)
		return out_fail_usage(
			"give the certificate authority of the backend (PEM), or the "
			"SHA-256 of the public key in its certificate",
			"--connect wss://... needs --connect-ca or --connect-pin");
	return 0;
}

static int connect_check(const struct connect_options *o)
{
	uint8_t pin[SHA256_LEN];

	if (!o->connect)
		return connect_has_options(o)
			? out_fail_usage("add --connect URL",
				  "the options --connect-* need --connect")
			: 0;
	if (o->connect_id && !listen_name_is_valid(str_c(o->connect_id)))
		return out_fail_usage("a name has 1 to 64 letters, digits, '.', '_' or "
				      "'-', and does not begin with '.'",
			"--connect-id '%s' is not a valid name of a sandbox",
			o->connect_id);
	if (o->connect_pin && hex_decode(str_c(o->connect_pin), pin, sizeof(pin)))
		return out_fail_usage("give 64 hexadecimal digits",
			"--connect-pin '%s' is not a SHA-256", o->connect_pin);
	if (!o->connect_cert != !o->connect_key)
		return out_fail_usage("give both options, or neither",
			"--connect-cert and --connect-key need each other");
	return connect_check_url(o);
}

int connect_read(struct connect *c, const struct connect_options *o, bool read_only)
{
	int r = connect_check(o);

	*c = (struct connect){.options = o, .read_only = read_only};
	for (unsigned i = 0; i < CONNECT_FILES; i++)
		c->files[i] = (struct buf)BUF_SECRET(rows[i].max);
	for (unsigned i = 0; i < CONNECT_FILES && !r; i++) {
		const char *path = connect_path(o, (enum connect_file)i);

		/* A file without a secret may be readable for others. */
		c->files[i].secret = i >= CONNECT_KEY;
		if (path)
			r = listen_file_read(rows[i].option, path, &c->files[i]);
	}
	return r;
}

void connect_free(struct connect *c)
{
	for (unsigned i = 0; i < CONNECT_FILES; i++)
		buf_free(&c->files[i]);
}

static void connect_write_pair(struct jw *w, const char *option, const char *value)
{
	jw_cstr(w, option);
	jw_cstr(w, value);
}

void connect_write_arguments(const struct connect *c, const char *name, struct jw *w)
{
	const struct connect_options *o = c->options;
	char path[64];

	if (!o || !o->connect)
		return;
	connect_write_pair(w, "--connect", o->connect);
	connect_write_pair(w, "--connect-id", o->connect_id ? o->connect_id : name);
	if (o->connect_pin)
		connect_write_pair(w, "--connect-pin", o->connect_pin);
	for (unsigned i = 0; i < CONNECT_FILES; i++) {
		if (!connect_path(o, (enum connect_file)i))
			continue;
		snprintf(path, sizeof(path), "/%s", rows[i].name);
		connect_write_pair(w, rows[i].option, path);
	}
}

static bool connect_is_root(struct str user)
{
	user.n = str_find_byte(user, ':');
	return !user.n || str_eq(user, STR("0")) || str_eq(user, STR("root"));
}

static int connect_write_archive(const struct connect *c, unsigned mode, struct buf *out)
{
	struct tar t;
	int r;

	tar_init(&t, out);
	r = tar_write_header(&t,
		&(struct tar_entry){
			.type = TAR_DIR, .mode = 0755, .name = CONNECT_FOLDER});
	for (unsigned i = 0; i < CONNECT_FILES && !r; i++) {
		const struct tar_entry file = {.type = TAR_FILE,
			.mode = mode,
			.name = rows[i].name,
			.size = c->files[i].n};

		if (!connect_path(c->options, (enum connect_file)i))
			continue;
		r = tar_write_header(&t, &file);
		buf_str(out, buf_view(&c->files[i]));
		tar_pad(&t);
	}
	tar_end(&t);
	return r ? r : out->err;
}

int connect_put(
	const struct connect *c, const struct engine *e, const char *id, struct str user)
{
	struct buf archive = BUF_SECRET(AUTHORITIES_FILE_MAX + 4 * TLS_PEM_MAX);
	struct reply reply = {0};
	struct str part;
	bool any = false;
	int r;

	for (unsigned i = 0; c->options && i < CONNECT_FILES; i++)
		any = any || connect_path(c->options, (enum connect_file)i);
	if (!any)
		return 0;
	reply_init(&reply);
	r = connect_write_archive(c, connect_is_root(user) ? 0400 : 0444, &archive);
	part = buf_view(&archive);
	if (!r)
		r = client_files_put_archive(e, id, "/", &part, 1, &reply);
	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply,
			c->read_only ? "leave --read-only out: these files are "
				       "copied into the sandbox"
				     : "od-runtime doctor shows what the engine can do",
			"copying the files of --connect into the sandbox");
	reply_free(&reply);
	buf_free(&archive);
	return r;
}

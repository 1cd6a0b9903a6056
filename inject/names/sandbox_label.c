#include "inject/names/sandbox_label.h"

#include "inject/names/owner.h"
#include "inject/names/ref.h"
#include "inject/names/state.h"

enum { OVERLAY_DIGITS = 16 };

static bool sandbox_label_is_one(struct str s)
{
	return str_eq(s, STR("1"));
}

static bool sandbox_label_is_image(struct str s)
{
	const char *why;
	struct ref ref;

	return ref_parse(&ref, s, &why) == 0;
}

static bool sandbox_label_is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 'a' || s.p[i] > 'z')
			return false;
	return s.n > 0;
}

static bool sandbox_label_is_port(struct str s)
{
	uint64_t port;

	return str_u64(s, UINT16_MAX, &port) == 0 && port > 0;
}

bool sandbox_label_is_overlay(struct str s)
{
	if (!str_starts(s, STR(SANDBOX_OVERLAY_PREFIX)))
		return false;
	s = str_skip(s, sizeof(SANDBOX_OVERLAY_PREFIX) - 1);
	for (size_t i = 0; i < s.n; i++)
		if (!memchr("0123456789abcdef", s.p[i], 16))
			return false;
	return s.n == OVERLAY_DIGITS;
}

/* A row per label. */
static const struct {
	const char *name;
	bool (*is_valid)(struct str value);
} rows[SANDBOX_LABELS] = {
	[SANDBOX_LABEL_MARK] = {"od.sandbox", sandbox_label_is_one},
	[SANDBOX_LABEL_IMAGE] = {"od.sandbox.image", sandbox_label_is_image},
	[SANDBOX_LABEL_METHOD] = {"od.sandbox.via", sandbox_label_is_word},
	[SANDBOX_LABEL_PORT] = {"od.sandbox.port", sandbox_label_is_port},
	[SANDBOX_LABEL_OVERLAY] = {"od.sandbox.overlay", sandbox_label_is_overlay},
	[SANDBOX_LABEL_NAME] = {"od.sandbox.name", state_is_name},
	[SANDBOX_LABEL_OWNER] = {"od.sandbox.owner", owner_is_label},
	[SANDBOX_LABEL_BOUND] = {"od.sandbox.bound", owner_is_label},
	[SANDBOX_LABEL_PROBE] = {"od.probe", sandbox_label_is_one},
};

const char *sandbox_label_name(enum sandbox_label which)
{
	return rows[which].name;
}

void sandbox_label_write_all(const struct str values[SANDBOX_LABELS], struct jw *w)
{
	for (size_t i = 0; i < SANDBOX_LABELS; i++) {
		jw_key(w, rows[i].name);
		jw_str(w, values[i]);
	}
}

static struct str sandbox_label_find(
	struct json_doc *d, struct json_val labels, enum sandbox_label which)
{
	return json_doc_str(d, json_get(labels, rows[which].name));
}

struct str sandbox_label_read(
	struct json_doc *d, struct json_val labels, enum sandbox_label which)
{
	struct str value = sandbox_label_find(d, labels, which);

	return rows[which].is_valid(value) ? value : (struct str){0};
}

bool sandbox_label_is_set(
	struct json_doc *d, struct json_val labels, enum sandbox_label which)
{
	return sandbox_label_is_one(sandbox_label_find(d, labels, which));
}

struct str sandbox_label_owner(struct json_doc *d, struct json_val labels,
	enum sandbox_label which, struct str name)
{
	return owner_from_label(sandbox_label_read(d, labels, which), name);
}

bool sandbox_label_is_reserved(struct str name, enum sandbox_label *which)
{
	unsigned i = 0;

	while (i < SANDBOX_LABELS && !str_eq(name, str_c(rows[i].name)))
		i++;
	*which = (enum sandbox_label)i;
	return str_starts(name, STR("od."));
}

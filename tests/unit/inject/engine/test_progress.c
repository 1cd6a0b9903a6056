#include "inject/engine/progress.h"

#include "tests/tap.h"

static struct meter m;
static struct buf line = BUF_INIT(1024);

static void take(const char *id, const char *text, uint64_t current, uint64_t total)
{
	const struct progress p = {
		.kind = PROGRESS_TEXT,
		.text = str_c(text),
		.id = str_c(id),
		.current = current,
		.total = total,
	};

	meter_update(&m, &p);
}

static const char *shown(size_t columns)
{
	buf_reset(&line);
	if (!meter_write_line(&m, columns, &line))
		return "(nothing)";
	ok(line.n <= columns, "no wider than %zu", columns);
	return buf_cstr(&line);
}

static void test_pull(void)
{
	m = (struct meter){.n = 0};
	is_str(shown(60), "(nothing)", "at first nothing is known");
	take("latest", "Pulling from library/x", 0, 0);
	is_str(shown(60), "(nothing)", "the image itself is no part");
	take("a", "Pulling fs layer", 0, 0);
	take("b", "Pulling fs layer", 0, 0);
	is_str(shown(60), "0 of 2 parts", "without sizes there is no bar");
	take("a", "Downloading", 2500000, 5000000);
	take("b", "Waiting", 0, 0);
	is_str(shown(70),
		"0 of 2 parts, 2.5 of 5.0 MB [===============>              ]  50%",
		"half of what is known");
	is_str(shown(44), "0 of 2 parts, 2.5 of 5.0 MB [====>    ]  50%", "a narrow bar");
	is_str(shown(30), "0 of 2 parts, 2.5 of 5.0 MB", "no room for one");
	take("a", "Download complete", 0, 0);
	take("a", "Extracting", 100, 5000000);
	take("b", "Downloading", 0, 5000000);
	is_str(shown(70),
		"0 of 2 parts, 5.0 of 10.0 MB [===============>              ]  50%",
		"what is unpacked has been fetched");
	take("a", "Pull complete", 0, 0);
	take("a", "Downloading", 1, 5000000);
	take("b", "Pull complete", 0, 0);
	is_str(shown(70),
		"2 of 2 parts, 10.0 of 10.0 MB [==============================] 100%",
		"all of it; what comes late changes nothing");
}

static void test_strange(void)
{
	char id[64];

	m = (struct meter){.n = 0};
	take("a", "Downloading", 7, 5);
	is_str(shown(60), "0 of 1 parts", "more than there is: passed over");
	take("a", "Downloading", UINT64_MAX / 2, UINT64_MAX / 2 + 1);
	take("b", "Downloading", UINT64_MAX / 2, UINT64_MAX / 2 + 1);
	ok(str_starts(str_c(shown(90)), STR("0 of 2 parts")), "sums do not wrap");
	memset(id, 'x', sizeof(id));
	id[63] = '\0';
	take(id, "Waiting", 0, 0);
	take(id, "Waiting", 0, 0);
	is_int(m.n, 3, "a long id is one part");
	for (int i = 0; i < 2 * METER_PARTS_MAX; i++) {
		snprintf(id, sizeof(id), "p%d", i);
		take(id, "Waiting", 0, 0);
	}
	is_int(m.n, METER_PARTS_MAX, "not more parts than there is room for");
}

static void test_steps(void)
{
	m = (struct meter){.n = 0};
	take("", "Step 2/4 : COPY a b", 0, 0);
	is_str(shown(50), "step 2 of 4 [=======>                      ]  25%", "a build");
	take("", "Step 9/4 : x", 0, 0);
	take("", "Step x/4", 0, 0);
	take("", "Step 0/4 : x", 0, 0);
	take("", "Steps", 0, 0);
	is_int(m.step, 2, "what is no step");
}

int main(void)
{
	test_pull();
	test_strange();
	test_steps();
	buf_free(&line);
	return done_testing();
}

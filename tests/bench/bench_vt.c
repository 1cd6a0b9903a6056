/*
 * The terminal model: megabytes per second and the memory it keeps. Fails below
 * 200 MB/s of plain text, above 4 MiB of growth, and when a hostile byte costs
 * more than 20 times the 5 ns that a plain one may. Three streams may cost more:
 * where two bytes move all rows of a region, where three fill the screen (which
 * no program but a test of terminals asks for), and where characters of many
 * bytes fill more screen than is kept, so that rows come and go all the time.
 */
#include "base/buf.h"
#include "codec/vt/vt.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PIECE = 4096,
	PLAIN_MB_MIN = 200,
	HOSTILE_MB_MIN = 10,
	MOVES_MB_MIN = 2,
	FILLS_MB_MIN = 0, /* measured only */
	OVERFULL_MB_MIN = 6,
	GROWTH_KB_MAX = 4096
};

/* before, then unit again and again; %d in unit is a counter below rows. */
struct stream {
	const char *name;
	const char *before;
	const char *unit;
	int rows;
	unsigned mb;
	unsigned min; /* MB/s */
};

#define LINE \
	"The quick brown fox jumps over the lazy dog and goes on until 80 columns are " \
	"full"
#define CJK "\xe4\xb8\xad\xe6\x96\x87\xe7\xbb\x88\xe7\xab\xaf\xe6\xb5\x8b\xe8\xaf\x95"
#define JUMP "\x1b[%d;%dH"

static const struct stream streams[] = {
	{"plain lines", "", LINE "\r\n", 0, 1024, PLAIN_MB_MIN},
	{"one endless line", "", LINE, 0, 1024, PLAIN_MB_MIN},
	{"UTF-8 lines", "", CJK CJK CJK CJK "\r\n", 0, 256, PLAIN_MB_MIN},
	{"Latin lines", "",
		"Le c\xc5\x93ur d\xc3\xa9\xc3\xa7u mais l'\xc3\xa2me plut\xc3\xb4t "
		"na\xc3\xafve\r\n",
		0, 256, PLAIN_MB_MIN},
	{"short lines", "", "y\r\n", 0, 64, HOSTILE_MB_MIN},
	{"empty lines", "", "\n", 0, 128, HOSTILE_MB_MIN},
	{"coloured lines", "", "\x1b[1;32mok\x1b[0m " LINE "\r\n", 0, 512,
		HOSTILE_MB_MIN},
	{"progress bars", "", "\r\x1b[K 42% [=====>     ] 12 MB", 0, 64, HOSTILE_MB_MIN},
	{"down and write", "", "x\v", 0, 128, HOSTILE_MB_MIN},
	{"line wraps back", "", "\b\b\b\xe4\xb8\xad", 0, 128, HOSTILE_MB_MIN},
	{"inserted lines", "\x1b[900B", "\x1b[H\x1b[Labc", 0, 64, HOSTILE_MB_MIN},
	{"reverse index", "\x1b[900Bx\x1b[H", "\x1bM", 0, 32, HOSTILE_MB_MIN},
	{"in a region", "\x1b[900Bx\x1b[2;999r\x1b[2H", "\x1bM", 0, 8, MOVES_MB_MIN},
	{"filled screens", "", "\x1b#8", 0, 2, FILLS_MB_MIN},
	{"scrolled screens", "", "\x1b[999S", 0, 64, HOSTILE_MB_MIN},
	{"inserted columns", "", "\x1b[G\x1b[@\xe4\xb8\xad", 0, 64, HOSTILE_MB_MIN},
	{"jumps", "", JUMP "x", 997, 64, HOSTILE_MB_MIN},
	{"jumps, wide", "", JUMP "\xe4\xb8\xad", 997, 64, HOSTILE_MB_MIN},
	{"jumps, emoji", "", JUMP "\xf0\x9f\x98\x80", 997, 64, HOSTILE_MB_MIN},
	{"jumps, combining", "", JUMP "e\xcc\x81\xcc\x82\xcc\x83", 997, 24,
		OVERFULL_MB_MIN},
	{"combining flood", "", "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84", 0, 64,
		HOSTILE_MB_MIN},
};

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* About 1 MB of the stream. */
static void compose(const struct stream *s, struct buf *out)
{
	buf_puts(out, s->before);
	for (int i = 0; out->n < 1 << 20; i++) {
		if (!s->rows)
			buf_puts(out, s->unit);
		else {
			/* Steps that meet every row and every column. */
			buf_fmt(out, "\x1b[%d;%dH", 1 + i * 389 % s->rows,
				1 + i * 571 % 991);
			buf_puts(out, s->unit + sizeof(JUMP) - 1);
		}
	}
}

static int feed_all(struct vt *vt, struct str text)
{
	while (text.n) {
		size_t n = text.n < PIECE ? text.n : PIECE;

		if (vt_feed(vt, str_make(text.p, n)) < 0)
			return -1;
		text = str_skip(text, n);
	}
	return 0;
}

static int run(const struct stream *s)
{
	struct buf text = BUF_INIT(2 << 20);
	struct vt *vt = vt_new();
	clock_t start;
	double us;
	long kb, base, peak = 0;
	unsigned rate;
	int bad;

	if (!vt)
		return 1;
	compose(s, &text);
	base = resident_kb();
	/* Of the processor, so that other work on the machine counts less. */
	start = clock();
	for (unsigned i = 0; i < s->mb; i++) {
		if (feed_all(vt, buf_view(&text)) < 0)
			return 1;
		kb = resident_kb() - base;
		peak = kb > peak ? kb : peak;
	}
	us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC;
	rate = (unsigned)((double)s->mb * (double)text.n / (us + 1));
	bad = rate < s->min || peak > GROWTH_KB_MAX;
	printf("%-18s %5u MB/s %5ld KiB%s\n", s->name, rate, peak, bad ? "  FAILS" : "");
	vt_free(vt);
	buf_free(&text);
	return bad;
}

/* One process each: what one leaves in the heap would hide another's growth. */
int main(void)
{
	int bad = 0, status;

	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			bad = run(&streams[i]);
			fflush(stdout);
			_exit(bad);
		}
		bad |= pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
	}
	return bad;
}

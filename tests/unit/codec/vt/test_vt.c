/* The terminal model: bytes in, the text that a person would see out. */
#include "tests/support/vt_help.h"

struct example {
	const char *name;
	struct str in;
	const char *text;
};

static const struct example examples[] = {
	{"nothing", STR(""), ""},
	{"plain text", STR("hello"), "hello"},
	{"lines", STR("a\r\nb\r\n"), "a\nb\n"},
	{"empty lines", STR("a\r\n\r\n\r\nz"), "a\n\n\nz"},
	{"leading blanks stay", STR("  a\r\n\tb"), "  a\n        b"},
	{"trailing blanks go", STR("a  \r\nb \t \r\n   \r\nc"), "a\nb\n\nc"},
	{"line feed keeps the column", STR("ab\ncd"), "ab\n  cd"},
	{"vertical tab, form feed", STR("a\vb\fc"), "a\n b\n  c"},

	{"carriage return overwrites", STR("abc\rX"), "Xbc"},
	{"progress", STR("10%\r20%\r100%\r\ndone"), "100%\ndone"},
	{"progress that shrinks", STR("downloading\rok\x1b[K\r\n"), "ok\n"},
	{"progress, line erased first", STR("long text\r\x1b[2Kok"), "ok"},
	{"bar", STR("[    ]\r[=   ]\r[==  ]"), "[==  ]"},
	{"spinner", STR("-\b\\\b|\b/\bdone"), "done"},
	{"backspace", STR("abc\b\bX"), "aXc"},
	{"backspace, blank, backspace", STR("abc\b \b\b \bX"), "aX"},
	{"backspace at the start", STR("\b\b\ba"), "a"},
	{"overstrike", STR("b\bbo\bol\bld\bd"), "bold"},
	{"underline of manuals", STR("_\ba_\bb"), "ab"},

	{"tab", STR("a\tb"), "a       b"},
	{"tab at a stop", STR("12345678\tb"), "12345678        b"},
	{"tab before a stop", STR("1234567\tb"), "1234567 b"},
	{"tabs", STR("\t\tx"), "                x"},
	{"tab over text", STR("abcdefghijkl\r\tX"), "abcdefghXjkl"},
	{"CHT", STR("\x1b[2Ix"), "                x"},
	{"CBT", STR("0123456789\x1b[ZX"), "01234567X9"},
	{"CBT from a stop", STR("0123456789abcdef\x1b[ZX"), "01234567X9abcdef"},
	{"CBT to the start", STR("0123456789\x1b[9ZX"), "X123456789"},
	{"HTS", STR("abc\x1bH\r\tx\ty"), "abcx    y"},
	{"HTS and CBT", STR("abc\x1bHdefgh\x1b[ZX"), "abcXefgh"},
	{"TBC", STR("\t\x1b[g\r\tx"), "                x"},
	{"TBC where no stop is", STR("abc\x1b[0g\r\tx"), "abc     x"},
	{"TBC of all", STR("\x1b[3g\x1b[70G\x1bH\r\tx"),
		"                                                                     x"},
	{"TBC of something else", STR("\x1b[1g\tx"), "        x"},
	{"stops after a reset",
		STR("\x1b[3g\x1b"
		    "c\tx"),
		"        x"},

	{"BEL, NUL, DEL",
		STR("a\x07"
		    "b\x00"
		    "c\x7f"
		    "d"),
		"abcd"},
	{"other controls",
		STR("a\x01\x02\x05\x11\x13\x1c\x1f"
		    "b"),
		"ab"},

	{"SGR", STR("\x1b[1;31mred\x1b[0m \x1b[38;5;9mx\x1b[38:2::1:2:3my\x1b[m"),
		"red xy"},
	{"OSC ended by BEL",
		STR("a\x1b]0;title\x07"
		    "b"),
		"ab"},
	{"OSC ended by ST", STR("a\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\"), "alink"},
	{"OSC with UTF-8",
		STR("\x1b]0;" ZHONG "\x07"
		    "b"),
		"b"},
	{"OSC cut off by CAN",
		STR("a\x1b]0;tit\x18"
		    "b"),
		"ab"},
	{"OSC with controls",
		STR("\x1b]0;a\r\nb\x07"
		    "c"),
		"c"},
	{"DCS", STR("a\x1bP+q544e\x1b\\b"), "ab"},
	{"DCS holds BEL", STR("a\x1bPq\x07q\x1b\\b"), "ab"},
	{"APC, PM, SOS", STR("a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d"), "abcd"},
	{"name of a window", STR("\x1bkvim\x1b\\x"), "x"},
	{"unknown CSI", STR("a\x1b[5;6yb\x1b[?2004hc\x1b[>4;2md\x1b[!pe\x1b[2 qf"),
		"abcdef"},
	{"unknown escapes", STR("a\x1b=b\x1b>c\x1b%Gd\x1b#3e\x1bgf"), "abcdef"},
	{"queries", STR("a\x1b[6nb\x1b[cc\x1b[>0cd\x1b]11;?\x1b\\e\x1b[0x"), "abcde"},
	{"mouse tracking is no scrolling", STR("a\r\nb\x1b[1;1;1;1;1T"), "a\nb"},
	{"CSI cut off by CAN",
		STR("a\x1b[3\x18"
		    "Cb"),
		"aCb"},
	{"CSI cut off by ESC", STR("a\x1b[3\x1b[2Cb"), "a  b"},
	{"control inside of CSI", STR("abc\x1b[\r2Cx"), "abx"},
	{"tab inside of CSI", STR("\x1b[2\tCx"), "          x"},
	{"prefix in the wrong place", STR("a\x1b[1?Cb"), "ab"},
	{"many parameters", STR("\x1b[1;2;3;4;5;6;7;8;9;1;2;3;4;5;6;7;8;9;1;2;3mx"), "x"},
	{"huge parameter", STR("abc\x1b[99999999999999999999Dx"), "xbc"},
	{"zero is one", STR("abc\x1b[0Dx"), "abx"},
	{"unfinished sequence", STR("a\x1b[31"), "a"},

	{"CUU", STR("one\r\ntwo\x1b[AX"), "oneX\ntwo"},
	{"CUU stops at the top", STR("one\r\ntwo\r\x1b[9AX"), "Xne\ntwo"},
	{"CUD", STR("a\x1b[Bb"), "a\n b"},
	{"CUF", STR("a\x1b[3Cb"), "a   b"},
	{"CUF without text leaves nothing", STR("a\x1b[3C"), "a"},
	{"CUB", STR("abcd\x1b[2DX"), "abXd"},
	{"CUB stops at the edge", STR("abcd\x1b[20DX"), "Xbcd"},
	{"CNL", STR("ab\x1b[2Ec"), "ab\n\nc"},
	{"CPL", STR("ab\r\ncd\x1b[FX"), "Xb\ncd"},
	{"CHA", STR("abcdef\x1b[3GX"), "abXdef"},
	{"HPA", STR("abcdef\x1b[2`X"), "aXcdef"},
	{"HPR", STR("a\x1b[2ab"), "a  b"},
	{"CUP", STR("\x1b[2;3Hx"), "\n  x"},
	{"CUP, home", STR("abc\x1b[HX"), "Xbc"},
	{"HVP", STR("abc\x1b[1;2fX"), "aXc"},
	{"VPA", STR("abc\x1b[3dx"), "abc\n\n   x"},
	{"VPR", STR("abc\x1b[2ex"), "abc\n\n   x"},
	{"multi-bar", STR("A  0%\r\nB  0%\r\n\x1b[2A\rA 50%\x1b[1B\rB 70%\x1b[1B\r"),
		"A 50%\nB 70%\n"},
	{"save and restore",
		STR("ab\x1b"
		    "7cd\x1b"
		    "8X"),
		"abXd"},
	{"save and restore, CSI", STR("ab\x1b[scd\r\n\x1b[uX"), "abXd"},
	{"restore without save",
		STR("abc\x1b"
		    "8X"),
		"Xbc"},
	{"IND",
		STR("ab\x1b"
		    "Dc"),
		"ab\n  c"},
	{"NEL",
		STR("ab\x1b"
		    "Ec"),
		"ab\nc"},
	{"RI", STR("ab\r\ncd\x1bMX"), "abX\ncd"},
	{"RI at the top scrolls down", STR("ab\r\ncd\x1b[H\x1bMX"), "X\nab\ncd"},

	{"EL", STR("abcdef\x1b[4G\x1b[K"), "abc"},
	{"EL 1", STR("abcdef\x1b[3G\x1b[1K"), "   def"},
	{"EL 2", STR("abc\r\ndef\x1b[2Kx"), "abc\n   x"},
	{"EL 3 is unknown", STR("abc\x1b[3K"), "abc"},
	{"ED", STR("one\r\ntwo\r\nthree\x1b[2;2H\x1b[J"), "one\nt"},
	{"ED 1", STR("one\r\ntwo\r\nthree\x1b[2;2H\x1b[1J"), "\n  o\nthree"},
	{"ED 2", STR("one\r\ntwo\x1b[2Jx"), "\n   x"},
	{"ED 2 and home", STR("one\r\ntwo\x1b[2J\x1b[Hx"), "x"},
	{"clear", STR("one\r\ntwo\r\n\x1b[H\x1b[J\x1b[3Jx\r\n"), "x\n"},
	{"clear, nothing after", STR("one\r\ntwo\r\n\x1b[H\x1b[2J\x1b[3J"), ""},
	{"RIS",
		STR("one\r\n\x1b(0\x1b[4h\x1b[3;4rtwo\x1b"
		    "cqx"),
		"qx"},
	{"ECH", STR("abcdef\x1b[2G\x1b[3Xx"), "ax  ef"},
	{"ECH to the end", STR("abcdef\x1b[2G\x1b[99X"), "a"},
	{"ICH", STR("abcdef\x1b[3G\x1b[2@X"), "abX cdef"},
	{"ICH behind the text", STR("ab\x1b[5G\x1b[2@X"), "ab  X"},
	{"DCH", STR("abcdef\x1b[3G\x1b[2P"), "abef"},
	{"DCH of all", STR("abcdef\x1b[3G\x1b[99P"), "ab"},
	{"IRM", STR("world\r\x1b[4hhello \x1b[4l\r"), "hello world"},
	{"IL", STR("one\r\ntwo\r\nthree\x1b[2H\x1b[Lx"), "one\nx\ntwo\nthree"},
	{"IL of several", STR("one\r\ntwo\x1b[H\x1b[3Lx"), "x\n\n\none\ntwo"},
	{"DL", STR("one\r\ntwo\r\nthree\x1b[2H\x1b[M"), "one\nthree"},
	{"DL in the first row", STR("one\r\ntwo\x1b[H\x1b[Mx"), "xwo"},
	{"DL of all", STR("one\r\ntwo\r\n\x1b[H\x1b[99Mx"), "x"},

	{"region, line feed at its end", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3H\nx"),
		"1\n3\nx\n4"},
	{"region, reverse index", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2H\x1bMx"),
		"1\nx\n2\n4"},
	{"region, line feed below", STR("1\r\n2\r\n3\x1b[1;2r\x1b[3H\nx"), "1\n2\n3\nx"},
	{"region at the top keeps history",
		STR("1\r\n2\r\n3\r\nstatus\x1b[1;3r\x1b[3H\nx"), "1\n2\n3\nx\nstatus"},
	{"SU in a region", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[S"), "1\n3\n\n4"},
	{"SU", STR("1\r\n2\r\n3\x1b[2S\rx"), "1\n2\n3\n\nx"},
	{"SD", STR("1\r\n2\r\n3\x1b[H\x1b[2Tx"), "x\n\n1\n2\n3"},
	{"SD in a region", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[T"), "1\n\n2\n4"},
	{"IL in a region", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2H\x1b[L"), "1\n\n2\n4"},
	{"DL in a region", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2H\x1b[M"), "1\n3\n\n4"},
	{"IL outside of it", STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[4H\x1b[L"), "1\n2\n3\n4"},
	{"region, cursor stops at its edges",
		STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2H\x1b[9AX\x1b[9BY"), "1\nX\n3Y\n4"},
	{"region without sense", STR("1\r\n2\x1b[3;2rx"), "1\n2x"},
	{"origin mode",
		STR("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[?6h\x1b[HX\x1b[9;2HY\x1b[?6l\x1b[HZ"),
		"Z\nX\n3Y\n4"},
	{"progress below a region (apt)",
		STR("a\r\nb\x1b[1;999r\x1b[1000Hbar\x1b[2H\r\nc\r\nd\x1b[r\x1b[1000H"
		    "\x1b[K\x1b[5H"),
		"a\nb\nc\nd\n"},

	{"alternate screen shows while it runs",
		STR("a\r\n\x1b[?1049h\x1b[Hfull\r\nscreen"), "a\nfull\nscreen"},
	{"and leaves nothing", STR("a\r\n\x1b[?1049h\x1b[Hfull\r\nscreen\x1b[?1049lb"),
		"a\nb"},
	{"mode 47 leaves the cursor", STR("abc\x1b[?47h\x1b[Hxy\x1b[?47lZ"), "abZ"},
	{"mode 1047", STR("abc\x1b[?1047h\x1b[Hx\x1b[?1047lZ"), "aZc"},
	{"modes 1048 and 1047",
		STR("abc\x1b[?1048h\x1b[?1047h\x1b[Hx\x1b[?1047l\x1b[?1048lZ"), "abcZ"},
	{"leaving without entering", STR("abc\x1b[?1049lZ"), "abcZ"},
	{"entering twice", STR("a\x1b[?1049hx\x1b[?1049hy\x1b[?1049lb"), "ab"},
	{"on a line of its own", STR("a\x1b[?1049h\x1b[Hx"), "a\nx"},
	{"entered empty each time", STR("\x1b[?1049hx\x1b[?1049l\x1b[?1049h\x1b[2Hy"),
		"\ny"},
	{"several modes", STR("a\x1b[?1;1049;25hx\x1b[?25;1049lb"), "ab"},
	{"vim",
		STR("$ "
		    "vim\r\n\x1b[?1049h\x1b[?1h\x1b=\x1b[1;1000r\x1b[?12;25h\x1b[27m\x1b["
		    "H\x1b[2J"
		    "text\r\n\x1b[94m~ \x1b[m\x1b[1000;1H\"f\" "
		    "1L\x1b[1;1H\x1b[?1049l\x1b[?1l\x1b>done"),
		"$ vim\ndone"},
	{"less scrolls back",
		STR("\x1b[?1049h2\r\n3\r\n\x1b[K:\x1b[K\r\x1b[H\x1bM1\r\n\x1b["
		    "1000H\r\x1b[K"),
		"1\n2\n3\n:"},
	{"scrolling there is no history",
		STR("\x1b[?1049h\x1b[1;2r\x1b[H1\r\n2\r\n3\r\n4"), "3\n4"},

	{"line feeds without a return", STR("ab\ncd\n"), "ab\n  cd\n"},
	{"LNM", STR("\x1b[20hab\ncd\vef\fg\x1b[20lh\ni"), "ab\ncd\nef\ngh\n  i"},
	{"LNM and others", STR("\x1b[4;20hab\ncd\x1b[Hx"), "xab\ncd"},
	{"LNM is no private mode", STR("\x1b[?20hab\nc"), "ab\n  c"},
	{"LNM does not change IND",
		STR("\x1b[20hab\x1b"
		    "Dc"),
		"ab\n  c"},
	{"LNM ends with a reset", STR("\x1b[20hab\x1b[!p\nc"), "ab\n  c"},

	{"line drawing in G0", STR("\x1b(0lqk\x1b(Bq"),
		"\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90q"},
	{"line drawing in G1", STR("\x1b)0q\x0eqx\x0fq"), "q\xe2\x94\x80\xe2\x94\x82q"},
	{"digits are not drawn", STR("\x1b(0A1~\x1b(B"), "A1\xc2\xb7"},
	{"drawing is saved with the cursor",
		STR("\x1b(0\x1b"
		    "7\x1b(Bq\x1b"
		    "8\nq"),
		"q\n\xe2\x94\x80"},
	{"drawing and UTF-8", STR("\x1b(0q" ZHONG "q"),
		"\xe2\x94\x80" ZHONG "\xe2\x94\x80"},

	{"REP", STR("ab\x1b[3bc"), "abbbbc"},
	{"REP of a wide one", STR(ZHONG "\x1b[2b"), ZHONG ZHONG ZHONG},
	{"REP of nothing", STR("\x1b[5bx"), "x"},
	{"REP of a drawn one", STR("\x1b(0q\x1b[2b\x1b(B"),
		"\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"},

	{"UTF-8", STR("na\xc3\xafve " ZHONG WEN " \xe2\x82\xac " GRIN),
		"na\xc3\xafve " ZHONG WEN " \xe2\x82\xac " GRIN},
	{"a wide one has two columns", STR(ZHONG "\x1b[3GX"), ZHONG "X"},
	{"backspace over a wide one", STR(ZHONG WEN "\b\bab"), ZHONG "ab"},
	{"its right half overwritten", STR(ZHONG WEN "\bX"), ZHONG " X"},
	{"its left half overwritten", STR(ZHONG WEN "\rX"), "X " WEN},
	{"over two halves", STR(ZHONG WEN "\x1b[2G" GRIN), " " GRIN},
	{"half of it erased", STR(ZHONG WEN "x\x1b[2G\x1b[2Xy"), " y  x"},
	{"half of it deleted", STR(ZHONG WEN "x\x1b[2G\x1b[P"), " " WEN "x"},
	{"inserted into a half", STR(ZHONG "x\x1b[2G\x1b[@"), "   x"},
	{"combining", STR("e" ACUTE "x"), "e" ACUTE "x"},
	{"combining, cursor moved", STR("ae\r\x1b[C" ACUTE "x"), "a" ACUTE "x"},
	{"combining on a wide one", STR(ZHONG ACUTE "\x1b[3Gx"), ZHONG ACUTE "x"},
	{"combining at the start", STR(ACUTE "x"), "x"},
	{"combining behind the text", STR("a\x1b[5C" ACUTE "x"), "a     x"},
	{"overwritten with its accent", STR("e" ACUTE "e" ACUTE "\rx"), "xe" ACUTE},
	{"accents without end",
		STR("e" ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE
				ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE
					ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE "x"),
		"e" ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE
			ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE
				ACUTE "x"},
	{"joined emoji", STR(MAN ZWJ WOMAN ZWJ GIRL "x\x1b[3GY"),
		MAN ZWJ WOMAN ZWJ GIRL "Y"},
	{"joined emoji in a row that is edited", STR("ab" MAN ZWJ WOMAN "x\rX"),
		"Xb" MAN ZWJ WOMAN "x"},
	{"skin tone", STR(THUMB DARK "\x1b[3GY"), THUMB DARK "Y"},
	{"skin tone alone", STR("a" DARK "x"), "a" DARK "x"},
	{"variation selector", STR("\xe2\x9d\xa4" VS16 " x"), "\xe2\x9d\xa4" VS16 " x"},
	{"joiner before ASCII", STR("\xe0\xa4\x95" ZWJ "x\x1b[2GY"),
		"\xe0\xa4\x95" ZWJ "Y"},
	{"zero-width blank",
		STR("a\xe2\x80\x8b"
		    "b"),
		"a\xe2\x80\x8b"
		"b"},
	{"no-break blank stays", STR("a\xc2\xa0"), "a\xc2\xa0"},
	{"Hangul from parts", STR("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\x1b[3Gx"),
		"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xabx"},
	{"C1 as UTF-8",
		STR("a\xc2\x9b"
		    "31mb\xc2\x85"),
		"a31mb"},

	{"invalid byte",
		STR("a\xff"
		    "b"),
		"a" FFFD "b"},
	{"lonely continuation",
		STR("a\x80\xbf"
		    "b"),
		"a" FFFD FFFD "b"},
	{"cut short by ASCII",
		STR("a\xe4\xb8"
		    "b"),
		"a" FFFD "b"},
	{"cut short by a control", STR("a\xe4\xb8\r\nb"), "a" FFFD "\nb"},
	{"cut short by an escape", STR("a\xf0\x9f\x98\x1b[31mb"), "a" FFFD "b"},
	{"cut short by another", STR("\xe4\xb8\xe4\xb8\xad"), FFFD ZHONG},
	{"longer than needed", STR("\xc0\xaf\xe0\x80\xaf"), FFFD FFFD FFFD FFFD FFFD},
	{"surrogate", STR("\xed\xa0\x80"), FFFD FFFD FFFD},
	{"beyond Unicode", STR("\xf4\x90\x80\x80"), FFFD FFFD FFFD FFFD},
	{"unfinished at the end", STR("a\xe4\xb8"), "a"},
};

/* Bytes that have come through no terminal: nothing gets them out of it. */
static void test_newline(void)
{
	static const struct str resets[] = {
		STR(""), STR("\x1b[20l"), STR("\x1b[!p"), STR("\x1b[?1049h\x1b[?1049l")};
	struct vt *vt = vt_start();

	vt_set_newline(vt, true);
	for (size_t i = 0; i < ARRAY_LEN(resets); i++) {
		feed(vt, resets[i]);
		feed_c(vt, "ab\ncd\r\nef\n");
		is_shown(vt, "ab\ncd\nef\n", "line feeds begin lines");
		vt_reset(vt);
	}
	feed_c(vt,
		"ab\x1b"
		"c"
		"cd\nef");
	is_shown(vt, "cd\nef", "after RIS, too");
	vt_set_newline(vt, false);
	vt_reset(vt);
	feed_c(vt, "ab\ncd");
	is_shown(vt, "ab\n  cd", "and do not, once there is a terminal again");
	vt_free(vt);
}

static void test_examples(void)
{
	struct vt *vt = vt_start();

	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *e = &examples[i];
		size_t bad = 0;

		vt_reset(vt);
		feed(vt, e->in);
		is_shown(vt, e->text, e->name);
		for (size_t at = 1; at < e->in.n; at++) {
			vt_reset(vt);
			feed(vt, str_make(e->in.p, at));
			feed(vt, str_skip(e->in, at));
			bad += !shows(vt, e->text);
		}
		vt_reset(vt);
		for (size_t at = 0; at < e->in.n; at++)
			feed(vt, str_make(e->in.p + at, 1));
		bad += !shows(vt, e->text);
		is_int(bad, 0, "%s, split", e->name);
	}
	vt_free(vt);
}

/* --- The right edge --- */

/* n times unit, then what follows; fed whole and byte by byte. */
struct wide_case {
	const char *name;
	const char *before;
	const char *unit;
	size_t n;
	const char *after;
	const char *want_unit;
	size_t want_n;
	const char *want_after;
};

static const struct wide_case wide_cases[] = {
	{"a line of 2500 columns", "", "x", 2500, "\r\ny", "x", 2500, "\ny"},
	{"exactly 1000 columns", "", "x", 1000, "\r\ny", "x", 1000, "\ny"},
	{"1001 columns", "", "x", 1001, "\r\ny", "x", 1001, "\ny"},
	{"2000 columns, then more", "", "x", 2000, "y", "x", 2000, "y"},
	{"blanks at the joint stay", "", "x", 990, "               y", "x", 990,
		"               y"},
	{"wide ones", "", ZHONG, 1200, "", ZHONG, 1200, ""},
	{"a wide one that does not fit", "", "x", 999, ZHONG "y", "x", 999, ZHONG "y"},
	{"return at the edge", "", "x", 1000, "\rab", "abx", 1, NULL},
	{"backspace at the edge", "", "x", 1000, "\b!", "x", 999, "!"},
	{"backspace into the wrapped row", "", "x", 1001, "\b\b\b!", "x", 998, "!xx"},
	{"backspace from the wrapped row", "", "x", 1001, "\b\b!", "x", 999, "!x"},
	{"tab at the edge", "", "x", 1000, "\ty", "x", 1000, "y"},
	{"tab to the last column", "", "x", 995, "\tyz", "x", 995, "    yz"},
	{"combining at the edge", "", "x", 1000, ACUTE "y", "x", 1000, ACUTE "y"},
	{"line feed at the edge", "", "x", 1000, "\r\n\r\ny", "x", 1000, "\n\ny"},
	{"erasing at the edge", "", "x", 1000, "\x1b[K", "x", 1000, ""},
	{"erasing ends the joint", "", "x", 1001, "\x1b[A\x1b[999G\x1b[K", "x", 998,
		"\nx"},
	{"no wrap", "\x1b[?7l", "x", 1500, "y", "x", 999, "y"},
	{"no wrap, wide", "\x1b[?7l", "x", 999, ZHONG "y", "x", 999, "y"},
	{"no wrap, then wrap", "\x1b[?7l", "x", 1500, "\x1b[?7hyz", "x", 999, "yz"},
	{"REP stops at the edge", "", "x", 998, "\x1b[50by", "x", 1000, "y"},
	{"inserting pushes out", "", "x", 1000, "\r\x1b[2@ab", "abx", 1, NULL},
	{"inserting cuts a wide one", "x", ZHONG, 499, "\x1b[G\x1b[2@ab", "abx" ZHONG, 1,
		NULL},
	{"deleting a line ends the joint", "", "x", 1001, "\r\n\x1b[2H\x1b[My", "x", 1000,
		"\ny"},
	{"CUF stops at the edge", "", "x", 10, "\x1b[9999Cyz", "x", 10, NULL},
};

static void test_edge(void)
{
	struct vt *vt = vt_start();

	for (size_t i = 0; i < ARRAY_LEN(wide_cases); i++) {
		const struct wide_case *c = &wide_cases[i];
		char *mid = repeated(c->unit, c->n),
		     *part = repeated(c->want_unit, c->want_n);
		struct buf in = BUF_INIT(OUT_MAX), want = BUF_INIT(OUT_MAX);
		char *got;

		buf_puts(&in, c->before);
		buf_puts(&in, mid);
		buf_puts(&in, c->after);
		buf_puts(&want, part);
		/* NULL: only how it begins is compared. */
		buf_puts(&want, c->want_after ? c->want_after : "");
		for (int split = 0; split < 2; split++) {
			vt_reset(vt);
			for (size_t at = 0; at < in.n; at += split ? 1 : in.n)
				feed(vt, str_make(in.p + at, split ? 1 : in.n));
			got = all(vt, NULL);
			if (!c->want_after && strlen(got) > want.n)
				got[want.n] = 0;
			is_str(got, buf_cstr(&want), "%s%s", c->name,
				split ? ", split" : "");
			free(got);
		}
		free(mid);
		free(part);
		buf_free(&in);
		buf_free(&want);
	}
	vt_free(vt);
}

/* --- Whole screens --- */

static void test_align(void)
{
	struct vt *vt = vt_start();
	char *es = repeated("E", 1000), *got;

	feed_c(vt, "abc" CSI "5;9r" CSI "7;3H" ESC "#8");
	got = all(vt, NULL);
	is_int(strlen(got), 1000 * 1001 - 1, "DECALN fills the screen");
	is_mem(got, 1000, es, 1000, "with E");
	is_mem(got + 999 * 1001, 1000, es, 1000, "to the end");
	free(got);
	feed_c(vt, "x" CSI "2;3H" CSI "Ky" CSI "3H" CSI "J" CSI "1000HZ");
	got = all(vt, NULL);
	is_mem(got, 3, "xEE", 3, "its cursor is at home, its rows can be edited");
	is_mem(got + 1001, 4, "EEy\n", 4, "erased in part");
	free(got);
	vt_reset(vt);
	feed_c(vt, ESC "#8\n" CSI "1000H\r\nlast");
	got = all(vt, NULL);
	is_int(strlen(got), 1000 * 1001 + 4, "they scroll, for there is no region");
	free(got);
	free(es);
	vt_free(vt);
}

/* Lines are numbers. What a terminal of 1000 rows does with them at its two ends. */
struct roll {
	int old[8000], screen[1000];
	size_t old_n;
};

static void roll_up(struct roll *r, int last)
{
	r->old[r->old_n++] = r->screen[0];
	memmove(r->screen, r->screen + 1, 999 * sizeof(int));
	r->screen[999] = last;
}

static void roll_down(struct roll *r, int first)
{
	memmove(r->screen + 1, r->screen, 999 * sizeof(int));
	r->screen[0] = first;
}

static char *roll_text(const struct roll *r)
{
	struct buf out = BUF_INIT(1 << 20);

	for (size_t i = 0; i < r->old_n; i++)
		buf_fmt(&out, "%d\n", r->old[i]);
	for (size_t i = 0; i < 1000; i++)
		buf_fmt(&out, "%d%s", r->screen[i], i < 999 ? "\n" : "");
	return buf_cstr(&out) ? out.p : NULL;
}

/* Lines in turn from the bottom and from the top, so many of each at a time. */
static void test_roll(size_t up, size_t down)
{
	static struct roll r;
	struct vt *vt = vt_start();
	char line[32], *want;
	int n = 0;

	r.old_n = 0;
	for (size_t i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "%s%d", i ? "\r\n" : "", n);
		feed_c(vt, line);
		r.screen[i] = n++;
	}
	while (r.old_n + up < ARRAY_LEN(r.old) && n < 9000) {
		feed_c(vt, CSI "1000H");
		for (size_t i = 0; i < up; i++, n++) {
			snprintf(line, sizeof(line), "\r\n%d", n);
			feed_c(vt, line);
			roll_up(&r, n);
		}
		feed_c(vt, CSI "H");
		for (size_t i = 0; i < down; i++, n++) {
			snprintf(line, sizeof(line), "\r" ESC "M%d", n);
			feed_c(vt, line);
			roll_down(&r, n);
		}
	}
	want = roll_text(&r);
	is_shown(vt, want, "lines from both ends");
	free(want);
	vt_free(vt);
}

static void test_edge_rows(void)
{
	struct vt *vt = vt_start();
	char *line = repeated("x", 1000), *got;

	feed_c(vt, CSI "999;1H" CSI "999Cab");
	got = all(vt, NULL);
	is_int(strlen(got), 998 + 1000 + 1 - 1 + 1,
		"two characters around the last column");
	is_str(got + 998 + 999, "ab", "are one line");
	free(got);

	vt_reset(vt);
	feed_c(vt, CSI "1000;1H");
	feed_c(vt, line);
	feed_c(vt, "y");
	got = all(vt, NULL);
	is_int(strlen(got), 999 + 1001, "wrapping in the last row scrolls");
	free(got);

	vt_reset(vt);
	feed_c(vt, CSI "1;5r" CSI "1000;1H");
	feed_c(vt, line);
	feed_c(vt, "yz" CSI "r" CSI "1000H\r\nnext");
	got = all(vt, NULL);
	is_int(strlen(got), 999 + 1000 + 1 + 4, "below a region it stays in the row");
	is_str(got + 999 + 998, "xx\nnext", "and joins nothing");
	free(got);

	vt_reset(vt);
	feed_c(vt, line);
	feed_c(vt, "y" CSI "H" CSI "L");
	got = all(vt, NULL);
	is_int(strlen(got), 1 + 1001, "a wrapped line pushed down is one line still");
	free(got);
	free(line);
	vt_free(vt);
}

int main(void)
{
	test_examples();
	test_newline();
	test_edge();
	test_edge_rows();
	test_align();
	test_roll(1, 1);
	test_roll(0, 3000);
	test_roll(700, 300);
	test_roll(10, 257);
	test_roll(1500, 1001);
	return done_testing();
}

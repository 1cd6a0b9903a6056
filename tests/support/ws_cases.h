/*
 * What a WebSocket is sent and what it answers, after the sections of the Autobahn test
 * suite: for one that sends every message back, in either role.
 */
#ifndef TESTS_SUPPORT_WS_CASES_H
#define TESTS_SUPPORT_WS_CASES_H

#include "base/str.h"

enum {
	T = 0x81,
	B = 0x82,
	PING = 0x89,
	PONG = 0x8a,
	CLOSE = 0x88,
	CONT = 0x80,
	MORE = 0x100
};

struct in {
	unsigned first; /* byte of the frame; 0: no more frames */
	struct str payload;
};

struct row {
	const char *name;
	struct in in[8];
	struct in out[4]; /* frames; without a close: the connection lives on */
};

#define P(lit) STR(lit)
#define X25 "xxxxxxxxxxxxxxxxxxxxxxxxx"
#define X125 X25 X25 X25 X25 X25
#define BROKEN(why) \
	{ \
		CLOSE, P("\x03\xea" why) \
	}
#define WRONG BROKEN("the frame violates the protocol")
#define BAD_TEXT \
	{ \
		CLOSE, P("\x03\xefthe text is not UTF-8") \
	}
#define CODE(hi, lo) \
	{ \
		"7.7 close " #hi #lo, {{CLOSE, P(hi lo)}}, \
		{ \
			{ \
				CLOSE, P(hi lo) \
			} \
		} \
	}
#define BAD_CODE(hi, lo) \
	{ \
		"7.9 close " #hi #lo, {{CLOSE, P(hi lo)}}, \
		{ \
			WRONG \
		} \
	}
#define UTF8(name, text) \
	{ \
		"6 " name, {{T, P(text)}}, \
		{ \
			{ \
				T, P(text) \
			} \
		} \
	}
#define NOT_UTF8(name, text) \
	{ \
		"6 " name, {{T, P(text)}}, \
		{ \
			BAD_TEXT \
		} \
	}

static const struct row rows[] = {
	/* 1 Framing. */
	{"1.1.1 empty text", {{T, P("")}}, {{T, P("")}}},
	{"1.1.2 text of 125", {{T, P(X125)}}, {{T, P(X125)}}},
	{"1.1.3 text of 126", {{T, P(X125 "x")}}, {{T, P(X125 "x")}}},
	{"1.1.4 text of 127", {{T, P(X125 "xx")}}, {{T, P(X125 "xx")}}},
	{"1.2.1 empty binary", {{B, P("")}}, {{B, P("")}}},
	{"1.2.2 binary of 125", {{B, P(X125)}}, {{B, P(X125)}}},
	{"1.2.3 binary of 126", {{B, P(X125 "\xfe")}}, {{B, P(X125 "\xfe")}}},
	/* 2 Pings and pongs. */
	{"2.1 empty ping", {{PING, P("")}}, {{PONG, P("")}}},
	{"2.2 ping", {{PING, P("Hello")}}, {{PONG, P("Hello")}}},
	{"2.3 binary ping", {{PING, P("\0\xff\xfe\xfd")}}, {{PONG, P("\0\xff\xfe\xfd")}}},
	{"2.4 ping of 125", {{PING, P(X125)}}, {{PONG, P(X125)}}},
	{"2.5 ping of 126", {{PING, P(X125 "x")}}, {WRONG}},
	{"2.7 empty pong", {{PONG, P("")}, {T, P("a")}}, {{T, P("a")}}},
	{"2.8 pong", {{PONG, P("out of the blue")}, {T, P("a")}}, {{T, P("a")}}},
	{"2.9 pong, ping", {{PONG, P("p")}, {PING, P("q")}}, {{PONG, P("q")}}},
	{"2.10 pings", {{PING, P("1")}, {PING, P("2")}, {PING, P("3")}, {PING, P("4")}},
		{{PONG, P("1")}, {PONG, P("2")}, {PONG, P("3")}, {PONG, P("4")}}},
	/* 3 Reserved bits. */
	{"3.1 bit 3", {{0x91, P("x")}}, {WRONG}},
	{"3.2 a text, then bit 2", {{T, P("x")}, {0xa1, P("x")}}, {{T, P("x")}, WRONG}},
	{"3.3 bits 2 and 3", {{T, P("x")}, {0xb1, P("x")}}, {{T, P("x")}, WRONG}},
	{"3.4 bit 1", {{T, P("x")}, {0xc1, P("x")}}, {{T, P("x")}, WRONG}},
	{"3.5 binary, bits 1 and 3", {{0xd2, P("x")}}, {WRONG}},
	{"3.6 ping, bits 1 and 2", {{0xe9, P("x")}}, {WRONG}},
	{"3.7 close, all bits", {{0xf8, P("")}}, {WRONG}},
	/* 4 Opcodes. */
	{"4.1.1 op 3", {{0x83, P("")}}, {WRONG}},
	{"4.1.2 op 4", {{0x84, P("x")}}, {WRONG}},
	{"4.1.3 op 5", {{T, P("x")}, {0x85, P("")}}, {{T, P("x")}, WRONG}},
	{"4.1.4 op 6", {{0x86, P("x")}}, {WRONG}},
	{"4.1.5 op 7", {{0x87, P("x")}}, {WRONG}},
	{"4.2.1 op 11", {{0x8b, P("")}}, {WRONG}},
	{"4.2.2 op 12", {{0x8c, P("x")}}, {WRONG}},
	{"4.2.3 op 13", {{T, P("x")}, {0x8d, P("")}}, {{T, P("x")}, WRONG}},
	{"4.2.4 op 14", {{0x8e, P("x")}}, {WRONG}},
	{"4.2.5 op 15", {{0x8f, P("x")}}, {WRONG}},
	/* 5 Fragments. */
	{"5.1 ping in two", {{0x09, P("a")}, {CONT, P("b")}}, {WRONG}},
	{"5.2 pong in two", {{0x0a, P("a")}, {CONT, P("b")}}, {WRONG}},
	{"5.3 text in two", {{0x01, P("a")}, {CONT, P("b")}}, {{T, P("ab")}}},
	{"5.6 a ping between", {{0x01, P("a")}, {PING, P("p")}, {CONT, P("b")}},
		{{PONG, P("p")}, {T, P("ab")}}},
	{"5.9 continues nothing", {{CONT, P("b")}, {T, P("a")}}, {WRONG}},
	{"5.10 the same", {{CONT, P("b")}}, {WRONG}},
	{"5.12 the same, unfinished", {{MORE, P("b")}, {T, P("a")}}, {WRONG}},
	{"5.15 one whole, then more", {{0x01, P("a")}, {CONT, P("b")}, {MORE, P("c")}},
		{{T, P("ab")}, WRONG}},
	{"5.17 two begun", {{0x01, P("a")}, {T, P("b")}}, {WRONG}},
	{"5.18 two begun", {{0x01, P("a")}, {0x01, P("b")}}, {WRONG}},
	{"5.19 six pieces, two pings",
		{{0x01, P("a")}, {MORE, P("b")}, {PING, P("1")}, {MORE, P("c")},
			{MORE, P("d")}, {PING, P("2")}, {CONT, P("e")}},
		{{PONG, P("1")}, {PONG, P("2")}, {T, P("abcde")}}},
	{"6.1.2 empty pieces", {{0x01, P("")}, {MORE, P("")}, {CONT, P("")}},
		{{T, P("")}}},
	{"6.1.3 one of them not", {{0x01, P("")}, {MORE, P("m")}, {CONT, P("")}},
		{{T, P("m")}}},
	/* 6 UTF-8. */
	{"6.2.3 a character in pieces",
		{{0x01, P("\xce")}, {MORE, P("\xba")}, {MORE, P("\xe1\xbd")},
			{CONT, P("\xb9")}},
		{{T, P("\xce\xba\xe1\xbd\xb9")}}},
	{"6.3.2 bad in the first piece",
		{{0x01, P("\xce\xba\xed\xa0\x80")}, {MORE, P("edited")}}, {BAD_TEXT}},
	{"6.4 fails at once", {{0x01, P("\xce\xba\xf4\x90")}}, {BAD_TEXT}},
	UTF8("kosme", "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"),
	NOT_UTF8("half of a character", "\xce\xba\xe1\xbd"),
	UTF8("U+0000", "\0"),
	UTF8("U+0080", "\xc2\x80"),
	UTF8("U+0800", "\xe0\xa0\x80"),
	UTF8("U+10000", "\xf0\x90\x80\x80"),
	NOT_UTF8("five bytes", "\xf8\x88\x80\x80\x80"),
	NOT_UTF8("six bytes", "\xfc\x84\x80\x80\x80\x80"),
	UTF8("U+007F", "\x7f"),
	UTF8("U+07FF", "\xdf\xbf"),
	UTF8("U+FFFF", "\xef\xbf\xbf"),
	UTF8("U+10FFFF", "\xf4\x8f\xbf\xbf"),
	NOT_UTF8("U+110000", "\xf4\x90\x80\x80"),
	UTF8("U+D7FF", "\xed\x9f\xbf"),
	UTF8("U+E000", "\xee\x80\x80"),
	UTF8("U+FFFD", "\xef\xbf\xbd"),
	NOT_UTF8("continuation", "\x80"),
	NOT_UTF8("continuations", "\x80\xbf\x80"),
	NOT_UTF8("a start alone", "\xc0 \xc1 "),
	NOT_UTF8("two of three", "\xe0\x80"),
	NOT_UTF8("fe", "\xfe"),
	NOT_UTF8("ff", "\xff"),
	NOT_UTF8("overlong /", "\xc0\xaf"),
	NOT_UTF8("overlong / of three", "\xe0\x80\xaf"),
	NOT_UTF8("overlong 7f", "\xc1\xbf"),
	NOT_UTF8("overlong U+FFFF", "\xf0\x8f\xbf\xbf"),
	NOT_UTF8("overlong 0", "\xc0\x80"),
	NOT_UTF8("U+D800", "\xed\xa0\x80"),
	NOT_UTF8("U+DFFF", "\xed\xbf\xbf"),
	NOT_UTF8("a pair", "\xed\xa0\x80\xed\xb0\x80"),
	UTF8("U+FFFE", "\xef\xbf\xbe"),
	UTF8("U+1FFFF", "\xf0\x9f\xbf\xbf"),
	/* 7 Close. */
	{"7.1.1 text, close", {{T, P("a")}, {CLOSE, P("")}},
		{{T, P("a")}, {CLOSE, P("")}}},
	{"7.1.2 two closes", {{CLOSE, P("")}, {CLOSE, P("")}}, {{CLOSE, P("")}}},
	{"7.1.3 ping after it", {{CLOSE, P("")}, {PING, P("x")}}, {{CLOSE, P("")}}},
	{"7.1.4 text after it", {{CLOSE, P("")}, {T, P("x")}}, {{CLOSE, P("")}}},
	{"7.1.5 the rest of a text", {{0x01, P("a")}, {CLOSE, P("")}, {CONT, P("b")}},
		{{CLOSE, P("")}}},
	{"7.3.2 half a code", {{CLOSE, P("\x03")}}, {WRONG}},
	{"7.3.3 code", {{CLOSE, P("\x03\xe8")}}, {{CLOSE, P("\x03\xe8")}}},
	{"7.3.4 reason", {{CLOSE, P("\x03\xe8Hello")}}, {{CLOSE, P("\x03\xe8")}}},
	{"7.3.6 reason too long", {{CLOSE, P("\x03\xe8" X125)}}, {WRONG}},
	{"7.5.1 reason is not UTF-8", {{CLOSE, P("\x03\xe8\xce\xba\xed\xa0")}},
		{BAD_TEXT}},
	CODE("\x03", "\xe8"),
	CODE("\x03", "\xe9"),
	CODE("\x03", "\xea"),
	CODE("\x03", "\xeb"),
	CODE("\x03", "\xef"),
	CODE("\x03", "\xf0"),
	CODE("\x03", "\xf3"),
	CODE("\x0b", "\xb8"),
	CODE("\x0f", "\x9f"),
	CODE("\x0f", "\xa0"),
	CODE("\x13", "\x87"),
	BAD_CODE("\x00", "\x00"),
	BAD_CODE("\x03", "\xe7"),
	BAD_CODE("\x03", "\xec"),
	BAD_CODE("\x03", "\xed"),
	BAD_CODE("\x03", "\xee"),
	BAD_CODE("\x03", "\xf8"),
	BAD_CODE("\x04", "\x4c"),
	BAD_CODE("\x07", "\xd0"),
	BAD_CODE("\x0b", "\xb7"),
	BAD_CODE("\x13", "\x88"),
	BAD_CODE("\xff", "\xff"),
};

#endif

/*
 * The head of the binary frames of a stream's channels, see docs/stream.md; numbers are
 * big-endian.
 */
#ifndef CODEC_CHANNEL_FRAME_H
#define CODEC_CHANNEL_FRAME_H

#include "base/str.h"

enum channel_frame_kind {
	CHANNEL_OUTPUT = 1,
	CHANNEL_SNAPSHOT = 2,
	CHANNEL_INPUT = 3,
	CHANNEL_ANSWER = 4,
	CHANNEL_STDERR = 5, /* of a process; kind 1 is its stdout */
};

enum { CHANNEL_HEAD = 24 };

/* Codes with which a stream is closed, besides those of WebSocket. */
enum stream_code {
	STREAM_FENCED = 4409, /* another connection, or a higher lease, takes over */
	STREAM_NAME_CONFLICT = 4423, /* the sandbox's name belongs to another sandbox */
};

struct channel_frame {
	uint8_t kind;  /* enum channel_frame_kind */
	uint32_t id;   /* of the channel */
	uint64_t at;   /* offset of the bytes in the stream or the snapshot */
	uint32_t span; /* length that they cover there: the next offset minus this one */
	struct str bytes;
};

/* Writes the head of f, with the checksum of its bytes. The bytes follow the head. */
void channel_frame_put(uint8_t head[CHANNEL_HEAD], const struct channel_frame *f);
/*
 * 0; ERR_SYNTAX: this is no channel frame; ERR_RANGE: the checksum does not match the
 * bytes.
 */
int channel_frame_get(struct str frame, struct channel_frame *f) MUST_USE;

#endif

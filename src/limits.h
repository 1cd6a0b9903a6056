/*
 * The limits that several files share or that a user can meet, each with its reason. A
 * limit of one file stands on top of that file, a limit of one module in its header.
 * Sizes are bytes, times are milliseconds, unless the name says otherwise.
 */
#ifndef LIMITS_H
#define LIMITS_H

/* JSON requests. */
enum {
	JSON_DEPTH_MAX = 64,     /* real requests nest five deep */
	JSON_TOKENS_MAX = 20000, /* 20 bytes each in the index: 400 KB at most */
	JSON_KEYS_MAX = 128,     /* duplicate check is per object */
};

/* HTTP messages. */
enum {
	HTTP_HEAD_MAX = 16384,       /* start line and fields; real clients send 1 KB */
	HTTP_TARGET_MAX = 8192,      /* two paths of PATH_MAX, percent-encoded in part */
	HTTP_FIELDS_MAX = 100,       /* as Apache; browsers send 20 */
	HTTP_WINDOW = 65536,         /* body bytes read at once, behind the head */
	HTTP_QUEUE = 131072,         /* of a reply in pieces; then the writer waits */
	HTTP_REPLY_MAX = 64 << 20,   /* a 32 MiB file as base64 in JSON, and its diff */
	HTTP_REPLY_HEAD_MAX = 16384, /* a redirect repeats the target at most */
	HTTP_ARENA_MAX = 12 << 20,   /* a body of HTTP_BODY_MAX, decoded, and its index */
	HTTP_BODY_MAX = 8 << 20,     /* buffered bodies; a handler may set less */
	HTTP_BODY_STEP = 256 << 10,  /* of a body between two memory checks: 30 us each */
	HTTP_BODY_RESERVE = 4 << 20, /* memory that large bodies leave to all others */
};

/* HTTP connections. */
enum {
	HTTP_CONNS_MAX = 1024,   /* 4 KB each while a head is unfinished */
	HTTP_SPARES = 4,         /* exchanges kept for reuse, 10 KB each */
	HTTP_KEEP_MAX = 8192,    /* a kept buffer above this is freed */
	HTTP_READ_FIRST = 4096,  /* one page holds nearly every head */
	HTTP_TURN_BYTES = 65536, /* bytes of one connection in a wake-up */
	HTTP_TURN_REPLIES = 32,  /* replies to one connection in a wake-up: 0.3 ms */
	HTTP_TURN_US = 300,      /* time of one connection in a wake-up */
	HTTP_HEAD_MS = 10000,    /* absolute, from accept or first byte: slow loris */
	HTTP_IDLE_MS = 75000,    /* clients that reuse a connection drop it earlier */
	HTTP_BODY_MS = 10000,    /* grace before HTTP_BODY_RATE counts */
	HTTP_BODY_RATE = 1024,   /* bytes per second that a sender must reach */
	HTTP_STALL_MS = 30000,   /* longest pause inside a body or a reply */
	HTTP_WAIT_MS = 24 * 3600 * 1000, /* actions have their own limit; bounds a bug */
	HTTP_LINGER_MS = 2000, /* time for the peer to read the reply and leave */
	HTTP_YOUNG_MS = 250,   /* legitimate peers have sent a byte by then */
};

/* WebSocket connections. */
enum {
	WS_MESSAGE_MAX = 1 << 20, /* of an incoming message, unless its use needs more */
	WS_FRAGMENTS_MAX = 1024,  /* of one message; programs that split use 16 KB */
	WS_CONTROLS = 100,        /* pings and pongs that a peer may send in a second */
	WS_READ = 1024,           /* from a peer, before its turn's time is checked */
	WS_QUEUE = 65536,         /* of outgoing data; beyond it the writer waits */
	WS_QUEUE_MAX = 2 << 20,   /* WS_QUEUE and a message that is sent in any case */
	WS_BEAT_MS = 10000,       /* between pings: proxies cut after 60 s of silence */
	WS_DEAD_MS = 30000,       /* three pings lost */
	WS_OPEN_MS = 10000,       /* for a client, from the connection to its answer */
	WS_CLOSE_MS = 5000,       /* for the peer to close as well */
};

/* TLS, name servers and lost peers. */
enum {
	TLS_PEM_MAX = 256 << 10,        /* a chain of TLS_CHAIN_MAX large certificates */
	TLS_CHAIN_MAX = 10,             /* public chains have three */
	TLS_CERT_MAX = 16 << 10,        /* of a peer, or an authority; most have 2 KB */
	AUTHORITIES_FILE_MAX = 2 << 20, /* of authorities; distributions have 250 KB */
	RESOLVE_MS = 2000,              /* one question to one name server */
	PEER_IDLE_S = 30,               /* of silence before the first keepalive probe */
	PEER_ASK_S = 10,                /* between further keepalive probes */
	PEER_ASKS = 3,                  /* unanswered probes that mean a lost peer */
};

/* The server as a whole. */
enum {
	SERVE_DATA_MAX = 256 << 20, /* of memory: then requests fail, not the process */
	IDENTITY_MEMORY_MAX = 4 << 20, /* the shell's environment; Linux takes 2 MB */
	INFO_CACHE_MS = 500,           /* resources change slowly; no key is needed */
	LISTEN_BACKLOG = 4096, /* as the kernel's somaxconn: see docs/protocol.md */
	STOP_GRACE_MS = 3000,  /* for running requests; docker stop kills after 10 s */
	STOP_FLUSH_MS = 500,   /* for the last replies after STOP_GRACE_MS */
	USER_PATH_MAX = 1024,  /* a home or a shell as passwd has it */
	USER_GROUPS_MAX = 64,  /* further memberships are ignored */
	USER_NOTES_MAX = 16 << 10, /* a dozen log lines with paths in them */
};

/* Jobs: children for work that may block. */
enum {
	JOBS_MAX = 48,           /* at a time; each has about 1 MiB of its own */
	JOBS_OF_KIND_MAX = 16,   /* of each slow kind, so that others find a place */
	JOBS_WAITING_MAX = 1024, /* as many as there are connections */
	JOB_PIECE = 65536,       /* output taken at once: what a pipe holds */
};

/* Files and the editor. */
enum {
	FILE_PATH_MAX = 4096,         /* Linux takes no longer path, NUL included */
	FILE_LINKS_MAX = 40,          /* symlinks in a row, as the kernel counts */
	FILE_READ_MAX = 16 << 20,     /* one file, or the range of lines asked for */
	FILE_CONTENT_MAX = 24 << 20,  /* FILE_READ_MAX as base64, and a few members */
	FILE_JOB_MS = 120000,         /* as clients wait; for requests without a limit */
	FILE_JOB_LEAST_MS = 1000,     /* minimum: action timeouts are for commands */
	FILE_WORDS_MAX = 3 * 4096,    /* an error: two paths and a sentence */
	EDIT_FILE_MAX = 10 << 20,     /* of the wire contract */
	EDIT_SHOWN_CHARS = 16000,     /* of the wire contract: more is cut */
	HISTORY_PER_FILE = 10,        /* of the wire contract */
	HISTORY_BYTES_MAX = 24 << 20, /* two of the largest files */
};

/* Archives, transfers and the file viewer. */
enum {
	ARCHIVE_ENTRIES_MAX = 100000, /* with folders above; node_modules has 60,000 */
	ARCHIVE_RATIO_MAX = 1000,     /* of one file; zeros get 1,030 from deflate */
	ARCHIVE_RATIO_FREE = 1 << 20, /* bytes for which the ratio does not matter */
	ARCHIVE_DEPTH_MAX = 128,      /* folders; one open descriptor each */
	TAR_META_MAX = 64 << 10,      /* a pax header: names, and ignored records */
	PUT_UNDO_MAX = 64 << 20,      /* of an old file, kept while it is overwritten */
	TRANSFER_PIECE = 262144,      /* read or written at once */
	TRANSFER_LIST_MAX = 65536,    /* a path in JSON, escaped */
	VIEWER_PORTS = 1024,          /* of the wire contract: behind the main one */
	VIEWER_FILE_MAX = 16 << 20,   /* a page of 22 MB, all in one job */
};
#define ARCHIVE_BYTES_MAX ((uint64_t)10 << 30) /* unpacked, all files together */
#define TRANSFER_BODY_MAX ((size_t)1 << 40)    /* an upload; the disk is full earlier */

/* Searching, and watching for changes. */
enum {
	REGEX_PATTERN_MAX = 4096,    /* typed by people and models; code has 200 */
	REGEX_DEPTH_MAX = 64,        /* open groups */
	REGEX_REPEAT_MAX = 1000,     /* as RE2 */
	WALK_DEPTH_MAX = 128,        /* one descriptor each; node_modules has 30 */
	GREP_LINE_MAX = 16 << 20,    /* one line held in memory: minified code has 5 MB */
	SEARCH_BODY_MAX = 8 << 20,   /* of an answer; readers need no more */
	SEARCH_BODY_SLACK = 1 << 20, /* beyond that: one line, and the counts */
	SEARCH_REQUEST_MAX = 64 << 10, /* a pattern and two globs, escaped */
	SEARCH_PATHS = 10000,          /* found by a glob, unless requested otherwise */
	SEARCH_PATHS_MAX = 1000000,    /* the largest limit of a glob */
	SEARCH_MATCHES = 1000,         /* found by a grep, unless requested otherwise */
	SEARCH_MATCHES_MAX = 1000000,  /* the largest limit of a grep */
	SEARCH_LINE = 1000,            /* shown of a line, unless requested otherwise */
	SEARCH_LINE_MAX = 100000,      /* six times that fits the slack, escaped */
	SEARCH_CONTEXT_MAX = 1000,     /* lines before and behind a match */
	SEARCH_DEFAULT_S = 30,         /* then the matches so far are the answer */
	SEARCH_MAX_S = 600,            /* the largest timeout of a request */
	WATCHES_MAX = 8, /* requests without an end: half of the lasting jobs */
	WATCH_FOLDERS_MAX = 100000, /* of one watch; 100 bytes each, 1 KB in the kernel */
	WATCH_PATH_MAX = 1 << 20,   /* of folders 128 deep at each new scan */
	WATCH_READ = 65536,         /* records taken at once: 2,000 of them */
	WATCH_WRITE_MS = 250,       /* without a report of a file that stays open */
	WATCH_BEAT_S = 15,          /* between keepalive events; proxies cut after 30 */
	WATCH_BEAT_MAX_S = 3600,    /* the largest heartbeat of a request */
};

/* The run action. */
enum {
	NO_CHANGE_DEFAULT_S = 10,   /* of the wire contract */
	NO_CHANGE_MAX_S = 86400,    /* a day: no client waits longer */
	RUN_CONTENT_CHARS = 30000,  /* of the wire contract: more is cut in the middle */
	TIMEOUT_MAX = 1 << 30,      /* 12 days: longer waits are no deadline */
	STATIC_RUNS_MAX = 16,       /* each is a shell; the git panel has three */
	SESSIONS_MAX = 256,         /* two descriptors and a shell each */
	SESSION_NAME_MAX = 40,      /* a part of a name in the fd store */
	SESSION_PART_MAX = 1 << 20, /* raw output in one answer; a split takes 1 ms */
	RUN_QUEUE_MAX = 64,         /* requests waiting for one session */
	RUN_WORDS_MAX = 2048,       /* a prefix or a suffix without the command in it */
	RUN_OUTPUT_MAX = 16 << 20,  /* the text of one report, before it is cut */
	OBSERVATION_MAX = 64 << 20, /* an escaped report, six bytes for one */
};

/* Shell sessions and the terminal model. */
enum {
	MARK_BODY_MAX = 65536,    /* of a mark: a directory of 4,096 bytes, a PATH */
	SPOOL_HEAD = 1 << 20,     /* the first bytes kept of a command's raw output */
	SPOOL_TAIL = 15 << 20,    /* the last bytes kept; a build log is rarely longer */
	SHELL_LAST_MAX = 1 << 20, /* read from a terminal after its shell has ended */
	SHELL_ROWS = 1000,        /* the terminal size of the wire contract */
	SHELL_COLUMNS = 1000,     /* as SHELL_ROWS */
	SHELL_CWD_MAX = 4096,     /* the kernel's longest path */
	SHELL_TYPED_MAX = 512,    /* a command typed as it is, up to seven for one byte */
	SHELL_INPUT_MAX = 8 << 20,  /* the largest request body */
	SHELL_COMMAND_SHOWN = 200,  /* to people, to identify a command */
	VT_COLUMNS = SHELL_COLUMNS, /* of the terminal model */
	VT_ROWS = SHELL_ROWS,       /* of the terminal model */
	VT_LINES_KEPT = 10500,      /* the wire contract has 10,001 to 11,360 */
};

/* Processes, and the end of processes. */
enum {
	PROCESSES_MAX = 512,    /* running, eight descriptors each at most */
	PROCESSES_EXITED = 256, /* exited processes that are kept in any case */
	PROCESSES_UNREAD = 512, /* the same, with those whose exit was not read */
	PROCESS_OUTPUT_TOTAL = 128 << 20, /* of all outputs: half of a small sandbox */
	PROCESS_OUTPUT_DEFAULT = 4 << 20, /* of one output, unless requested otherwise */
	PROCESS_OUTPUT_MIN = 64 << 10,    /* 2,048 of these are PROCESS_OUTPUT_TOTAL */
	PROCESS_OUTPUT_MAX = 64 << 20,    /* two of these fit into PROCESS_OUTPUT_TOTAL */
	PROCESS_TIMEOUT_MAX_S = 30 * 86400, /* a month: longer waits are no deadline */
	PROCESS_ARGV_SHOWN = 128 << 10,     /* of arguments; the kernel takes 2 MB */
	PROCESS_ARGV_LISTED = 1024,         /* in the list: 1,000 processes take 20 ms */
	PROCESS_REQUEST_MAX = 4096,         /* of a signal or a size */
	PROCESS_KEYS = 1000,                /* idempotency keys that are kept */
	PROCESS_ORPHAN_MS = 10000,          /* after a crash, for a new owner to attach */
	TREE_KILL_MS = 1000,  /* from a SIGKILL to the end; the kernel may be slow */
	END_LOOK_MS = 2,      /* first pause between two snapshots; it doubles */
	END_LOOK_MAX_MS = 32, /* longest pause between two snapshots */
	STOP_TERM_MS = 400,   /* from SIGTERM to SIGKILL when the server stops */
};

/* Streams and their channels. */
enum {
	STREAMS_MAX = 1100,        /* as connections; an idle one has 1 KB */
	STREAM_CHANNELS_MAX = 64,  /* of one stream */
	STREAM_WINDOW = 1 << 20,   /* output of a channel that is not acknowledged yet */
	STREAM_WINDOW_MIN = 16384, /* smaller windows make more frames than bytes */
	STREAM_INPUT = 256 << 10,  /* input of a channel that has not been taken yet */
	STREAM_LIVE = 131072,      /* of a session's output, scanned for marks at once */
	STREAM_PIECE = 16384,      /* of output in one frame */
	STREAM_SNAPSHOT = 65536,   /* of a screen: its newest bytes */
	STREAM_SIZE_MAX = 10000,   /* rows or columns of a terminal */
	STREAM_AWAY_MS = 300000,   /* for which a terminal waits for a lost peer */
	STREAM_AWAY_MAX = 16,      /* terminals that wait, each with STREAM_LIVE bytes */
	STREAM_TEXT_MAX = 65536,   /* an incoming text frame */
	STREAM_TEXT_OUT = 65536,   /* an outgoing text frame */
	STREAM_TEXT_MEMORY = 524288, /* the index and the decoded texts of a frame */
};

/* Actions with an id: the ledger, events and outputs. */
enum {
	JOURNAL_RECORD_MAX = 16 << 20, /* an answer with its output, as JSON */
	IDEM_WAIT_MAX_S = 86400,       /* a day, as for commands */
	IDEM_CANCEL_MAX = 4096,        /* bytes of a request to cancel */
	IDEM_GRACE_MS = 10000,         /* for a client to come back */
	IDEM_TERM_MS = 2000,           /* from an interrupt to SIGTERM */
	IDEM_KILL_MS = 5000,           /* from there to SIGKILL */
	LEDGER_MAX = 10000,          /* actions whose answers are kept, 200 bytes each */
	LEDGER_BYTES = 64 << 20,     /* of the answers, on disk */
	LEDGER_MEMORY = 8 << 20,     /* of the answers without --state-dir, in memory */
	LEDGER_OPEN_MAX = 1000,      /* actions that have not ended; more are refused */
	LEDGER_GONE_MAX = 100000,    /* ids that are refused as used, 40 bytes each */
	LEDGER_SHRINK_MIN = 4 << 20, /* a smaller file is not rewritten */
	EVENTS_MAX = 16384,          /* events that are kept; 8 bytes each */
	EVENTS_PART_MAX = 1000,      /* events in one answer */
	OUTPUT_HEAD = 1 << 20,       /* first bytes kept of an output, as SPOOL_HEAD */
	OUTPUT_TAIL = 15 << 20,      /* last bytes kept of an output, as SPOOL_TAIL */
	OUTPUT_BLOCKS = 32768,       /* of 4 KiB, of all actions, on disk */
	OUTPUT_BLOCKS_MEMORY = 8192, /* the same in memory: two of the largest outputs */
	OUTPUT_PART_MAX = 1 << 20,   /* bytes of an output in one answer */
	OUTPUT_EVENT = 32768,        /* bytes in one event of a stream */
	OUTPUT_BEAT_MS = 15000,      /* between keepalive events; as WATCH_BEAT_S */
};

/* Kernels: cells, ZMTP and Jupyter messages. */
enum {
	KERNEL_PREPARE_MAX = 65536, /* the skills in Python */
	RUNNER_START_MS = 60000,    /* to import IPython from a cold network disk */
	RUNNER_INTERRUPT_MS = 1000, /* from the first SIGINT to the second */
	RUNNER_KILL_MS = 3000,      /* from the second SIGINT to the end of the kernel */
	RUNNER_PAUSE_MS = 100,      /* before a restart; it doubles */
	RUNNER_PAUSE_MAX_MS = 5000, /* the longest pause before a restart */
	CELL_HEAD_MAX = 1 << 20,    /* the first bytes of a cell's text */
	CELL_TAIL_MAX = 3 << 20,    /* the last bytes of a cell's text; escaped sixfold */
	CELL_IMAGES_MAX = 32 << 20, /* half of HTTP_REPLY_MAX, as base64 */
	CELLS_WAITING_MAX = 64,     /* as RUN_QUEUE_MAX */
	CELL_RICH_MAX = 8 << 20,    /* of HTML and the like, kept for the last cell */
	KERNELS_MAX = 8,            /* in one sandbox; ipykernel has 60 MB */
	CALLS_STEP_MAX = 16 << 20,  /* a call in a cell: more than a request may have */
	ZMTP_MESSAGE_MAX = 32 << 20, /* an image of 24 MB; beyond, the message is lost */
	JMSG_OUT_MAX = 18 << 20,   /* a cell of HTTP_BODY_MAX, escaped, without framing */
	JMSG_ARENA_MAX = 96 << 20, /* a message of ZMTP_MESSAGE_MAX, repaired, decoded */
	JMSG_TOKENS_MAX = 500000,  /* 20 bytes each; a large plot has so many numbers */
	JMSG_KEYS_MAX = 10000,     /* of one object: a column of a table */
	KERNELSPEC_NAME_MAX = 64,  /* of a kernel */
	KERNEL_REST_MS = 2000,     /* without output, from a cell's reply to its end */
	KERNEL_LATE_MS = 30000,    /* with output, from a cell's reply to its end */
	KERNEL_BEAT_MS = 330,      /* between heartbeats while a cell runs */
	KERNEL_REFUSED_MS = 100,   /* from a refused cell to the next attempt */
};

/* Plugins. */
enum {
	PLUGIN_TIMEOUT_S = 120,      /* of the wire contract */
	PLUGINS_DISK_MAX = 16,       /* enabled at once; each is a process */
	PLUGIN_NAME_MAX = 63,        /* of a plugin, which is a folder, or of an action */
	PLUGIN_PATH_MAX = 255,       /* of a route in a manifest */
	PLUGIN_MANIFEST_MAX = 65536, /* a file of 1 KB, as a rule */
	PLUGIN_MEMORY_MAX = 1 << 20, /* a manifest, parsed */
	PLUGIN_WORDS_MAX = 64,       /* in each of a manifest's lists */
	PLUGIN_FRAME_MAX = 4 << 20,  /* both ways; the body of a route, escaped */
	PLUGIN_JSON_MAX = 12 << 20,  /* a frame's index and decoded texts */
	PLUGIN_OUT_MAX = 16 << 20,   /* waiting for a plugin that does not read */
	PLUGIN_READ = 65536,         /* taken at once: what a pipe holds */
	PLUGIN_CALLS_MAX = 64,       /* in progress in one plugin, as RUN_QUEUE_MAX */
	PLUGIN_HEADERS_MAX = 16,     /* of a route's reply */
	PLUGIN_LINE_MAX = 400,       /* of what it prints: a line of the log */
	PLUGIN_NOISE_MAX = 50,       /* lines or unrequested frames in PLUGIN_NOISE_MS */
	PLUGIN_NOISE_MS = 1000,  /* for PLUGIN_NOISE_MAX; after more, reading pauses */
	PLUGIN_PROBE_MS = 10000, /* to check whether the requirements are met */
	PLUGIN_READY_MS = 60000, /* unless the manifest says otherwise */
	PLUGIN_CALL_MS = 120000, /* unless the manifest says otherwise; as FILE_JOB_MS */
	PLUGIN_PING_MS = 10000,  /* to send anything, when a call had no answer */
	PLUGIN_END_MS = 500,     /* from the end of its channel to its exit */
	PLUGIN_PAUSE_MS = 100,   /* before a restart; it doubles */
	PLUGIN_PAUSE_MAX_MS = 30000, /* the longest pause before a restart */
	PLUGIN_STEADY_MS = 10000,    /* ready for this long, a plugin resets its pause */
	VSCODE_START_MS = 300000,    /* code-server is ended if it is not ready then */
	VSCODE_FAILURES_MAX = 5,     /* quick ends in a row; then it is given up */
	VSCODE_STEADY_MS = 60000,    /* an end after this time is not quick */
};

/* The browser and its actions. */
enum {
	CDP_MESSAGE_MAX = 32 << 20, /* an accessibility tree of 12,000 nodes has 6 MB */
	CDP_MEMORY_MAX = 256 << 20, /* texts, trees and their index of one observation */
	CDP_URL_MAX = 4096,         /* of an endpoint */
	OBSERVE_PICTURE_MAX = 8 << 20, /* of the viewport, twice its pixels */
	ACTION_DEPTH_MAX = 32,   /* of lists in arguments; none needs more than one */
	ACTION_ARGS_MAX = 64,    /* of one call; none takes more than four */
	ACTION_CALLS_MAX = 1000, /* of one action; people and models write ten */
};

/* Skills. */
enum {
	SKILL_FILE_MAX = 64 << 20, /* read as a whole; readers need no more */
	SKILL_OUT_MAX = 64 << 20,  /* printed, before a shell cuts it */
	SKILL_FILES_MAX = 100,     /* of the contract: more have to be narrowed down */
};

/* The Model Context Protocol. */
enum {
	JSONRPC_ID_MAX = 256,     /* clients count; some have UUIDs */
	MCP_SESSIONS_MAX = 64,    /* per endpoint and transport; idle ones are evicted */
	MCP_CALLS_MAX = 256,      /* of one session, in progress at once */
	MCP_QUESTIONS_MAX = 64,   /* to one client, without an answer so far */
	MCP_WATCHED_MAX = 256,    /* resources that one client has subscribed to */
	MCP_STREAM_MS = 2000,     /* an answer that takes longer comes as events */
	MCP_BEAT_MS = 10000,      /* between keepalive events; proxies give up after 30 */
	MCP_SERVERS_MAX = 32,     /* proxied servers: a process and two pipes each */
	MCP_NAME_MAX = 64,        /* of a server; tools of clients have 64 bytes in all */
	MCP_PAUSE_MS = 100,       /* before a restart of a dead server; it doubles */
	MCP_PAUSE_MAX_MS = 30000, /* the longest pause before a restart */
	MCP_STEADY_MS = 10000,    /* ready for this long, a server resets its pause */
	MCP_HELLO_MS = 300000,    /* to get ready: some servers are downloaded first */
	MCP_UPDATE_MS = 30000,    /* an update waits for its servers at most this long */
	MCP_CHILD_LINE_MAX = 32 << 20, /* one message: a picture of 24 MB as base64 */
	MCP_LIST_MS = 10000,           /* for the lists of all; clients give up at 60 s */
};

/* The reference backend, and dialling out to one. */
enum {
	LISTEN_RELAYS_MAX = 1024, /* requests in progress of all sandboxes */
	LISTEN_SPARE = 256,       /* last of these requests, which are given in shares */
	LISTEN_SHARE_MIN = 4,     /* requests in the smallest share */
	RELAY_WINDOW = 131072,    /* of each request's answer on its way */
	LISTEN_PROOF_MS = 5000,   /* to prove a sandbox's identity; one round trip */
	DIAL_PAUSE_MS = 100, /* at most, after the first failure; doubles from there */
	DIAL_PAUSE_MAX_MS = 10000, /* the longest pause between two attempts */
	DIAL_STEADY_MS = 10000,    /* open for this long, a connection resets the pause */
	DIAL_TOKEN_MAX = 8192,     /* half of the space of a head */
	CONNECT_ID_MAX = 64,       /* the name of a sandbox at its backend */
};

/* The host tool. */
enum {
	INJECT_PROGRAM_MAX = 64 << 20,     /* a program for an image; busybox has 2 MB */
	INJECT_REPLY_MAX = 64 << 20,       /* one answer: an observation, a long ps */
	INJECT_ARENA_MAX = 64 << 20,       /* the index of such an answer */
	INJECT_TEXT_MAX = 64 << 10,        /* messages of an engine, shown to the user */
	INJECT_LINE_MAX = 1 << 20,         /* one line of a build's progress */
	INJECT_LABEL_MAX = 32 << 10,       /* Docker's parser takes lines of 64 KiB */
	INJECT_DOCKERFILE_MAX = 512 << 10, /* ten labels of that size at most, a RUN */
	INJECT_DEPS_MAX = 8 << 10,         /* --extra-deps; six times that as JSON */
	INJECT_PLUGINS = 16,               /* in one image; each is a layer */
	INJECT_PLUGIN_FILES = 65536,       /* in the folder of one plugin */
	INJECT_PLUGIN_MAX = 960 << 20,     /* bytes of one plugin; a browser has 275 MB */
	INJECT_KEEP = 3,                   /* images of each base that prune keeps */
	INJECT_ENGINE_MS = 30000,   /* longest silence of an engine after a request */
	INJECT_STREAM_MS = 600000,  /* longest silence while an engine builds or pulls */
	INJECT_RATE = 1024,         /* bytes per second of an answer, after a grace */
	INJECT_CONNECT_MS = 5000,   /* until a socket's queue has room; it is local */
	INJECT_ALIVE_MS = 1000,     /* one probe for readiness */
	ENGINE_PATH_MAX = 107,      /* of a unix socket: the kernel's field, less a NUL */
	OPTION_OPERANDS_MAX = 64,   /* sandboxes named in one command */
	OPTION_LIST_MAX = 512,      /* -e, -v, -p and their like in one command */
	PUBLISH_MAX = 1024,         /* ports of one sandbox, ranges expanded */
	INJECT_BODY_MAX = 4 << 20,  /* the request for a container; a seccomp profile */
	INJECT_FILE_MAX = 1 << 20,  /* an --env-file, a seccomp profile */
	INJECT_STORE_MAX = 4 << 20, /* metadata of a place with images */
	INJECT_MANIFEST_MAX = 4 << 20, /* a manifest, index or config */
	INJECT_PIECE = 256 << 10,      /* of a layer, in memory at once */
	INJECT_LAYERS_MAX = 1000,      /* engines stop at 127 */
	INJECT_SCAN_BYTES = 32 << 20,  /* layers that are scanned: 0.3 s */
};

/* Registries. */
enum {
	REGISTRY_MS = 60000,             /* longest silence; large pushes are digested */
	REGISTRY_READ_MS = 30000,        /* longest silence where no content is sent */
	REGISTRY_CONNECT_MS = 10000,     /* to connect, per address */
	REGISTRY_ANSWER_MAX = 256 << 10, /* a token, an error */
	REGISTRY_URL_MAX = 8192,         /* signed ones have 2,000 */
	REGISTRY_TOKEN_MAX = 12 << 10,   /* its field has to fit a head */
	REGISTRY_MEMORY_MAX = 4 << 20,   /* credentials and tokens of one place */
	LOGIN_HELPER_MS = 10000,         /* a credential helper; some ask a network */
};

#endif

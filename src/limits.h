/*
 * The limits that files share or that a user can reach, each with its reason. Sizes are
 * bytes, times are milliseconds, unless the name says otherwise.
 */
#ifndef LIMITS_H
#define LIMITS_H

enum {
	/* JSON requests. */
	JSON_DEPTH_MAX = 64,     /* real requests nest five deep */
	JSON_TOKENS_MAX = 20000, /* 20 bytes each in the index: 400 KB at most */
	JSON_KEYS_MAX = 128,     /* duplicate check is per object */

	/* HTTP messages. */
	HTTP_HEAD_MAX = 16384,       /* start line and fields; real clients send 1 KB */
	HTTP_TARGET_MAX = 8192,      /* two paths of PATH_MAX, percent-encoded in part */
	HTTP_METHOD_MAX = 24,        /* the longest registered method has 17 letters */
	HTTP_FIELDS_MAX = 100,       /* as Apache; browsers send 20 */
	HTTP_WINDOW = 65536,         /* body bytes read at once, behind the head */
	HTTP_QUEUE = 131072,         /* of a reply in pieces; then the writer waits */
	HTTP_CHUNK_EXT_MAX = 64,     /* extensions are unused; ignored up to here */
	HTTP_TRAILER_MAX = 8192,     /* discarded: the limit bounds only time */
	HTTP_CHUNK_SLACK = 16384,    /* framing bytes allowed beyond 8 per data byte */
	HTTP_REPLY_MAX = 64 << 20,   /* a 32 MiB file as base64 in JSON, and its diff */
	HTTP_REPLY_HEAD_MAX = 16384, /* a redirect repeats the target at most */
	HTTP_ARENA_MAX = 12 << 20,   /* a body of HTTP_BODY_MAX, decoded, and its index */
	HTTP_BODY_MAX = 8 << 20,     /* buffered bodies; a handler may set less */
	HTTP_BODY_STEP =
		256 << 10, /* of a body between two checks of memory: 30 us each */
	HTTP_BODY_RESERVE = 4 << 20, /* memory that large bodies leave to all others */

	/* HTTP connections. */
	HTTP_CONNS_MAX = 1024,   /* 4 KB each while a head is unfinished */
	HTTP_LISTENERS_MAX = 4,  /* two addresses, each plain and TLS */
	HTTP_SPARES = 4,         /* exchanges kept for reuse, 10 KB each */
	HTTP_KEEP_MAX = 8192,    /* a kept buffer above this is freed */
	HTTP_READ_FIRST = 4096,  /* one page holds nearly every head */
	HTTP_MOVE = 1 << 20,     /* of a body spliced without a copy: about 0.1 ms */
	HTTP_TURN_BYTES = 65536, /* one connection's share of a wake-up... */
	HTTP_TURN_REPLIES = 32,  /* ...about 0.3 ms of small replies... */
	HTTP_TURN_US = 300,      /* ...and no further reply after this time */
	HTTP_BATCH_US = 2000,    /* all connections of a wake-up; then one reply each */
	HTTP_ACCEPTS = 64,       /* connections accepted in one wake-up... */
	HTTP_ACCEPT_US = 1000,   /* ...with the requests that have come with them */
	HTTP_HEAD_MS = 10000,    /* absolute, from accept or first byte: slow loris */
	HTTP_IDLE_MS = 75000,    /* clients that reuse a connection drop it earlier */
	HTTP_BODY_MS = 10000,    /* grace before HTTP_BODY_RATE counts */
	HTTP_BODY_RATE = 1024,   /* bytes per second that a sender must reach */
	HTTP_STALL_MS = 30000,   /* longest pause inside a body or a reply */
	HTTP_WAIT_MS = 24 * 3600 * 1000, /* actions have their own limit; bounds a bug */
	HTTP_LINGER_MS = 2000, /* time for the peer to read the reply and leave */
	HTTP_YOUNG_MS = 250,   /* legitimate peers have sent a byte by then */
	HTTP_PAUSE_MS = 100,   /* without accept, while the system has no space */
};

/* WebSocket connections. */
enum {
	WS_MESSAGE_MAX = 1 << 20, /* of an incoming message, unless its use needs more */
	WS_FRAGMENTS_MAX = 1024,  /* of one message; programs that split use 16 KB */
	WS_CONTROLS = 100,        /* pings and pongs a second that a peer may send */
	WS_READ = 1024,           /* from a peer, before its turn's time is checked */
	WS_QUEUE = 65536,         /* of outgoing data; beyond it the writer waits */
	WS_QUEUE_MAX = 2 << 20,   /* with a message that is sent in any case behind it */
	WS_BEAT_MS = 10000,       /* between pings: proxies cut after 60 s of silence */
	WS_DEAD_MS = 30000,       /* three pings lost */
	WS_OPEN_MS = 10000,       /* for a client, from the connection to its answer */
	WS_CLOSE_MS = 5000,       /* for the peer to close as well */
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
	STREAM_AWAY_MS = 300000,   /* a terminal waits for a peer that was lost... */
	STREAM_AWAY_MAX = 16,      /* ...so many terminals, each with STREAM_LIVE bytes */
	STREAM_TEXT_MAX = 65536,   /* an incoming text frame */
	STREAM_TEXT_OUT = 65536,   /* an outgoing text frame */
	STREAM_TEXT_MEMORY = 524288, /* its index and decoded texts */
};

/* The reference backend, and dialling out to one. */
enum {
	LISTEN_PLACES_MAX = 4096,  /* names of sandboxes that are stored */
	LISTEN_LINKS_MAX = 2048,   /* connections of sandboxes... */
	LISTEN_NAME_LINKS_MAX = 8, /* ...of one name: old connections end slowly */
	LISTEN_TEXT_OUT = 1024,    /* an outgoing text frame to a sandbox */
	LISTEN_RELAYS_MAX = 1024,  /* requests in progress... */
	LISTEN_SPARE = 256,        /* ...the last of them are given in shares... */
	LISTEN_SHARE_MIN = 4,      /* ...of at least this many */
	LISTEN_PROOF_MS = 5000,    /* to prove a sandbox's identity; one round trip */
	RELAY_WINDOW = 131072,     /* ...each with this much of an answer */
	DIAL_PAUSE_MS = 100,       /* at most, after the first failure; doubling... */
	DIAL_PAUSE_MAX_MS = 10000, /* ...up to this */
	DIAL_STEADY_MS = 10000,    /* a connection open for this long was no failure */
	DIAL_RESOLVE_MS = 15000,   /* if all name servers are slow */
	DIAL_ADDRESSES_MAX = 2048, /* of one name, as text */
	DIAL_URL_MAX = 4096,
	DIAL_WHY_MAX = 256,    /* of a reason in the log */
	DIAL_TOKEN_MAX = 8192, /* half of the space of a head */
	DIAL_CA_MAX = 4 << 20, /* the authorities of a browser: 220 KB */
	CONNECT_ID_MAX = 64,
};

/* Uploads as forms. */
enum {
	MULTIPART_BOUNDARY_MAX = 70, /* of RFC 2046 */
	MULTIPART_HEAD_MAX = 8192,   /* of one part: a file name, twice escaped */
	MULTIPART_PARTS_MAX = 32,    /* clients need one */
};

/* Shell sessions. */
enum {
	MARK_BODY_MAX = 65536,     /* of a mark: a directory of 4,096 bytes, a PATH */
	SPOOL_HEAD = 1 << 20,      /* raw output kept of a command: the first bytes... */
	SPOOL_TAIL = 15 << 20,     /* ...and the last; a build log is rarely longer */
	SPOOL_READ = 4096,         /* a pty gives at most 4,095 bytes at a time */
	SHELL_START_MS = 5000,     /* a start-up file that takes longer is skipped */
	SHELL_KILL_MS = 200,       /* from a request to end to the kill */
	SHELL_AWAKE_US = 200,      /* most commands take less, our work included */
	SHELL_ACCEPT_MS = 5000,    /* a prompt that does not take a line is stuck */
	SHELL_PROBE_MS = 1000,     /* a line that was typed has started by then */
	SHELL_PROMPT_MS = 100,     /* from a command's end to the prompt after it */
	SHELL_KEY_MS = 300,        /* from a key that interrupts to the prompt */
	SHELL_HANG_MS = 200,       /* from that key to a check whether the shell hangs, */
	SHELL_HANG_MAX_MS = 6400,  /* doubling up to this: it may be busy so long */
	SHELL_FRESH_MAX = 65536,   /* one read, and bytes held back as part of a mark */
	SHELL_READ_BUDGET = 65536, /* per wake-up, so that others get their turn */
	SHELL_WORK = 32768,        /* the same in units of vt_get_work: about 0.3 ms */
	SHELL_LAST_MAX = 1 << 20,  /* read from a terminal after its shell has ended */
	SHELL_RESTORE = 16384,     /* shown again at once after a crash */
	SHELL_ROWS = 1000,         /* the terminal size of the wire contract */
	SHELL_COLUMNS = 1000,
	SHELL_CWD_MAX = 4096,      /* the kernel's longest path */
	SHELL_LINE_MAX = 4094,     /* and its newline: the kernel cuts the rest */
	SHELL_DOCUMENT_MAX = 1900, /* typed in with one write of 2,048 */
	SHELL_TYPED_MAX = 512, /* a command typed as it is, up to seven for one byte */
	SHELL_INPUT_MAX = 8 << 20,    /* the largest request body */
	SHELL_COMMAND_MAX = 16 << 20, /* beyond the largest request body */
	SHELL_COMMAND_SHOWN = 200,    /* to people, to identify a command */
	SHELL_TAG_MAX = 64,           /* an id of an action */
};

/* Ending processes. */
enum {
	TREE_PROCS_MAX = 32768, /* in one snapshot, 20 bytes each: all of most systems */
	TREE_KILL_MS = 1000,    /* from a SIGKILL to the end; the kernel may be slow */
	END_KEY_MS = 300,       /* an interrupt key; most programs need 10 */
	END_TERM_MS = 500,      /* SIGTERM: to store what must not be lost */
	END_HUP_MS = 300,       /* SIGHUP: as END_TERM_MS; shells end only by it */
	END_SHELL_MS = 200,     /* a shell writes its history */
	END_HANGUP_MS = 100,    /* for processes whose terminal was closed */
	END_LOOK_MS = 2,        /* first pause between two snapshots, doubling... */
	END_LOOK_MAX_MS = 32,   /* ...up to this */
	STOP_TERM_MS = 400,     /* as END_TERM_MS, when the server stops */
};

/* Processes. */
enum {
	PROCESSES_MAX = 512,              /* running, eight descriptors each at most */
	PROCESSES_EXITED = 256,           /* exited ones that are kept in any case... */
	PROCESSES_UNREAD = 512,           /* ...and with those whose exit was not read */
	PROCESS_OUTPUT_TOTAL = 128 << 20, /* of all: half of a small sandbox */
	PROCESS_OUTPUT_DEFAULT = 4 << 20, /* of one, unless asked otherwise... */
	PROCESS_OUTPUT_MIN = 64 << 10,   /* ...2048 of them are PROCESS_OUTPUT_TOTAL... */
	PROCESS_OUTPUT_MAX = 64 << 20,   /* ...up to this: two fit */
	PROCESS_READ_BUDGET = 256 << 10, /* per wake-up and output: 0.1 ms */
	PROCESS_PIPE = 256 << 10,        /* capacity of a pipe, if permitted */
	PROCESS_TIMEOUT_MAX_S = 30 * 86400, /* a month: longer waits are no deadline */
	PROCESS_ARGV_SHOWN = 128 << 10,     /* of arguments; the kernel takes 2 MB */
	PROCESS_ARGV_LISTED = 1024,         /* in the list: 1,000 processes take 20 ms */
	PROCESS_REQUEST_MAX = 4096,         /* of a signal or a size */
	PROCESS_START_MS = 60000,  /* a directory or program on a slow network disk */
	PROCESS_KEYS = 1000,       /* idempotency keys that are kept */
	PROCESS_ORPHAN_MS = 10000, /* after a crash, for a new owner to attach */
};

/* The text of commands. */
enum {
	SPLIT_DEPTH_MAX = 128,     /* open quotes and compounds, 40 bytes each */
	SPLIT_PIECES_MAX = 256,    /* commands listed separately; scripts have 100 */
	SPLIT_DOCS_MAX = 16,       /* here-documents on one line, as bash */
	SPLIT_DELIMITER_MAX = 256, /* the word that ends one; EOF is usual */
};

/* Files. */
enum {
	FILE_PATH_MAX = 4096,        /* Linux takes no longer path, NUL included */
	FILE_LINKS_MAX = 40,         /* symlinks in a row, as the kernel counts */
	FILE_READ_MAX = 16 << 20,    /* one file, or the range of lines asked for */
	FILE_CONTENT_MAX = 24 << 20, /* FILE_READ_MAX as base64, and a few members */
	FILE_JOB_MS = 120000,        /* as clients wait; for requests without a limit */
	FILE_JOB_LEAST_MS = 1000,    /* minimum: action timeouts are for commands */
	FILE_WORDS_MAX = 3 * 4096,   /* an error: two paths and a sentence */
};

/* The editor. */
enum {
	EDIT_FILE_MAX = 10 << 20,     /* of the wire contract */
	EDIT_SHOWN_CHARS = 16000,     /* of the wire contract: more is cut */
	EDIT_LINES_MAX = 20000,       /* line numbers in one error: 130 KB */
	EDIT_LIST_MAX = 100000,       /* entries sorted for a view; 16,000 chars show */
	EDIT_LIST_MEMORY = 64 << 20,  /* their names, 300 bytes each with the path */
	EDIT_CONTENT_MAX = 24 << 20,  /* a directory's path, a cut text, a long old_str */
	HISTORY_PER_FILE = 10,        /* of the wire contract */
	HISTORY_BYTES_MAX = 24 << 20, /* two of the largest files */
	DIFF_COST_MAX = 1000,         /* 2 MB of rows and 5 ms; longer is one hunk */
	DIFF_LINES_MAX = 100000,      /* of one side, between the ends in common */
	DIFF_MEMORY_MAX = 16 << 20,   /* of both sides, and the rows */
};

/* Jobs: children for work that may block. */
enum {
	JOBS_MAX = 48,           /* at a time; each has about 1 MiB of its own */
	JOBS_OF_KIND_MAX = 16,   /* of each slow kind, so that others find a place */
	JOBS_WAITING_MAX = 1024, /* as many as there are connections */
	JOB_PIECE = 65536,       /* output taken at once: what a pipe holds */
	JOB_DATA_MAX = (256 + 128) << 20, /* all that serve may have, and the job's own */
};

/* The sandbox user and his folders. */
enum {
	USER_NAME_MAX = 64,           /* useradd allows 32; directory services more */
	USER_PATH_MAX = 1024,         /* a home or a shell as passwd has it */
	USER_GROUPS_MAX = 64,         /* further memberships are ignored */
	USER_DB_MAX = 4 << 20,        /* passwd of a site with 50,000 users */
	USER_NOTES_MAX = 16 << 10,    /* a dozen log lines with paths in them */
	WORKDIR_DEPTH_MAX = 64,       /* one open fd each; node_modules has 30 */
	WORKDIR_ENTRIES_MAX = 500000, /* 1 s to look at, 3 s to chown; chromium fits */
	WORKDIR_WALK_MS = 3000,       /* the start must not wait for a network disk */
};

/* The server as a whole. */
enum {
	SERVE_DATA_MAX = 256 << 20, /* of memory: then requests fail, not the process */
	IDENTITY_MEMORY_MAX = 4
		<< 20,         /* the shell's environment; the kernel takes 2 MB */
	INFO_CACHE_MS = 500,   /* resources change slowly; no key is needed */
	INFO_CACHE_MAX = 1024, /* eleven numbers and their names */
	LISTEN_BACKLOG = 4096, /* as the kernel's somaxconn: see docs/protocol.md */
	PEER_IDLE_S = 30,      /* of silence, before a keepalive probe... */
	PEER_ASK_S = 10,       /* ...and between further probes... */
	PEER_ASKS = 3,         /* ...this many, before the peer counts as lost */
	STOP_GRACE_MS = 3000,  /* docker stop kills after 10 s */
	STOP_FLUSH_MS = 500,   /* for the last replies */
};

/* The run action. */
enum {
	NO_CHANGE_DEFAULT_S = 10,   /* of the wire contract */
	NO_CHANGE_MAX_S = 86400,    /* a day: no client waits longer */
	RUN_CONTENT_CHARS = 30000,  /* of the wire contract: more is cut in the middle */
	TIMEOUT_MAX = 1 << 30,      /* 12 days: longer waits are no deadline */
	STATIC_RUNS_MAX = 16,       /* each is a shell; the git panel has three */
	STATIC_LOOK_MS = 1000,      /* between checks whether the client is still there */
	SESSIONS_MAX = 256,         /* two descriptors and a shell each */
	SESSION_NAME_MAX = 40,      /* a part of a name in the fd store */
	SESSION_PART_MAX = 1 << 20, /* raw output in one answer; a split takes 1 ms */
	RUN_QUEUE_MAX = 64,         /* requests waiting for one session */
	RUN_WORDS_MAX = 2048,       /* a prefix or a suffix without the command in it */
	RUN_OUTPUT_MAX = 16 << 20,  /* the text of one report, before it is cut */
	OBSERVATION_MAX = 64 << 20, /* an escaped report, six bytes for one */
};

/* Kernels and plugins. */
enum {
	DRIVER_FRAME_MAX = 24 << 20, /* a picture of 16 MB, or a text escaped sixfold */
	DRIVER_OUT_MAX = 64 << 20,   /* waiting for a kernel: code, escaped sixfold */
	DRIVER_READ = 65536,         /* taken at once: what a pipe holds */
	DRIVER_PIPE = 1 << 20,       /* printed before a frame, at most */
	DRIVER_JSON_MAX = 64 << 20,  /* the decoded texts of one frame */
	KERNEL_PREPARE_MAX = 65536,  /* the skills in Python */
	DRIVER_HELLO_MS = 5000,      /* a program that prints nothing is no interpreter */
	RUNNER_START_MS = 60000,     /* to import IPython from a cold network disk */
	RUNNER_INTERRUPT_MS = 1000,  /* from the first SIGINT to the second */
	RUNNER_KILL_MS = 3000,       /* from there to the end of the kernel */
	RUNNER_PAUSE_MS = 100,       /* before a restart, doubling... */
	RUNNER_PAUSE_MAX_MS = 5000,  /* ...up to this */
	PYTHONS_MAX = 32,            /* interpreters that are tried */
	CELL_HEAD_MAX = 1 << 20,     /* of a cell's text: the first bytes... */
	CELL_TAIL_MAX = 3 << 20,     /* ...and the last; escaped up to six times that */
	CELL_IMAGES_MAX = 32 << 20,  /* half of HTTP_REPLY_MAX, as base64 */
	CELLS_WAITING_MAX = 64,      /* as RUN_QUEUE_MAX */
	CELL_RICH_MAX = 8 << 20,     /* of HTML and the like, kept for the last cell */
	KERNELS_MAX = 8,             /* in one sandbox; ipykernel has 60 MB */
	CELL_LOOK_MS = 1000,         /* between checks that the client is still there */
	CALLS_STEP_MAX = 16 << 20,   /* a call in a cell: more than a request may have */
	CALLS_NAME_MAX = 64,         /* of the name of an argument */
	PLUGIN_WHY_MAX = 256,        /* a sentence, shown in /server_info */
	PLUGIN_TIMEOUT_S = 120,      /* of the wire contract */
	VSCODE_LOOK_MS = 100,        /* between checks whether code-server listens */
	VSCODE_START_MS = 300000,    /* code-server is ended if it is not ready then */
	VSCODE_PAUSE_MS = 250,       /* before a restart, doubling */
	VSCODE_FAILURES_MAX = 5,     /* quick ends in a row; then it is given up */
	VSCODE_STEADY_MS = 60000,    /* an end after this time is not quick */
	VSCODE_ENV_MAX = 1024,       /* variables that code-server is given */
};

/* The browser. */
enum {
	CDP_MESSAGE_MAX = 32 << 20, /* an accessibility tree of 12,000 nodes has 6 MB */
	CDP_KEPT_MAX = 128 << 20,   /* of all messages that are awaited */
	CDP_HEAD = 256,             /* kept of a longer message, to find its request */
	CDP_READ = 65536,           /* taken at once: what a pipe holds */
	CDP_PENDING_MAX = 64,       /* calls whose answer was not taken yet */
	CDP_EVENT_MAX = 8 << 20,    /* larger ones are ignored; data URLs have 2 MB */
	CDP_MEMORY_MAX =
		256 << 20,         /* for one observation: texts, trees and their index */
	CDP_URL_MAX = 4096,        /* of an endpoint */
	CDP_ID_MAX = 64,           /* of Chrome's identifiers: 32 digits and a NUL */
	CDP_WORDS_MAX = 512,       /* of an error */
	BROWSER_FRAMES_MAX = 512,  /* of one tab that are tracked; 250 bytes each */
	BROWSER_URL_MAX = 4 << 20, /* of a data URL; Chrome itself stops at 2 MB */
};

/* Plugins on the disk. */
enum {
	PLUGINS_DISK_MAX = 16,       /* enabled at once; each is a process */
	PLUGIN_NAME_MAX = 63,        /* of a plugin, which is a folder, or of an action */
	PLUGIN_PATH_MAX = 255,       /* of a route in a manifest */
	PLUGIN_MANIFEST_MAX = 65536, /* a file of 1 KB, as a rule */
	PLUGIN_MEMORY_MAX = 1 << 20, /* a manifest, parsed */
	PLUGIN_WORDS_MAX = 64,       /* in each of its lists */
	PLUGIN_FRAME_MAX = 4 << 20,  /* both ways; the body of a route, escaped */
	PLUGIN_JSON_MAX = 12 << 20,  /* a frame's index and decoded texts */
	PLUGIN_OUT_MAX = 16 << 20,   /* waiting for a plugin that does not read */
	PLUGIN_READ = 65536,         /* taken at once: what a pipe holds */
	PLUGIN_CALLS_MAX = 64,       /* in progress in one plugin, as RUN_QUEUE_MAX */
	PLUGIN_HEADERS_MAX = 16,     /* of a route's reply */
	PLUGIN_LINE_MAX = 400,       /* of what it prints: a line of the log */
	PLUGIN_NOISE_MAX = 50,       /* lines, or frames that were not requested... */
	PLUGIN_NOISE_MS = 1000,      /* ...in this time; then reading pauses */
	PLUGIN_PROBE_MS = 10000,     /* to check whether the requirements are met */
	PLUGIN_READY_MS = 60000,     /* unless the manifest says otherwise */
	PLUGIN_CALL_MS = 120000,     /* the same; as FILE_JOB_MS */
	PLUGIN_PING_MS = 10000,      /* to send anything, when a call had no answer */
	PLUGIN_END_MS = 500,         /* from the end of its channel to its exit */
	PLUGIN_PAUSE_MS = 100,       /* before a restart, doubling... */
	PLUGIN_PAUSE_MAX_MS = 30000, /* ...up to this */
	PLUGIN_AGAIN_MS = 1000,      /* between checks for a missing requirement */
	PLUGIN_STEADY_MS = 10000,    /* ready for this long, the pause starts anew */
};

/* Archives and transfers. */
enum {
	ZIP_INDEX_MAX = 64 << 20,      /* of a written archive: ten million files */
	ZIP_INDEX_CHUNK = 65536,       /* the index grows and is freed in these */
	ZIP_DIRECTORY_MAX = 64 << 20,  /* of a read archive; see ARCHIVE_ENTRIES_MAX */
	ARCHIVE_ENTRIES_MAX = 100000,  /* with folders above; node_modules has 60,000 */
	ARCHIVE_RATIO_MAX = 1000,      /* of one file; zeros get 1,030 from deflate */
	ARCHIVE_RATIO_FREE = 1 << 20,  /* bytes for which the ratio does not matter */
	ARCHIVE_DEPTH_MAX = 128,       /* folders; one open descriptor each */
	TAR_META_MAX = 64 << 10,       /* a pax header: names, and ignored records */
	PUT_UNDO_MAX = 64 << 20,       /* of an old file, kept while it is overwritten */
	TRANSFER_PIECE = 262144,       /* read or written at once */
	HASHER_FROM = 8 << 20,         /* shorter files are hashed in 5 ms or less */
	HASHER_STEP = 1 << 20,         /* bytes per message to the hashing process */
	HASHER_PIECE = 65536,          /* read by that process at once */
	HASHER_MS = 5000,              /* then it counts as stopped: a lead of 9 GB */
	TRANSFER_FIRST = 4096,         /* the first piece, doubling: a client waits */
	TRANSFER_PIPE = 1 << 20,       /* between job and server: fewer turns for each */
	TRANSFER_MOVE = 16384,         /* of a reply: less is copied, not spliced */
	TRANSFER_LEFT_OUT_MAX = 65535, /* text about files that are not sent */
	TRANSFER_QUICK_MS = 60000,     /* to list, to move...: a network disk may hang */
	TRANSFER_LIST_MAX = 65536,     /* a path in JSON, escaped */
};
#define ARCHIVE_BYTES_MAX ((uint64_t)10 << 30) /* unpacked, all files together */
#define TRANSFER_BODY_MAX ((size_t)1 << 40)    /* an upload; the disk is full earlier */

/* The file viewer. */
enum {
	VIEWER_PORTS = 1024,        /* of the wire contract: behind the main one */
	VIEWER_CONNS_MAX = 64,      /* a browser opens six */
	VIEWER_BACKLOG = 64,        /* connections that may wait */
	VIEWER_POLICY_MAX = 512,    /* two hashes and a few words */
	VIEWER_FILE_MAX = 16 << 20, /* a page of 22 MB, all in one job */
};

/* The host tool. */
enum {
	INJECT_PROGRAM_MAX = 64 << 20,     /* a program for an image; busybox has 2 MB */
	INJECT_REPLY_MAX = 64 << 20,       /* one answer: an observation, a long ps */
	INJECT_ARENA_MAX = 64 << 20,       /* the index of such an answer */
	INJECT_TOKENS_MAX = 2 << 20,       /* 20 bytes each */
	INJECT_KEYS_MAX = 4096,            /* labels of one image are one object */
	INJECT_TEXT_MAX = 64 << 10,        /* messages of an engine, shown to the user */
	INJECT_LINE_MAX = 1 << 20,         /* one line of a build's progress */
	INJECT_LABEL_MAX = 32 << 10,       /* Docker's parser takes lines of 64 KiB */
	INJECT_DOCKERFILE_MAX = 512 << 10, /* ten labels of that size at most, a RUN */
	INJECT_DEPS_MAX = 8 << 10,         /* --extra-deps; six times that as JSON */
	INJECT_PLUGINS = 16,               /* in one image; each is a layer */
	INJECT_PLUGIN_FILES = 65536,       /* in the folder of one */
	INJECT_PLUGIN_MAX = 960 << 20, /* bytes of one, on a disk; a browser has 275 */
	INJECT_KEEP = 3,               /* images of each base that prune keeps */
	INJECT_STATE_MAX = 16 << 10,   /* a state file has 400 bytes */
	INJECT_LOG_KEEP = 8192,        /* last log bytes of a sandbox that died */
	INJECT_ENGINE_MS = 30000,      /* longest silence of an engine after a request */
	INJECT_STREAM_MS = 600000,     /* the same while it builds or pulls */
	INJECT_PULL_MS = 86400000,     /* a whole build or pull; 20 GB at 250 KB/s */
	INJECT_RATE = 1024,            /* bytes per second of an answer, after a grace */
	INJECT_CONNECT_MS = 5000,      /* until a socket's queue has room; it is local */
	INJECT_ALIVE_MS = 1000,        /* one probe for readiness */
	ENGINE_PATH_MAX = 107,      /* of a unix socket: the kernel's field, less a NUL */
	OPTION_OPERANDS_MAX = 64,   /* sandboxes named in one command */
	OPTION_LIST_MAX = 512,      /* -e, -v, -p and their like in one command */
	PUBLISH_MAX = 1024,         /* ports of one sandbox, ranges expanded */
	INJECT_BODY_MAX = 4 << 20,  /* the request for a container; a seccomp profile */
	INJECT_FILE_MAX = 1 << 20,  /* an --env-file, a seccomp profile */
	METER_PARTS_MAX = 256,      /* layers of an image; 127 are what engines stack */
	INJECT_STORE_MAX = 4 << 20, /* metadata of a place with images */
	INJECT_MANIFEST_MAX = 4 << 20, /* a manifest, index or config, as registries */
	INJECT_PIECE = 256 << 10,      /* of a layer, in memory at once */
	INJECT_COPY = 32 << 20,        /* of a layer, copied by the kernel at once */
	INJECT_LAYERS_MAX = 1000,      /* engines stop at 127 */
	INJECT_ENTRIES_MAX = 16384,    /* files in an archive of images */
	INJECT_SCAN_BYTES = 32 << 20,  /* layers that are scanned: 0.3 s... */
	INJECT_SCAN_MAX = 256 << 20,   /* ...and the unpacked size of one of them */
	INJECT_ITEMS_MAX = 8192,       /* contents of all images of an index */
	INJECT_PLATFORMS_MAX = 64,     /* entries of an index; the longest have 30 */
};

/* Registries. */
enum {
	REGISTRY_MS = 60000,         /* longest silence; large pushes are digested */
	REGISTRY_READ_MS = 30000,    /* the same, and grace, where no content is sent */
	REGISTRY_DRAIN_MS = 2000,    /* to discard the rest of an answer */
	REGISTRY_CONNECT_MS = 10000, /* per address */
	REGISTRY_ANSWER_MAX = 256 << 10, /* a token, an error */
	REGISTRY_URL_MAX = 8192,         /* signed ones have 2,000 */
	REGISTRY_TOKEN_MAX = 12 << 10,   /* its field has to fit a head */
	REGISTRY_MEMORY_MAX = 4 << 20,   /* credentials and tokens of one place */
	REGISTRY_TOKENS_MAX = 8,         /* scopes; an append needs three */
	RESOLVE_MS = 2000,               /* one question to one name server */
	HOSTS_FILE_MAX = 4 << 20,        /* lists that block advertisements */
	AUTHORITIES_FILE_MAX = 2 << 20,  /* distributions have 250 KB */
	LOGIN_FILE_MAX = 1 << 20,        /* config.json; 200 bytes per registry */
	LOGIN_HELPER_MS = 10000,         /* a credential helper; some ask a network */
};

/* The terminal model. */
enum {
	VT_COLUMNS = SHELL_COLUMNS,
	VT_ROWS = SHELL_ROWS,
	VT_LINES_KEPT = 10500, /* the wire contract has 10,001 to 11,360 */
	VT_GLYPH_MAX = 47, /* bytes of one character; a family with skin tones has 41 */
	VT_CHUNK = 65472,  /* holds the longest row; a bit less than malloc's 64 KiB */
	VT_CHUNKS = 32,
	VT_MEMORY_MAX = VT_CHUNKS * VT_CHUNK, /* 2 MB: text and open rows together */
	VT_PARAMS = 16,                       /* of one sequence, as xterm */
	VT_PARAM_MAX = 9999,                  /* beyond any screen */
	VT_WORK_STEP = 16384, /* units of one sequence: it may drop all lines kept */
};

/* TLS. */
enum {
	TLS_PEM_MAX = 256 << 10,         /* a chain of TLS_CHAIN_MAX large certificates */
	TLS_CHAIN_MAX = 10,              /* public chains have three */
	TLS_CERT_MAX = 16 << 10,         /* of a peer, or an authority; most have 2 KB */
	TLS_AUTHORITIES_MAX = 400,       /* Mozilla has 150 */
	TLS_AUTHORITIES_BYTES = 1 << 20, /* their names and keys, 700 bytes each */
};

/* Searching. */
enum {
	REGEX_PATTERN_MAX = 4096,    /* typed by people and models; code has 200 */
	REGEX_DEPTH_MAX = 64,        /* open groups */
	REGEX_RANGES_MAX = 256,      /* in one class */
	REGEX_REPEAT_MAX = 1000,     /* as RE2 */
	GLOB_DEPTH_MAX = 16,         /* braces */
	IGNORE_RULES_MAX = 20000,    /* 600 bytes each; the largest trees have 2,000 */
	IGNORE_FILE_MAX = 1 << 20,   /* one .gitignore */
	WALK_DEPTH_MAX = 128,        /* one descriptor each; node_modules has 30 */
	WALK_PATH_MAX = 16 << 10,    /* beyond what the kernel takes at once */
	WALK_NAMES_MAX = 64 << 20,   /* of all open folders: two million in one */
	GREP_LINE_MAX = 16 << 20,    /* one line held in memory: minified code has 5 MB */
	AUTOMATON_INSTS_MAX = 20000, /* 8 bytes each, and 10 while states are made */
	DFA_MEMORY_MAX = 2 << 20,    /* states of one pattern; most need 20 KB */
	DFA_STATES_MAX = 4000,       /* half of the hash table, 16 KB */
	DFA_TABLE = 8192,
	SEARCH_BODY_MAX = 8 << 20,     /* of an answer; readers need no more */
	SEARCH_BODY_SLACK = 1 << 20,   /* beyond it: one line, and the counts */
	SEARCH_REQUEST_MAX = 64 << 10, /* a pattern and two globs, escaped */
	SEARCH_PATHS = 10000,          /* found by a glob, unless asked otherwise... */
	SEARCH_PATHS_MAX = 1000000,    /* ...up to this */
	SEARCH_MATCHES = 1000,         /* the same of a grep */
	SEARCH_MATCHES_MAX = 1000000,
	SEARCH_LINE = 1000,        /* bytes shown of a line, unless asked otherwise */
	SEARCH_LINE_MAX = 100000,  /* six times that fits the slack, escaped */
	SEARCH_CONTEXT_MAX = 1000, /* lines before and behind a match */
	SEARCH_DEFAULT_S = 30,     /* then the matches so far are the answer */
	SEARCH_LOOK_MS = 1000,     /* between checks whether the client is still there */
	SEARCH_MAX_S = 600,
	SEARCH_GRACE_MS = 10000, /* then the search is killed: a dead disk */
};

/* XML. */
enum {
	XML_DEPTH_MAX = 256,    /* open elements; tables in tables of a text have 60 */
	XML_ATTRS_MAX = 128,    /* of one element; that of Word's root has 40 */
	XML_BINDINGS_MAX = 256, /* of all open elements: three such roots */
};

/* Office documents. */
enum {
	PACKAGE_PART_MAX = 64 << 20,     /* one part, unpacked; a book has 10 MB */
	PACKAGE_RELATIONS_MAX = 8 << 20, /* 300 bytes each: 20,000 slides */
};

/* Watching for changes. */
enum {
	WATCHES_MAX = 8, /* requests that have no end: half of the lasting jobs */
	WATCH_FOLDERS_MAX = 100000, /* of one watch; 100 bytes each, 1 KB in the kernel */
	WATCH_PATH_MAX = 1 << 20,   /* of folders 128 deep at each new scan */
	WATCH_READ = 65536,         /* records taken at once: 2,000 of them */
	WATCH_QUEUE_MAX = 8 << 20,  /* as much as the kernel queues, and as much again */
	WATCH_DIRT_MAX = 64,        /* files being written; beyond, the oldest is sent */
	WATCH_DIRT_NAME = 256,      /* with its NUL; longer names are reported at once */
	WATCH_WRITE_MS = 250,       /* without a report of a file that stays open */
	WATCH_PAIR_MS = 20,         /* between both events of a rename; it takes 0.01 */
	WATCH_MOVES = 64,           /* reported between the two renames of an exchange */
	WATCH_BEAT_S = 15,          /* proxies give up after 30 or 60 */
	WATCH_BEAT_MAX_S = 3600,
};

/* Skills. */
enum {
	SKILL_FILE_MAX = 64 << 20, /* read as a whole; readers need no more */
	SKILL_OUT_MAX = 64 << 20,  /* printed, before a shell cuts it */
	SKILL_FILES_MAX = 100,     /* of the contract: more have to be narrowed down */
	LATEX_DEPTH_MAX = 256,     /* groups in groups; a formula has ten */
	LATEX_TITLE_MAX = 4096,    /* of a document, of its authors */
};

/* Kernels: ZMTP and Jupyter messages. */
enum {
	ZMTP_MESSAGE_MAX = 32 << 20, /* an image of 24 MB; beyond, the message is lost */
	ZMTP_PARTS_MAX = 64,         /* six of Jupyter, and the buffers of a widget */
	ZMTP_COMMAND_MAX = 4096,     /* READY has 50 bytes */
	ZMTP_IDENTITY_MAX = 32,      /* ours is as long; the protocol allows 255 */
	ZMTP_OUT_MAX = 20 << 20,     /* a cell of HTTP_BODY_MAX, escaped */
	ZMTP_KEEP_MAX = 65536,       /* a buffer above this is freed */
	JMSG_OUT_MAX = 18 << 20,     /* the same, without framing */
	JMSG_ARENA_MAX = 96 << 20, /* a message of ZMTP_MESSAGE_MAX, repaired, decoded */
	JMSG_TOKENS_MAX = 500000,  /* 20 bytes each; a large plot has so many numbers */
	JMSG_KEYS_MAX = 10000,     /* of one object: a column of a table */
	KERNELSPEC_MAX = 64 << 10, /* kernel.json, and one argument made of it */
	KERNELSPEC_NAME_MAX = 64,
	KERNEL_FOLDER_MAX = 104,   /* a unix socket's path has 107 bytes at most */
	KERNEL_FILE_MAX = 2048,    /* a connection file has 400 bytes */
	KERNEL_RETRY_MS = 10,      /* between attempts to connect to a starting kernel */
	KERNEL_ASK_MS = 200,       /* for output to follow the first reply */
	KERNEL_AGAIN_MS = 1000,    /* for any output after it; it may have been lost */
	KERNEL_REST_MS = 2000,     /* without output, from a cell's reply to its end */
	KERNEL_LATE_MS = 30000,    /* the same, with output */
	KERNEL_LAST_READS = 256,   /* of a dead kernel; sockets hold fewer messages */
	KERNEL_BEAT_MS = 330,      /* between heartbeats while a cell runs... */
	KERNEL_BEATS_MISSED = 2,   /* ...and this many without an answer are silence */
	KERNEL_BEATS_UNHEARD = 6,  /* of a cell, until the kernel is woken */
	KERNEL_REFUSED_MS = 100,   /* from a refused cell to the next attempt */
	KERNEL_SHUTDOWN_MS = 2000, /* to end when asked; ipykernel takes 300 */
	KERNEL_TERM_MS = 2000,     /* to end after SIGTERM, and again after SIGKILL */
	KERNEL_DEATH_MS = 500, /* from a closed connection to the end of its process */
};

/* Observations of a page of the browser. */
enum {
	AXTREE_NODES_MAX =
		100000, /* 240 bytes each; a page of 6,000 elements has 12,000 */
	AXTREE_WORDS_MAX = 32 << 20, /* the texts of one line, decoded */
	PNG_PIXELS_MAX = 4 << 20,    /* the viewport has a million; 3 bytes each */
	OBSERVE_TEXT_MAX = 32 << 20, /* of a page; escaped it may be twice that */
	OBSERVE_JSON_MAX = 48 << 20, /* its tree as it came: CDP_MESSAGE_MAX and frames */
	OBSERVE_PICTURE_MAX = 8 << 20, /* of the viewport, twice its pixels */
};

/* The ledger of actions. */
enum {
	JOURNAL_RECORD_MAX = 16 << 20, /* an answer with its output, as JSON */
	JOURNAL_LATE_MAX = 256 << 10,  /* collected, to be written at once */
	IDEM_WAIT_MAX_S = 86400,       /* a day, as for commands */
	IDEM_CANCEL_MAX = 4096,        /* bytes of a request to cancel */
	IDEM_GRACE_MS = 10000,         /* for a client to come back */
	IDEM_TERM_MS = 2000,           /* from an interrupt to SIGTERM */
	IDEM_KILL_MS = 5000,           /* from there to SIGKILL */
	LEDGER_CLAIM_MS = 1000,        /* for the process that had the file to end */
	LEDGER_MAX = 10000,          /* actions whose answers are kept, 200 bytes each */
	LEDGER_BYTES = 64 << 20,     /* of their answers, on disk... */
	LEDGER_MEMORY = 8 << 20,     /* ...or in memory */
	LEDGER_OPEN_MAX = 1000,      /* that have not ended; more are refused */
	LEDGER_GONE_MAX = 100000,    /* ids that are refused as used, 40 bytes each */
	LEDGER_SHRINK_MIN = 4 << 20, /* a smaller file is not rewritten */
	LEDGER_STEP_BYTES = 1 << 20, /* copied at once into a new file... */
	LEDGER_STEP = 2000,          /* ...or so many records: some milliseconds */
	LEDGER_STEP_MS = 1,          /* before the next step: other work has its turn */
	LEDGER_ENTRY_BYTES = 200,    /* of a file, beside the answer... */
	LEDGER_GONE_BYTES = 26,      /* ...and of an id alone */
	EVENTS_MAX = 16384,          /* events that are kept; 8 bytes each */
	EVENTS_PART_MAX = 1000,      /* in one answer */
	LEDGER_EVENT_BYTES = 60,     /* of a file */
	LEDGER_TORN_MAX = 1 << 20,   /* unreadable bytes that are kept for people */
	OUTPUT_HEAD = 1 << 20,       /* first bytes kept of an output, as SPOOL_HEAD, */
	OUTPUT_TAIL = 15 << 20,      /* and last bytes */
	OUTPUT_BLOCKS = 32768,       /* of 4 KiB, of all actions, on disk... */
	OUTPUT_BLOCKS_MEMORY = 8192, /* ...or in memory: two of the largest */
	OUTPUT_PART_MAX = 1 << 20,   /* in one answer */
	OUTPUT_EVENT = 32768,        /* bytes in one event of a stream */
	OUTPUT_BEAT_MS = 15000,      /* between keepalive events; as WATCH_BEAT_S */
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
	MCP_ARGS_MAX = 256,       /* words of a command */
	MCP_NAME_MAX = 64,        /* of a server; tools of clients have 64 bytes in all */
	MCP_WHY_MAX = 160,        /* a sentence */
	MCP_PAUSE_MS = 100,       /* before a dead server is started again, doubling... */
	MCP_PAUSE_MAX_MS = 30000, /* ...up to this */
	MCP_STEADY_MS = 10000,    /* ready for this long, the pause starts anew */
	MCP_HELLO_MS = 300000,    /* to get ready: some servers are downloaded first... */
	MCP_LEAVE_MS = 2000,      /* from the end of its input to SIGTERM, SIGKILL */
	MCP_UPDATE_MS = 30000,    /* ...which an update waits for no longer */
	MCP_CHILD_READ = 65536,   /* taken at once: what a pipe holds */
	MCP_CHILD_SEND_MAX = 16 << 20,  /* two messages of HTTP_BODY_MAX, not read yet */
	MCP_CHILD_LINE_MAX = 32 << 20,  /* one message: a picture of 24 MB as base64 */
	MCP_CHILD_TOKENS_MAX = 500000,  /* 20 bytes each; long lists of tools */
	MCP_CHILD_ARENA_MAX = 64 << 20, /* a message, decoded, and its index */
	MCP_MEMORY_MAX = 4 << 20,       /* arguments and environment of one server */
	MCP_LIST_MS = 10000,     /* for the lists of all; clients give up at 60 s */
	MCP_PAGES_MAX = 100,     /* of one list of one server */
	MCP_LIST_MAX = 32 << 20, /* all lists together */
};

/* Browser actions. */
enum {
	ACTION_DEPTH_MAX = 32,   /* of lists in arguments; none needs more than one */
	ACTION_ARGS_MAX = 64,    /* of one call; none takes more than four */
	ACTION_CALLS_MAX = 1000, /* of one action; people and models write ten */
	CALLLOG_LINES_MAX = 128, /* seven to an attempt */
	CALLLOG_LINE_MAX = 2048, /* an element in one line: 550 letters */
};

#endif

#!/bin/sh
# Drives a sandbox over HTTP with curl: sh drive.sh SANDBOX
set -eu
eval "$(od-runtime env "$1")" # sets OD_URL and OD_KEY
api() {
	curl -sS --fail-with-body -H "X-Session-API-Key: $OD_KEY" -H 'Content-Type: application/json' "$@"
}
start() { # JSON; prints the ID of the process
	api "$OD_URL/v1/processes" -d "$1" | sed 's/^{"id":"\([^"]*\)".*/\1/'
}

echo '# output while the process runs'
id=$(start '{"argv": ["sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done; exit 3"]}')
api -N "$OD_URL/v1/processes/$id/stdout?follow=true"
api "$OD_URL/v1/processes/$id?wait=10" | grep -o '"exit_code":[0-9]*'

echo '# a process that reads stdin'
id=$(start '{"argv": ["tr", "a-z", "A-Z"], "stdin": true}')
printf 'hello\n' | api -X PUT "$OD_URL/v1/processes/$id/stdin?close=true" -T - >/dev/null
api "$OD_URL/v1/processes/$id/stdout?follow=true"

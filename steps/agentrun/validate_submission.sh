#!/bin/sh
# Asks whether a submission is valid. It is not scored.
#
#   validate_submission.sh FILE
if [ $# -ne 1 ]; then
	echo "usage: $0 FILE" >&2
	exit 2
fi
if [ ! -f "$1" ]; then
	echo "$0: there is no file $1" >&2
	exit 1
fi
exec curl -sS -X POST -F "file=@$1" "${MLEFLOW_GATEWAY:-http://localhost:5000}/validate"

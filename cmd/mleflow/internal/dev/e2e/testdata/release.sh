#!/bin/sh
# Makes a fixture of TestReadsEarlierReleases: a cache, a bundle, a lock and the pipeline
# of one attempt of the agent "dummy" by the program MLEFLOW.
#
#   sh release.sh MLEFLOW NAME.tar.gz
#
# Of a version in the history of this repository, build the program first:
#
#   git worktree add /tmp/old COMMIT && (cd /tmp/old && go build -o /tmp/mleflow-old ./cmd/mleflow)
#
# agent-run-7.tar.gz is of 7521cd52^, the last commit before the conditions of classes, and
# v0.1.0.tar.gz of 5d94eddd.
set -eu
program=$(realpath "$1") out=$(realpath -m "$2") source=$(realpath "$(dirname "$0")")/release.hcl
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cp "$source" pipeline.hcl
export MLEFLOW_CACHE_DIR="$dir/cache" HOME="$dir/home" TZ=UTC
"$program" apply pipeline.hcl
"$program" lock pipeline.hcl
"$program" bundle latest -o run.bundle
rm -rf cache/sandbox/programs cache/shared/* cache/links/* cache/tmp/*
tar --sort=name --owner=0 --group=0 --numeric-owner -cf - cache pipeline.hcl pipeline.lock.hcl run.bundle | gzip -9n > "$out"
ls -l "$out"

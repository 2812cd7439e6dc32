#!/usr/bin/env bash
# Fails if generating again changes or adds a file. It compares with the files in the working tree and not with the
# last commit, so it can also be used before a commit.
set -euo pipefail
cd "$(dirname "$0")/.."

snapshot() {
  git ls-files --cached --others --exclude-standard -- jobset-controller appwrapper-controller elastic-operator rescheduler charts docs/reference | sort | while read -r file; do
    if [ -f "$file" ]; then sha256sum "$file"; fi
  done
}

before=$(snapshot)
make --no-print-directory generate >/dev/null
after=$(snapshot)
if [ "$before" != "$after" ]; then
  echo "generated files are out of date; run 'make generate' and commit:" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  exit 1
fi

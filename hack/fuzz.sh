#!/usr/bin/env bash
# Runs every Fuzz function of the given modules, one after the other, each for FUZZTIME, which is a duration such as 1m
# or a number of inputs such as 100000x. It continues after a failure and exits with an error at the end. The failing
# input is in testdata/fuzz of its package. Fix the bug and commit the input, so that `go test` runs it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${FUZZTIME:=1m}"

# candidates prints the packages with Fuzz functions. Asking `go test` for them would compile all tests.
candidates() {
  go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
    if grep -qs '^func Fuzz' "$dir"/*_test.go; then echo "$package"; fi
  done
}

# targets prints each Fuzz function with its package, one per line.
targets() {
  candidates | xargs --no-run-if-empty go test -list '^Fuzz' | awk '
    NF == 1 && /^Fuzz/ { names[n++] = $1 }
    $1 == "ok"         { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }'
}

# fuzz runs one function. On a busy machine, Go's fuzzer may report its own timeout as a failure without an input. In
# this case, the function is run once more.
fuzz() {
  local log
  log=$(mktemp)
  for try in 1 2; do
    if (cd "$1" && GOWORK=$work go test -run '^$' -fuzz "^$3\$" -fuzztime "$FUZZTIME" "$2" </dev/null 2>&1) | tee "$log"; then
      rm "$log"
      return 0
    fi
    if [ "$try" = 2 ] || ! grep -qE '^ *context deadline exceeded$' "$log" || grep -q 'Failing input' "$log"; then
      rm "$log"
      return 1
    fi
    echo "== retrying: the fuzzer timed out without a failing input"
  done
}

ran=0 failed=()
for module in "$@"; do
  work=
  grep -qE "^[[:space:]]*\./$module\$" go.work || work=off # it is not in the workspace
  found=$(cd "$module" && GOWORK=$work targets)
  while read -r package name; do
    [ -n "$package" ] || continue
    echo "== $package $name"
    ran=$((ran + 1))
    fuzz "$module" "$package" "$name" || failed+=("$package $name")
  done <<< "$found"
done
if [ "$ran" -eq 0 ]; then
  echo "no Fuzz functions found" >&2
  exit 1
fi
echo "$ran Fuzz functions, ${#failed[@]} failed"
if [ "${#failed[@]}" -gt 0 ]; then
  printf '  %s\n' "${failed[@]}" >&2
  exit 1
fi

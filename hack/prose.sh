#!/bin/bash
# Copies user-facing text that is not Markdown into a folder, as paragraphs that Vale can read: the descriptions of flags, the alerts, and the
# texts of events and conditions in the Go code. Format verbs become X.
#
#	hack/prose.sh bin/prose
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
rm -rf "$out"
mkdir -p "$out"

# The indented lines of code blocks. Flags about logs and feature gates are omitted, because Kubernetes libraries define them.
sed -n '/^## /h; /^      /{G; p}' docs/reference/flags.md | grep -v '^## ' | sed 's/^ *//' |
	grep -v 'Zap\|zap-\|kubeconfig\|klog\|AllAlpha\|AllBeta\|ALPHA\|BETA' | sed 's/^--*\([a-z-]*\) *[a-zA-Z]* *//; s/(environment:.*//; s/(default .*//; a\\' > "$out/flags.md"

# Long texts are folded.
cat charts/*/files/rules/*.yaml | tr '\n' '\r' | sed 's/ >-\r  */ /g; s/\r      */ /g' | tr '\r' '\n' |
	sed -n 's/^    \(description\|summary\): //p' | sed 's/{{[^}]*}}/X/g; a\\' > "$out/alerts.md"

git ls-files 'shared/coordination/leader/*.go' '*/internal/controller/*/events.go' '*/internal/policy/*.go' | grep -v '_test\.go$' |
	xargs grep -ho '"[^"`]* [^"`]* [^"`]*"' | sed 's/^"//; s/"$//; s/%[-+.0-9]*[a-z]/X/g; s/\\"/"/g; a\\' > "$out/events.md"

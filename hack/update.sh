#!/usr/bin/env bash
# Updates the Go modules and Debian packages that the project pins to newer versions, and changes nothing else. Review
# the result with git diff, then run make test and make e2e-all.
#
#	update.sh [FOLDER...]
#
# updates only the modules of these folders, and no Debian packages.
#
# The modules of Kubernetes, and those built against one version of it, keep their versions (pinned below). All modules
# use the same version, that of k8s.io/kubernetes. To change it, edit the go.mod files by hand. A module also keeps its
# version if the newest one requires newer versions of these modules or of Go.
set -euo pipefail
cd "$(dirname "$0")/.."

export pinned='^(k8s\.io/|sigs\.k8s\.io/(controller-runtime|kueue|jobset|lws)$|github\.com/kubeflow/)'

pins() { # of the module in the current folder
	awk '$1 == "require" {$1 = ""; $0 = $0} $1 == "go" || $1 ~ ENVIRON["pinned"] {print $1, $2}' go.mod
}

direct() {
	GOWORK=off go list -m -f '{{if not (or .Main .Indirect .Replace)}}{{.Path}}{{end}}' all 2>/dev/null | grep . || true
	GOWORK=off go list -f '{{with .Module}}{{.Path}}{{end}}' tool 2>/dev/null || true
}

# raise updates one module of the current folder to its newest version, or changes nothing.
raise() {
	local before saved
	saved=$(mktemp -d)
	cp go.mod go.sum "$saved"
	before=$(pins)
	if ! GOWORK=off go get "$1@latest"; then
		echo "update.sh: keeping $1: go get failed" >&2
		cp "$saved"/go.* .
	elif [ "$(pins)" != "$before" ]; then
		echo "update.sh: keeping $1: its newest version requires other versions of pinned modules" >&2
		cp "$saved"/go.* .
	fi
	rm -r "$saved"
}

update_module() {
	local path
	for path in $(direct | sort -u); do
		case $path in github.com/holdfast-project/*) continue ;; esac
		if [[ $path =~ $pinned ]]; then continue; fi
		raise "$path"
	done
	GOWORK=off go mod tidy
}

update_debian() {
	local line package version candidate
	apt-get update --quiet=2
	grep -E "^[a-z0-9.+-]+=[^'\$]+\$" hack/install-debian.sh | while read -r line; do
		package=${line%%=*} version=${line#*=}
		[ "$package" != services ] || continue
		candidate=$(apt-cache policy "$package" | awk '$1 == "Candidate:" {print $2}')
		if [ -n "$candidate" ] && [ "$candidate" != "(none)" ] && [ "$candidate" != "$version" ]; then
			echo "$package $version -> $candidate"
			sed -i "s|^$package=.*|$package=$candidate|" hack/install-debian.sh
		fi
	done
}

folders=("$@")
if [ $# -eq 0 ]; then
	mapfile -t folders < <(git ls-files -- 'go.mod' '*/go.mod' | xargs -n 1 dirname)
	update_debian
fi
for folder in "${folders[@]}"; do
	echo "== $folder"
	(cd "$folder" && update_module "$folder")
done

# Apply the updates of each module to all modules, so that a module that is built on its own has the versions that were
# tested in the workspace.
go work sync
git ls-files -- 'go.mod' '*/go.mod' | xargs -n 1 dirname | while read -r folder; do (cd "$folder" && GOWORK=off go mod tidy); done

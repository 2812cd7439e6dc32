#!/bin/sh
# Installs valkey-server from Debian 13 on Debian 12: its programs and their libraries
# are in a separate directory, and /usr/local/bin contains a link. It exits immediately
# if this version is installed.
set -eu

# The versions that the tests ran with. A version that is no longer on the mirror is
# replaced by the release's current one, with a notice.
packages='
valkey-server=8.1.1+dfsg1-3+deb13u3
valkey-tools=8.1.1+dfsg1-3+deb13u3
libatomic1=14.2.0-19
libc6=2.41-12+deb13u5
libcap2=1:2.75-10+deb13u1+b3
libgcc-s1=14.2.0-19
libjemalloc2=5.3.0-3
liblzf1=3.6-4+b3
libssl3t64=3.5.9-1~deb13u1
libstdc++6=14.2.0-19
libsystemd0=257.13-1~deb13u1
libzstd1=1.5.7+dfsg-1
zlib1g=1:1.3.dfsg+really1.3.1-1+deb13u1
'
root=/opt/holdfast/debian-13
link=/usr/local/bin/valkey-server

stamp=$(sha256sum <"$0" | cut -d' ' -f1)
if [ "$(cat "$root/stamp" 2>/dev/null)" = "$stamp" ] && [ -x "$link" ]; then
	exit 0
fi
[ "$(id -u)" = 0 ] || { echo 'install-valkey.sh: installing valkey-server needs root' >&2; exit 1; }
command -v patchelf >/dev/null || { echo 'install-valkey.sh: patchelf not found: hack/install-debian.sh installs it' >&2; exit 1; }

# mirror prints the URI from which the host's apt gets a suite of its release.
mirror() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk -v suite="$1" '$2 == suite {print $1; exit}'
}
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
main=$(mirror "$release") security=$(mirror "$release-security")
[ -n "$main" ] || { echo 'install-valkey.sh: no Debian mirror is configured in apt' >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/root"
: >"$work/status"
cat >"$work/debian.sources" <<END
Types: deb
URIs: $main
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
if [ -n "$security" ]; then
	cat >>"$work/debian.sources" <<END

Types: deb
URIs: $security
Suites: trixie-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
fi

# apt13 runs apt programs for Debian 13. It shares no state with the host's apt.
apt13() {
	program=$1
	shift
	"$program" -qq -o APT::Sandbox::User=root -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" \
		-o Dir::Cache="$work" -o Dir::Etc::sourcelist="$work/debian.sources" -o Dir::Etc::sourceparts=- "$@"
}

apt13 apt-get update
chosen=
for package in $packages; do
	if ! apt13 apt-cache madison "${package%%=*}" | awk -F ' *[|] *' '{print $2}' | grep -qxF "${package#*=}"; then
		echo "notice: $package is no longer on the mirror, installing the release's current version" >&2
		package=${package%%=*}
	fi
	chosen="$chosen $package"
done
echo "installing valkey-server from Debian 13 in $root"
# shellcheck disable=SC2086
(cd "$work/archives" && apt13 apt-get download $chosen)
for archive in "$work"/archives/*.deb; do
	dpkg-deb -x "$archive" "$work/root"
done

# Make the programs use their own loader and libraries instead of the host's. In the
# package, the server is a link to another program. It is replaced by a copy, because
# processes are identified by their file.
rm "$work/root/usr/bin/valkey-server"
cp "$work/root/usr/bin/valkey-check-rdb" "$work/root/usr/bin/valkey-server"
for program in valkey-server valkey-check-aof; do
	patchelf --set-interpreter "$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
		--force-rpath --set-rpath "$root/usr/lib/x86_64-linux-gnu" "$work/root/usr/bin/$program"
done
# The directory is complete before it replaces the old one.
echo "$stamp" >"$work/root/stamp"
rm -rf "$root"
mkdir -p "$(dirname "$root")"
mv "$work/root" "$root"
ln -sf "$root/usr/bin/valkey-server" "$link"
"$link" --version

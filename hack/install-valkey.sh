#!/bin/sh
# Installs the valkey-server of Debian 13 alongside Debian 12: its programs and their
# libraries are in a folder of their own, and /usr/local/bin has a link. It does
# nothing, and that at once, when the version is there.
set -eu

# The versions the tests were run with. One that has left the mirror is replaced
# by the release's current one, with a notice.
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
command -v patchelf >/dev/null || { echo 'install-valkey.sh: there is no patchelf: hack/install-debian.sh installs it' >&2; exit 1; }

# mirror prints where the host's apt has a suite of its release from.
mirror() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk -v suite="$1" '$2 == suite {print $1; exit}'
}
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
main=$(mirror "$release") security=$(mirror "$release-security")
[ -n "$main" ] || { echo 'install-valkey.sh: apt has no mirror of Debian' >&2; exit 1; }

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

# apt13 is apt for Debian 13. It shares nothing with the host's.
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
		echo "notice: $package has left the mirror, taking the release's candidate" >&2
		package=${package%%=*}
	fi
	chosen="$chosen $package"
done
echo "installing valkey-server of Debian 13 in $root"
# shellcheck disable=SC2086
(cd "$work/archives" && apt13 apt-get download $chosen)
for archive in "$work"/archives/*.deb; do
	dpkg-deb -x "$archive" "$work/root"
done

# The programs find their own loader and libraries, not the host's. The server is
# a link to another program, and processes are known by their file.
rm "$work/root/usr/bin/valkey-server"
cp "$work/root/usr/bin/valkey-check-rdb" "$work/root/usr/bin/valkey-server"
for program in valkey-server valkey-check-aof; do
	patchelf --set-interpreter "$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
		--force-rpath --set-rpath "$root/usr/lib/x86_64-linux-gnu" "$work/root/usr/bin/$program"
done
# The folder is complete before it takes its place.
echo "$stamp" >"$work/root/stamp"
rm -rf "$root"
mkdir -p "$(dirname "$root")"
mv "$work/root" "$root"
ln -sf "$root/usr/bin/valkey-server" "$link"
"$link" --version

#!/bin/sh
# Installs PyTorch 2.6 from Debian 13 into a separate root file system, alongside the PyTorch 1.13 that install-debian.sh
# installs on the Debian 12 host. It changes nothing on the host except that directory. It does nothing if the
# installation is complete.
#
#	install-torch-2.6.sh [DIRECTORY]
#
# The default directory is /var/cache/holdfast/debian13-torch2.6. It takes 1.2 GB, of which 300 MB are downloaded from
# the host's mirror.
set -eu

root=${1:-/var/cache/holdfast/debian13-torch2.6}
# The version that the tests ran with. If it is no longer on the mirror, the script fails, because the documentation
# makes statements about this version.
version=2.6.0+dfsg-7
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
	echo "install-torch-2.6.sh: $*" >&2
	exit 1
}

if [ "$(cat "$root/.complete" 2>/dev/null)" = "$version" ]; then
	echo "PyTorch $version is installed"
	exit 0
fi
[ "$(id -u)" = 0 ] || fail "installing into $root needs root"
[ "$(dpkg --print-architecture)" = amd64 ] || fail 'only amd64 was tested'

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)
[ -n "$mirror" ] || fail 'no Debian mirror is configured in apt'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/lists/partial" "$work/archives/partial"
: >"$work/status"
echo "deb [signed-by=$keyring] $mirror trixie main" >"$work/sources.list"

# apt runs apt-get with the package database of an empty Debian 13.
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" \
		-o Dir::Cache="$work" -o Dir::Cache::archives="$work/archives" -o APT::Sandbox::User=root "$@"
}

apt update
apt install --download-only --no-install-recommends -y base-files python3 "python3-torch=$version" >/dev/null ||
	fail "python3-torch $version cannot be fetched from $mirror"

rm -rf "$root"
mkdir -p "$root"
# Debian 13 has a merged /usr. No maintainer script runs, so the links are created here.
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/tmp" "$root/proc" "$root/dev" "$root/etc/alternatives"
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
for package in "$work"/archives/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink; done
libraries=$root/usr/lib/x86_64-linux-gnu
for library in blas lapack; do
	[ -e "$libraries/lib$library.so.3" ] || ln -s "$library/lib$library.so.3" "$libraries/lib$library.so.3"
done
# Debian builds PyTorch without libuv, but the agent requests it anyway. USE_LIBUV=0 reaches only the workers.
backend=$root/usr/lib/python3/dist-packages/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py
sed -i 's/^\( *\)multi_tenant=True,$/&\n\1use_libuv=False,/' "$backend"
grep -q 'use_libuv=False' "$backend" || fail "$backend has unexpected content"
# inside runs Python in the new root, with the host's devices and processes. The mounts disappear when it exits.
inside() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private sh -c '
		mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" /usr/bin/python3 "$@"' "$root" "$@"
}
inside -m compileall -q -x 'bad_coding|badsyntax|lib2to3/tests' /usr/lib/python3.13 /usr/lib/python3/dist-packages || true
inside -c 'import torch; print("PyTorch", torch.__version__, "is installed")'
echo "$version" >"$root/.complete"

#!/bin/sh
# Installs what the testbed needs from Debian 12, and valkey-server from Debian 13. It does nothing if everything is
# installed. It starts no service and enables none.
#
#	install-debian.sh [FEATURE...]
#
# also installs what a feature needs: prometheus, torch.
#
#	install-debian.sh store
#	install-debian.sh docs
#
# installs only a store, or only what builds and checks the site.
set -eu

# The versions that the tests ran with. A version that is no longer on the mirror is replaced by the release's current
# one, with a notice.
packages='
containernetworking-plugins=1.1.1+ds1-3+b5
etcd-server=3.4.23-4+b4
gcc=4:12.2.0-3
iproute2=6.1.0-3
libc6-dev=2.36-9+deb12u14
nftables=1.0.6-2+deb12u2
patchelf=0.14.3-1+b1
python3=3.11.2-1+b1
redis-server=5:7.0.15-1~deb12u10
redis-tools=5:7.0.15-1~deb12u10
runc=1.1.5+ds1-1+deb12u1
'
services='etcd redis-server nftables prometheus'
prometheus='
prometheus=2.42.0+ds-5+deb12u1
'
# 650 MB on disk, 152 MB to download. Only the suites that run training need it.
torch='
python3-torch=1.13.1+dfsg-4
python3-etcd=0.4.5-4
'
# The site, and the browser that checks it.
docs='
chromium=156.0.8078.108-1~deb12u1
mkdocs-material=8.2.5-1
'
policy=/usr/sbin/policy-rc.d

fail() {
	echo "install-debian.sh: $*" >&2
	exit 1
}

# missing prints the packages, with their versions, that are not installed.
missing() {
	for package in $packages; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "${package%%=*}" 2>/dev/null || true)
		[ "$status" = installed ] || echo "$package"
	done
}

# available prints the package with its version, or without it if that version is gone.
available() {
	name=${1%%=*} version=${1#*=}
	if apt-cache madison "$name" | awk -F ' *[|] *' '{print $2}' | grep -qxF "$version"; then
		echo "$1"
		return
	fi
	echo "notice: $name $version is no longer on the mirror, installing the release's current version" >&2
	echo "$name"
}

# forbid_services keeps packages from starting their services. An existing policy is restored afterwards.
forbid_services() {
	trap allow_services EXIT
	trap 'exit 1' HUP INT TERM
	[ ! -e "$policy" ] || mv "$policy" "$policy.holdfast"
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
}

allow_services() {
	rm -f "$policy"
	[ ! -e "$policy.holdfast" ] || mv "$policy.holdfast" "$policy"
}

# disable_services keeps services from starting at the next boot. It affects only packages that were just installed,
# because the host decides about the others.
disable_services() {
	[ -d /run/systemd/system ] || return 0
	for service in $services; do
		case $1 in *"$service"*) systemctl disable --quiet "$service" 2>/dev/null || true ;; esac
	done
}

valkey=$(dirname "$0")/install-valkey.sh
for feature; do
	case $feature in
	docs | store)
		[ $# = 1 ] || fail "$feature cannot be combined with other features"
		valkey=true # the command
		[ "$feature" = docs ] && packages=$docs || packages=$(echo "$packages" | grep '^redis-server=')
		;;
	prometheus) packages="$packages$prometheus" ;;
	torch) packages="$packages$torch" ;;
	*) fail "unknown feature $feature" ;;
	esac
done

[ -r /etc/os-release ] || fail 'this is not Debian: there is no /etc/os-release'
# shellcheck disable=SC1091
. /etc/os-release
[ "${ID:-}" = debian ] || fail "this is ${ID:-an unknown system}, not Debian"

wanted=$(missing)
if [ -z "$wanted" ]; then
	echo 'all packages are installed'
	exec "$valkey"
fi
[ "$(id -u)" = 0 ] || fail "installing $(echo $wanted) needs root"
[ "${VERSION_ID:-}" = 12 ] || echo "notice: this is Debian ${VERSION_ID:-unknown}, the tests were run on 12" >&2

apt-get update -qq
chosen=
for package in $wanted; do
	chosen="$chosen $(available "$package")"
done
echo "installing$chosen"
forbid_services
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $chosen >/dev/null
disable_services "$chosen"
echo 'done'
exec "$valkey"

#!/usr/bin/env bash
# Packs the static command as a Debian package: target/dist/yfs_VERSION_ARCHITECTURE.deb.
#
#   packaging/build-deb.sh [TARGET]
#
# Needs dpkg-deb, and the output of packaging/build-static.sh for the same TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
dist=target/dist
packed=$(ls -d $dist/yfs-"$version"-${1:-*-linux-*}/ 2> /dev/null | head -n 1 || true)
[ -n "$packed" ] || { echo "run packaging/build-static.sh first" >&2; exit 1; }
case $packed in
    *-x86_64-*) architecture=amd64 ;;
    *-aarch64-*) architecture=arm64 ;;
    *) echo "no Debian architecture for $packed" >&2; exit 1 ;;
esac

root=$dist/deb
rm -rf "$root"
doc=$root/usr/share/doc/yfs
share=$root/usr/share
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$doc" "$share/man/man1"
install -m 755 "$packed/yfs" "$root/usr/bin/yfs"
install -D -m 644 "$packed/completions/yfs.bash" "$share/bash-completion/completions/yfs"
install -D -m 644 "$packed/completions/_yfs" "$share/zsh/vendor-completions/_yfs"
install -D -m 644 "$packed/completions/yfs.fish" "$share/fish/vendor_completions.d/yfs.fish"
install -m 644 "$packed"/man/*.1 "$share/man/man1/"
gzip -9 -n "$share"/man/man1/*.1
install -m 644 packaging/debian/copyright "$doc/copyright"
gzip -9 -n -c CHANGELOG.md > "$doc/changelog.gz"
size=$(du -k -s "$root/usr" | cut -f 1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
    packaging/debian/control.in > "$root/DEBIAN/control"
chmod -R u=rwX,go=rX "$root"
package=$dist/yfs_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package"
wc -c "$package"

#!/usr/bin/env bash
# Builds the command `yfs` and packs it: target/dist/yfs-VERSION-TARGET.tar.gz and its SHA-256.
#
#   packaging/build-static.sh [TARGET]
#
# Without TARGET: musl on Linux if its standard library is installed, else glibc linked statically;
# the host's own target on other systems.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
installed() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
target=${1:-}
if [ -z "$target" ]; then
    target=${host/-gnu/-musl}
    installed "$target" || target=$host
fi
if ! installed "$target"; then
    echo "the standard library of $target is missing: rustup target add $target" >&2
    exit 1
fi
case $target in
    *-linux-*) export RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" ;;
esac

CARGO_PROFILE_RELEASE_STRIP=symbols \
    cargo build --release --locked -p yfs-cli --features full --target "$target"
binary=${CARGO_TARGET_DIR:-target}/$target/release/yfs
[ -f "$binary" ] || binary=$binary.exe

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=yfs-$version-$target
dist=target/dist
rm -rf "$dist/$name"
mkdir -p "$dist/$name"
cp "$binary" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$dist/$name/"
if [ "$target" = "$host" ] || "$binary" --version > /dev/null 2>&1; then
    mkdir -p "$dist/$name/completions"
    "$binary" completions bash > "$dist/$name/completions/yfs.bash"
    "$binary" completions zsh > "$dist/$name/completions/_yfs"
    "$binary" completions fish > "$dist/$name/completions/yfs.fish"
    "$binary" man --quiet "$dist/$name/man"
fi
owner=()
if tar --version | grep -q GNU; then owner=(--owner=0 --group=0 --numeric-owner); fi
tar -C "$dist" ${owner[@]+"${owner[@]}"} -czf "$dist/$name.tar.gz" "$name"
checksum=sha256sum
command -v sha256sum > /dev/null || checksum="shasum -a 256"
(cd "$dist" && $checksum "$name.tar.gz" > "$name.tar.gz.sha256")
case $target in
    *-linux-*)
        # Of a static binary, ldd prints `statically linked` or `not a dynamic executable`.
        if ldd "$binary" 2>&1 | grep -q '=>'; then
            echo "$binary is not static" >&2
            exit 1
        fi
        ;;
esac
wc -c "$binary" "$dist/$name.tar.gz" | sed '$d'

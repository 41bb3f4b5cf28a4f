#!/usr/bin/env bash
# Fills in the Homebrew formula: target/dist/yfs.rb.
#
#   HOMEPAGE=URL DOWNLOADS=URL packaging/build-homebrew.sh
#
# Needs the .sha256 files of packaging/build-static.sh in target/dist. A target whose file is
# missing keeps its placeholder, and the script fails.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
formula=target/dist/yfs.rb
mkdir -p target/dist
sed -e "s|@VERSION@|$version|g" -e "s|@HOMEPAGE@|${HOMEPAGE:?}|g" \
    -e "s|@DOWNLOADS@|${DOWNLOADS:?}|g" packaging/homebrew/yfs.rb.in > "$formula"
for file in target/dist/yfs-"$version"-*.tar.gz.sha256; do
    [ -e "$file" ] || continue
    target=${file#target/dist/yfs-"$version"-}
    target=${target%.tar.gz.sha256}
    sum=$(cut -d ' ' -f 1 "$file")
    sed "s|@SHA256_$target@|$sum|" "$formula" > "$formula.new"
    mv "$formula.new" "$formula"
done
if missing=$(grep -o '@SHA256_[^@]*@' "$formula"); then
    echo "$formula: no checksum for" $missing >&2
    exit 1
fi

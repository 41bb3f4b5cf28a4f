#!/usr/bin/env bash
# Builds the image yfs:VERSION from the static command. Fails if it is 30 MB or larger.
#
#   packaging/build-docker.sh [TARGET]
#
# Needs the output of packaging/build-static.sh for the same TARGET. Without a Docker daemon, it
# lays out the files of the image, and runs the command in them with chroot if the user is root.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
packed=$(ls -d target/dist/yfs-"$version"-${1:-*-linux-*}/ 2> /dev/null | head -n 1 || true)
[ -n "$packed" ] || { echo "run packaging/build-static.sh first" >&2; exit 1; }
context=target/dist/docker
rm -rf "$context"
mkdir -p "$context/data"
install -m 755 "$packed/yfs" "$context/yfs"
cp packaging/docker/Dockerfile "$context/"
size=$(wc -c < "$context/yfs")
[ "$size" -lt 30000000 ] || { echo "the image would have $size bytes" >&2; exit 1; }

if docker info > /dev/null 2>&1; then
    docker build -t "yfs:$version" "$context"
    docker run --rm "yfs:$version" --version
    docker image ls "yfs:$version"
    exit
fi
echo "no Docker daemon: the image was not built; its only file has $size bytes"
if [ "$(id -u)" = 0 ]; then
    root=target/dist/docker-root
    rm -rf "$root"
    mkdir -p "$root/dev"
    cp -r "$context/yfs" "$context/data" "$root/"
    chown 65532:65532 "$root/data"
    # A container gets these from its runtime.
    mknod -m 666 "$root/dev/null" c 1 3
    mknod -m 666 "$root/dev/random" c 1 8
    mknod -m 666 "$root/dev/urandom" c 1 9
    in_image=(env -i "$(command -v chroot)" --userspec=65532:65532 "$root" /yfs)
    "${in_image[@]}" --version
    "${in_image[@]}" serve /data --host 0.0.0.0 --port 0 > "$root/served.log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        grep -q '^serving' "$root/served.log" && break
        sleep 0.1
    done
    grep '^serving' "$root/served.log" || { cat "$root/served.log" >&2; exit 1; }
    echo "written in the image" | "${in_image[@]}" --workspace /data write /hello.txt
    for _ in $(seq 100); do
        [ -e "$root/data/hello.txt" ] && break
        sleep 0.1
    done
    cat "$root/data/hello.txt"
    kill "$server"
    wait "$server"
    tail -n 1 "$root/served.log"
fi

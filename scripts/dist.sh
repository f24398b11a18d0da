#!/usr/bin/env bash
# Makes the archives of a release from a commit: scripts/dist.sh FOLDER [COMMIT [WORK]]
#
# FOLDER gets source archive, sdist, wheel, C library and SHA256SUMS, with the same bytes every time: nothing in them depends on the
# clock, on what is not committed, or on where this tree, WORK (in which it is compiled) and Cargo's packages are.
set -euo pipefail

if [ $# -lt 1 ]; then
    echo "usage: scripts/dist.sh FOLDER [COMMIT [WORK]]" >&2
    exit 2
fi
tree=$(git rev-parse --show-toplevel)
folder=$(realpath -m "$1")
commit=$(git rev-parse --verify "${2:-HEAD}^{commit}")
work=$(realpath -m "${3:-$tree/target/dist}")
cd "$tree"

if [ -n "$(git status --porcelain)" ]; then
    echo "the archives are made from the commit ${commit:0:12}; what is not committed is not in them" >&2
fi

version=$(git show "$commit:Cargo.toml" | sed -n 's/^version = "\(.*\)"/\1/p' | head -n 1)
name=pifolab-$version
host=$(rustc -vV | sed -n 's/^host: //p')

# What tells tools the time, and compiled code where it lies.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
export TZ=UTC LC_ALL=C
unset CARGO_TARGET_DIR CARGO_ENCODED_RUSTFLAGS VIRTUAL_ENV MAKEFLAGS MFLAGS
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$work/$name=pifolab"
umask 022

# Compiled dependencies serve again; sources and what is made of them do not. Cargo and make compare times: those of the sources
# are those of now, or an older commit would be taken for what was compiled from a newer one.
mkdir -p "$work/$name"
find "$work/$name" -mindepth 1 -maxdepth 1 ! -name target ! -name .venv -exec rm -rf {} +
git archive "$commit" | tar -x -m -C "$work/$name"

made=$(mktemp -d "$(dirname "$work")/dist.XXXXXX")
trap 'rm -rf "$made"' EXIT
git archive --format=tar.gz --prefix="$name/" -o "$made/$name-source.tar.gz" "$commit"
make -C "$work/$name" --silent wheel OUT=out
cp "$work/$name"/out/dist/* "$made/"
PIFOLAB_FOR_OLD_LOADERS=1 make -C "$work/$name" --silent c-library PREFIX=/usr/local DESTDIR="$work/$name/out/c"
tar -C "$work/$name/out/c" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c usr |
    gzip -n -9 > "$made/pifolab-c-$version-$host.tar.gz"
(cd "$made" && sha256sum -- * > SHA256SUMS)

rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
chmod 755 "$made"
mv "$made" "$folder"
trap - EXIT
cat "$folder/SHA256SUMS"

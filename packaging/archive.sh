#!/bin/sh
# Makes the archive of one build, in one folder: the executable, manual pages, completions, systemd unit, alert rules and
# licences.
# Usage: packaging/archive.sh TOISE VERSION TARGET DIR
set -eu
toise=$1
name=toise-$2-$3
folder=$4
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
mkdir -p "$folder/$name"
cp "$toise" "$folder/$name/toise"
"$root/packaging/assets.sh" "$toise" "$folder/$name"
cp -r "$root/packaging/systemd" "$root/packaging/prometheus" "$root/README.md" "$root/LICENSE-MIT" \
  "$root/LICENSE-APACHE" "$folder/$name"
tar -C "$folder" -cf - "$name" | gzip "${GZIP_LEVEL:--9}" > "$folder/$name.tar.gz"
rm -r "${folder:?}/$name"

#!/bin/sh
# Writes what a package holds beside the executable: manual pages and completions, made by the executable itself.
# Usage: packaging/assets.sh TOISE DIR
set -eu
toise=$1
folder=$2
mkdir -p "$folder/completions"
"$toise" man "$folder/man"
"$toise" completions bash > "$folder/completions/toise.bash"
"$toise" completions zsh > "$folder/completions/_toise"
"$toise" completions fish > "$folder/completions/toise.fish"

#!/bin/sh
# Writes the manual pages and completions for packages. The executable generates them.
# Usage: packaging/assets.sh TOISE DIR
set -eu
toise=$1
folder=$2
mkdir -p "$folder/completions"
"$toise" man "$folder/man"
"$toise" completions bash > "$folder/completions/toise.bash"
"$toise" completions zsh > "$folder/completions/_toise"
"$toise" completions fish > "$folder/completions/toise.fish"

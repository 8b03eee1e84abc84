#!/bin/sh
# Generates a TypeScript client from the OpenAPI document, type-checks it, and runs it on a demo. Usage:
# tests/typescript/run.sh TOISE
# Needs node and npm. The generator and the compiler are installed from the npm registry into TOISE_NODE (default: the
# cache).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
toise=$(CDPATH= cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
work=${TOISE_NODE:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-typescript}

. "$here/../support/skip.sh"
command -v node >/dev/null && command -v npm >/dev/null || skip "the TypeScript client needs node and npm"
mkdir -p "$work"
cp "$here/package.json" "$here/tsconfig.json" "$here/client.ts" "$work/"
cd "$work"
npm install --no-package-lock --no-audit --no-fund --silent >/dev/null 2>&1 ||
    skip "the generator and compiler of TypeScript cannot be installed here (needs the npm registry)"

. "$here/../support/demo.sh"
start_demo "$toise" --adverts 100 --no-model --allow-webhook-hosts 127.0.0.1
train_on_little

# In requests a field with a default may be left out. By default, the generator would make it required.
npx openapi-typescript "$(ready address)/openapi.json" --default-non-nullable false --output schema.d.ts
npx tsc
node out/client.js "$(ready address)" "$(ready key)"

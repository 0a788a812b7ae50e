# shellcheck shell=bash
# What examples/run, tests/run and .ci/run share; sourced, with the checkout as current directory.
#
# Environment: AFTERTOUCH_CXX       compiler (g++)
#              AFTERTOUCH_SANITIZE  "address,undefined" or "thread"
#              AFTERTOUCH_BUILD     build folder (build, or build/<variant> with one of the above)

checkout=$PWD
cxx=${AFTERTOUCH_CXX:-g++}
sanitize=${AFTERTOUCH_SANITIZE:-}
variant=${AFTERTOUCH_CXX:+${cxx##*/}}${sanitize:+-${sanitize//,/-}}
build=${AFTERTOUCH_BUILD:-build${variant:+/${variant#-}}}
[[ $build == /* ]] || build=$checkout/$build
jobs=$(nproc)

say() { echo "aftertouch: $*"; }

die() {
    say "$*" >&2
    exit 1
}

# quietly <phase> <command>...: one line for the phase; what the command prints is shown only if it fails.
quietly() {
    local phase=$1 log
    shift
    say "$phase"
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null; then
        cat "$log"
        rm -f "$log"
        die "$phase: failed"
    fi
    rm -f "$log"
}

as_root() {
    if ((EUID == 0)); then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

has_command() { command -v "$1" >/dev/null; }

# has_header <header> [<condition>]: the compiler, or without one the usual folders, know the header.
has_header() {
    if has_command "$cxx"; then
        printf '#include <%s>\n#if !(%s)\n#error too old\n#endif\n' "$1" "${2:-1}" |
            "$cxx" -std=c++20 -E -x c++ - >/dev/null 2>&1
    else
        return 1
    fi
}

# What clang links a program with that has sanitizers.
has_clang_runtime() {
    local runtime
    runtime=$(clang++-19 -print-resource-dir 2>/dev/null) && compgen -G "$runtime/lib/*/libclang_rt.tsan*" >/dev/null
}

has_libpq() { has_command pg_config && [[ -f $(pg_config --includedir)/libpq-fe.h ]]; }

# A server's programs; Debian keeps them out of the path.
has_postgresql() { has_command initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

# Debian keeps it out of the path of those who are not root.
has_pgbouncer() { has_command pgbouncer || [[ -x /usr/sbin/pgbouncer ]]; }

# The package with Boost 1.81 or newer; Debian 12 has an older one as its default.
boost_package() {
    if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
        echo libboost1.81-dev
    else
        echo libboost-dev
    fi
}

# Installs by apt what is missing for the purposes named: build, test, check.
need() {
    local missing=() purpose
    for purpose in "$@"; do
        case $purpose in
            build)
                has_command "$cxx" || missing+=("$(package_of_compiler)")
                has_command cmake || missing+=(cmake)
                has_command ninja || has_command make || missing+=(ninja-build)
                has_header boost/version.hpp 'BOOST_VERSION >= 108100' || missing+=("$(boost_package)")
                has_header range/v3/version.hpp || missing+=(librange-v3-dev)
                has_header sqlite3.h || missing+=(libsqlite3-dev)
                has_command sqlite3 || missing+=(sqlite3)
                has_libpq || missing+=(libpq-dev)
                ;;
            test)
                has_header catch2/catch.hpp || has_header catch2/catch_all.hpp || missing+=(catch2)
                has_command pkg-config || missing+=(pkg-config)
                has_postgresql || missing+=(postgresql)
                has_pgbouncer || missing+=(pgbouncer)
                ;;
            check)
                has_command git || missing+=(git)
                has_command shellcheck || missing+=(shellcheck)
                has_command clang++-19 || missing+=(clang-19)
                has_clang_runtime || missing+=(libclang-rt-19-dev)
                has_command clang-format-19 || missing+=(clang-format-19)
                has_command clang-tidy-19 || missing+=(clang-tidy-19)
                ;;
        esac
    done
    ((${#missing[@]} == 0)) && return
    install_packages "${missing[@]}"
}

package_of_compiler() {
    case $cxx in
        clang++-*) echo "clang-${cxx#clang++-}" ;;
        clang++) echo clang ;;
        g++*) echo "$cxx" ;;
        *) die "there is no compiler $cxx (AFTERTOUCH_CXX)" ;;
    esac
}

install_packages() {
    has_command apt-get || die "missing: $*. There is no apt-get here: install them by hand."
    if ((EUID != 0)) && ! has_command sudo; then
        die "missing: $*. Install them as root (apt-get install), or run this again as root or where sudo works."
    fi
    ((EUID == 0)) || sudo -v || die "missing: $*. sudo was refused: install them as root."
    quietly "reading the package lists" as_root apt-get update
    # --no-remove: nothing that is there makes way for what comes
    quietly "installing $*" as_root apt-get install --yes --no-install-recommends --no-remove "$@"
}

# configure [<cmake argument>...]: the build folder, made or brought up to date.
configure() {
    local arguments=(-S "$checkout" -B "$build" "$@") optimise=-O2
    [[ -z $sanitize ]] || optimise=-O0 # sanitizers with optimisation take most of an hour to build
    if [[ ! -f $build/CMakeCache.txt ]]; then
        has_command ninja && arguments+=(-G Ninja)
        has_command ccache && arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
        arguments+=(
            -DCMAKE_CXX_COMPILER="$cxx"
            -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
            -DCMAKE_BUILD_TYPE=Release
            -DCMAKE_CXX_FLAGS_RELEASE="$optimise"
            -DAFTERTOUCH_SANITIZE="$sanitize")
    fi
    quietly "configuring ${build#"$checkout"/}" cmake "${arguments[@]}"
}

build_targets() {
    # for ccache: the checkout may lie anywhere, and precompiled headers may be used
    export CCACHE_BASEDIR=$checkout CCACHE_SLOPPINESS=pch_defines,time_macros
    quietly "building $*" cmake --build "$build" --parallel "$jobs" --target "$@"
}

# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts beside it; sourced, never run. Everything it says goes to stderr.

set -euo pipefail

repo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(
  g++ cmake ninja-build pkg-config libsystemc-dev libyaml-cpp-dev libspdlog-dev libfmt-dev
  libgtest-dev libgmock-dev libcli11-dev nlohmann-json3-dev librapidcheck-dev libbenchmark-dev
  libjs-d3
)

clang_packages=(clang libclang-rt-14-dev)
# Read what the traces say (gtkwave brings vcd2fst) and open the page of a run.
plot_packages=(python3 python3-matplotlib)
test_packages=(gtkwave chromium chromium-driver python3-selenium "${plot_packages[@]}")

say() { echo "rngdsim: $*" >&2; }

# ensure_packages NAME...: installs the Debian packages that are missing, saying which.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    return 0  # not Debian: CMake names what it does not find
  fi
  local installed name missing=()
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    if [[ $'\n'$installed$'\n' != *$'\n'"installed $name"$'\n'* ]]; then
      missing+=("$name")
    fi
  done
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "these Debian packages are missing; as root, run: apt-get install ${missing[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" >&2
}

# run_quietly COMMAND...: shows what the command printed only when it fails.
run_quietly() {
  local output status=0
  output=$("$@" 2>&1) || status=$?
  if ((status != 0)); then
    printf '%s\n' "$output" >&2
    say "failed: $*"
  fi
  return "$status"
}

# configure PRESET: only when there is no build directory yet or the presets changed; new source
# files and changed CMake files are noticed by the build itself.
configure() {
  local build_dir=$repo_root/build/$1
  if [[ ! -e $build_dir/build.ninja || $repo_root/CMakePresets.json -nt $build_dir/build.ninja ]]
  then
    say "configuring build/$1"
    (cd "$repo_root" && run_quietly cmake --preset "$1")
  fi
}

# build PRESET [TARGET...]: configures and builds, one process at a time for each build directory.
build() {
  local preset=$1 build_dir=$repo_root/build/$1
  shift
  mkdir -p "$build_dir"
  (
    if command -v flock >/dev/null; then
      flock 9
    fi
    if [[ ! -e $build_dir/.ninja_log ]]; then
      say "the first build of build/$preset takes a few minutes"
    fi
    configure "$preset"
    if [[ -t 2 ]] && ! ninja -C "$build_dir" -n "$@" 2>/dev/null | grep -q 'no work to do'; then
      ninja -C "$build_dir" "$@" >&2  # somebody is watching: show the progress
    else
      run_quietly ninja -C "$build_dir" "$@"
    fi
  ) 9>"$build_dir/.lock"
}

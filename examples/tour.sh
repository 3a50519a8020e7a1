#!/bin/sh
# getmodules' main job from end to end, without a server and without a network: publish the example package to an
# OCI layout on disk, install it, pin it by its digest, and see that a tampered package is refused.
#
#     examples/tour.sh [DIRECTORY]      what it makes goes into DIRECTORY (default: build/tour)
set -eu

package=$(cd "$(dirname "$0")" && pwd)/network
place=${1:-build/tour}
if [ -e "$place" ] && [ ! -e "$place/.tour" ] && [ -n "$(ls -A "$place")" ]; then
    echo "$place is not empty, and not from an earlier tour" >&2
    exit 1
fi
mkdir -p "$place"
cd "$place"
touch .tour
rm -rf registry network pinned tampered

step() {
    printf '\n# %s\n' "$1"
    shift
    printf '$'
    for word in "$@"; do
        case $word in *[?\&*]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}

step "Publish the example package. The layout is the registry: a directory, readable by every OCI tool." \
    getmodules push "$package" "oci-layout::./registry?tag=1.0.0"

step "Install it. What it prints is the pin: the address that brings exactly these bytes again." \
    getmodules get "oci-layout::./registry?tag=1.0.0" network

pinned=$(getmodules resolve "oci-layout::./registry?tag=1.0.0")
step "Install one directory of it, by that pin." \
    getmodules get "${pinned%%\?*}//modules/subnets?${pinned#*\?}" pinned

# The layer is the largest blob; one byte of it changes, and nothing else.
blob=$(ls -S registry/blobs/sha256/* | head -n 1)
chmod u+w "$blob"
printf 'X' | dd of="$blob" bs=1 seek=200 conv=notrunc 2>/dev/null

printf '\n# Somebody changes one byte of the package in the registry: it is refused, and nothing is installed.\n'
printf '$ getmodules get "%s" tampered\n' "$pinned"
status=0
getmodules get "$pinned" tampered || status=$?
if [ "$status" -ne 3 ] || [ -e tampered ]; then
    echo "the tampered package was not refused as it should be (exit code $status)" >&2
    exit 1
fi
printf '\n# Exit code 3, and no directory "tampered".\n'

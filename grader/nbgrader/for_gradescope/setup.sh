#!/usr/bin/env bash
# Runs once, as root, when Gradescope makes the image: Ubuntu's packages, the course's environment and the virtual GPU.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
export DEBIAN_FRONTEND=noninteractive

apt-get update
apt-get install -y --no-install-recommends g++ python3 python3-venv
# Ubuntu 22.04 has Python 3.10, and 3.11 beside it; the course takes what fits.
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -y --no-install-recommends python3.11 python3.11-venv
fi

# Without this pip takes torch for GPUs, 2.7 GB.
export PIP_EXTRA_INDEX_URL=${PIP_EXTRA_INDEX_URL:-https://download.pytorch.org/whl/cpu}
export COURSE_CACHE=${COURSE_CACHE:-$root/source/cache}
# Grades the starter: that installs everything, builds the virtual GPU, and shows that submissions can be graded here.
"$root/source/course/course" gradescope --grade "$root" --try

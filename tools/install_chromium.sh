#!/usr/bin/env bash
# Installs Debian's Chromium and its driver, which the browser tests of the report need. Needs root and apt.
set -euo pipefail
command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core

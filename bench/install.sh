#!/bin/sh
# Installs the peers that the benchmarks compare with, on Debian and its relatives. Run it as a user
# who may install packages; what is there already is left as it is.
set -eu
cd "$(dirname "$0")"

sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get install --yes --no-install-recommends \
  wrk apache2-utils nginx nghttp2-client time openssl util-linux \
  postgresql redis-server mariadb-server
# The distribution may start nginx at once; the benchmarks start their own.
for service in nginx postgresql redis-server mariadb; do
  $sudo service "$service" stop || true
done

command -v oha > /dev/null || cargo install oha --locked
npm ci
# The packages of the applications; the suite `apps` does it otherwise when it first runs.
npm ci --ignore-scripts --prefix apps
cargo build --release --locked --manifest-path native/Cargo.toml

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
# Go puts programs into its folder GOBIN, or `bin` of GOPATH, which has to be on the PATH.
command -v k6 > /dev/null || go install go.k6.io/k6@v1.8.1
command -v ghz > /dev/null ||
  go install -ldflags '-X main.version=0.121.0' github.com/bojand/ghz/cmd/ghz@v0.121.0
# Not a peer: the conformance suite that test/slow/http2.test.js runs.
command -v h2spec > /dev/null || go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
# Without scripts, as they download browsers.
command -v artillery > /dev/null || $sudo npm install --global --ignore-scripts artillery@2
npm ci
# The packages of the applications; the suite `apps` does it otherwise when it first runs.
npm ci --ignore-scripts --prefix apps
cargo build --release --locked --manifest-path native/Cargo.toml

// Flags of other tools that millrace does not have, and what to type instead. Foreign names of its own flags are
// aliases in their tables.
import type { UnsupportedFlags } from './parse.js';

/** One advice for several names. */
function each(names: string, advice: string): UnsupportedFlags {
  return Object.fromEntries(names.split(' ').map((name) => [name, advice]));
}

// Written out, they would be masked as secrets are.
const CREDENTIALS =
  'user and password go into the URL, before the host and an @; a token is an Authorization header, by -H';
const NO_PROXY = 'requests are sent to the server itself, without a proxy';
const LOOKUP =
  'a host is looked up once, before the run; other addresses are --resolve HOST:PORT:ADDRESS';
const NO_SCRIPTS =
  'scripts of other tools are not run; what users do is millrace run FILE, several requests: --targets FILE, changing values: {{...}}, stages: --stage';

const CURL: UnsupportedFlags = {
  ...each(
    'data data-raw data-ascii data-binary data-urlencode',
    "a body is -b TEXT or -b @FILE, and its type -H 'Content-Type: TYPE'",
  ),
  ...each('user auth basic-auth bearer oauth2-bearer', CREDENTIALS),
  u: `${CREDENTIALS}; virtual users are -c N`,
  ...each('cookie cookies', 'a cookie is a Cookie header, by -H'),
  location: 'redirections are followed by --follow 5',
  A: "it is -H 'User-Agent: NAME' for curl's -A, and -H 'Accept: TYPE' for hey's and oha's",
  'user-agent': "it is -H 'User-Agent: NAME'",
  referer: "it is -H 'Referer: URL'",
  e: "the referrer of curl is -H 'Referer: URL'; values for requests are {{csv:FILE:COLUMN}}",
  compressed: "it is -H 'Accept-Encoding: gzip'; bodies are counted as they come",
  'upload-file': 'it is -m PUT -b @FILE',
  head: 'it is -m HEAD',
  ...each('proxy proxy-header preproxy socks5', NO_PROXY),
  x: `${NO_PROXY}; what counts as an error (autocannon's -x) is --expect`,
  pfx: 'PKCS #12 is --cert FILE',
  ...each('cert-type key-type', 'the type is found in the file: --cert FILE, --key FILE'),
  E: "a client certificate (curl's -E) is --cert FILE; bodies are not compared (autocannon's -E), statuses are, by --expect",
  ...each(
    'tls-max tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3',
    'it is TLS 1.3, or 1.2 where the server has no 1.3',
  ),
  ...each('http1.0 http1.1', 'HTTP/1.1 is the default: leave it out'),
  'http2-prior-knowledge': 'HTTP/2 without TLS is --h2c',
  h2: 'HTTP/2 is --http2',
  ...each(
    'http3 http-version',
    'HTTP/1.1 is the default, HTTP/2 is --http2, without TLS --h2c; there is no HTTP/3',
  ),
  ...each('ipv4 ipv6', 'the address of a host is --resolve HOST:PORT:ADDRESS'),
};

const AUTOCANNON: UnsupportedFlags = {
  I: 'a value for each request is {{seq}} or {{uuid}} in URL, headers or body; a HEAD request is -m HEAD',
  idReplacement: 'a value for each request is {{seq}} or {{uuid}} in URL, headers or body',
  C: "with -R latency counts from when a request was due, always; a cookie (ab's -C) is a Cookie header, by -H",
  ignoreCoordinatedOmission: 'with -R latency counts from when a request was due, always',
  maxOverallRequests: 'a number of requests is -n N',
  O: "a number of requests (autocannon's -O) is -n N; a page (ghz's -O html) is --html FILE, JSON --json",
  ...each('M maxConnectionRequests', 'requests are counted over all connections: -n N'),
  bailout: "it is --fail-on 'errors<N' --abort-on-fail",
  B: "autocannon's -B is --fail-on 'errors<N' --abort-on-fail; a message of gRPC as bytes (ghz's -B) is -b @FILE",
  expectBody: 'bodies are not compared; statuses are, by --expect 200',
  har: 'several requests are --targets FILE',
  renderStatusCodes: 'the statuses are always shown',
  debug: 'the first response of each error is always shown',
  excludeErrorStats: 'all responses are in the latencies; what counts as an error is --expect',
  ...each('f forever', 'a run that Ctrl-C ends is -d 24h; the report is printed then, too'),
  overallRate: 'the rate is -R',
  ...each('r connectionRate', 'a rate per connection is not offered; the total rate is -R'),
  reconnectRate: 'a connection for each request is --connection close',
  ...each('F form', 'forms are not built; a body from a file is -b @FILE'),
  W: "a warm-up is --warmup 5s, with the connections of the run; h2load's window is --window 64KiB",
  'on-port':
    'a command follows --, as in -- node server.js, and its port is found; a URL names another',
  title: 'a report has no title',
  ...each(
    'renderProgressBar renderResultsTable renderLatencyTable',
    'the report is always whole; without progress it is --no-progress',
  ),
  skipAggregateResult: 'the result of several threads is one; that of each second is --series FILE',
  sampleInt: 'samples are taken every 100 ms: --series FILE',
};

const HEY_AND_OHA: UnsupportedFlags = {
  ...each('disable-keepalive no-keepalive', 'it is --connection close'),
  'disable-compression': 'no compression is asked for',
  'disable-redirects': 'redirections are not followed unless by --follow',
  D: "the body from a file is -b @FILE, a connection per request --connection close, and h2load's duration -d 10s",
  'body-path': 'the body from a file is -b @FILE',
  'content-type': "it is -H 'Content-Type: TYPE'",
  accept: "it is -H 'Accept: TYPE'",
  'latency-correction': 'with -R latency counts from when a request was due, always',
  ...each(
    'burst-delay burst-rate',
    'bursts are not offered; arrivals at random are -R RATE --poisson',
  ),
  'rand-regex-url': 'changing parts of a URL are {{random:1-100}}, {{uuid}}, {{csv:FILE:COLUMN}}',
  'urls-from-file': 'several requests are --targets FILE',
  'output-format': 'JSON is --json, or -o FILE beside the report',
  ...each('disable-color no-color', 'it is NO_COLOR=1 in the environment'),
  cpus: 'threads are -t N',
  U: `it is -H 'User-Agent: NAME'; the service times of wrk2's -U are always shown`,
  ...each('no-pre-lookup resolvers dns dns-ttl', LOOKUP),
  ...each('aws-session aws-sigv4', 'requests are not signed'),
  ...each('proxy-http-version proxy-http2', NO_PROXY),
  ...each(
    'body-path-lines dump-urls max-repeat',
    'changing requests are --targets FILE, changing values {{...}}',
  ),
  ...each(
    'stats-success-breakdown more readall',
    'the report always has all statuses and whole responses',
  ),
  ...each('fps time-unit', 'the report chooses units, and the progress its pace'),
  'wait-ongoing-requests-after-deadline': 'requests in flight at the end are counted as such',
  'z-cumulative-latency': 'latency always counts over the whole run',
  'db-url': 'results are files: -o FILE, or --csv FILE',
  'vsock-addr': 'addresses are TCP or --socket-path PATH',
};

const USERS_AND_TIMES: UnsupportedFlags = {
  ...each('concurrent', 'virtual users are connections: -c N'),
  ...each('time run-time runtime timelimit time-limit', 'the length of a run is -d 30s'),
  ...each(
    'ramp-up rampup rampUp ramp ramp-time ramp-up-time spawn-rate hatch-rate startup',
    'connections change by --connections-stage 30s:100, a rate by --stage 30s:100',
  ),
  ...each('reps repetitions loops', 'a number of requests, over all connections, is -n N'),
  ...each('threshold thresholds', "a threshold is --fail-on 'p95<200ms'"),
  'summary-export': 'JSON is --json, or -o FILE beside the report',
  out: 'JSON is -o FILE, CSV --csv FILE or --series FILE, and Prometheus reads --prometheus ADDRESS',
  s: `${NO_SCRIPTS}; the name for TLS (autocannon's -s) is --sni NAME`,
  script: NO_SCRIPTS,
  keepalive: 'connections are kept; one for each request is --connection close',
  'root-certs': 'it is --ca FILE',
  ...each('max-connections max-workers', 'the most connections are -c N'),
  ...each('lazy format', 'the form of --targets FILE is found in the file'),
};

const K6: UnsupportedFlags = {
  stages: 'a stage is --stage 30s:100, and the flag may be repeated',
  ...each('no-connection-reuse no-vu-connection-reuse', 'it is --connection close'),
  ...each('batch batch-per-host', 'requests in flight on each connection are -p N'),
  ...each('http-debug verbose', 'the first response of each error is always shown'),
  'min-iteration-duration': 'the time between requests of a connection is --think-time 1s',
  'tls-auth': 'a client certificate is --cert FILE, with --key FILE',
  ...each('block-hostnames blacklist-ip', 'only the hosts of the URLs are loaded'),
  tag: "requests are told apart by name: --name NAME, or '# @name: NAME' in --targets FILE",
  ...each(
    'check checks',
    "a condition on the run is --fail-on 'errors<1%'; bodies are not checked",
  ),
  ...each('scenarios exec', NO_SCRIPTS),
  ...each(
    'summary-trend-stats summary-time-unit no-summary system-tags',
    'the report has all percentiles, by request name too; JSON is --json, CSV --csv FILE',
  ),
  'no-thresholds': 'leave out --fail-on',
  'discard-response-bodies': 'bodies are read and not kept',
  ...each(
    'execution-segment paused address linger',
    'a run is one process, which begins at once and ends',
  ),
  ...each(
    'console-output log-output log-format traces-output',
    'results are files: -o FILE, --csv FILE, --series FILE',
  ),
  ...each(
    'throw no-setup no-teardown compatibility-mode include-system-env-vars config secret-source',
    NO_SCRIPTS,
  ),
  'no-usage-report': 'no usage is reported',
  'profiling-enabled': 'the generator is not profiled; what limits a server says millrace explain',
};

const VEGETA_AB_H2LOAD: UnsupportedFlags = {
  ...each(
    'every type buckets',
    'the report has all figures; JSON is --json, CSV --csv FILE, .hgrm millrace report --hdr',
  ),
  'session-tickets': 'connections that resume a session are --tls resume',
  g: 'figures for plots are --series FILE, or --csv FILE',
  y: 'a page is --html FILE',
  P: `${NO_PROXY}; ${CREDENTIALS}`,
  ...each(
    'Z ciphers tls13-ciphers groups no-tls-proto ktls',
    'suites and groups of TLS are those of rustls',
  ),
  ...each(
    'N connection-active-timeout connection-inactivity-timeout',
    'time limits are -T 10s of a request, and --connect-timeout 3s',
  ),
  ...each(
    'npn-list alpn-list h1',
    'HTTP/1.1 is the default, HTTP/2 is --http2, either is --prefer-http2',
  ),
  'max-concurrent-streams': 'streams per connection are -p N',
  ...each('window-bits connection-window-bits', 'windows of HTTP/2 are --window BYTES'),
  ...each(
    'max-frame-size header-table-size encoder-header-table-size',
    'HTTP/2 has the initial values of its settings: leave it out',
  ),
  ...each('no-udp-gso max-udp-payload-size qlog-file-base', 'there is no HTTP/3: leave it out'),
  'rate-period': 'the period is part of the rate: -R 50/1s',
  'base-uri': 'the server of targets that begin with / is the URL',
  'input-file': 'several requests are --targets FILE',
  'timing-script-file': NO_SCRIPTS,
  'log-file': 'requests are not logged; windows of 100 ms are --series FILE',
  histogram: 'the distribution of the latencies is always shown',
  ...each('u_latency batch_latency', 'service times are always shown beside the latencies'),
};

/** Flags of ghz. */
const GHZ: UnsupportedFlags = {
  metadata: "metadata of gRPC are header fields: -H 'name: value'",
  skipTLS: 'any certificate is accepted with -k',
  ...each('protoset reflect-metadata', 'messages of gRPC are described by --proto FILE'),
  'import-paths': 'imports are found in the folder of the --proto file, and in those above',
  'binary-file': 'a message as bytes is --grpc METHOD -b @FILE, without --proto',
  'data-file': 'a message as JSON is -b @FILE, with --proto',
};

/** Advice about the flags of other tools. */
export const FOREIGN_FLAGS: UnsupportedFlags = {
  ...CURL,
  ...AUTOCANNON,
  ...HEY_AND_OHA,
  ...USERS_AND_TIMES,
  ...K6,
  ...VEGETA_AB_H2LOAD,
  ...GHZ,
};

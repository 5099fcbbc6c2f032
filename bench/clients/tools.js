// The load testers: how to find, run and read each of them.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNativeBinary } from '../native/bare.js';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const root = here('../..');
const scenarioFile = (name) => here(`../scenarios/${name}`);
const millrace = here('../../bin/millrace.js');
const searchPath = [here('../node_modules/.bin'), ...process.env.PATH.split(delimiter)];

/** Returns `[text]` if the condition holds, otherwise an empty list: for optional arguments. */
const when = (condition, ...args) => (condition ? args : []);

/** Reads a number from a line that the tool always prints. */
function readNumber(text, pattern) {
  const found = pattern.exec(text);
  if (!found) throw new Error(`no ${pattern} in: ${text}`);
  return Number(found[1]);
}

/** Reads a number from a line that the tool prints only if it is not zero. */
const countOf = (text, pattern) => Number(pattern.exec(text)?.[1] ?? 0);

/**
 * A load: `url`, `port`, `cert` of the server, `connections`, `seconds`, and where they differ from
 * the default `pipelining` (1), `threads` (1), `close` (false), `tls` (millrace's mode), `verify`
 * (false: any certificate is accepted), `rate`, `requests`. With `streams` it is HTTP/2, with so many at once on each
 * connection, and with `grpc` (a service and its method) calls of gRPC. Only millrace is asked for `poisson`
 * arrivals, a `warmup` in seconds, `targets` (a file of requests), `headers`, a `body` that is no file and `paths` (see `listUrls`), and told the `root`
 * of a server of several processes: the one that has started the others. `bodyFile` is the body of each request, and
 * `framedFile` that of a call of gRPC (see `createBody`).
 * `script` is what a user does, a file in the tool's own language; both files are in `../scenarios`.
 *
 * For each tool: `find()` gives the words that start it or null, `version` the words that make it
 * print its version, `args(load)` the rest of the command line, `read(stdout)` what it said itself,
 * `results` the exit codes of a run that is a result (default 0 alone), `graceSeconds` the time that it may take beyond
 * its duration (default 15).
 */
export const tools = {
  millrace: {
    find: () => (exists(millrace) ? [process.execPath, millrace] : null),
    version: ['--version'],
    // 3: every request failed; 4: the rate was not reached. The figures show that.
    results: [0, 3, 4],
    args: (load) => [
      ...when(load.connections, '-c', load.connections),
      ...['-t', load.threads ?? 1],
      ...(load.requests ? ['-n', load.requests] : ['-d', `${load.seconds}s`]),
      ...when(load.warmup, '--warmup', `${load.warmup}s`),
      ...when(load.rate, '-R', load.rate),
      ...when(load.poisson, '--poisson'),
      ...when(load.body, '-b', load.body),
      ...(load.headers ?? []).flatMap((field) => ['-H', field]),
      ...when(load.pipelining, '-p', load.pipelining),
      ...when(load.streams, load.tls ? '--http2' : '--h2c', '-p', load.streams),
      ...when(load.grpc, '--grpc', load.grpc),
      ...when(load.close && !load.tls, '--connection', 'close'),
      ...when(load.tls, '--tls', load.tls),
      ...when(load.tls, ...(load.verify ? ['--ca', load.cert] : ['-k'])),
      ...when(load.root, '--pid', load.root),
      ...when(load.script, '--scenario', scenarioFile(load.script)),
      ...when(load.targets, '--targets', scenarioFile(load.targets)),
      '--json',
      ...listUrls(load),
    ],
    read: (stdout) => {
      const result = JSON.parse(stdout);
      const { requests, throughput, latencyMs, connections, generator, server } = result;
      const errors = requests.statusErrors + requests.transportErrors + requests.timeouts;
      return {
        requestsPerSecond: throughput.mean,
        requests: requests.sent,
        errors,
        errorKinds: result.errors.map(({ kind, count }) => `${kind} ${count}`),
        p95Ms: latencyMs.p95,
        p99Ms: latencyMs.p99,
        latenessUs: generator.latenessMs && generator.latenessMs.p99 * 1000,
        generatorBusy: generator.busy,
        starved: generator.starved,
        clientBound: generator.reasons,
        serverBusy: server?.cpuMean,
        resumed: connections.tlsResumed / (connections.tlsFull + connections.tlsResumed),
      };
    },
  },
  'bare-client': {
    find: () => [findNativeBinary('bare-client')],
    args: (load) => [
      ...['--port', load.port, '--connections', load.connections],
      ...['--pipelining', load.pipelining ?? 1, '--seconds', load.seconds],
      ...when(load.close, '--connection', 'close'),
    ],
    read: (stdout) => ({ requestsPerSecond: JSON.parse(stdout).requestsPerSecond, errors: 0 }),
  },
  wrk: {
    find: () => isOnPath('wrk'),
    version: ['-v'],
    args: (load) => [
      ...['-t', load.threads ?? 1, '-c', load.connections, '-d', `${load.seconds}s`],
      ...when(load.close, '-H', 'Connection: close'),
      ...when(load.pipelining, '-s', here('pipeline.lua')),
      ...when(load.bodyFile, '-s', here('upload.lua')),
      load.url,
      ...when(load.pipelining, '--', load.pipelining),
      ...when(load.bodyFile, '--', load.bodyFile),
    ],
    read: (stdout) => {
      const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(
        stdout,
      );
      const transport = (sockets ?? []).slice(1).reduce((sum, count) => sum + Number(count), 0);
      const errors = transport + countOf(stdout, /Non-2xx or 3xx responses: (\d+)/);
      return { requestsPerSecond: readNumber(stdout, /Requests\/sec:\s+([\d.]+)/), errors };
    },
  },
  ab: {
    find: () => isOnPath('ab'),
    version: ['-V'],
    // -t sets -n to 50 000, so -n has to follow; memory for -n is reserved, not used.
    args: (load) => [
      ...['-q', '-d', '-S', '-r', '-t', load.seconds, '-n', 20_000_000, '-c', load.connections],
      ...when(!load.close, '-k'),
      ...when(load.tls, '-f', 'TLS1.3'),
      ...when(load.bodyFile, '-p', load.bodyFile),
      load.url,
    ],
    read: (stdout) => ({
      requestsPerSecond: readNumber(stdout, /Requests per second:\s+([\d.]+)/),
      errors:
        readNumber(stdout, /Failed requests:\s+(\d+)/) +
        countOf(stdout, /Non-2xx responses:\s+(\d+)/),
    }),
  },
  h2load: {
    find: () => isOnPath('h2load'),
    version: ['--version'],
    // With a duration it never ends if the server closes connections (1.52), so it then gets a count of requests.
    args: (load) => [
      ...when(!load.streams, '--h1'),
      ...['-t', load.threads ?? 1, '-c', load.connections],
      ...['-m', load.streams ?? load.pipelining ?? 1],
      ...(load.close ? ['-n', (load.tls ? 2_000 : 20_000) * load.seconds] : ['-D', load.seconds]),
      ...when(load.close, '-H', 'connection: close'),
      ...when(load.bodyFile, '-d', load.framedFile ?? load.bodyFile),
      ...when(load.grpc, '-H', 'content-type: application/grpc', '-H', 'te: trailers'),
      load.grpc ? `${new URL(load.grpc, load.url)}` : load.url,
    ],
    read: (stdout) => ({
      requestsPerSecond: readNumber(stdout, /finished in [^,]+, ([\d.]+) req\/s/),
      errors: readNumber(stdout, /(\d+) failed/),
    }),
  },
  oha: {
    find: () => isOnPath('oha'),
    version: ['--version'],
    args: (load) => [
      ...['--no-tui', '--output-format', 'json', '--worker-threads', load.threads ?? 1],
      ...when(load.connections, '-c', load.connections),
      ...when(load.streams, '--http2', '-p', load.streams),
      ...['-z', `${load.seconds}s`],
      ...when(load.rate, '-q', load.rate),
      ...when(load.close, '--disable-keepalive'),
      ...when(load.bodyFile, '-m', 'POST', '-D', load.bodyFile),
      ...when(load.tls, ...(load.verify ? ['--cacert', load.cert] : ['--insecure'])),
      load.url,
    ],
    read: (stdout) => {
      const { summary, errorDistribution, statusCodeDistribution } = JSON.parse(stdout);
      const failed = Object.entries({ ...errorDistribution, ...statusCodeDistribution })
        .filter(([what]) => what !== '200' && what !== 'aborted due to deadline')
        .reduce((sum, [, count]) => sum + count, 0);
      return { requestsPerSecond: summary.requestsPerSec, errors: failed };
    },
  },
  ghz: {
    find: () => isOnPath('ghz'),
    version: ['--version'],
    // `-c` counts the calls at once on all connections. Those that the end interrupts are no errors.
    args: (load) => [
      ...['--insecure', '--proto', here('greeter.proto'), '--call', load.grpc],
      ...['-B', load.bodyFile, '--disable-template-data', '--cpus', load.threads ?? 1],
      ...['-c', load.connections * load.streams, '--connections', load.connections],
      ...['-z', `${load.seconds}s`, '--duration-stop', 'ignore'],
      `127.0.0.1:${load.port}`,
    ],
    read: (stdout) => {
      const failed = [...stdout.matchAll(/^\s*\[(\w+)\]\s+(\d+) responses?/gm)]
        .filter(([, status]) => status !== 'OK')
        .reduce((sum, [, , count]) => sum + Number(count), 0);
      return { requestsPerSecond: readNumber(stdout, /Requests\/sec:\s+([\d.]+)/), errors: failed };
    },
  },
  autocannon: {
    find: () => isOnPath('autocannon'),
    version: ['--version'],
    args: (load) => [
      ...['--json', '-c', load.connections ?? 50, '-d', load.seconds],
      ...when(load.rate, '-R', load.rate),
      ...when(load.pipelining, '-p', load.pipelining),
      load.url,
    ],
    read: (stdout) => {
      const { requests, errors, non2xx } = JSON.parse(stdout);
      return { requestsPerSecond: requests.average, errors: errors + non2xx };
    },
  },
  loadtest: { ...createLoadtest(), find: () => isOnPath('loadtest') },
  'loadtest --tcp': { ...createLoadtest('--tcp'), find: () => isOnPath('loadtest') },
  k6: {
    find: () => isOnPath('k6'),
    version: ['version'],
    // Without summary and thresholds it aggregates nothing. Its progress counts the iterations.
    args: (load) => [
      ...['run', '--summary-mode=disabled', '--no-thresholds', '--no-usage-report', '--no-color'],
      ...['--address', '', '--vus', load.connections, '--duration', `${load.seconds}s`],
      ...['-e', `URL=${load.url}`, scenarioFile(load.script)],
    ],
    read: readK6,
  },
  artillery: {
    // One worker, as there is one core. It sends telemetry at its end even so, and tries for long where it cannot.
    find: () => {
      const found = isOnPath('artillery');
      return found && ['env', 'WORKERS=1', 'ARTILLERY_DISABLE_TELEMETRY=true', ...found];
    },
    version: ['--version'],
    graceSeconds: 60,
    // How many users there are is said in the script.
    args: (load) => [
      ...['run', '--target', load.url],
      ...['--variables', JSON.stringify({ seconds: load.seconds }), scenarioFile(load.script)],
    ],
    read: readArtillery,
  },
  /** Clients of Socket.IO, which no load tester is. */
  polling: {
    find: () => [process.execPath, here('../apps/polling-client.js')],
    args: ({ url, connections, requests, seconds }) => [
      ...[url, connections],
      ...(requests ? ['requests', requests] : ['seconds', seconds]),
    ],
    read: (stdout) => {
      const { requests, errors, seconds } = JSON.parse(stdout);
      return { requests, errors, requestsPerSecond: requests / seconds };
    },
  },
};

/** Requests of an iteration of the scripts for k6. */
const K6_REQUESTS = 2;

/** Reads the last line of k6's progress. Its scripts end the run when something fails, with another exit code than 0. */
function readK6(stdout) {
  const lines = [...stdout.matchAll(/running \((?:(\d+)m)?([\d.]+)s\), .* (\d+) complete and/g)];
  const last = lines.at(-1);
  if (!last) throw new Error(`no iterations in: ${stdout}`);
  const [minutes, seconds, iterations] = last.slice(1).map((text) => Number(text ?? 0));
  const requests = iterations * K6_REQUESTS;
  return { requests, requestsPerSecond: requests / (minutes * 60 + seconds), errors: 0 };
}

/** Reads the summary at the end of artillery's report. */
function readArtillery(stdout) {
  const [, summary] = stdout.split('Summary report');
  if (summary === undefined) throw new Error(`no summary in: ${stdout}`);
  const requests = readNumber(summary, /^http\.requests: \.* (\d+)/m);
  const failed = [...summary.matchAll(/^errors\..*: \.* (\d+)/gm)];
  return {
    requests,
    requestsPerSecond: readNumber(summary, /^http\.request_rate: \.* (\d+)\/sec/m),
    errors:
      requests -
      countOf(summary, /^http\.codes\.200: \.* (\d+)/m) +
      failed.reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

function createLoadtest(...more) {
  return {
    version: ['--version'],
    args: (load) => [
      ...['--cores', 1, '-t', load.seconds, '-c', load.connections],
      ...when(!load.close, '-k'),
      ...more,
      load.url,
    ],
    read: (stdout) => ({
      requestsPerSecond: readNumber(stdout, /Effective rps:\s+(\d+)/),
      errors: readNumber(stdout, /Total errors:\s+(\d+)/),
    }),
  };
}

/**
 * What millrace requests: the server's URL or a `target` there, or with `paths` these. A connection keeps to one of them or, with `alternating`,
 * takes one after the other. millrace keeps a connection to one host and takes the URLs of each host in turn; so each
 * path has a host of its own, or each connection has one. All are addresses of this machine.
 */
export function listUrls({ url, port, target, paths, alternating, connections }) {
  if (!paths) return [target ? `${new URL(target, url)}` : url];
  const at = (path, host) => `http://127.0.0.${host + 1}:${port}${path}`;
  if (!alternating) return paths.map(at);
  const hosts = Array.from({ length: connections }, (_, host) => host);
  return hosts.flatMap((host) => paths.map((path) => at(path, host)));
}

/** Builds the command line of a tool: the words to run, and a text without paths of this machine. */
export function buildCommand(name, load) {
  const args = tools[name].args(load).map(String);
  return {
    argv: [...tools[name].find(), ...args],
    text: [name, ...args.map((word) => word.replace(root, ''))].join(' '),
  };
}

/** Reads the first line of a tool's version. */
export function readVersion(name) {
  const { find, version } = tools[name];
  if (!version) return 'of this checkout';
  const [command, ...words] = find();
  const { stdout, stderr } = spawnSync(command, [...words, ...version], { encoding: 'utf8' });
  return `${stdout}${stderr}`.trim().split('\n', 1)[0];
}

/** Reads the version of the nginx on the PATH. */
export function readNginxVersion() {
  return spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr.trim();
}

/** Whether a program of this name is on the PATH. */
export function isOnPath(name) {
  const path = searchPath.map((directory) => join(directory, name)).find(exists);
  return path ? [path] : null;
}

function exists(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

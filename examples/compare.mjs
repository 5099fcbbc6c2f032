// Compares an application on Node's own HTTP stack and on Millrace's, under the same load:
//   node node_modules/millrace/examples/compare.mjs -c 50 /api -- node app.js
// The command is started for each run, in the order A B, B A, A B ...; each pair gives a ratio.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load, MillraceError } from 'millrace';

const USAGE = `node compare.mjs [flags] [URL] -- COMMAND...
  -c, --connections N   connections (50)         -d, --duration TIME   of each run (5s)
  -p, --pipelining N    requests in flight (1)       --warmup TIME     before it (2s)
  -t, --threads N       of the load tester (1)       --pairs N         runs of each (6)
  -R, --rate RATE       requests/s, the same for both; without it as many as they can
  -m, --method METHOD   -H, --header 'NAME: VALUE'   -b, --body TEXT   -k, --insecure
The URL is a path on the port that the command listens on, or whole: https://localhost:8443/ with -k.`;

const text = (short) => ({ type: 'string', ...(short && { short }) });
const FLAGS = {
  ...{ connections: text('c'), duration: text('d'), warmup: text(), pairs: text() },
  ...{ pipelining: text('p'), threads: text('t'), rate: text('R') },
  ...{ method: text('m'), body: text('b') },
  header: { type: 'string', short: 'H', multiple: true },
  insecure: { type: 'boolean', short: 'k' },
  help: { type: 'boolean', short: 'h' },
};

const NODE = 'Node';
const MILLRACE = 'Millrace';
const folder = mkdtempSync(join(tmpdir(), 'millrace-compare-'));
const statsFile = join(folder, 'stats');
const ownOptions = process.env.NODE_OPTIONS ?? '';
const abort = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // A second Ctrl-C ends this process, and with it the server, at once.
    if (abort.signal.aborted) process.exit(130);
    abort.abort();
  });
}
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function main(args) {
  const { options, pairs, help } = read(args);
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const done = [];
  for (let pair = 0; pair < pairs; pair++) {
    const results = {};
    for (const side of pair % 2 === 0 ? [NODE, MILLRACE] : [MILLRACE, NODE]) {
      if (process.stderr.isTTY) console.error(`pair ${pair + 1} of ${pairs}: ${side}`);
      results[side] = await run(side, options);
      if (results[side] === null) break;
    }
    if (abort.signal.aborted) break;
    done.push(results);
  }
  if (done.length > 0) console.log(report(done));
  if (!abort.signal.aborted) return 0;
  console.error(`compare: interrupted after ${done.length} of ${pairs} pairs`);
  return 130;
}

function read(args) {
  const end = args.indexOf('--');
  const command = end < 0 ? [] : args.slice(end + 1);
  const own = end < 0 ? args : args.slice(0, end);
  const { values, positionals } = parse(own);
  const { help, pairs = '6', header = [], ...given } = values;
  if (help) return { help };
  if (command.length === 0) throw usage(`a command is missing: [flags] [URL] -- COMMAND...`);
  if (positionals.length > 1)
    throw usage(`only one URL is supported (got also '${positionals[1]}')`);
  if (!/^[1-9]\d?$/.test(pairs)) throw usage(`--pairs ${pairs}: accepted is 1 to 99`);
  const headers = header.map(pairOf);
  // Bare digits on the command line are seconds.
  for (const name of ['duration', 'warmup']) {
    if (/^[\d.]+$/.test(given[name] ?? '')) given[name] += 's';
  }
  const options = { connections: 50, duration: '5s', warmup: '2s', ...given, headers, command };
  return { options: { ...options, url: positionals[0] ?? '/' }, pairs: Number(pairs) };
}

function pairOf(header) {
  const [, name, value] = /^([^:]+):\s*(.*)$/.exec(header) ?? [];
  if (!name) throw usage(`--header '${header}': accepted is 'NAME: VALUE'`);
  return [name, value];
}

function parse(args) {
  try {
    return parseArgs({ args, options: FLAGS, allowPositionals: true });
  } catch (error) {
    throw usage(`${error.message.split('. ')[0]}; --help lists what is accepted`);
  }
}

function usage(message) {
  return new MillraceError('ERR_MILLRACE_USAGE', message);
}

/** Runs the command once; `null` if it was interrupted. */
async function run(side, options) {
  const register = `--import ${import.meta.resolve('millrace/register')}`;
  const native = side === MILLRACE;
  process.env.NODE_OPTIONS = native ? `${ownOptions} ${register}`.trim() : ownOptions;
  // For a command that brings the stack itself.
  process.env.MILLRACE_STACK = native ? '' : 'node';
  process.env.MILLRACE_STATS_FILE = native ? statsFile : '';
  try {
    const result = await load({ ...options, signal: abort.signal });
    if (result.interrupted) return null;
    const { sent, ok } = result.requests;
    if (ok > 0) return result;
    const codes = Object.keys(result.statusCodes).join(', ');
    const got = codes ? `status ${codes}` : (result.errors[0]?.kind ?? 'no response');
    throw new MillraceError(
      'ERR_MILLRACE_UNREACHABLE',
      `on ${side} all of ${sent} requests failed: ${got}`,
    );
  } catch (error) {
    if (error === abort.signal.reason) return null;
    throw error;
  }
}

const ROWS = [
  ['requests/s', (result) => result.throughput.mean],
  ['latency p50, ms', (result) => result.latencyMs.p50],
  ['latency p99, ms', (result) => result.latencyMs.p99],
  ['server CPU, µs/request', ({ server, throughput }) => (server.cpuMean * 1e6) / throughput.mean],
];

const CLIENT_BOUND =
  'So the ratios of requests/s and latencies are not those of the servers; CPU per request says more.';
const NO_DIFFERENCE = 'no difference shown';
const CHANCE = `${NO_DIFFERENCE}: the interval contains 1, so chance may be all there is. Longer runs (-d) or more --pairs tell more; where the handler is the limit there is none.`;

function report(pairs) {
  const { plan, server } = pairs[0][NODE];
  const [{ method, url }] = plan.targets;
  const load = plan.rate === null ? 'as many as they can' : `${plan.rate} requests/s`;
  const rows = server ? ROWS : ROWS.slice(0, 3);
  const table = rows.map(([name, value]) => row(name, value, pairs));
  return [
    `${plan.command.join(' ')}: ${method} ${url}, ${plan.connections} connections, ${load},`,
    `${pairs.length} × ${plan.durationMs / 1000} s each after ${plan.warmupMs / 1000} s of warm-up`,
    '',
    line('', NODE, MILLRACE, 'ratio', 'interval'),
    ...table,
    ...(server ? [] : ['server CPU: not known on this system']),
    '',
    coverage(pairs.length),
    ...(table.some((row) => row.endsWith(NO_DIFFERENCE)) ? [CHANCE] : []),
    served(),
    ...doubts(pairs),
  ].join('\n');
}

function row(name, value, pairs) {
  const of = (side) => number(median(pairs.map((pair) => value(pair[side]))));
  const ratios = pairs.map((pair) => value(pair[MILLRACE]) / value(pair[NODE]));
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  const interval = pairs.length > 1 ? `${low.toFixed(2)} to ${high.toFixed(2)}` : '-';
  const none = pairs.length > 1 && low <= 1 && high >= 1 ? `  ${NO_DIFFERENCE}` : '';
  return line(name, of(NODE), of(MILLRACE), median(ratios).toFixed(2), interval) + none;
}

function line(name, ...cells) {
  const widths = [12, 12, 8, 14];
  return (name.padEnd(24) + cells.map((cell, i) => cell.padStart(widths[i])).join('')).trimEnd();
}

function number(value) {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The true median is outside if all pairs fall on one side of it (sign test).
function coverage(pairs) {
  if (pairs === 1) return 'One pair has no interval: what chance does is not known.';
  const percent = Math.floor(100 * (1 - 2 * 0.5 ** pairs));
  return `Ratio: the median of the pairs. Interval: from the smallest to the largest of them; it contains the true median with ${percent} %.`;
}

/** Reads the statistics that processes with the stack wrote at their end. */
function served() {
  let lines = [];
  try {
    lines = readFileSync(statsFile, 'utf8').trim().split('\n').map(JSON.parse);
  } catch {
    // No process wrote any: said below.
  }
  if (lines.length === 0) {
    return 'Served natively: not known. No process of the command loaded the stack and ended on SIGTERM within 3 s; is it Node?';
  }
  const sum = (value) => lines.reduce((total, stats) => total + value(stats), 0);
  const native = sum(({ requests }) => requests.native);
  const all = native + sum(({ requests }) => requests.fallback);
  if (all === 0)
    return 'Served natively: nothing. No server of node:http or node:https listened natively.';
  const reasons = [...new Set(lines.flatMap((stats) => Object.keys(stats.fallbackReasons)))];
  const why = reasons.map(
    (reason) => `${reason} (${sum((stats) => stats.fallbackReasons[reason] ?? 0)})`,
  );
  const rest = why.length > 0 ? `; connections handed to Node's own code: ${why.join(', ')}` : '';
  return `Served natively: ${number((100 * native) / all)} % of the requests${rest}.`;
}

/** Lists the warnings of all runs, each once. */
function doubts(pairs) {
  const warnings = pairs.flatMap((pair) =>
    [NODE, MILLRACE].flatMap((side) => pair[side].warnings.map((one) => ({ side, ...one }))),
  );
  return [...new Set(warnings.map(({ id }) => id))].map((id) => {
    const alike = warnings.filter((warning) => warning.id === id);
    const runs = (side) => `${alike.filter((one) => one.side === side).length} on ${side}`;
    const where = `${runs(NODE)}, ${runs(MILLRACE)} of ${pairs.length} runs each`;
    const bound = id === 'client-bound' ? ` ${CLIENT_BOUND}` : '';
    return `Doubtful (${where}): ${alike[0].message}${bound}`;
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof MillraceError)) throw error;
  console.error(`compare: ${error.message}`);
  process.exitCode = error.code === 'ERR_MILLRACE_USAGE' ? 2 : 3;
}

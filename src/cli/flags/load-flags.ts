// The one table of `millrace load`: parser, help and docs/reference/cli.md are made of it.
import { existsSync } from 'node:fs';
import { usageError } from '../../errors.js';
import type { LoadOptions } from '../../index.js';
import { DEFAULTS, LIMITS } from '../../load/defaults.js';
import { parseCondition } from '../../load/plan/condition.js';
import { readExpect } from '../../load/plan/expect.js';
import { readHeaderFile, splitHeader } from '../../load/requests/header.js';
import { hasDurationUnit, isCount, parseCount, parseFlagDuration, parseRate } from '../../units.js';
import { listAlternatives, mustBe } from '../../validation/shape.js';
import { type Flag, listNames } from './flag.js';
import type { Invocation } from './invocation.js';
import type { UnsupportedFlags } from './parse.js';

const LOAD = 'Load';
const REQUESTS = 'Requests';
const CONNECTIONS = 'Connections and TLS';
export const RESULT = 'Result';

/** The groups of the flags, in the order of the reference page. */
export const GROUPS = [LOAD, REQUESTS, CONNECTIONS, RESULT];

export const LOAD_FLAGS: Flag<Invocation>[] = [
  {
    name: 'connections',
    short: 'c',
    value: 'N',
    group: LOAD,
    common: true,
    fallback: `${DEFAULTS.connections}; with a rate up to ${DEFAULTS.openConnections}`,
    help: 'connections',
    details:
      'Without a rate all connections are opened before the clock starts. With a rate some are opened before (all if the flag is given), the others when an arrival finds no free connection. At least one per thread, and no more than -n requests.',
    set({ options }, value, given) {
      options.connections = parseCount(value, given, LIMITS.connections);
    },
  },
  {
    name: 'threads',
    short: 't',
    aliases: ['w', 'workers'],
    value: 'N',
    group: LOAD,
    common: true,
    fallback: String(DEFAULTS.threads),
    help: 'sending threads',
    details:
      'The threads share the connections and the rate. One is enough for most servers; otherwise the report says CLIENT-BOUND. A value with a unit, as in -t 10s, is taken as --timeout, and the report says so.',
    set({ options, notes }, value, given) {
      if (given === '-t' && hasDurationUnit(value) && !isCount(value)) {
        options.timeout = parseFlagDuration(value, given);
        notes.push(`-t ${value} is taken as --timeout ${value}; threads are -t N`);
      } else {
        options.threads = parseCount(value, given, LIMITS.threads);
      }
    },
  },
  {
    name: 'duration',
    short: 'd',
    aliases: ['z'],
    value: 'TIME',
    group: LOAD,
    common: true,
    fallback: `${DEFAULTS.durationMs / 1000}s`,
    help: 'how long to measure: 10, 500ms, 1m30s',
    details:
      'The warm-up is not included. Without the flag a run with stages lasts as long as the stages, and a run with -n until the last request is done. Digits are seconds. A value that begins with {, [ or @, as in -d \'{"a":1}\', is taken as --body, and the report says so.',
    set({ options, notes }, value, given) {
      if (isBody(value)) {
        setBody(options, value);
        notes.push(`${given} '${value}' is taken as --body; a duration is ${given} 10s`);
      } else {
        refuseForm(value, given);
        options.duration = parseFlagDuration(value, given);
      }
    },
  },
  {
    name: 'requests',
    short: 'n',
    aliases: ['a', 'amount'],
    value: 'N',
    group: LOAD,
    common: true,
    help: 'end after exactly N requests: 200, 10k, 1M',
    details:
      'The warm-up does not count. With -d the run ends by whichever limit is reached first. -n without a number is taken as "no progress line", as in autocannon, and the report says so.',
    set({ options }, value, given) {
      options.requests = parseCount(value, given, LIMITS.requests);
    },
    bare: {
      unless: (next) => !isCount(next) && /^-|[./:]|^localhost$/.test(next),
      set(invocation) {
        invocation.progress = false;
        invocation.notes.push('-n without a number is taken as "no progress"; a count is -n 10k');
      },
    },
  },
  {
    name: 'rate',
    short: 'R',
    aliases: ['q', 'rps'],
    value: 'RATE',
    group: LOAD,
    common: true,
    help: 'requests per second in all: 1000, 10k, 50/1s',
    details:
      'Makes the run open: requests are due at this rate whatever the server does, and latency counts from when a request was due. The rate is the total over all threads and connections. With --stage it is the start of the first stage.',
    set({ options }, value, given) {
      options.rate = parseRate(value, given, LIMITS.rate);
    },
  },
  {
    name: 'stage',
    value: 'TIME:RATE',
    repeatable: true,
    group: LOAD,
    common: true,
    help: 'change the rate to RATE within TIME: 30s:100',
    details:
      'Stages follow each other, each linearly from the rate before it, the first from --rate or 0. Without -d the run ends with the last stage.',
    set({ options }, value, given) {
      if (value.includes(',')) {
        const flags = value.split(',').map((stage) => `${given} ${stage.trim()}`);
        throw usageError(`${given} takes one stage and may be repeated: ${flags.join(' ')}`);
      }
      const [, time, rate] = /^([^:]+):([^:]+)$/.exec(value) ?? [];
      if (time === undefined || rate === undefined) {
        throw usageError(`${given} must be TIME:RATE, such as 30s:100 (got ${value})`);
      }
      const duration = parseFlagDuration(time, given);
      options.stages = [
        ...(options.stages ?? []),
        { duration, rate: parseRate(rate, given, LIMITS.rate) },
      ];
    },
  },
  {
    name: 'poisson',
    group: LOAD,
    help: 'space the arrivals of a rate at random',
    details:
      'Exponential times between arrivals, as of many independent clients. Without the flag arrivals are evenly spaced.',
    set({ options }) {
      options.arrivals = 'poisson';
    },
  },
  {
    name: 'max-pending',
    value: 'N',
    group: LOAD,
    fallback: String(DEFAULTS.maxPending),
    help: 'maximum number of arrivals waiting or in flight',
    details:
      'With a rate. Arrivals beyond the maximum are counted and not sent, and the report warns.',
    set({ options }, value, given) {
      options.maxPending = parseCount(value, given, LIMITS.maxPending);
    },
  },
  {
    name: 'pipelining',
    short: 'p',
    value: 'N',
    group: LOAD,
    common: true,
    fallback: String(DEFAULTS.pipelining),
    help: 'requests in flight per connection',
    details: 'Not with --connection close or --tls resume|full.',
    set({ options }, value, given) {
      options.pipelining = parseCount(value, given, LIMITS.pipelining);
    },
  },
  {
    name: 'think-time',
    value: 'TIME',
    group: LOAD,
    fallback: '0',
    help: 'wait between a response and the next request',
    details: 'Not with a rate.',
    set({ options }, value, given) {
      options.thinkTime = parseFlagDuration(value, given);
    },
  },
  {
    name: 'warmup',
    value: 'TIME',
    group: LOAD,
    common: true,
    fallback: '0',
    help: 'load before the measurement, not in the statistics',
    details: 'At the rate of -R, also if stages follow.',
    set({ options }, value, given) {
      options.warmup = parseFlagDuration(value, given);
    },
  },
  {
    name: 'method',
    short: 'm',
    aliases: ['X'],
    value: 'METHOD',
    group: REQUESTS,
    common: true,
    fallback: 'GET, with a body POST',
    help: 'request method',
    set({ options }, value) {
      options.method = value;
    },
  },
  {
    name: 'header',
    short: 'H',
    aliases: ['headers'],
    value: "'NAME: VALUE'|@FILE",
    repeatable: true,
    group: REQUESTS,
    common: true,
    help: 'a header, or a file of them; repeatable',
    details:
      "Replaces millrace's own Host, User-Agent and Accept. Connection: close means --connection close; Content-Length is set from the body. Values may contain placeholders.",
    set({ options }, value, given) {
      const headers = value.startsWith('@')
        ? readHeaderFile(value.slice(1))
        : [splitHeader(value, given)];
      options.headers = [
        ...((options.headers as [string, string][] | undefined) ?? []),
        ...headers,
      ];
    },
  },
  {
    name: 'body',
    short: 'b',
    value: 'TEXT|@FILE',
    group: REQUESTS,
    common: true,
    help: 'request body, or @ and the file that contains it',
    details:
      'Text may contain placeholders. Content of a file that is not UTF-8 is sent unchanged. No Content-Type is sent unless -H gives one. @- is standard input. -body with one dash and the name of a file is taken as --body @FILE, as in vegeta, and the report says so.',
    set({ options, notes }, value, given) {
      if (given === '-body' && existsSync(value)) {
        options.bodyFile = value;
        notes.push(`-body ${value} is taken as --body @${value}; a text is --body TEXT`);
      } else setBody(options, value);
    },
  },
  {
    name: 'input',
    short: 'i',
    value: 'FILE',
    group: REQUESTS,
    help: 'file that contains the request body',
    details: 'The same as --body @FILE. - is standard input.',
    set({ options }, value) {
      options.bodyFile = value;
    },
  },
  {
    name: 'url',
    value: 'URL',
    repeatable: true,
    group: REQUESTS,
    help: 'a URL; the same as one without the flag',
    details:
      'http://, https:// or unix:/path/to.sock:/target; the scheme may be omitted, and the host before a port. Several URLs are requested in turn. With -- COMMAND a URL may begin with /. Beside --targets it is one, without a path: the server of those targets that begin with /.',
    set(invocation, value) {
      addUrl(invocation, value);
    },
  },
  {
    name: 'targets',
    value: 'FILE',
    group: REQUESTS,
    common: true,
    help: "requests in vegeta's text or JSON form",
    details:
      'Text: a line METHOD URL, its headers a line each, a line @FILE for the body, an empty line between targets; # begins a comment. JSON: one object per line with method, url, header ({"Name": ["value"]}), body (base64), and weight. UTF-8 or UTF-16. Targets are requested in turn, or by weight. - is standard input.',
    set({ options }, value) {
      options.targetsFile = value;
    },
  },
  {
    name: 'follow',
    value: 'N',
    group: REQUESTS,
    fallback: String(DEFAULTS.follow),
    help: 'follow up to N redirections of a request',
    details:
      'Statuses 301, 302, 303, 307 and 308 that lead to the same server. A request with its redirections is one request: its status is that of the last response, its latency the time to that. 303 continues with GET, and so do 301 and 302 after POST. Cookies that a redirection sets are not kept. One that leads to another server, ends its connection or is one too many counts as it is. Not with --pipelining or --connection close.',
    set({ options }, value, given) {
      options.follow = parseCount(value, given, LIMITS.follow);
    },
  },
  {
    name: 'no-placeholders',
    group: REQUESTS,
    help: 'send {{...}} unchanged',
    details:
      'Without the flag these are replaced in URL, headers and body for each request: {{seq}}, a number that counts the requests from 0; {{random:1-100}}; {{uuid}}; {{csv:FILE:COLUMN}}, a value of the row whose turn it is, from a file whose first line names the columns.',
    set({ options }) {
      options.placeholders = false;
    },
  },
  {
    name: 'connection',
    value: 'MODE',
    group: CONNECTIONS,
    common: true,
    fallback: DEFAULTS.connection,
    help: 'keep-alive, or close: a connection per request',
    details: 'close: a new connection for each request, which sends Connection: close.',
    set({ options }, value, given) {
      options.connection = oneOf(value, ['keep-alive', 'close'], given);
    },
  },
  {
    name: 'tls',
    value: 'MODE',
    group: CONNECTIONS,
    common: true,
    fallback: `${DEFAULTS.tls[0]}, with --connection close ${DEFAULTS.tls[1]}`,
    help: 'keep-alive, or for each request: resume, full',
    details:
      'keep-alive: one handshake per connection; resume: a new connection for each request, which resumes a session; full: the same with a full handshake. Only for https:// URLs.',
    set({ options }, value, given) {
      options.tls = oneOf(value, ['keep-alive', 'resume', 'full'], given);
    },
  },
  {
    name: 'insecure',
    short: 'k',
    group: CONNECTIONS,
    common: true,
    help: 'accept any certificate',
    details: 'Without the flag the certificate is verified. The report says if it was not.',
    set({ options }) {
      options.insecure = true;
    },
  },
  {
    name: 'ca',
    aliases: ['cacert'],
    value: 'FILE',
    group: CONNECTIONS,
    help: "trust these authorities instead of the system's (PEM, DER)",
    set({ options }, value) {
      options.ca = value;
    },
  },
  {
    name: 'cert',
    value: 'FILE',
    group: CONNECTIONS,
    help: 'client certificate (PEM, DER, PKCS #12)',
    details: 'With --key, unless the file also contains the key.',
    set({ options }, value) {
      options.cert = value;
    },
  },
  {
    name: 'key',
    value: 'FILE',
    group: CONNECTIONS,
    help: "the client certificate's key (PEM, DER)",
    set({ options }, value) {
      options.key = value;
    },
  },
  {
    name: 'passphrase',
    aliases: ['pass'],
    value: 'TEXT',
    group: CONNECTIONS,
    help: 'passphrase of an encrypted key',
    details:
      'Without the flag millrace asks for it at a terminal. It also opens a PKCS #12 file of --ca.',
    set({ options }, value) {
      options.passphrase = value;
    },
  },
  {
    name: 'sni',
    value: 'NAME',
    group: CONNECTIONS,
    help: "server name for TLS instead of the URL's host",
    set({ options }, value) {
      options.sni = value;
    },
  },
  {
    name: 'resolve',
    value: 'HOST:PORT:ADDRESS',
    repeatable: true,
    group: CONNECTIONS,
    help: 'the addresses of a host, as in curl',
    details:
      'Several addresses, separated by commas, are used in turn. * is every host. The Host header and the server name remain those of the URL.',
    set({ options }, value) {
      options.resolve = [...(options.resolve ?? []), value];
    },
  },
  {
    name: 'connect-to',
    value: 'HOST1:PORT1:HOST2:PORT2',
    repeatable: true,
    group: CONNECTIONS,
    help: 'connect to another host and port, as in curl',
    details: 'An empty HOST1 or PORT1 matches all; an empty HOST2 or PORT2 keeps the value.',
    set({ options }, value) {
      options.connectTo = [...(options.connectTo ?? []), value];
    },
  },
  {
    name: 'socketPath',
    short: 'S',
    aliases: ['socket-path', 'unix-socket'],
    value: 'PATH',
    group: CONNECTIONS,
    help: "connect to this Unix socket instead of the URL's host",
    set({ options }, value) {
      options.socketPath = value;
    },
  },
  {
    name: 'expect',
    value: 'STATUSES',
    group: REQUESTS,
    fallback: 'all below 400',
    help: 'statuses that count as ok: 2xx, or 200,201,3xx,404',
    details:
      'Statuses, classes and ranges (200-204), separated by commas. A response with another status is a status error: it counts in errors of --fail-on, and the report shows the first response of each such status.',
    set({ options }, value, given) {
      options.expect = readExpect(value, given);
    },
  },
  {
    name: 'timeout',
    short: 'T',
    value: 'TIME',
    group: CONNECTIONS,
    common: true,
    fallback: `${DEFAULTS.timeoutMs / 1000}s`,
    help: 'time limit of a request, to the end of its response',
    details:
      'From the first byte sent. A request that exceeds it counts as longer than the limit, and its connection is closed. -T with a media type, as in -T application/json, is taken as a Content-Type header, and the report says so.',
    set({ options, notes }, value, given) {
      if (given === '-T' && /^[a-z]+\/[\w.+-]+/i.test(value)) {
        const header: [string, string] = ['Content-Type', value];
        options.headers = [...((options.headers as [string, string][] | undefined) ?? []), header];
        notes.push(`-T ${value} is taken as -H 'Content-Type: ${value}'; a timeout is -T 10s`);
      } else {
        options.timeout = parseFlagDuration(value, given);
      }
    },
  },
  {
    name: 'connect-timeout',
    value: 'TIME',
    group: CONNECTIONS,
    fallback: `${DEFAULTS.connectTimeoutMs / 1000}s`,
    help: 'time limit of the connect, and of the handshake',
    set({ options }, value, given) {
      options.connectTimeout = parseFlagDuration(value, given);
    },
  },
  {
    name: 'json',
    short: 'j',
    group: RESULT,
    common: true,
    help: 'print the result as JSON, and nothing else',
    set(invocation) {
      invocation.json = true;
    },
  },
  {
    name: 'output',
    short: 'o',
    value: 'FILE',
    group: RESULT,
    common: true,
    help: 'write the result as JSON to a file',
    details: 'In addition to the report. - is standard output: the same as --json.',
    set(invocation, value) {
      if (value === '-') invocation.json = true;
      else invocation.output = value;
    },
  },
  {
    name: 'html',
    value: 'FILE',
    group: RESULT,
    common: true,
    help: 'write the result as a page with plots',
    set(invocation, value, given) {
      if (value === '-') throw mustBe(given, 'the name of a file', value);
      invocation.html = value;
    },
  },
  {
    name: 'strict',
    group: RESULT,
    common: true,
    help: 'exit 4 if the generator was the limit',
    set(invocation) {
      invocation.strict = true;
    },
  },
  {
    name: 'fail-on',
    value: 'CONDITION',
    repeatable: true,
    group: RESULT,
    common: true,
    help: "exit 99 unless this holds: 'p99<50ms'",
    details:
      "A time: min, mean, stdev, p50, p75, p90, p95, p99, p99.9, p99.99, max of the latency, or of another distribution with the prefix service., connect. or tls., as in 'service.p99<=20ms'. Errors or timeouts, as a number or a share of the requests: 'errors<1%', 'timeouts<1'. Throughput: 'throughput>1000'. A condition without a sample does not hold.",
    set(invocation, value, given) {
      invocation.failOn.push(parseCondition(value, given));
    },
  },
  {
    name: 'abort-on-fail',
    group: RESULT,
    help: 'end the run as soon as a --fail-on can no longer hold',
    details:
      'With --fail-on. Checked ten times a second: numbers and shares of errors and timeouts, max and percentiles of latency and service time, throughput; other conditions at the end only. A share or a percentile can no longer hold if the remaining requests cannot change that: all of -n or of the schedule, in a run of a given time without a rate as much as twice its fastest second would bring.',
    set(invocation) {
      invocation.abortOnFail = true;
    },
  },
  {
    name: 'pid',
    value: 'N|none',
    group: RESULT,
    fallback: "the command's, or the local owner of the port",
    help: 'process to sample CPU and memory of',
    details: 'Its descendants are sampled with it. none: no process.',
    set({ options }, value, given) {
      const range = { min: 1, max: 2 ** 31 - 1 };
      options.pid = value === 'none' ? false : parseCount(value, given, range);
    },
  },
  {
    name: 'no-progress',
    aliases: ['no-tui'],
    group: RESULT,
    help: 'no progress on stderr',
    set(invocation) {
      invocation.progress = false;
    },
  },
  {
    name: 'latency',
    short: 'L',
    aliases: ['l'],
    group: RESULT,
    help: 'accepted and without effect',
    details: 'The distribution of the latencies is always shown.',
    set() {},
  },
];

/** Reasons not to take some of the load's flags, by every name of theirs: for a command that has no use for them. */
export function unsupportedFlags(reasons: UnsupportedFlags): UnsupportedFlags {
  const refused = LOAD_FLAGS.flatMap((flag) => {
    const why = reasons[flag.name];
    return why === undefined ? [] : listNames(flag).map((name) => [name, why] as const);
  });
  return Object.fromEntries(refused);
}

/** Whether a value of `-d` is a body, as in other tools, and no duration. */
export function isBody(value: string): boolean {
  return /^\s*[{[]|^@/.test(value);
}

/** Sets the body: a text, or `@` and the file that holds it. */
export function setBody(options: LoadOptions, value: string): void {
  if (value.startsWith('@')) options.bodyFile = value.slice(1);
  else options.body = value;
}

/** Refuses the fields of a form where a duration is expected, as in curl's `-d a=1`. */
function refuseForm(value: string, given: string): void {
  if (!value.includes('=')) return;
  throw usageError(`${given} must be a duration (got '${value}'): a body is -b '${value}'`);
}

/** Adds a URL to the targets. */
export function addUrl({ options }: Invocation, url: string): void {
  options.url = [...[options.url ?? []].flat(), url];
}

function oneOf<Choice extends string>(value: string, choices: Choice[], given: string): Choice {
  const choice = choices.find((choice) => choice === value);
  if (choice === undefined) {
    throw mustBe(given, listAlternatives(choices), value);
  }
  return choice;
}

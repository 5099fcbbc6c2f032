import { countUnsuccessful, parseJson, readCount, readNumber, sumCounts } from './peer-output.js';

/** A load for any tool: as fast as possible, for a number of seconds, with one thread. */
export interface PeerLoad {
  url: string;
  connections: number;
  seconds: number;
  /** Whether each request has a connection of its own. */
  close: boolean;
  /** Folder of the tool's files, if it needs any. */
  folder: string;
}

/** What a tool reports about its run. */
export interface PeerReport {
  /** Requests per second. */
  rate: number;
  /** Completed requests, including failed ones. */
  requests: number;
  errors: number;
}

/** A load tester: its command line and the parser of its output. */
export interface Peer {
  name: string;
  /** Name of the program. */
  program: string;
  /** Arguments that print the version, and its pattern; `null` if there are none. */
  version: { args: string[]; pattern: RegExp } | null;
  /** Builds the command line; `program` is the command that starts the tool. */
  command(program: string[], load: PeerLoad): string[];
  /** Files that the tool reads, by name. */
  files?(load: PeerLoad): Record<string, string>;
  /** Parses the output. Throws if it is not a report. */
  read(output: string): PeerReport;
}

/** Creates the command line of a tool whose flags precede the URL. */
function withFlags(listFlags: (load: PeerLoad) => string[]): Peer['command'] {
  return (program, load) => [...program, ...listFlags(load), load.url];
}

const VERSION = /(\d+\.\d+(?:\.\d+)?)/;

const wrk: Peer = {
  name: 'wrk',
  program: 'wrk',
  version: { args: ['-v'], pattern: VERSION },
  command: withFlags(({ connections, seconds, close }) => [
    ...['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`],
    ...(close ? ['-H', 'Connection: close'] : []),
  ]),
  read(output) {
    const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(
      output,
    );
    const transport = (sockets ?? []).slice(1).reduce((sum, count) => sum + Number(count), 0);
    return {
      rate: readNumber(output, /Requests\/sec:\s+([\d.]+)/),
      requests: readNumber(output, /(\d+) requests in/),
      errors: transport + readCount(output, /Non-2xx or 3xx responses: (\d+)/),
    };
  },
};

const ab: Peer = {
  name: 'ab',
  program: 'ab',
  version: { args: ['-V'], pattern: /Version (\d+\.\d+)/ },
  // -t sets -n to 50,000, so -n has to follow; memory for that many requests is reserved, not used.
  command: withFlags(({ connections, seconds, close }) => [
    ...['-q', '-d', '-S', '-r', '-t', `${seconds}`, '-n', '2000000', '-c', `${connections}`],
    ...(close ? [] : ['-k']),
  ]),
  read: (output) => ({
    rate: readNumber(output, /Requests per second:\s+([\d.]+)/),
    requests: readNumber(output, /Complete requests:\s+(\d+)/),
    errors:
      readNumber(output, /Failed requests:\s+(\d+)/) +
      readCount(output, /Non-2xx responses:\s+(\d+)/),
  }),
};

const autocannon: Peer = {
  name: 'autocannon',
  program: 'autocannon',
  version: { args: ['--version'], pattern: /autocannon v(\d+\.\d+\.\d+)/ },
  command: withFlags(({ connections, seconds, close }) => [
    ...['--json', '-c', `${connections}`, '-d', `${seconds}`],
    ...(close ? ['-H', 'Connection: close'] : []),
  ]),
  read(output) {
    const report: { requests: { average: number; total: number }; errors: number; non2xx: number } =
      parseJson(output);
    const { requests, errors, non2xx } = report;
    return { rate: requests.average, requests: requests.total + errors, errors: errors + non2xx };
  },
};

const siege: Peer = {
  name: 'siege',
  program: 'siege',
  version: { args: ['--version'], pattern: /SIEGE (\d+\.\d+\.\d+)/ },
  // It writes files into the home folder.
  command: (program, { url, connections, seconds, folder }) => [
    ...['env', `HOME=${folder}`, ...program, '-R', `${folder}/siegerc`],
    ...['-q', '-j', '-b', '-c', `${connections}`, '-t', `${seconds}S`, url],
  ],
  files: ({ close }) => ({
    siegerc: `connection = ${close ? 'close' : 'keep-alive'}\nparser = false\nlogging = false\nlimit = 1024\n`,
  }),
  read(output) {
    const report: { transactions: number; transaction_rate: number; failed_transactions: number } =
      parseJson(output);
    const { transactions, transaction_rate: rate, failed_transactions: failed } = report;
    return { rate, requests: transactions + failed, errors: failed };
  },
};

const vegeta: Peer = {
  name: 'vegeta',
  program: 'vegeta',
  version: { args: ['-version'], pattern: /Version: v?(\d\S*)/ },
  command: (program, { url, connections, seconds, close }) => [
    ...['sh', '-c'],
    `echo "GET $0" | "$@" attack -rate=0 -max-workers=${connections} -duration=${seconds}s -keepalive=${!close} | "$@" report -type=json`,
    ...[url, ...program],
  ],
  read(output) {
    const report: { requests: number; rate: number; status_codes: Record<string, number> } =
      parseJson(output);
    const { requests, rate, status_codes: statuses } = report;
    return { rate, requests, errors: countUnsuccessful(Object.entries(statuses)) };
  },
};

const hey: Peer = {
  name: 'hey',
  program: 'hey',
  version: null,
  command: withFlags(({ connections, seconds, close }) => [
    ...['-z', `${seconds}s`, '-c', `${connections}`, '-cpus', '1'],
    ...(close ? ['-disable-keepalive'] : []),
  ]),
  read(output) {
    const counted = (pattern: RegExp) =>
      [...output.matchAll(pattern)].map(([, what = '', count]) => [what, Number(count)] as const);
    const statuses = counted(/^\s+\[(\d{3})\]\t(\d+) responses/gm);
    const failed = sumCounts(counted(/^\s+()\[(\d+)\]\t(?!\d+ responses)/gm));
    return {
      rate: readNumber(output, /Requests\/sec:\s+([\d.]+)/),
      requests: sumCounts(statuses) + failed,
      errors: countUnsuccessful(statuses) + failed,
    };
  },
};

const oha: Peer = {
  name: 'oha',
  program: 'oha',
  version: { args: ['--version'], pattern: VERSION },
  command: withFlags(({ connections, seconds, close }) => [
    ...['--no-tui', '--output-format', 'json', '--worker-threads', '1'],
    ...['-c', `${connections}`, '-z', `${seconds}s`],
    ...(close ? ['--disable-keepalive'] : []),
  ]),
  read(output) {
    const report: {
      summary: { requestsPerSec: number };
      statusCodeDistribution: Record<string, number>;
      errorDistribution: Record<string, number>;
    } = parseJson(output);
    const statuses = Object.entries(report.statusCodeDistribution);
    // Requests in flight at the end are neither responses nor errors.
    const failed = sumCounts(
      Object.entries(report.errorDistribution).filter(
        ([what]) => what !== 'aborted due to deadline',
      ),
    );
    return {
      rate: report.summary.requestsPerSec,
      requests: sumCounts(statuses) + failed,
      errors: countUnsuccessful(statuses) + failed,
    };
  },
};

const millrace: Peer = {
  name: 'millrace',
  program: 'millrace',
  version: { args: ['--version'], pattern: VERSION },
  command: withFlags(({ connections, seconds, close }) => [
    ...['--json', '-t', '1', '-c', `${connections}`, '-d', `${seconds}s`],
    ...(close ? ['--connection', 'close'] : []),
  ]),
  read(output) {
    const report: {
      throughput: { mean: number };
      requests: { ok: number; statusErrors: number; transportErrors: number; timeouts: number };
    } = parseJson(output);
    const { ok, statusErrors, transportErrors, timeouts } = report.requests;
    const errors = statusErrors + transportErrors + timeouts;
    return { rate: report.throughput.mean, requests: ok + errors, errors };
  },
};

/** All tools, in the order of the study's table. */
export const PEERS: Peer[] = [
  createLoadtest('loadtest'),
  createLoadtest('loadtest --tcp', '--tcp'),
  autocannon,
  ab,
  wrk,
  siege,
  vegeta,
  hey,
  oha,
  millrace,
];

function createLoadtest(name: string, ...more: string[]): Peer {
  return {
    name,
    program: 'loadtest',
    version: { args: ['--version'], pattern: VERSION },
    command: withFlags(({ connections, seconds, close }) => [
      ...['--cores', '1', '-t', `${seconds}`, '-c', `${connections}`],
      ...(close ? [] : ['-k']),
      ...more,
    ]),
    read: (output) => ({
      rate: readNumber(output, /Effective rps:\s+(\d+)/),
      requests: readNumber(output, /Completed requests:\s+(\d+)/),
      errors: readNumber(output, /Total errors:\s+(\d+)/),
    }),
  };
}

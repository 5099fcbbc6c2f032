// Runs cases of idle connections: the server's memory with few and with many open connections.
import { connect } from 'node:net';
import { formatCount, formatTable } from '../documents/table.js';
import { checkBar, describeBars, formatRatio } from '../harness/ratios.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian } from '../harness/statistics.js';

/** Number of connections that are opened at the same time. */
const CONCURRENT_OPENS = 100;
const ANSWER_LIMIT_MS = 10_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Runs a case; resolves with `{ runs, failures }`. */
export function run(bench, context) {
  const { from, to } = bench.vary;
  const measure = async (name, load) => {
    const server = context.found.get(name).server(load);
    const { used } = await withServer({ server }, context, (_, running) =>
      measureResidentBytes([from, to], running),
    );
    const [fewBytes, manyBytes] = used;
    return { fewBytes, manyBytes, bytesEach: (manyBytes - fewBytes) / (to - from) };
  };
  return runRounds(bench, context, measure, { back: false });
}

/** Measures the resident bytes of a server with each number of open connections, each after one response. */
async function measureResidentBytes(counts, server) {
  const sockets = [];
  const resident = [];
  try {
    for (const wanted of counts) {
      while (sockets.length < wanted) {
        const batch = Math.min(CONCURRENT_OPENS, wanted - sockets.length);
        sockets.push(...(await Promise.all(Array.from({ length: batch }, () => openUsed(server)))));
      }
      resident.push(await server.residentBytes());
    }
    const closed = sockets.filter((socket) => socket.destroyed).length;
    if (closed > 0) throw new Error(`the server closed ${closed} of ${sockets.length} connections`);
    return resident;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Opens a connection and waits for one response. */
function openUsed({ port }) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST));
    socket.setTimeout(ANSWER_LIMIT_MS, () => reject(new Error('no answer to a request')));
    socket.once('data', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
  });
}

/** Formats the result of a case as lines. */
export function summarize({ vary, bars, baseline }, { runs, failures }) {
  const names = [...new Set(runs.map(({ row }) => row))];
  const base = names.includes(baseline) ? baseline : names[0];
  const rows = names.map((row) => {
    const of = (key) => computeMedian(runs.filter((one) => one.row === row).map((one) => one[key]));
    const mib = (key) => (of(key) / 2 ** 20).toFixed(1);
    const kib = (of('bytesEach') / 1024).toFixed(2);
    return [row, mib('fewBytes'), mib('manyBytes'), kib, formatRatio(runs, row, base, 'bytesEach')];
  });
  const head = [
    'server',
    ...[vary.from, vary.to].map((n) => `MiB with ${formatCount(n)} connections`),
  ];
  head.push('KiB for each more', `÷ ${base}`);
  const judged = bars.map((bar) => checkBar(bar, runs));
  return [...formatTable(head, rows), '', ...formatFailures(failures), ...judged];
}

/** Describes the result of a case for the tables. */
export function describe(bench, { runs }) {
  return describeBars(bench, runs, 'bytesEach');
}

// Requests whose waits are known. Each takes one of three ways, so that the requests in flight keep their shares: 61 % go
// to the ledger, of which one at a time posts an entry; 24 % ask for a report, over a pool of four connections; and
// 15 % write to the journal, one at a time. Of 100 requests 60 wait for the ledger and 20 for a connection.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Mutex } from 'async-mutex';
import genericPool from 'generic-pool';
import { connectLines } from './lines.js';

const FIX = process.env.FIX === '1';
const ledger = new Mutex();
const journal = new Mutex();
const pool = genericPool.createPool(
  { create: connectLines, destroy: async (connection) => connection.end() },
  { min: 4, max: 4 },
);

const lockLedger = () => (FIX ? () => {} : ledger.acquire());
const lockJournal = () => journal.acquire();
const takeConnection = () => pool.acquire();

async function postEntry() {
  const leave = await lockLedger();
  await delay(10);
  leave();
}

async function readReport() {
  const connection = await takeConnection();
  await connection.ask('report');
  pool.release(connection);
}

async function writeJournal() {
  const leave = await lockJournal();
  await delay(10);
  leave();
}

const ways = [
  { go: postEntry, share: 0.61, inFlight: 0 },
  { go: readReport, share: 0.24, inFlight: 0 },
  { go: writeJournal, share: 0.15, inFlight: 0 },
];

/** The way that has the fewest requests in flight for its share. */
const chooseWay = () =>
  ways.reduce((a, b) => (b.inFlight / b.share < a.inFlight / a.share ? b : a));

createServer(async (_request, response) => {
  const way = chooseWay();
  way.inFlight++;
  await way.go();
  way.inFlight--;
  response.end('done\n');
}).listen(process.env.PORT ?? 0, '127.0.0.1');

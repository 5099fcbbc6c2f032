// What a merge of many results costs: 100 of 20 request names each, read one after the other.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { asShare, runNames, startCountingServer } from '../fixtures/merge/runs.js';

const RESULTS = 100;

const folder = mkdtempSync(join(tmpdir(), 'millrace-many-'));

/** Merges the results of the folder, and prints what it cost this process. */
const MERGE = `
import { readFileSync } from 'node:fs';
import { mergeResults } from 'millrace';
function* readAll() {
  for (let index = 1; index <= ${RESULTS}; index++) {
    yield JSON.parse(readFileSync(process.argv[1] + '/' + index + '.json', 'utf8'));
  }
}
const { user, system } = process.cpuUsage();
const { requests, byName } = mergeResults(readAll());
const after = process.cpuUsage();
const cpuMs = (after.user + after.system - user - system) / 1000;
const memoryMb = (process.resourceUsage().maxRSS * 1024) / 1e6;
console.log(JSON.stringify({ cpuMs, memoryMb, sent: requests.sent, names: byName.length }));
`;

let sent = 0;

before(async () => {
  const server = await startCountingServer();
  const run = await runNames(server.url, 20);
  server.close();
  for (let index = 1; index <= RESULTS; index++) {
    const share = asShare(run, index, RESULTS);
    sent += share.requests.sent;
    writeFileSync(join(folder, `${index}.json`), JSON.stringify(share));
  }
});

after(() => rmSync(folder, { recursive: true }));

test('100 results of 20 names take less than 300 MB, and a time in proportion', async (t) => {
  const args = ['--input-type=module', '-e', MERGE, folder];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const cost = JSON.parse(stdout);
  t.diagnostic(`${cost.cpuMs.toFixed(0)} ms of CPU, ${cost.memoryMb.toFixed(0)} MB`);
  assert.equal(cost.sent, sent);
  assert.equal(cost.names, 20);
  assert.ok(cost.memoryMb < 300, `${cost.memoryMb} MB`);
  // 2 s with the optimized addon; that of the tests is compiled in a hurry.
  assert.ok(cost.cpuMs < 8000, `${cost.cpuMs} ms`);
});

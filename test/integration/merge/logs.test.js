// Shares that print their results into logs or write them to files with their numbers, and `millrace merge` of these logs.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formatLoggedResult } from '#internal/files/logged-results.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { startCountingServer } from '../../fixtures/merge/runs.js';
import { millrace } from '../../fixtures/truth/cli.js';

const cwd = mkdtempSync(join(tmpdir(), 'millrace-logs-'));
after(() => rmSync(cwd, { recursive: true }));
const inFolder = inOneProcess({ cwd });

describe('shares', { timeout: 60_000 }, () => {
  let server;
  let logs;
  before(async () => {
    server = await startCountingServer();
    const start = new Date(Date.now() + 1000).toISOString();
    const run = (index) =>
      millrace(
        [
          ...[
            server.url,
            '--segment',
            'auto',
            '--seed',
            '1',
            '-n',
            '20',
            '-c',
            '2',
            '--no-progress',
          ],
          ...['--start-at', start, '--log-result', '-o', 'share-{segment}.json'],
          ...['--csv', '{segment}-of-2.csv'],
        ],
        { cwd, env: { ...process.env, PMI_RANK: String(index), PMI_SIZE: '2' } },
      );
    const runs = await Promise.all([0, 1].map(run));
    for (const { code, stderr } of runs) assert.equal(code, 0, stderr);
    logs = runs.map(({ stdout }) => stdout);
    writeFileSync(join(cwd, 'all.log'), logs.join(''));
    writeFileSync(join(cwd, 'cut.log'), logs[0] + logs[1].slice(0, -600));
  });
  after(() => server.close());

  test('write files with their numbers', () => {
    const files = readdirSync(cwd).filter((name) => /json|csv/.test(name));
    assert.deepEqual(files.sort(), ['1-of-2.csv', '2-of-2.csv', 'share-1.json', 'share-2.json']);
  });

  test('give the same result by their logs, on standard input too, as by their files', async () => {
    const merge = async (args, input) => {
      const words = ['merge', '--json', ...args];
      const run = input ? millrace(words, { cwd, input }) : inFolder(...words);
      const { code, stdout, stderr } = await run;
      assert.equal(code, 0, stderr);
      const { requests, histograms, byName, series, generators } = JSON.parse(stdout);
      return { requests, histograms, byName, series, generators: generators.length };
    };
    const files = await merge(['share-1.json', 'share-2.json']);
    assert.deepEqual(await merge(['all.log']), files);
    assert.deepEqual(await merge(['-'], logs.join('')), files);
  });

  test('whose log is cut off are named, and left out with --allow-missing', async () => {
    const cut =
      /^millrace: 'cut\.log': the result of share 2\/2 is cut off: the log has \d+ of its \d+ lines\n/;
    const refused = await inFolder('merge', 'cut.log');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, cut);
    const input = logs.map((log) => log.slice(0, -600)).join('');
    const both = await millrace(['merge', '-'], { cwd, input });
    assert.match(
      both.stderr,
      /^millrace: '-': .* share 1\/2 .*\nmillrace: '-': .* share 2\/2 .*\n$/,
    );
    const merged = await inFolder('merge', 'cut.log', '--allow-missing', '--json');
    assert.equal(merged.code, 0, merged.stderr);
    assert.match(merged.stderr, cut);
    assert.deepEqual(JSON.parse(merged.stdout).missing, [2]);
  });

  test('that printed no result are told from results', async () => {
    const { code, stderr } = await millrace(['merge', '-'], { cwd, input: 'connection refused\n' });
    assert.equal(code, 2);
    assert.match(stderr, /^millrace: '-' has no result: it is neither JSON, .* nor a log .*\n$/);
  });
});

/** Nothing is there. */
const URL = 'http://127.0.0.1:1/';

describe('what is refused, in a line', () => {
  const log = formatLoggedResult(JSON.stringify({ a: 1 }), '1/2');
  writeFileSync(join(cwd, 'marks.log'), log.replaceAll(', 1 lines', ', '));
  writeFileSync(join(cwd, 'half.log'), log.split('\n')[0]);
  /** @type {Record<string, [string[], RegExp]>} */
  const cases = {
    'a log of which all results are cut off': [
      ['merge', 'marks.log'],
      /'marks\.log' has no result: the lines that mark one are cut off/,
    ],
    'nothing that is complete': [
      ['merge', '--allow-missing', 'half.log'],
      /is cut off: .*\nmillrace: none of the results is complete/,
    ],
    '{segment} without a share': [
      ['load', URL, '-o', 'r-{segment}.json'],
      /-o 'r-\{segment\}\.json' needs --segment/,
    ],
    'a log on the same output as JSON': [
      ['load', URL, '--log-result', '--json'],
      /--log-result .* not with --json/,
    ],
    'a log on the same output as CSV': [
      ['load', URL, '--log-result', '--csv', '-'],
      /--log-result .* not with/,
    ],
  };
  for (const [name, [args, expected]] of Object.entries(cases)) {
    test(name, async () => {
      const { code, stderr } = await inFolder(...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, expected);
      assert.ok(
        stderr.split('\n').every((line) => /^(millrace: .*)?$/.test(line)),
        stderr,
      );
    });
  }
});

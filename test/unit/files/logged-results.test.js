// Results in logs: found whatever stands before and between their lines, and named where a part is missing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { inflateResult } from '#internal/files/inflate-result.js';
import {
  findLoggedResults,
  formatLoggedResult,
  hasLoggedResults,
} from '#internal/files/logged-results.js';
import { Random } from '../../fixtures/random.js';

const CONTENT = JSON.stringify({
  numbers: Array.from({ length: 900 }, (_, n) => (n * 7919) % 1009),
});
const lines = (share) => formatLoggedResult(CONTENT, share).trimEnd().split('\n');

/** What a log says of its results. */
function read(text) {
  return findLoggedResults(text).map(({ share, pod, damage, read }) => ({
    ...{ share, pod, damage },
    isWhole: damage === null && read() === CONTENT,
  }));
}

describe('results in logs', () => {
  test('have lines of at most 76 characters', () => {
    for (const line of lines('1000/1000')) assert.ok(line.length <= 76, line);
  });

  test('are found without a share, between other lines, and with line ends of Windows', () => {
    const text = ['report', ...lines(null), 'more'].join('\r\n');
    assert.ok(hasLoggedResults(text));
    assert.deepEqual(read(text), [{ share: null, pod: null, damage: null, isWhole: true }]);
    assert.equal(hasLoggedResults('a report alone'), false);
    assert.deepEqual(read('a report alone'), []);
  });

  test('are found in any mixture of three, with prefixes of any kind', () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const random = new Random(seed);
      const prefixes = [
        (index) => `[pod/load-${index}-ab1cd/millrace] `,
        (index) => `load-${index} millrace | `,
        () => `2026-11-29T12:00:0${random.below(10)}.123456789Z stdout F `,
        () => '',
        (index) => `\u{1b}[36mload-${index}\u{1b}[0m `,
      ];
      const prefix = prefixes[seed % prefixes.length];
      const logs = [1, 2, 3].map((index) =>
        lines(`${index}/3`).map((line) => prefix(index) + line),
      );
      const mixed = [];
      while (logs.some((log) => log.length > 0)) {
        const line = random.one(logs).shift();
        if (line !== undefined) mixed.push(line);
      }
      const found = read(mixed.join('\n'));
      assert.deepEqual(found.map(({ share }) => share).sort(), ['1/3', '2/3', '3/3']);
      assert.ok(
        found.every(({ isWhole }) => isWhole),
        `seed ${seed}`,
      );
    }
  });

  test('that are read twice are one', () => {
    const log = lines('1/3').join('\n');
    assert.equal(read(`${log}\n${log}`).length, 1);
  });

  test('are named where lines are missing, at the end, at the beginning or between', () => {
    const prefixed = lines('2/3').map((line) => `[pod/load-1-x/millrace] ${line}`);
    const count = prefixed.length - 2;
    const cut = (from, to) => read(prefixed.slice(from, to).join('\n'));
    const [end] = cut(0, 5);
    assert.deepEqual(
      [end.share, end.pod, end.damage],
      ['2/3', 'load-1-x', `is cut off: the log has 4 of its ${count} lines`],
    );
    // What kubectl prints without --tail=-1.
    const [begin] = cut(-10);
    assert.match(
      begin.damage,
      new RegExp(`has 9 of its ${count} lines; kubectl logs -l needs --tail=-1`),
    );
    const [between] = read(prefixed.toSpliced(3, 1).join('\n'));
    assert.match(between.damage, new RegExp(`has ${count - 1} of its ${count} lines$`));
  });

  test('that are damaged are refused in one line', () => {
    const log = lines('1/3').toSpliced(3, 1, lines('1/3')[3]);
    const [, id] = /RESULT (\w+)/.exec(log[0]);
    log[3] = `${id}.3 ${'A'.repeat(60)}`;
    const [{ damage, read: readOne }] = findLoggedResults(log.join('\n'));
    assert.equal(damage, null);
    assert.throws(readOne, /^MillraceError: the result of share 1\/3 is damaged/);
  });
});

test('what a result inflates to is bounded', () => {
  const text = deflateSync(Buffer.alloc(3 * 1024 * 1024, 32)).toString('base64');
  assert.throws(() => inflateResult(text, 'the result', 2 * 1024 * 1024), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'the result has more than 2 MiB, which no result has',
  });
  assert.equal(inflateResult(text, 'the result').length, 3 * 1024 * 1024);
});

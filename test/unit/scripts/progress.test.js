// What `npm ci` shows while the addon is built.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCargoProgress, removeCargoProgress } from '../../../scripts/cargo-step.js';
import { ProgressLine } from '../../../scripts/progress-line.js';

const BAR = '    Building [=======>           ] ';
const OUTPUT = `   Compiling libc v0.2.1\n${BAR}1/133: libc\r${BAR}2/133: libc, ring(build)   \r`;

test('the progress of cargo is the last that it has written', () => {
  assert.equal(readCargoProgress(OUTPUT), '2 of 133 crates: libc, ring(build)');
  assert.equal(readCargoProgress(`${BAR}133/133\r`), '133 of 133 crates');
  assert.equal(readCargoProgress('   Compiling libc v0.2.1\n'), undefined);
});

test('the output of a build that fails has no progress', () => {
  const failed = `${OUTPUT}error: could not compile\n${BAR}3/133\r\n  note: why\n`;
  assert.equal(removeCargoProgress(failed), 'error: could not compile\n  note: why\n');
});

/** Runs a step of `seconds` on a stream, which has told its progress after the first second; gives what was written. */
function writeLine(t, stream, seconds) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let written = '';
  const write = (text) => {
    written += text;
  };
  const line = new ProgressLine('native addon', { ...stream, write });
  for (let second = 0; second < seconds; second++) {
    t.mock.timers.tick(1000);
    line.detail = '2 of 133 crates: libc';
  }
  line.end();
  return written.replace(/ +\d+(\.\d)? s/g, ' N s');
}

test('a terminal shows the progress in one line, no wider than the terminal', (t) => {
  const terminal = { isTTY: true, columns: 46 };
  const [first, second, third, last] = writeLine(t, terminal, 2).split('\r\x1b[K').slice(1);
  assert.equal(first, 'native addon N s');
  assert.equal(second, 'native addon N s');
  assert.equal(third, 'native addon N s  2 of 13');
  assert.equal(last, 'native addon N s\n');
});

test('a log gets a line of progress now and then', (t) => {
  assert.equal(
    writeLine(t, {}, 61),
    `${'native addon N s  2 of 133 crates: libc\n'.repeat(2)}native addon N s\n`,
  );
});

test('a log of a short step has its last line alone', (t) => {
  assert.equal(writeLine(t, {}, 2), 'native addon N s\n');
});

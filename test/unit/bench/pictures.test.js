// The pictures of the documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawGains, listGains } from '../../../bench/pictures/gains.js';
import { drawTerminal } from '../../../bench/pictures/terminal.js';

const measured = (figures) => ({ on: [{ node: 26, ...figures }] });

test('each case that was measured on the version is a row, with gain or without', () => {
  const stack = {
    hello: measured({ main: '1.86 [1.62..1.97]' }),
    'download-1-mib-file': measured({ main: '0.97 [0.94..1.07]' }),
    latency: measured({ main: '0.19 [0.14..0.34]' }),
    koa: { on: [{ node: 24, main: '1.74 [1.62..1.84]' }] },
  };
  const apps = { next: measured({ main: '0.9', throughput: '0.96' }) };
  assert.deepEqual(listGains({ stack, apps }, 26), [
    { label: 'small servers' },
    { label: 'hello world', median: 1.86, low: 1.62, high: 1.97 },
    { label: 'file of 1 MiB', median: 0.97, low: 0.94, high: 1.07 },
    { label: 'applications' },
    { label: 'Next.js, production build', median: 0.96, low: 0.96, high: 0.96 },
  ]);
});

test('a gain, a loss and neither have different colors, by the interval', () => {
  const colors = [
    [1.1, 1.2, 1.3],
    [0.8, 1.2, 1.3],
    [0.8, 0.9, 0.99],
  ].map(([low, median, high]) => {
    const image = drawGains([{ label: 'a < b', low, median, high }], { title: 't', origin: 'o' });
    assert.match(image, /a &#60; b/);
    return /<circle [^>]*fill="(#\w+)"/.exec(image)[1];
  });
  assert.equal(new Set(colors).size, 3);
});

test('a terminal shows runs of text at their columns, with their looks, and escapes them', () => {
  const image = drawTerminal('ab \x1b[1mbold\x1b[0m  <c>\n\n  d', 'a run');
  const texts = [...image.matchAll(/<text x="([\d.]+)" y="(\d+)"[^>]*?>([^<]*)<\/text>/g)];
  assert.deepEqual(
    texts.map(([, x, y, text]) => [Number(x), Number(y), text]),
    [
      [16, 44, 'ab'],
      [16 + 3 * 7.8, 44, 'bold'],
      [16 + 9 * 7.8, 44, '&#60;c&#62;'],
      [16 + 2 * 7.8, 80, 'd'],
    ].map(([x, y, text]) => [Number(x.toFixed(1)), y, text]),
  );
  assert.match(image, /font-weight="bold">bold</);
});

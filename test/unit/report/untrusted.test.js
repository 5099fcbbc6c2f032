// Text from elsewhere in every output: whatever it is, it commands no terminal, CI runner, page, table or parser.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as report from 'millrace/report';
import { encodeTerminal } from '#internal/report/encoding.js';
import { formatJson } from '#internal/report/json.js';
import { Noise } from '../../fixtures/noise.js';
import { faster, row } from '../../fixtures/report/comparisons.js';
import { fixture } from '../../fixtures/report/results.js';

const PIECES = [
  ...['\x1b[2J', '\x1b]0;title\x07', '\x1b[31m', '\u009b31m', '\0', '\b', '\x7f', '\r', '\n', '\t'],
  ...['\u2028', '\u202e', '\u2066', '\ud800', '\udfff', 'é', '😀', ' ', '  ', 'word', '7.', '- '],
  ...[
    '::error::',
    '\n::add-mask::a',
    '\n \u00a0::stop-commands::x',
    '##[error]',
    '##vso[task',
    '###[x',
  ],
  ...[
    '##teamcity[x',
    '<script>',
    '</script>',
    '<!--',
    '-->',
    '<b onload="',
    '&lt;',
    '&#35;',
    '"',
    "'",
  ],
  ...[
    '`',
    '``',
    '|',
    '\\',
    '\\|',
    '*',
    '_',
    '[a](b)',
    '![a](b)',
    '~~',
    '$$',
    '@octocat',
    '#12',
    '>',
  ],
  ...['=1+1', '+1', '-1', '@SUM(1)', '\uff1d1', ',', ';', ']]>', '<?xml', '%0a'],
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be printed
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the colors of the report
const PAINT = /\x1b\[(1|2|7|22|27|31|32|33|36|39)m/g;
const RUNNER = /^[\s\p{Cf}]*::|##(\[|vso\[|teamcity\[)/imu;

function assertHarmless(text) {
  assert.doesNotMatch(text, CONTROL);
  assert.doesNotMatch(text, RUNNER);
}

/** Results whose texts are given by `text`. */
function buildLoad(text) {
  const result = fixture('server');
  const [target] = result.plan.targets;
  const [name] = result.byName;
  return {
    ...result,
    plan: {
      ...result.plan,
      targets: [{ ...target, url: text(), name: text() }],
      command: [text()],
    },
    server: { ...result.server, command: text() },
    byName: Array.from({ length: 3 }, () => ({ ...name, name: text() })),
    errors: [{ kind: 'reset', count: 1, example: text() }],
    failingResponses: [
      {
        ...{ status: 500, error: null, request: { method: 'GET', url: text() } },
        ...{ head: text(), body: text(), bodyTruncated: false },
      },
    ],
    conditions: [{ condition: 'p99<5ms', value: 1, holds: false }],
    warnings: [{ id: 'x', message: text() }],
  };
}

function buildComparison(text) {
  const result = faster();
  const name = text();
  return {
    ...result,
    sides: {
      a: { ...result.sides.a, label: text().slice(0, 12), cwd: text() },
      b: { ...result.sides.b, label: text().slice(0, 12) },
    },
    rows: [...result.rows, row('p99Ms', [1, 2], [2, 1.9, 2.1], 'worse', { name })],
    conditions: [{ condition: text(), value: 1.081, holds: null, reason: text() }],
    verdict: { ...result.verdict, word: 'cannot-tell', reason: text() },
    differences: [text()],
    warnings: [{ id: 'x', message: text() }],
  };
}

const TAGS = /<\/?[a-z!?][^>]*>/gi;
const namesOf = (tags) => tags.map((tag) => /^<\/?[a-z!?-]+/i.exec(tag)[0]);
const withoutScripts = (page) => page.replace(/<(script|style)\b.*?<\/\1>/gs, '');
/** Markdown without code and escaped characters. */
function withoutCode(markdown) {
  return markdown.replace(/<code>[^<]*<\/code>|\\[!-/:-@[-`{-~]|(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, '');
}
/** Its lines, with the marks that mean something. */
const skeletonOf = (markdown) =>
  withoutCode(markdown)
    .split('\n')
    .map((line) => line.replace(/[^*|<>`[\]_#~$]/g, ''));
const cellsOf = (csv) =>
  [...csv.matchAll(/("(?:[^"]|"")*"|[^,\n]*)(,|\n)/g)].map(([, cell]) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  );

/** What holds of each output, beside `assertHarmless`: of a hostile one, and of one whose texts are all `x`. */
const CHECKS = {
  page(hostile, plain) {
    const [own, expected] = [hostile, plain].map((page) =>
      namesOf(withoutScripts(page).match(TAGS)),
    );
    assert.deepEqual(own, expected);
  },
  markdown(hostile, plain) {
    assert.deepEqual(skeletonOf(hostile), skeletonOf(plain));
    assert.doesNotMatch(withoutCode(hostile), /@\w|#\d/);
  },
  csv(hostile, plain) {
    assert.equal(hostile.split('\n').length, plain.split('\n').length);
    for (const cell of cellsOf(hostile)) {
      if (!/^-?[\d.e+-]+$/.test(cell)) assert.doesNotMatch(cell, /^\s*[=+@\uff1d-]/);
    }
  },
  junit(hostile, plain) {
    assert.deepEqual(namesOf(hostile.match(TAGS)), namesOf(plain.match(TAGS)));
    assert.doesNotMatch(hostile, /&(?!#\d+;)/);
  },
};

const FORMATS = {
  page: report.formatHtml,
  markdown: report.formatMarkdown,
  csv: report.formatCsv,
  junit: report.formatJunit,
};

describe('text from elsewhere', () => {
  const noise = new Noise(7);
  const pick = () => PIECES[Math.floor(noise.uniform() * PIECES.length)];
  const hostile = () => Array.from({ length: 1 + Math.floor(noise.uniform() * 6) }, pick).join('');

  for (const [kind, build] of [
    ['a load', buildLoad],
    ['a comparison', buildComparison],
  ]) {
    for (const color of [false, true]) {
      test(`of ${kind} on a terminal ${color ? 'with' : 'without'} colors`, () => {
        for (let round = 0; round < 150; round++) {
          const text = report.formatText(build(hostile), { color, notes: [hostile()] });
          const printed = encodeTerminal(text, color);
          assertHarmless(color ? printed.replace(PAINT, '') : printed);
        }
      });
    }

    for (const [format, check] of Object.entries(CHECKS)) {
      test(`of ${kind} as ${format}`, () => {
        const plain = FORMATS[format](build(() => 'x'));
        for (let round = 0; round < (format === 'page' ? 12 : 150); round++) {
          const text = FORMATS[format](build(hostile));
          assertHarmless(text);
          check(text, plain);
        }
      });
    }

    test(`of ${kind} as JSON, which keeps it`, () => {
      for (let round = 0; round < 30; round++) {
        const result = build(hostile);
        const text = [...formatJson(result)].join('');
        assertHarmless(text);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(result)));
      }
    });
  }

  test('in a message to a terminal', () => {
    for (let round = 0; round < 3000; round++) assertHarmless(encodeTerminal(hostile()));
  });
});

test('JSON is laid out as JSON.stringify does it, whatever the value is', () => {
  const values = [
    null,
    5,
    'x',
    [],
    {},
    [[]],
    { a: [], b: {}, c: undefined },
    [undefined, { a: [1, { b: [2] }] }],
  ];
  for (const value of [...values, fixture('closed'), faster()]) {
    assert.equal([...formatJson(value)].join(''), `${JSON.stringify(value, null, 2)}\n`);
  }
});

test('a result of many windows is never one string', () => {
  const series = Array.from({ length: 20_000 }, (_, tMs) => ({ tMs, completed: 1 }));
  const parts = [...formatJson({ series })];
  assert.ok(Math.max(...parts.map(({ length }) => length)) < 70_000);
  assert.deepEqual(JSON.parse(parts.join('')), { series });
});

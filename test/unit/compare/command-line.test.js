// What the command line of `millrace compare` says about the two sides.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseInvocation } from '#internal/cli/flags/command-flags.js';
import { COMPARE } from '#internal/cli/flags/compare-flags.js';

const parse = (...args) => parseInvocation('compare', COMPARE, args);

describe('the two sides are', () => {
  for (const [name, args, a, b, load = {}] of [
    [
      'two commands',
      ['--', 'node', 'a', '--', 'node', 'b'],
      { command: ['node', 'a'] },
      { command: ['node', 'b'] },
    ],
    [
      'two commands with a path and flags of the load',
      ['-c', '5', '/api', '--', 'node', 'a', '--', 'b'],
      { command: ['node', 'a'] },
      { command: ['b'] },
      { connections: 5, url: ['/api'] },
    ],
    [
      'commands for the shell',
      ['--a', 'npm start -- --port 1', '--b=PORT=2 node b'],
      { command: ['npm start -- --port 1'] },
      { command: ['PORT=2 node b'] },
    ],
    [
      'two URLs',
      ['localhost:1', 'http://h/x.json'],
      { url: 'localhost:1' },
      { url: 'http://h/x.json' },
    ],
    [
      'two URLs by flags',
      ['--a', 'http://h/', '--b', 'https://i/'],
      { url: 'http://h/' },
      { url: 'https://i/' },
    ],
    [
      'one command in two environments',
      ['--env-a', 'K=V', '--env-a', 'L=a=b', '--env-b', 'K=', '--', 'node', 'a'],
      { env: { K: 'V', L: 'a=b' } },
      { env: { K: '' } },
      { command: ['node', 'a'] },
    ],
    [
      'one command in two folders',
      ['--cwd-a', '../main', '--cwd-b', '.', '--', 'npm', 'start'],
      { cwd: '../main' },
      { cwd: '.' },
      { command: ['npm', 'start'] },
    ],
    [
      'both stacks',
      ['--stack', '--', 'node', 'a'],
      { stack: false },
      { stack: true },
      { command: ['node', 'a'] },
    ],
    ['two files', ['old.json', 'new.json'], { files: ['old.json'] }, { files: ['new.json'] }],
    [
      'lists and patterns of files',
      ['--a', 'main-*.json', '--b', 'b1.json, b2.json', '--b', 'b3.json'],
      { files: ['main-*.json'] },
      { files: ['b1.json', 'b2.json', 'b3.json'] },
    ],
  ]) {
    test(name, () => {
      const { sides, options } = parse(...args);
      assert.deepEqual([sides, options], [{ a, b }, load]);
    });
  }
});

test('-a and -b keep their meaning in a load, --a and --b are the sides', () => {
  const { options, sides } = parse('-a', '7', '-b', 'text', '--a', 'x y', '--b', 'z y');
  assert.deepEqual(options, { requests: 7, body: 'text' });
  assert.deepEqual(sides, { a: { command: ['x y'] }, b: { command: ['z y'] } });
});

test('width, margin and conditions are read', () => {
  const { own, ratios } = parse(
    ...['--width', '5%', '--margin', '0.5%', '--budget', '2m', '--allow-difference'],
    ...['--fail-on', 'p99 ratio<=1.1', 'h:1', 'h:2'],
  );
  assert.deepEqual(own, { width: 0.05, margin: 0.005, budget: 120_000, allowDifference: true });
  assert.deepEqual(ratios, ['p99 ratio<=1.1']);
});

describe('one line refuses', () => {
  for (const [args, message] of [
    [[], /^compare needs two: -- COMMAND_A -- COMMAND_B, or URL_A URL_B, or OLD\.json NEW\.json/],
    [['h:1'], /^compare needs two: .*\(got 'h:1'\)$/],
    [['h:1', 'h:2', 'h:3'], /^compare needs two: /],
    [['--', 'node', 'a'], /^compare needs two commands, or what differs .*: -- node a -- OTHER$/],
    [['--', 'node', 'a', '--'], /^-- given without a command after it$/],
    [
      ['--', 'a', '--', 'b', '--', 'c'],
      /^-- separates the two commands and may stand .* once \(got 'a -- b -- c'\): .* --a '.*' --b '.*'$/,
    ],
    [['--a', 'x y'], /^--b is missing/],
    [['--a', 'x', '--b', 'y', '--', 'z'], /^--a and --b name the two commands/],
    [
      ['--a', 'x', '--a', 'y', '--b', 'z'],
      /^--a may be repeated for files of results only \(got 'y'\)/,
    ],
    [['--a', '', '--b', 'z'], /^--a must be a command, files or a URL/],
    [
      ['--a', 'a.json', 'b.json', '--b', 'c.json'],
      /^'b\.json' belongs to no side: quote a pattern/,
    ],
    [['--a', 'http://h/', '--b', 'http://i/', '/x'], /^'\/x' belongs to no side: --a and --b have/],
    [['a.json', 'http://h/'], /^a URL cannot be compared with a file of results/],
    [['--env-a', 'K', '--', 'x'], /^--env-a must be NAME=VALUE \(got 'K'\)/],
    [
      ['--width', '3', 'h', 'i'],
      /^--width must be a percentage from 0\.1% to 1000%, such as 3% \(got 3\)/,
    ],
    [['--pid', '1', 'h', 'i'], /^--pid is not supported: /],
    [['--fail-on', 'p99<5ms', 'h', 'i'], /^--fail-on must be a condition on a ratio/],
  ]) {
    test(`compare ${args.join(' ')}`, () => {
      assert.throws(() => parse(...args), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});

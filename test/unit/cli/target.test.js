// A command line without a server: which may mean the demo, and what is said of the others.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCommand } from '#internal/cli/command-table.js';
import { parseInvocation } from '#internal/cli/flags/command-flags.js';
import { LOAD } from '#internal/cli/flags/load/load-flags.js';
import { refuseDemo } from '#internal/cli/target.js';

describe('a load without a target', () => {
  for (const args of [
    ['-d', '1', '--fail-on', 'p99<100ms'],
    ['--json'],
    ['-jc', '5'],
    ['-R', '100'],
    ['--strict'],
    ['--html', 'page.html'],
    ['-H', 'A: b'],
  ]) {
    test(`the demo does not replace a missing server: ${args.join(' ')}`, async () => {
      await assert.rejects(findCommand('load').run(args), {
        code: 'ERR_MILLRACE_USAGE',
        message: /^no target to load with --?[\w-]+: add a URL, or -- COMMAND/,
      });
    });
  }

  for (const args of [[], ['-d', '1', '-c', '5', '-t1', '-n', '10']]) {
    test(`the demo runs: millrace ${args.join(' ')}`, () => {
      refuseDemo(parseInvocation('load', LOAD, args).typed);
    });
  }

  for (const [command, args, message] of [
    ['load', ['--html', 'localhost:3000'], /^--html needs a file: --html FILE localhost:3000/],
    ['load', ['-o', 'localhost:3000/x'], /^-o needs a file: -o FILE localhost:3000\/x/],
    ['load', ['--ca', ':3000'], /^--ca needs a file: --ca FILE :3000/],
    ['load', ['-c5', '--key', 'https://h/'], /^--key needs a file: --key FILE https:\/\/h\//],
    ['explain', ['--html', 'h:80'], /^--html needs a file: --html FILE h:80/],
    ['capacity', ['-o', 'http://h'], /^-o needs a file: -o FILE http:\/\/h/],
  ]) {
    test(`a file that looks like the URL is refused: ${command} ${args.join(' ')}`, async () => {
      await assert.rejects(findCommand(command).run(args), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});

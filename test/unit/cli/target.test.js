// A command line without a server: which may mean the demo, and what is said of the others.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { capacityCommand } from '../../../dist/cli/commands/capacity.js';
import { explainCommand } from '../../../dist/cli/commands/explain.js';
import { loadCommand } from '../../../dist/cli/commands/load.js';
import { newInvocation } from '../../../dist/cli/flags/invocation.js';
import { parseArguments } from '../../../dist/cli/flags/parse.js';
import { FLAGS_OF } from '../../../dist/cli/flags/siblings.js';
import { refuseDemo } from '../../../dist/cli/target.js';

describe('without a target', () => {
  for (const args of [
    ['-d', '1', '--fail-on', 'p99<100ms'],
    ['--json'],
    ['-jc', '5'],
    ['-R', '100'],
    ['--strict'],
    ['--html', 'page.html'],
    ['-H', 'A: b'],
  ]) {
    test(`the demo does not stand in for a server: ${args.join(' ')}`, async () => {
      await assert.rejects(loadCommand(args), {
        code: 'ERR_MILLRACE_USAGE',
        message: /^no target to load with --?[\w-]+: add a URL, or -- COMMAND/,
      });
    });
  }

  for (const args of [[], ['-d', '1', '-c', '5', '-t1', '-n', '10']]) {
    test(`the demo runs: millrace ${args.join(' ')}`, () => {
      refuseDemo(parseArguments(args, FLAGS_OF.load, newInvocation()).flags);
    });
  }

  for (const [command, args, message] of [
    [loadCommand, ['--html', 'localhost:3000'], /^--html needs a file: --html FILE localhost:3000/],
    [loadCommand, ['-o', 'localhost:3000/x'], /^-o needs a file: -o FILE localhost:3000\/x/],
    [loadCommand, ['--ca', ':3000'], /^--ca needs a file: --ca FILE :3000/],
    [loadCommand, ['-c5', '--key', 'https://h/'], /^--key needs a file: --key FILE https:\/\/h\//],
    [explainCommand, ['--html', 'h:80'], /^--html needs a file: --html FILE h:80/],
    [capacityCommand, ['-o', 'http://h'], /^-o needs a file: -o FILE http:\/\/h/],
  ]) {
    test(`a file that looks like the URL is refused: ${command.name} ${args.join(' ')}`, async () => {
      await assert.rejects(command(args), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});

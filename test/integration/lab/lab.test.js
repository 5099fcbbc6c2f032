// `millrace lab` on the command line, and a study that fails.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { labStudies } from '#internal/index.js';
import { run } from '#internal/lab/run.js';
import { formatCommandLine } from '#internal/lab/service.js';
import { renderLabPage } from '#internal/report/lab/html.js';
import { formatLabText } from '#internal/report/lab/text.js';
import { millrace } from '../../fixtures/lab/command.js';

test('a printed command can be run where it was printed', () => {
  const setting = {
    name: 'echo',
    env: { MODE: 'pipe', NO_DELAY: '1' },
    // What is free here may not be there.
    exampleEnv: { NO_DELAY: '0' },
  };
  const command = formatCommandLine(setting, 'millrace explain -c 100 -- ');
  const [, file] = /^MODE=pipe NO_DELAY=0 millrace explain -c 100 -- node (\S+)$/.exec(command);
  assert.ok(existsSync(file), file);
});

test('a study that fails is named with the others, and is an error by itself', async () => {
  const about = { title: '', original: '', question: '', seconds: { quick: 1, full: 1 } };
  const study = (name, repeat) => ({ name, ...about, repeat });
  const findings = { tables: [], figures: [], causes: [], changes: [], claims: [], setup: [] };
  const good = study('engines', async () => ({ ...findings, missing: ['oha'] }));
  const bad = study('stacks', () => Promise.reject(new Error('no socket left')));
  const result = await run({}, () => {}, [bad, good]);
  assert.deepEqual(result.failed, [{ study: 'stacks', reason: 'no socket left' }]);
  assert.deepEqual(
    result.studies.map(({ name, missing }) => [name, missing]),
    [['engines', ['oha']]],
  );
  assert.match(
    formatLabText(result, { width: 80, color: false }),
    /Not repeated: stacks: no socket left/,
  );
  assert.match(renderLabPage(result), /Not repeated<\/h3><ul><li>stacks: no socket left/);
  await assert.rejects(
    run({}, () => {}, [bad]),
    { message: 'no socket left' },
  );
});

describe('the command millrace lab', () => {
  test('millrace lab lists the studies, each with its question and length', async () => {
    const { code, stdout } = await millrace(['lab']);
    assert.equal(code, 0);
    for (const { name, seconds } of await labStudies()) {
      assert.match(stdout, new RegExp(`^${name}  \\d+ min, --quick ${seconds.quick} s$`, 'm'));
    }
  });

  test('an unknown study is refused in one line with the list of studies', async () => {
    const { code, stdout, stderr } = await millrace(['lab', 'nonsense']);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^millrace: study must be all, connections, .* \(got 'nonsense'\)\n$/);
  });

  test('Ctrl-C before a study is complete ends with one line and exit code 130, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await millrace(['lab', 'connections', '--quick'], {
      onFirstStderr: (child) => child.kill('SIGINT'),
    });
    assert.equal(code, 130);
    assert.equal(stdout, '');
    assert.match(stderr, /^connections: about \d+ s\n.*before a study was complete\n$/s);
  });
});

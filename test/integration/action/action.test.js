// The action for GitHub: its steps, read from action.yml, run one after the other as a runner does.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';

const root = new URL('../../../', import.meta.url);
const action = load(readFileSync(new URL('action.yml', root), 'utf8'));
const skip = process.platform === 'win32' && 'needs bash and symbolic links';

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-action-'));
  createProject();
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** A service in JavaScript that computes for so many ms per request. */
function service(ms) {
  return `import { createServer } from 'node:http';
createServer((request, response) => {
  const end = performance.now() + ${ms};
  while (performance.now() < end);
  response.end(request.url);
}).listen(0, '127.0.0.1');
`;
}

function git(cwd, ...args) {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8' });
}

/** A repository and its origin: on main the service is slow, on the branch that is checked out it is fast. */
function createProject() {
  const [origin, project] = [join(folder, 'origin'), join(folder, 'project')];
  git(folder, 'init', '-q', '--bare', '-b', 'main', origin);
  git(folder, 'init', '-q', '-b', 'main', project);
  git(project, 'remote', 'add', 'origin', origin);
  const write = (ms) => {
    writeFileSync(join(project, 'server.mjs'), service(ms));
    git(project, 'add', 'server.mjs');
    git(project, 'commit', '-qm', `${ms} ms`);
  };
  write(4);
  git(project, 'push', '-q', 'origin', 'main');
  git(project, 'checkout', '-qb', 'branch');
  write(0);
  // The project has millrace among its dependencies.
  const bin = join(project, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(fileURLToPath(new URL('bin/millrace.js', root)), join(bin, 'millrace'));
}

/** Evaluates an expression, in which names of the context stand for texts. */
function evaluate(expression, context) {
  const code = expression.replace(/\b(inputs|steps|runner)((?:\.[\w-]+)+)/g, (_, object, path) =>
    JSON.stringify(
      path
        .slice(1)
        .split('.')
        .reduce((value, name) => value?.[name], context[object]) ?? '',
    ),
  );
  return new Function('always', `return ${code}`)(() => true);
}

function fillIn(text, context) {
  return String(text).replace(/\$\{\{ (.*?) \}\}/g, (_, expression) =>
    evaluate(expression, context),
  );
}

/** Runs the action; resolves with its outputs, its summary and the exit code of the first step that failed. */
async function runAction(given) {
  const temporary = mkdtempSync(join(folder, 'runner-'));
  const summary = join(temporary, 'summary.md');
  writeFileSync(summary, 'of an earlier step\n');
  const defaults = Object.entries(action.inputs).map(([name, { default: value }]) => [name, value]);
  const context = {
    inputs: { ...Object.fromEntries(defaults), ...given },
    runner: { temp: temporary },
    steps: {},
  };
  let [code, log] = [0, ''];
  const uploaded = [];
  for (const step of action.runs.steps) {
    const condition = step.if ?? 'true';
    if (code !== 0 && !condition.includes('always()')) continue;
    if (!evaluate(condition, context)) continue;
    if (step.uses) uploaded.push(fillIn(step.with.path, context));
    else {
      const done = await runStep(step, context, { temporary, summary });
      context.steps[step.id] = { outputs: done.outputs };
      log += done.log;
      if (code === 0) code = done.code;
    }
  }
  const outputs = Object.fromEntries(
    Object.entries(action.outputs).map(([name, { value }]) => [name, fillIn(value, context)]),
  );
  return { code, log, outputs, uploaded, summary: readFileSync(summary, 'utf8'), temporary };
}

function runStep(step, context, { temporary, summary }) {
  const script = join(temporary, 'step.sh');
  const output = join(temporary, 'output');
  writeFileSync(script, step.run);
  writeFileSync(output, '');
  const own = Object.entries(step.env ?? {}).map(([name, value]) => [name, fillIn(value, context)]);
  const env = {
    ...process.env,
    ...Object.fromEntries(own),
    GITHUB_OUTPUT: output,
    GITHUB_STEP_SUMMARY: summary,
  };
  const cwd = join(folder, 'project', fillIn(step['working-directory'] ?? '.', context));
  // As the runner calls a step with `shell: bash`.
  const args = ['--noprofile', '--norc', '-e', '-o', 'pipefail', script];
  return new Promise((resolve) => {
    execFile('bash', args, { cwd, env, timeout: 60_000 }, (error, stdout, stderr) => {
      const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
      const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
      resolve({ code: error?.code ?? 0, outputs, log: stdout + stderr });
    });
  });
}

describe('action', { skip, concurrency: 1 }, () => {
  test('loads the service: report in the summary, page and JSON in the artifact, verdict in the outputs', async () => {
    const done = await runAction({
      command: 'PORT=0 node server.mjs',
      url: '/here',
      flags: "-n 50 -c 2 -H 'X-Note: two words'",
      'fail-on': 'errors<1\np99<5s\n',
    });
    assert.equal(done.code, 0, done.log);
    assert.match(done.summary, /^of an earlier step\n\n### Load passed: /);
    assert.match(done.summary, /✓ `errors<1` holds/);
    assert.deepEqual([done.outputs.verdict, done.outputs['exit-code']], ['passed', '0']);
    const result = JSON.parse(readFileSync(done.outputs.result, 'utf8'));
    assert.equal(result.requests.ok, 50);
    assert.match(result.plan.targets[0].url, /\/here$/);
    assert.match(readFileSync(done.outputs.page, 'utf8'), /<\/html>/);
    assert.deepEqual(done.uploaded, [join(done.temporary, 'millrace-results')]);
  });

  test("a condition that does not hold fails with millrace's exit code, unless fail is false", async () => {
    const given = { command: 'node server.mjs', flags: '-n 20', 'fail-on': 'p50<1ns' };
    const failed = await runAction(given);
    assert.equal(failed.code, 99);
    assert.deepEqual([failed.outputs.verdict, failed.outputs['exit-code']], ['failed', '99']);
    assert.match(failed.summary, /### Load failed: /);
    const passed = await runAction({ ...given, fail: 'false', artifact: '' });
    assert.equal(passed.code, 0);
    assert.equal(passed.outputs['exit-code'], '99');
    assert.deepEqual(passed.uploaded, []);
  });

  test('a service that does not start is told, and nothing of an input is run by a shell', async () => {
    const marker = join(folder, 'marker');
    const done = await runAction({ command: 'exit 7', flags: `-n 20 --seed "$(touch ${marker})"` });
    assert.notEqual(done.code, 0);
    assert.equal(done.outputs.verdict, 'error');
    assert.match(done.summary, /Millrace has no result: exit code \d+/);
    assert.ok(!existsSync(marker));
  });

  test('flags with a quote that does not end are refused', async () => {
    const done = await runAction({ command: 'node server.mjs', flags: "-n 20 -H 'X-Note: a" });
    assert.equal(done.code, 2);
    assert.match(done.log, /::error::millrace: .* a quote has no end/);
  });

  test('compares the checkout with the base branch, in a worktree that is removed', async () => {
    // A file that flags name is one of the checkout.
    writeFileSync(join(folder, 'project', 'routes.txt'), 'GET /routes\n');
    const done = await runAction({
      command: 'node server.mjs',
      compare: 'true',
      base: 'main',
      prepare: 'test -e server.mjs && echo prepared in "$PWD"',
      flags: '-d 400ms --warmup 100ms --budget 5s -c 4 --targets routes.txt',
      'fail-on': 'throughput ratio>=0.9',
    });
    assert.match(done.log, /prepared in .*millrace-sides/);
    assert.match(done.summary, /B \(head\) is faster than A \(base\): |Cannot tell/, done.log);
    const result = JSON.parse(readFileSync(done.outputs.result, 'utf8'));
    assert.equal(result.kind, 'comparison');
    assert.equal(done.outputs.verdict, result.verdict.word);
    assert.match(result.plan.targets[0].url, /\/routes$/);
    assert.deepEqual([result.sides.a.label, result.sides.b.label], ['base', 'head']);
    const [{ ratio }] = result.rows;
    assert.ok(ratio.estimate > 1.2, `ratio ${ratio.estimate}`);
    assert.doesNotMatch(git(join(folder, 'project'), 'worktree', 'list'), /millrace-sides/);
  });

  test('without a base there is nothing to compare with', async () => {
    const done = await runAction({ command: 'node server.mjs', compare: 'true', base: '' });
    assert.equal(done.code, 2);
    assert.match(done.log, /::error::millrace: there is no base to compare with/);
  });
});

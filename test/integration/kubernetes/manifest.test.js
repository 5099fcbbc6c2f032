// `millrace kubernetes`: what the manifest says, what it refuses, and what its pods send, as processes with their environment.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { findLoggedResults } from '#internal/files/logged-results.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { mountFiles, parseManifest, runPods } from '../../fixtures/kubernetes/pods.js';
import { millrace } from '../../fixtures/truth/cli.js';
import { ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-kubernetes-'));
after(() => rmSync(folder, { recursive: true }));

/** Writes files, by name, into a folder of their own. */
function writeFiles(files) {
  const into = mkdtempSync(join(folder, 'load-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(into, name, '..'), { recursive: true });
    writeFileSync(join(into, name), text);
  }
  return into;
}

/** Runs commands that read no standard input, in `folder`. */
const inFolder = inOneProcess({ cwd: folder });

const POD = ['--pods', '3', '--image', 'registry.test/load:1'];

/** Writes a manifest, in a folder of its own or in `folder`; the parsed one, and what stderr said. */
async function write(args, options) {
  const words = ['kubernetes', ...POD, ...args];
  const run = await (options ? millrace(words, options) : inFolder(...words));
  assert.equal(run.code, 0, run.stderr);
  return { yaml: run.stdout, notes: run.stderr, ...parseManifest(run.stdout) };
}

describe('the pods of a Job', { timeout: 60_000 }, () => {
  test('send one load together, and their logs are one result', async (t) => {
    const server = await truthServer(t, ok());
    const cwd = writeFiles({
      'targets.txt': `POST ${server.url}post/{{seq}}/{{csv:data/users.csv:name}}\n@body.json\n`,
      'body.json': '{"a":1}\n',
      'data/users.csv': 'name,password\nann,1\nbob,2\neve,3\n',
    });
    const args = ['--targets', 'targets.txt', '-R', '60', '-n', '30', '-c', '3', '-p', '1'];
    const header = [
      '-H',
      'Authorization: Bearer $(HOME) $1',
      '-H',
      'Price: $$5 $(MILLRACE_SEGMENTS)',
    ];
    const manifest = await write([...args, ...header, '--start-in', '1s'], { cwd });
    const pods = await runPods(manifest);
    for (const { code, stderr } of pods) assert.equal(code, 0, stderr);
    const targets = server.requests.map(({ target }) => target).sort();
    const names = ['ann', 'bob', 'eve'];
    const planned = Array.from({ length: 30 }, (_, seq) => `/post/${seq}/${names[seq % 3]}`);
    assert.deepEqual(targets, planned.sort());
    const [{ headers }] = server.requests;
    for (const value of ['Bearer $(HOME) $1', '$$5 $(MILLRACE_SEGMENTS)']) {
      assert.ok(JSON.stringify(headers).includes(value), JSON.stringify(headers));
    }

    // As kubectl logs -l mixes them with --prefix --timestamps, one line of each in turn.
    const lines = pods.map(({ stdout }, index) =>
      stdout
        .split('\n')
        .map((line) => `[pod/load-${index}-x2f9k/millrace] 2026-01-01T00:00:00.1Z ${line}`),
    );
    const mixed = lines[0].flatMap((_, index) => lines.map((one) => one[index] ?? '')).join('\n');
    const rest = lines.flatMap((one) => one.slice(lines[0].length)).join('\n');
    const merged = await millrace(['merge', '-', '--json'], { input: `${mixed}\n${rest}` });
    assert.equal(merged.code, 0, merged.stderr);
    const result = JSON.parse(merged.stdout);
    assert.equal(result.requests.ok, 30);
    assert.deepEqual(result.generators.map(({ name }) => name).sort(), [
      'load-0-x2f9k',
      'load-1-x2f9k',
      'load-2-x2f9k',
    ]);
    // All pods had one instant to begin at.
    const logs = pods.flatMap(({ stdout }) => findLoggedResults(stdout));
    const starts = logs.map(({ read }) => JSON.parse(read()).start.at);
    assert.equal(starts.length, 3);
    assert.equal(new Set(starts).size, 1);
    assert.ok(pods.every(({ stdout }) => stdout.split('\n').every((line) => line.length <= 80)));
  });

  test('have a scenario with what it imports, seen from the same working folder', async (t) => {
    const server = await truthServer(t, ok());
    const cwd = writeFiles({
      'package.json': '{"type":"module"}',
      'shared/steps.js': `import { request } from 'millrace/scenario';
        import { readFileSync } from 'node:fs';
        export const look = request('look', 'GET /' + readFileSync('../path.txt', 'utf8').trim());`,
      'path.txt': 'from-file\n',
      'load/checkout.js': `import { scenario } from 'millrace/scenario';
        import { look } from '../shared/steps.js';
        export default scenario('checkout', [look]);`,
    });
    const inside = join(cwd, 'load');
    const args = ['checkout.js', server.url, '-n', '6', '--users', '3', '--start-in', '1s'];
    const manifest = await write([...args, '--include', '../path.txt'], { cwd: inside });
    assert.equal(manifest.container.workingDir, '/load/load');
    const pods = await runPods(manifest);
    for (const { code, stderr } of pods) assert.equal(code, 0, stderr);
    assert.deepEqual(
      server.requests.map(({ target }) => target),
      Array.from({ length: 6 }, () => '/from-file'),
    );
  });
});

describe('the manifest', { timeout: 60_000 }, () => {
  test('is an Indexed Job of as many pods, which nobody repeats', async () => {
    const { job, container, configMap, notes } = await write([
      ...[
        'http://web:8080/',
        '-c',
        '9',
        '-d',
        '20s',
        '--warmup',
        '5s',
        '-t',
        '2',
        '--job-name',
        'checkout',
      ],
      ...['--fail-on', 'p99<50ms', '-o', 'all.json'],
    ]);
    assert.equal(configMap, undefined);
    const { completions, parallelism, completionMode, backoffLimitPerIndex, template } = job.spec;
    assert.deepEqual(
      [completions, parallelism, completionMode, backoffLimitPerIndex],
      [3, 3, 'Indexed', 0],
    );
    assert.equal(template.spec.restartPolicy, 'Never');
    assert.equal(template.spec.topologySpreadConstraints[0].topologyKey, 'kubernetes.io/hostname');
    assert.deepEqual(
      template.spec.topologySpreadConstraints[0].labelSelector.matchLabels,
      template.metadata.labels,
    );
    assert.equal(container.image, 'registry.test/load:1');
    assert.deepEqual(container.env, [{ name: 'MILLRACE_SEGMENTS', value: '3' }]);
    assert.deepEqual(container.resources.requests, { cpu: '2', memory: '256Mi' });
    const words = container.args.join(' ');
    assert.match(words, /--seed \d+ --segment auto --start-at \d{4}-\d\d-\d\dT[\d:]+Z/);
    assert.doesNotMatch(words, /fail-on|all\.json|pods|image/);
    assert.match(notes, /kubectl wait --for=condition=complete --timeout=145s job\/checkout/);
    assert.match(
      notes,
      /logs -l job-name=checkout .*--tail=-1 \| millrace merge - --fail-on 'p99<50ms' -o all\.json/,
    );
  });

  test('has keys, passwords and tokens in a Secret alone', async () => {
    writeFileSync(join(folder, 'users.csv'), 'user,password\nann,hunter2\n');
    writeFileSync(join(folder, 'body.txt'), 'plain');
    const { yaml, secret, configMap, container } = await write([
      ...['http://web/{{csv:users.csv:user}}?token=s3cr3t-in-url', '-b', '@body.txt'],
      ...['-H', 'Authorization: Bearer s3cr3t', '--insecure'],
    ]);
    for (const text of ['s3cr3t', 'hunter2']) assert.ok(!yaml.includes(text), text);
    assert.deepEqual(Object.keys(configMap.data), ['body.txt']);
    assert.equal(Object.keys(secret.data).length, 3);
    assert.ok(container.args.includes('$(LOAD_ARGUMENT_1)'));
  });

  test('keeps contents to the byte', async () => {
    const bodies = {
      'break.txt': 'a\nb\n\n',
      'none.txt': 'a\nb',
      'space.txt': ' a\n b\n',
      'carriage.txt': 'a\r\nb\r\n',
      'tabs.txt': 'a\n\tb \n',
      'yaml.txt': '- a: "b" # c\n---\n',
      'empty.txt': '',
      'blank.txt': '\n\na\n',
      'number.txt': '1e3',
      'yes.txt': 'yes',
      'mark.txt': '\u{feff}a\nb\n',
      'line.txt': 'a\u{2028}b\nc\u{85}\n',
      'binary.bin': Buffer.from([0, 255, 10, 128]),
      'control.txt': 'a\u{7f}\u{1b}\n\n  \n',
      'last.txt': 'a\n  ',
      'odd: $(x) "näme".txt': 'a',
    };
    for (const [name, content] of Object.entries(bodies)) {
      writeFileSync(join(folder, name), content);
    }
    const include = Object.keys(bodies).flatMap((name) => ['--include', name]);
    const manifest = await write(['http://web/', ...include]);
    const root = mkdtempSync(join(folder, 'root-'));
    mountFiles(manifest, root);
    for (const [name, content] of Object.entries(bodies)) {
      assert.deepEqual(readFileSync(join(root, 'load', name)), Buffer.from(content), name);
    }
  });

  test('puts absolute paths of arguments into the folder of the pods', async (t) => {
    writeFileSync(join(folder, 'body.txt'), 'x');
    const other = mkdtempSync(join(tmpdir(), 'millrace-elsewhere-'));
    t.after(() => rmSync(other, { recursive: true }));
    const elsewhere = join(other, 'users.csv');
    writeFileSync(elsewhere, 'a\n1\n');
    const { container, job } = await write([
      ...[`http://web/{{csv:${elsewhere}:a}}`, '-b', `@${join(folder, 'body.txt')}`],
    ]);
    assert.ok(container.args.includes('@/load/body.txt'), container.args.join(' '));
    assert.ok(container.args.includes(`http://web/{{csv:/load/root${elsewhere}:a}}`));
    const [{ configMap }] = job.spec.template.spec.volumes[0].projected.sources;
    assert.deepEqual(
      configMap.items.map(({ path }) => path).sort(),
      ['body.txt', `root${elsewhere}`].sort(),
    );
  });
});

describe('what is refused, in one line', { timeout: 60_000 }, () => {
  /** @type {[string[], RegExp][]} */
  const cases = [
    [['http://web/', '--image', 'i'], /kubernetes needs --pods N/],
    [['http://web/', '--pods', '3'], /kubernetes needs --image NAME/],
    [['--pods', '3', '--image', 'i'], /kubernetes needs the URL of a server/],
    [[...POD, '--', 'node', 'server.js'], /pods start no command/],
    [[...POD, 'http://web/', '-c', '2'], /connections .* must be at least 3/],
    [[...POD, 'http://web/', '--segment', '1/3'], /their number is --pods N/],
    [[...POD, 'http://web/', '--start-at', '+5s'], /--start-in TIME/],
    [[...POD, 'http://web/', '--memory', '512MB'], /--memory must be a quantity .*512Mi/],
    [[...POD, 'http://web/', '--cpu', 'two'], /--cpu must be cores such as 2/],
    [[...POD, 'http://web/', '--job-name', 'My_Job'], /--job-name must be at most 48 of a-z/],
    [[...POD, 'http://web/', '--include', 'no-such-file'], /'no-such-file' cannot be read/],
    [['http://web/', '--pods', '0', '--image', 'i'], /--pods/],
    [['http://web/', '--pods', '3', '--image', ''], /--image must be the name of an image/],
    [[...POD, 'http://web/', '--namespace', 'n'], /--namespace is not supported: .*kubectl/],
    [[...POD, 'http://web/', '-o', 'job.yaml'], /-o job\.yaml .* \(> job\.yaml\)/],
  ];
  for (const [args, expected] of cases) {
    test(args.join(' '), async () => {
      const { code, stdout, stderr } = await inFolder('kubernetes', ...args);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, expected);
      assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    });
  }

  test('standard input', async () => {
    const args = ['kubernetes', ...POD, 'http://web/', '-b', '@-'];
    const { code, stderr } = await millrace(args, { input: '' });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^millrace: pods have no standard input.*\n$/);
  });

  test('files of more than a ConfigMap holds, unless the image has them', async () => {
    writeFileSync(join(folder, 'large.csv'), `a\n${'value\n'.repeat(200_000)}`);
    const args = ['kubernetes', ...POD, 'http://web/{{csv:large.csv:a}}'];
    const { code, stderr } = await inFolder(...args);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /1\.14 MiB \(large\.csv: 1\.14\), and a ConfigMap holds 1: .*--files-in-image/,
    );
    const { job } = parseManifest((await inFolder(...args, '--files-in-image')).stdout);
    assert.equal(job.spec.template.spec.volumes, undefined);
  });

  test('an absolute path inside of a file', async () => {
    writeFileSync(join(folder, 'body.json'), '{}');
    const targets = `POST http://web/\n@${join(folder, 'body.json')}\n`;
    writeFileSync(join(folder, 'targets.txt'), targets);
    const args = ['kubernetes', ...POD, '--targets', 'targets.txt'];
    const { code, stderr } = await inFolder(...args);
    assert.equal(code, 2);
    assert.match(stderr, /targets\.txt' names .*body\.json' by its absolute path/);
  });
});

// Files of scenarios: what they export, TypeScript, and the one line for each fault, with file and line.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load, MillraceError } from 'millrace';
import { scenarioServer } from '../../fixtures/scenario/server.js';
import { millrace } from '../../fixtures/truth/cli.js';

// Not below this package: nothing resolves `millrace/scenario` there but what the command line provides.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-modules-')));
after(() => rmSync(folder, { recursive: true }));

const IMPORT =
  "import { json, pause, regex, repeat, request, scenario, when } from 'millrace/scenario';";
const ONE = "export default scenario('one', [request('x', 'GET /x')]);";
const runsTypeScript = 'typescript' in process.features && Boolean(process.features.typescript);
const requiresModules = 'registerHooks' in (await import('node:module'));

function file(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Runs it against nothing: all faults are found before. */
async function messageOf(path) {
  const error = await load({ url: 'http://127.0.0.1:9/', scenario: path, requests: 1 }).then(
    () => assert.fail(`${path} ran`),
    (it) => it,
  );
  assert.ok(error instanceof MillraceError, error.stack);
  assert.equal(error.code, 'ERR_MILLRACE_USAGE', error.message);
  assert.ok(!error.message.includes('\n'), error.message);
  return error.message.replaceAll(`${folder}/`, '');
}

/** Content of the second line and those after it, by name; the message, which begins with file and line. */
const FAULTS = {
  throws: [
    'const none = undefined;\nnone.y;',
    /^throws\.mjs:3: TypeError: Cannot read properties of undefined \(reading 'y'\)$/,
  ],
  'throws-text': ["throw 'only text';", /^throws-text\.mjs: only text$/],
  'throws-own': [
    "export default scenario('a', [\n  request('x', 'GET'),\n]);",
    /^throws-own\.mjs:3: request 'x' takes a method and a URL, as in 'GET \/items' \(got 'GET'\)$/,
  ],
  syntax: [
    "export default scenario('a', [request('x', 'GET /' );",
    /^syntax\.mjs:2: SyntaxError: /,
  ],
  nothing: [
    '',
    /^nothing\.mjs: no scenario: export default scenario\(NAME, \[\.\.\.\]\) of millrace\/scenario$/,
  ],
  number: ['export default 5;', /^number\.mjs: no scenario: export default scenario/],
  missing: [
    "import './none.mjs';",
    /^missing\.mjs: Cannot find module '.*none\.mjs' imported from /,
  ],
  name: ["import { nope } from 'millrace/scenario';", /^name\.mjs:2: SyntaxError: .*'nope'$/],
  step: [
    "export default scenario('a', [\n  { url: '/' },\n]);",
    /^step\.mjs:2: scenario 'a': a step is what request\(\), pause\(\), repeat\(\) or when\(\) returns \(got \{ url: '\/' \}\)$/,
  ],
  options: [
    "export default scenario('a', [request('x', 'GET /', { jsn: 1 })]);",
    /^options\.mjs:2: request 'x': unknown option 'jsn'; known are headers, json, /,
  ],
  'two-bodies': [
    "export default scenario('a', [request('x', 'POST /', { json: 1, form: {} })]);",
    /^two-bodies\.mjs:2: request 'x': one body at most \(got json and form\)$/,
  ],
  'same-name': [
    `${ONE}\nexport const b = scenario('one', [request('y', 'GET /')]);`,
    /^same-name\.mjs:\d: two scenarios have the name 'one'$/,
  ],
  circular: [
    "const steps = [];\nsteps.push(request('x', 'GET /'),\n  repeat(2, steps));\nexport default scenario('a', steps);",
    /^circular\.mjs:4: scenario 'a': a repeat or when contains itself, and would never end$/,
  ],
  unknown: [
    "export default scenario('a', [\n  request('x', 'GET /{{id}}'),\n  request('y', 'GET /', { save: { id: json('/id') } }),\n]);",
    /^unknown\.mjs:3: scenario 'a', step 'x': \{\{id\}\} has no value: it is saved only by step 'y', which comes later; others are \{\{seq\}\}/,
  ],
  itself: [
    "export default scenario('a', [\n  request('x', 'GET /{{id}}', { save: { id: json('/id') } }),\n]);",
    /^itself\.mjs:3: .*it is saved only by this step itself/,
  ],
  typo: [
    "export default scenario('a', [\n  request('x', 'GET /', { save: { token: json('/t') } }),\n  request('y', 'GET /{{tokn}}'),\n]);",
    /^typo\.mjs:4: .*\{\{tokn\}\} has no value: known here are \{\{token\}\}/,
  ],
  'in-when': [
    "export default scenario('a', [\n  when('{{n}}', '>', 0, [request('x', 'GET /')]),\n]);",
    /^in-when\.mjs:3: scenario 'a', when: \{\{n\}\} has no value: no step before saves a value/,
  ],
  'in-check': [
    "export default scenario('a', [\n  request('x', 'GET /', { expect: { body: '{{n}}' } }),\n]);",
    /^in-check\.mjs:3: scenario 'a', step 'x': \{\{n\}\} has no value/,
  ],
  placeholder: [
    "export default scenario('a', [\n  request('x', 'GET /{{random:9-1}}'),\n]);",
    /^placeholder\.mjs:3: scenario 'a', step 'x': unknown placeholder \{\{random:9-1\}\}: known are \{\{seq\}\}, \{\{random:FROM-TO\}\}, \{\{uuid\}\}, \{\{csv:FILE:COLUMN\}\}$/,
  ],
  'no-url': [
    "export default scenario('a', [\n  request('x', 'GET items'),\n]);",
    /^no-url\.mjs:3: scenario 'a', step 'x': a URL begins with \/ for the server of the run, or with http:\/\/ or https:\/\/ \(got 'items'\)$/,
  ],
  'look-ahead': [
    "export default scenario('a', [\n  request('x', 'GET /', { save: { id: regex(/(?<=a)b/) } }),\n]);",
    /^look-ahead\.mjs:3: scenario 'a', step 'x': save\.id: the engine's regular expressions have no look-ahead and look-behind \(got \/\(\?<=a\)b\/\); a hook can do it: after\(response, context\) \{ \.\.\. \}$/,
  ],
  'back-reference': [
    "export default scenario('a', [request('x', 'GET /', { expect: { body: /(a)\\1/ } })]);",
    /^back-reference\.mjs:2: .*have no back-references/,
  ],
  flag: [
    "export default scenario('a', [request('x', 'GET /', { expect: { body: /a/y } })]);",
    /^flag\.mjs:2: .*have no flag y/,
  ],
  group: [
    "export default scenario('a', [request('x', 'GET /', { save: { id: regex(/(a)/, { group: 'b' }) } })]);",
    /^group\.mjs:2: .*save\.id: \/\(a\)\/ has no group b$/,
  ],
  large: [
    "export default scenario('a', [request('x', 'GET /', { save: { id: regex(/(?:\\w{1000}){1000}/) } })]);",
    /regular expression .*: it takes more than \d+ bytes/,
  ],
  pointer: [
    "export default scenario('a', [request('x', 'GET /', {\n  save: { id: json('items/0') } })]);",
    /^pointer\.mjs:3: json takes a JSON pointer such as '\/items\/0\/id' \(RFC 6901; got 'items\/0'\)$/,
  ],
  pause: [
    "export default scenario('a', [\n  pause('3-x'), request('x', 'GET /')]);",
    /^pause\.mjs:3: scenario 'a': pause must be a duration/,
  ],
  within: [
    "export default scenario('a', [\n  request('x', 'GET /', { expect: { within: 'soon' } })]);",
    /^within\.mjs:3: scenario 'a', step 'x': expect\.within must be a duration such as 500ms/,
  ],
  status: [
    "export default scenario('a', [\n  request('x', 'GET /', { expect: { status: 'ok' } })]);",
    /^status\.mjs:3: scenario 'a', step 'x': expect\.status must be statuses, classes or ranges/,
  ],
  expect: [
    "export default scenario('a', [\n  request('x', 'GET /', { expect: { stats: 200 } })]);",
    /^expect\.mjs:3: scenario 'a', step 'x': expect knows status, headers, json, body, within, size \(got 'stats'\)$/,
  ],
  csv: [
    "export default scenario('a', [request('x', 'GET /{{csv:none.csv:a}}')]);",
    /CSV file 'none\.csv' cannot be read: no such file or directory$/,
  ],
  setup: [
    "export function setup() {\n  throw new Error('no\\n database');\n}",
    /^the scenario's setup\(\) failed: setup\.mjs:3: no database$/,
    ONE,
  ],
  'setup-kind': [
    'export const setup = 5;',
    /^setup-kind\.mjs: setup must be a function \(got 5\)$/,
    ONE,
  ],
  'setup-name': [
    "export const setup = () => ({ 'a b': 1 });",
    /setup: 'a b' is no name of a variable: letters, digits/,
    ONE,
  ],
};

describe('files of scenarios', { timeout: 30_000 }, () => {
  test('get one line for each fault, with file and line', async () => {
    for (const [name, [content, expected, more = '']] of Object.entries(FAULTS)) {
      const path = file(`${name}.mjs`, `${IMPORT}\n${content}\n${more}`);
      assert.match(await messageOf(path), expected, name);
    }
  });

  test('that are none are refused', async () => {
    assert.match(
      await messageOf(join(folder, 'none.mjs')),
      /^scenario 'none\.mjs' cannot be read: no such file or directory$/,
    );
    assert.match(await messageOf(folder), / cannot be read: is a directory$/);
    assert.match(
      await messageOf(file('server.js', 'export {};')),
      /^'server\.js' is no file of scenarios: it imports nothing from 'millrace\/scenario'; a server to start follows --, as in -- node server\.js$/,
    );
  });

  test('tell the fault on standard error alone, with the exit code of usage', async () => {
    const throwing = file('cli-throws.mjs', `${IMPORT}\nthrow new RangeError('too small');`);
    const thrown = await millrace(['run', throwing, 'http://127.0.0.1:9/']);
    assert.deepEqual(thrown, {
      code: 2,
      stdout: '',
      stderr: `millrace: ${throwing}:2: RangeError: too small\n`,
    });
  });

  test('that wait for what never happens are told so', async () => {
    const waiting = file('waits.mjs', `${IMPORT}\nawait new Promise(() => {});\n${ONE}`);
    const setup = file(
      'waits-setup.mjs',
      `${IMPORT}\nexport const setup = () => new Promise(() => {});\n${ONE}`,
    );
    const [ofModule, ofSetup] = await Promise.all(
      [waiting, setup].map((path) => millrace(['run', path, 'http://127.0.0.1:9/'])),
    );
    assert.deepEqual([ofModule.code, ofSetup.code], [2, 2]);
    assert.match(
      ofModule.stderr,
      /^millrace: \S+waits\.mjs: it waits for a promise that nothing settles$/m,
    );
    assert.match(
      ofSetup.stderr,
      /^millrace: the scenario's setup\(\) failed: it waits for a promise that nothing settles$/m,
    );
  });

  test('may be TypeScript where Node runs it', async (t) => {
    const text = `${IMPORT}\nconst path: string = '/typed';\nexport default scenario('typed', [request('x', \`GET \${path}\`)]);`;
    const path = file('typed.ts', text);
    if (!runsTypeScript) {
      const { node } = process.versions;
      assert.equal(
        await messageOf(path),
        `'typed.ts' is TypeScript, which Node ${node} does not run: use Node 22.18 or later, or JavaScript`,
      );
      return;
    }
    const server = await scenarioServer(t);
    await load({ url: server.url, scenario: path, requests: 2 });
    assert.deepEqual(
      server.requests.map(({ url }) => url),
      ['/typed', '/typed'],
    );
    assert.match(
      await messageOf(file('enum.ts', `${IMPORT}\nenum A { B }\n${ONE}`)),
      /^enum\.ts:2: SyntaxError: .*enum/,
    );
  });

  test('may be CommonJS where Node can require modules', async (t) => {
    const path = file(
      'common.cjs',
      "const { request, scenario } = require('millrace/scenario');\nmodule.exports = scenario('one', [request('x', 'GET /common')]);",
    );
    if (!requiresModules) {
      assert.equal(
        await messageOf(path),
        "common.cjs:1: require('millrace/scenario') needs Node 22.15 or later, or the package millrace beside the file: use import",
      );
      return;
    }
    const server = await scenarioServer(t);
    await load({ url: server.url, scenario: path, requests: 1 });
    assert.deepEqual(
      server.requests.map(({ url }) => url),
      ['/common'],
    );
  });

  test('export one scenario or several, under any names; URLs name them, too', async (t) => {
    const server = await scenarioServer(t);
    mkdirSync(join(folder, 'with space #'));
    const path = file(
      'with space #/several.mjs',
      `${IMPORT}
      export const first = scenario('first', [request('a', 'GET /a')]);
      const second = scenario('second', [request('b', 'GET /b')]);
      export default [first, second];
      export const number = 5;`,
    );
    for (const given of [path, pathToFileURL(path)]) {
      const { scenarios } = await load({ url: server.url, scenario: given, requests: 40 });
      assert.deepEqual(
        scenarios.map(({ name }) => name),
        ['first', 'second'],
      );
      assert.equal(
        scenarios.reduce((sum, { started }) => sum + started, 0),
        40,
      );
    }
  });

  test('have the variables of --env, and stages of users', async (t) => {
    const server = await scenarioServer(t);
    const path = file(
      'env.mjs',
      `${IMPORT}
      export default scenario('env', [request('x', \`GET /\${process.env.SHOP}\`)]);`,
    );
    const args = ['--env', 'SHOP=berlin', '--users-stage', '0s:3', '--users-stage', '200ms:3'];
    const { code, stdout, stderr } = await millrace(['run', path, '--json', ...args, server.url]);
    assert.equal(code, 0, stderr);
    const result = JSON.parse(stdout);
    assert.ok(server.requests.length > 0 && server.requests.every(({ url }) => url === '/berlin'));
    assert.equal(result.plan.flows.users, 3);
    assert.equal(result.requests.sent, server.requests.length);
  });
});

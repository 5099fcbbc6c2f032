// The packages as npm would publish them: packed, installed into an empty folder without a network, and used where there is
// neither Rust nor a C compiler; with the package for this platform, and without.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compile, testEntries } from '../fixtures/package/checks.js';
import { link, pack, platformFolder, platformName, root } from '../fixtures/package/pack.js';
import { FEW_TYPED_PROGRAMS } from '../fixtures/package/types.js';
import { installed } from '../fixtures/packages.js';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
/** The commands that are there: no compiler is. */
const bin = join(folder, 'bin');
const env = { ...process.env, PATH: bin, NODE_OPTIONS: '', MILLRACE_STACK: '' };
/** With the package for this platform, and without. */
const app = join(folder, 'app');
const bare = join(folder, 'bare');
let main;
let platform;
let dependency;

before(async () => {
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  for (const command of ['npm', 'sh']) symlinkSync(pathOf(command), join(bin, command));
  const packed = [root, await platformFolder(folder), join(root, 'node_modules', 'undici')];
  [main, platform, dependency] = await Promise.all(packed.map((from) => pack(from, folder, env)));
  await install(app, main, platform, dependency);
  await install(bare, main, dependency);
});

after(() => rmSync(folder, { recursive: true, force: true }));

test('the main package contains the build of src and no addon', () => {
  const needed = [
    'LICENSE',
    'README.md',
    'bin/millrace.js',
    'dist/cli/main.js',
    'dist/http/stack.cjs',
    'dist/http/stack.cjs.map',
    'dist/index.d.ts',
    'dist/probe/preload.cjs',
    'examples/studies/hello.mjs',
    'examples/studies/localhost-cert.pem',
    'native/index.d.ts',
    'register.d.cts',
  ];
  for (const file of needed) assert.ok(main.files.includes(file), `${file} is missing`);
  assert.deepEqual(main.files.filter(isUnexpected), []);
});

test('the main package contains the stack as one file, which loads no module of the package', () => {
  const stack = join(root, 'dist', 'http', 'stack.cjs');
  const hint = 'tsc alone has compiled it; node scripts/bundle-stack.js';
  assert.doesNotMatch(readFileSync(stack, 'utf8'), /require\("\.{1,2}\//, hint);
});

test('the package for this platform contains the addon', () => {
  const addon = `millrace.${platformName()}.node`;
  assert.deepEqual(platform.files.sort(), ['README.md', addon, 'package.json'].sort());
});

test('the installed command prints its version', async () => {
  assert.deepEqual(await millrace(app, '--version'), {
    code: 0,
    stdout: `millrace ${version}\n`,
    stderr: '',
  });
});

test('the installed command loads a server', async () => {
  let arrived = 0;
  const server = createServer((_request, response) => {
    arrived += 1;
    response.end('hello');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${server.address().port}/`;
    const { code, stdout, stderr } = await millrace(app, '-c', '2', '-d', '300ms', '--json', url);
    assert.equal(code, 0, stderr);
    const { requests } = JSON.parse(stdout);
    assert.ok(requests.ok > 0);
    assert.equal(requests.sent, arrived);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe('the installed package', () => testEntries(app));

test('the types are those of TypeScript 5.6, too', async (t) => {
  const { folder: tools, reason } = await installed('typescript', { typescript: '5.6.3' });
  if (reason) return t.skip(reason);
  const tsc = join(tools, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const name of Object.keys(FEW_TYPED_PROGRAMS)) await compile(app, name, tsc);
});

test('the installed package exports the documented names', async () => {
  const names = await script(app, `console.log(Object.keys(await import('millrace')).join(' '))`);
  assert.equal(
    names.stdout,
    'HostsError MillraceError capacity compare dryRun explain lab labStudies load loadOnHosts mergeResults startTestServer\n',
  );
});

test('a stack trace with source maps names the source', async () => {
  const source = `const { createClient } = await import('millrace/client');
    try { createClient({ origin: 1 }); } catch (error) { console.log(error.stack); }`;
  const { stdout } = await script(app, source, ['--enable-source-maps']);
  assert.match(stdout, /millrace\/src\/client\/options\.ts:\d+:\d+/);
});

/** Serves one request; tells who did. */
const SERVE = `
  const server = http.createServer((request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1', async () => {
    const response = await fetch('http://127.0.0.1:' + server.address().port);
    const native = server.stats?.()?.requests.native ?? null;
    console.log(await response.text(), native, http.millraceVersion);
    process.exit();
  });`;
const ON_NODE = `import http from 'node:http'; ${SERVE}`;
const WAYS = {
  '--import millrace/register': [ON_NODE, ['--import', 'millrace/register']],
  'NODE_OPTIONS with it': [ON_NODE, [], { NODE_OPTIONS: '--import millrace/register' }],
  'install()': [
    `import { install } from 'millrace/http'; install(); install();
     const { default: http } = await import('node:http'); ${SERVE}`,
  ],
  'millrace/http': [`import http from 'millrace/http'; ${SERVE}`],
  '--require millrace/register': [ON_NODE, ['--require', 'millrace/register']],
};

describe('requests with the addon and without a compiler', () => {
  for (const [way, args] of Object.entries(WAYS)) {
    test(`requests are served natively by ${way}`, async () => {
      const expected = { code: 0, stdout: `hello 1 ${version}\n`, stderr: '' };
      assert.deepEqual(await script(app, ...args), expected);
    });
  }
});

describe('without the workbench, which the guide deletes', () => {
  const slim = join(folder, 'slim');

  before(async () => {
    cpSync(app, slim, { recursive: true, verbatimSymlinks: true });
    const guide = readFileSync(join(root, 'docs', 'guide', 'stack.md'), 'utf8');
    const [, commands] = /## Without the workbench\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(guide);
    const { PATH } = process.env;
    const { code, stderr } = await run(slim, 'sh', ['-e', '-c', commands], { PATH });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });

  for (const [way, args] of Object.entries(WAYS)) {
    test(`requests are served natively by ${way}`, async () => {
      const expected = { code: 0, stdout: `hello 1 ${version}\n`, stderr: '' };
      assert.deepEqual(await script(slim, ...args), expected);
    });
  }

  test('deadlines and the client work', async () => {
    const source = `import 'millrace/deadlines/register';
      import { limitsFor } from 'millrace/deadlines';
      import { createServer } from 'millrace/https';
      import { createClient } from 'millrace/client';
      const calls = createClient({ origin: 'http://127.0.0.1:9' });
      await calls.request('/').catch(({ code }) => console.log(code));
      console.log(limitsFor('a.test').total, typeof createServer().stats);`;
    const expected = { code: 0, stdout: 'ECONNREFUSED\n3000 function\n', stderr: '' };
    assert.deepEqual(await script(slim, source), expected);
  });
});

describe('without the package for this platform', () => {
  const MISSING = `the native addon for ${platformName()} is missing; npm install without --omit=optional installs @millrace/native-${platformName()}`;
  const ON_NODES_CODE = `millrace: this process runs on Node's own HTTP code: ${MISSING}\n`;
  const served = { code: 0, stdout: 'hello null undefined\n' };

  for (const [way, [source, flags, env]] of Object.entries(WAYS)) {
    test(`Node's own code serves with ${way}, and one line says so`, async () => {
      const { stdout, stderr, code } = await script(bare, source, flags, env);
      assert.deepEqual({ code, stdout, stderr }, { ...served, stderr: ON_NODES_CODE });
    });
  }

  test('no line is printed with MILLRACE_STACK=node', async () => {
    const [source, flags] = WAYS['--import millrace/register'];
    const off = { MILLRACE_STACK: 'node' };
    assert.deepEqual(await script(bare, source, flags, off), { ...served, stderr: '' });
  });

  test('threads and the workers of a cluster do not repeat the line', async () => {
    const source = `
      import cluster from 'node:cluster';
      import { Worker, isMainThread } from 'node:worker_threads';
      if (isMainThread) for (const _ of [1, 2]) new Worker(new URL(import.meta.url));
      if (isMainThread && cluster.isPrimary) for (const _ of [1, 2]) cluster.fork();
      else if (isMainThread) cluster.worker.disconnect();`;
    writeFileSync(join(bare, 'several.mjs'), source);
    const args = ['--import', 'millrace/register', 'several.mjs'];
    const expected = { code: 0, stdout: '', stderr: ON_NODES_CODE };
    assert.deepEqual(await run(bare, process.execPath, args), expected);
  });

  test('a child process prints its own line', async () => {
    const source = `
      import { fork } from 'node:child_process';
      if (process.argv[2] === undefined) fork(new URL(import.meta.url), ['child']);`;
    writeFileSync(join(bare, 'parent.mjs'), source);
    const args = ['--import', 'millrace/register', 'parent.mjs'];
    const expected = { code: 0, stdout: '', stderr: ON_NODES_CODE.repeat(2) };
    assert.deepEqual(await run(bare, process.execPath, args), expected);
  });

  for (const module of ['millrace/http', 'millrace/https']) {
    test(`${module} has the same names without the addon`, async () => {
      const source = `const all = await import('${module}');
        console.log(Object.keys(all).sort().join(), Object.keys(all.default).sort().join());`;
      const [having, lacking] = [await script(app, source), await script(bare, source)];
      assert.deepEqual(lacking, { ...having, stderr: ON_NODES_CODE });
    });
  }

  test('calls of the stack by an application have no effect without the addon', async () => {
    const stats = join(folder, 'stats');
    const source = `
      import http from 'node:http';
      import { getStats, isNative } from 'millrace/http';
      const server = http.createServer({ cache: true, responseTimeout: 1000 }, (request, response) => {
        response.cacheDuration = 10;
        response.end('hello');
      });
      server.maxRequestsInFlight = 10;
      server.listen(0, '127.0.0.1', async () => {
        const response = await fetch('http://127.0.0.1:' + server.address().port);
        const { cache } = server;
        const told = [server.stats(), cache.stats(), cache.entries(), cache.delete('/'), cache.clear()];
        told.push(getStats(server), isNative(server));
        console.log(await response.text(), JSON.stringify(told));
        process.exit();
      });`;
    const env = { MILLRACE_CACHE_DURATION: '10', MILLRACE_STATS_FILE: stats };
    assert.deepEqual(await script(bare, source, ['--import', 'millrace/register'], env), {
      code: 0,
      stdout: 'hello [null,null,[],0,0,null,false]\n',
      stderr: ON_NODES_CODE,
    });
    assert.equal(existsSync(stats), false);
  });

  test('listen with a URL prefix fails without the addon, and the error says why', async () => {
    const source = `import http from 'node:http';
      try { http.createServer().listen('http://*:8080/foo/'); }
      catch (error) { console.log(error.code, error.message); }`;
    const why = `The URL prefix 'http://*:8080/foo/' cannot be listened to: it needs the native stack: ${MISSING}`;
    assert.deepEqual(await script(bare, source, ['--import', 'millrace/register']), {
      code: 0,
      stdout: `ERR_INVALID_ARG_VALUE ${why}\n`,
      stderr: ON_NODES_CODE,
    });
  });

  for (const flag of ['--import', '--require']) {
    test(`${flag} millrace/deadlines/register works without the addon`, async () => {
      const source = `import net from 'node:net';
        net.createServer().listen(0, function () {
          fetch('http://127.0.0.1:' + this.address().port).catch(({ cause }) => {
            console.log(cause.code, cause.limit);
            process.exit();
          });
        });`;
      const env = { MILLRACE_DEADLINE_TOTAL: '100ms' };
      assert.deepEqual(await script(bare, source, [flag, 'millrace/deadlines/register'], env), {
        code: 0,
        stdout: 'UND_ERR_HEADERS_TIMEOUT total\n',
        stderr: '',
      });
    });
  }

  test('millrace/client works without the addon', async () => {
    const source = `import http from 'node:http';
      import { createClient } from 'millrace/client';
      const server = http.createServer((request, response) => response.end('hello'));
      server.listen(0, '127.0.0.1', async () => {
        const client = createClient({ origin: 'http://127.0.0.1:' + server.address().port });
        console.log(await (await client.request('/')).text());
        process.exit();
      });`;
    assert.deepEqual(await script(bare, source), { code: 0, stdout: 'hello\n', stderr: '' });
  });

  const URL_ = 'http://127.0.0.1:9/';
  for (const args of [[URL_], ['explain', URL_], ['capacity', URL_], ['testserver', '--tls']]) {
    test(`millrace ${args.join(' ')} says that it needs the addon`, async () => {
      const expected = { code: 1, stdout: '', stderr: `millrace: ${MISSING}\n` };
      assert.deepEqual(await millrace(bare, ...args), expected);
    });
  }

  test('load() rejects without the addon', async () => {
    const source = `const { load } = await import('millrace');
      await load({ url: '${URL_}' }).catch(({ code, message }) => console.log(code, message));`;
    const stdout = `ERR_MILLRACE_NATIVE ${MISSING}\n`;
    assert.deepEqual(await script(bare, source), { code: 0, stdout, stderr: '' });
  });

  test('the supported platforms are named on another platform', async () => {
    const other = join(bare, 'other.cjs');
    writeFileSync(other, `Object.defineProperty(process, 'arch', { value: 's390x' });`);
    const name = platformName().replace(process.arch, 's390x');
    const list =
      'linux-x64-gnu, linux-arm64-gnu, linux-x64-musl, linux-arm64-musl, darwin-arm64, darwin-x64, win32-x64-msvc';
    const flags = ['--require', other, '--import', 'millrace/register'];
    assert.deepEqual(await script(bare, ON_NODE, flags), {
      ...served,
      stderr: `millrace: this process runs on Node's own HTTP code: there is no native addon for ${name}, but for ${list}\n`,
    });
  });

  test('an addon that cannot be loaded is reported with the reason of the system', async (t) => {
    const broken = join(bare, 'node_modules', '@millrace', `native-${platformName()}`);
    mkdirSync(broken, { recursive: true });
    t.after(() => rmSync(broken, { recursive: true }));
    writeFileSync(join(broken, 'package.json'), '{ "main": "addon.node" }');
    writeFileSync(join(broken, 'addon.node'), 'this is none');
    const { stdout, stderr, code } = await script(bare, ...WAYS['--import millrace/register']);
    assert.deepEqual({ stdout, code }, served);
    const [before, after] = stderr.split(join(broken, 'addon.node'));
    assert.equal(
      before,
      `millrace: this process runs on Node's own HTTP code: the native addon for ${platformName()} cannot be loaded (`,
    );
    assert.match(after, /^[^\n]+\)\n$/);
  });
});

/** Whether a file has no business in the main package: no part of it, or left from a source that is gone. */
function isUnexpected(file) {
  if (
    /^(LICENSE|README\.md|package\.json|register\.(?:cjs|d\.cts)|examples\/studies\/[^/]+|bin\/millrace\.js|native\/index\.d\.ts)$/.test(
      file,
    )
  )
    return false;
  if (file.startsWith('dist/report/assets/')) return false;
  const compiled = /^dist\/(.+)\.(?:js(?:\.map)?|d\.ts|(c)js(?:\.map)?|d\.(c)ts)$/.exec(file);
  if (!compiled) return true;
  const [, name, script = '', types = ''] = compiled;
  return !existsSync(join(root, 'src', `${name}.${script || types}ts`));
}

/** Where a command is. */
function pathOf(command) {
  const places = process.env.PATH.split(delimiter).map((place) => join(place, command));
  return realpathSync(places.find((place) => existsSync(place)));
}

async function install(into, ...packages) {
  mkdirSync(into);
  writeFileSync(join(into, 'package.json'), '{ "type": "module" }');
  const tarballs = packages.map(({ tarball }) => tarball);
  const args = ['install', '--offline', '--no-audit', ...tarballs];
  const { code, stderr } = await run(into, 'npm', args);
  assert.equal(code, 0, stderr);
  link(into, '@types/node', 'undici-types');
}

function millrace(cwd, ...args) {
  return run(cwd, join('node_modules', '.bin', 'millrace'), args);
}

function script(cwd, source, flags = [], more = {}) {
  const args = [...flags, '--input-type=module', '--eval', source];
  return run(cwd, process.execPath, args, more);
}

/** Runs a command where no compiler is; resolves to its exit code and what it wrote. */
function run(cwd, command, args, more = {}) {
  const options = { cwd, timeout: 60_000, env: { ...env, ...more } };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

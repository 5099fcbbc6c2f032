// The packages as npm would publish them: packed, installed into an empty folder without a network, and used.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
const app = join(folder, 'app');
let main;
let platform;
let dependency;

before(async () => {
  main = await pack(root);
  platform = await pack(await platformFolder());
  dependency = await pack(join(root, 'node_modules', 'undici'));
  await install(app, main, platform, dependency);
});

after(() => rmSync(folder, { recursive: true, force: true }));

test('the main package holds what the build made of src, and no addon', () => {
  const needed = [
    'LICENSE',
    'README.md',
    'bin/millrace.js',
    'deadlines.cjs',
    'dist/cli/main.js',
    'dist/index.d.ts',
    'dist/probe/preload.cjs',
    'examples/compare.mjs',
    'examples/studies/hello.mjs',
    'examples/studies/localhost-cert.pem',
  ];
  for (const file of needed) assert.ok(main.files.includes(file), `${file} is missing`);
  assert.deepEqual(main.files.filter(isUnexpected), []);
});

test('the package for this platform holds the addon', () => {
  assert.deepEqual(platform.files.sort(), ['README.md', platform.addon, 'package.json'].sort());
});

test('the installed command tells its version', async () => {
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

test('the installed package is imported, and its types compile without skipLibCheck', async () => {
  writeFileSync(
    join(app, 'consumer.ts'),
    `import { type LoadResult, load, MillraceError } from 'millrace';
    export async function p99(url: string): Promise<number | null> {
      const result: LoadResult = await load({ url, duration: '1s', connections: 2 });
      return result.latencyMs.p99;
    }
    load({ url: 'http://127.0.0.1/', connections: '1k', stages: [{ duration: '1s', rate: '1k' }] });
    // @ts-expect-error there is no such option
    load({ url: 'http://127.0.0.1/', conections: 2 });
    export const code = (error: MillraceError) => error.code satisfies string;`,
  );
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: ['node'] },
    typeRoots: [join(root, 'node_modules', '@types')],
  };
  writeFileSync(
    join(app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
  );
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  assert.deepEqual(await run(app, process.execPath, tsc, '-p', '../../fixtures'), {
    code: 0,
    stdout: '',
    stderr: '',
  });

  const names = await script(app, `console.log(Object.keys(await import('millrace')).join(' '))`);
  assert.equal(
    names.stdout,
    'MillraceError capacity explain lab labStudies load startTestServer\n',
  );
});

test('without the package for this platform one line says what is missing', async () => {
  const bare = join(folder, 'bare');
  await install(bare, main, dependency);
  const { code, stderr } = await millrace(bare, 'http://127.0.0.1:9/');
  assert.equal(code, 1);
  assert.match(stderr, /^millrace: the native addon for \S+ is missing.*\n$/);

  const { stdout } = await script(
    bare,
    `const { load } = await import('millrace');
    await load({ url: 'http://127.0.0.1:9/' }).catch((error) => console.log(error.code));`,
  );
  assert.equal(stdout, 'ERR_MILLRACE_NATIVE\n');
});

/** Whether a file has no business in the main package: no part of it, or left from a source that is gone. */
function isUnexpected(file) {
  if (
    /^(LICENSE|README\.md|package\.json|register\.cjs|deadlines\.cjs|examples\/(compare\.mjs|studies\/[^/]+)|bin\/millrace\.js|native\/index\.(js|d\.ts))$/.test(
      file,
    )
  )
    return false;
  if (file.startsWith('dist/report/assets/')) return false;
  const compiled = /^dist\/(.+)\.(?:js|d\.ts|(c)js|d\.(c)ts)$/.exec(file);
  if (!compiled) return true;
  const [, name, script = '', types = ''] = compiled;
  return !existsSync(join(root, 'src', `${name}.${script || types}ts`));
}

/** A folder with the package that holds this machine's addon. */
async function platformFolder() {
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  const napi = join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js');
  const made = await run(folder, process.execPath, napi, 'create-npm-dirs');
  assert.equal(made.code, 0, made.stderr);
  const addon = `millrace.${platformName()}.node`;
  const target = join(folder, 'npm', platformName());
  copyFileSync(join(root, 'native', addon), join(target, addon));
  return target;
}

/** This platform as the names of addons have it. */
function platformName() {
  const { platform, arch } = process;
  if (platform === 'win32') return `win32-${arch}-msvc`;
  if (platform !== 'linux') return `${platform}-${arch}`;
  return `linux-${arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

async function pack(from) {
  const { code, stdout, stderr } = await run(
    from,
    'npm',
    'pack',
    '--ignore-scripts',
    '--json',
    '--pack-destination',
    folder,
  );
  assert.equal(code, 0, stderr);
  const [{ filename, files }] = JSON.parse(stdout);
  const paths = files.map((file) => file.path);
  return {
    tarball: join(folder, filename),
    files: paths,
    addon: paths.find((path) => path.endsWith('.node')),
  };
}

async function install(into, ...packages) {
  mkdirSync(into);
  writeFileSync(join(into, 'package.json'), '{ "type": "module" }');
  const tarballs = packages.map(({ tarball }) => tarball);
  const { code, stderr } = await run(
    into,
    'npm',
    'install',
    '--offline',
    '--no-audit',
    '--ignore-scripts',
    ...tarballs,
  );
  assert.equal(code, 0, stderr);
}

function millrace(cwd, ...args) {
  return run(cwd, join('node_modules', '.bin', 'millrace'), ...args);
}

function script(cwd, source) {
  return run(cwd, process.execPath, '--input-type=module', '--eval', source);
}

/** Runs a command; resolves to its exit code and what it wrote. */
function run(cwd, command, ...args) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

// From the sources: what npm says where something is missing to build with, and what a dependency from git holds.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isFull } from '../../fixtures/size.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-source-'));
/** A checkout without dependencies, so that npm has nothing to install before it builds. */
const checkout = join(folder, 'millrace');
/** The machine's commands, but for those that build. */
const bin = join(folder, 'bin');
const BUILDS = /^(cargo|rust|cc$|gcc|clang|icc|wrapper)/;
const commands = commandsBut(BUILDS);
const git = { skip: whyNoGit() };

const [, needed] = /^rust-version = "(.+)"/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'));
const rust = (found) =>
  `Rust ${needed} or later is needed, found ${found}: install it with rustup (https://rustup.rs)`;
const compiler = (name) =>
  `a C compiler is needed, ${name} does not run: install gcc or clang (Debian: build-essential, macOS: xcode-select --install)`;
const line = (...missing) => `millrace: ${missing.join('; ')}; then run this again`;

function whyNoGit() {
  if (!isFull) return 'it takes half a minute: npm run test:slow';
  return commands.has('git') ? false : 'there is no git';
}

before(() => {
  mkdirSync(bin);
  for (const [name, path] of commands) symlinkSync(path, join(bin, name));
  for (const part of ['bin', 'scripts', 'Cargo.toml', 'native/.npmignore', 'native/index.d.ts']) {
    cpSync(join(root, part), join(checkout, part), { recursive: true });
  }
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  for (const key of ['dependencies', 'devDependencies', 'overrides']) delete manifest[key];
  write('package.json', JSON.stringify(manifest));
  const lock = { name, version, lockfileVersion: 3, packages: { '': { name, version } } };
  write('package-lock.json', JSON.stringify(lock));
});

after(() => rmSync(folder, { recursive: true, force: true }));

test('npm ci says in one line what is missing', async () => {
  const { code, stderr } = await run(checkout, 'npm', ['ci', '--offline']);
  assert.equal(code, 1);
  assert.deepEqual(said(stderr), [line(rust('none'), compiler('cc'))]);
});

test('npm install of a dependency from git says it, too', git, async () => {
  const { code, stderr, installed } = await installFromGit('lacking');
  assert.equal(code, 1);
  assert.deepEqual(said(stderr), [line(rust('none'), compiler('cc'))]);
  assert.equal(existsSync(installed), false);
});

test('a dependency from git holds the addon that was built for it', git, async (t) => {
  write(
    'scripts/build.js',
    `import { writeFileSync } from 'node:fs';
    writeFileSync('native/millrace.any.node', '');`,
  );
  t.after(() => cpSync(join(root, 'scripts/build.js'), join(checkout, 'scripts/build.js')));
  const { code, stderr, installed } = await installFromGit('having');
  assert.equal(code, 0, stderr);
  assert.equal(existsSync(join(installed, 'native/millrace.any.node')), true);
});

const tools = {
  'Rust and no C compiler': [{ cargo: '9.9.9' }, {}, line(compiler('cc'))],
  'a Rust that is too old': [{ cargo: '1.63.0', cc: '12.2' }, {}, line(rust('1.63.0'))],
  'a C compiler and no Rust': [{ cc: '12.2' }, {}, line(rust('none'))],
  'another C compiler, which does not run': [
    { cargo: '9.9.9', cc: '12.2' },
    { CC: 'icc -m64' },
    line(compiler('icc')),
  ],
  // Everything is there but what the development dependencies bring.
  'a C compiler behind another command': [
    { cargo: '9.9.9', wrapper: '1' },
    { CC: 'wrapper cc' },
    'millrace: the build failed',
  ],
};
for (const [name, [versions, env, expected]] of Object.entries(tools)) {
  test(`a build with ${name}`, async (t) => {
    const PATH = `${placeTools(t, versions)}${delimiter}${bin}`;
    const built = await run(checkout, process.execPath, ['scripts/build.js'], { PATH, ...env });
    assert.equal(built.code, 1);
    assert.deepEqual(said(built.stderr), [expected]);
  });
}

/** Makes commands that tell their version and do nothing; gives their folder. */
function placeTools(t, versions) {
  const place = mkdtempSync(join(folder, 'tools-'));
  for (const [command, version] of Object.entries(versions)) {
    const script = `#!/bin/sh\necho ${command} ${version}\n`;
    writeFileSync(join(place, command), script, { mode: 0o755 });
  }
  t.after(() => rmSync(place, { recursive: true }));
  return place;
}

/** The build uses an addon that is there: nothing is missing until the development dependencies are. */
const USED = 'millrace: the build failed';
const LACKING = line(rust('none'), compiler('cc'));
const addonName = readdirSync(join(root, 'native')).find((name) => name.endsWith('.node'));

describe('an addon that is there before the build', () => {
  const own = join('native', addonName);
  const [, name] = /^millrace\.(.+)\.node$/.exec(addonName);
  const platformPackage = join('node_modules', '@millrace', `native-${name}`);
  const past = new Date(0);

  before(() => {
    mkdirSync(join(checkout, 'crates'));
    for (const file of ['crates/lib.rs', 'Cargo.lock']) write(file, '');
  });

  test('is used without Rust if it is newer than its sources', async (t) => {
    place(t, own);
    for (const file of ['crates/lib.rs', 'Cargo.lock', 'Cargo.toml']) setTime(file, past);
    assert.deepEqual(await prepare(), { used: own, said: [USED] });
    setTime(own, new Date(-1000));
    assert.deepEqual(await prepare(), { used: undefined, said: [LACKING] });
  });

  test('is not used if it cannot be loaded', async (t) => {
    place(t, own);
    write(own, 'this is none');
    assert.deepEqual(await prepare(), { used: undefined, said: [LACKING] });
  });

  test('is not used after a build that does not optimise it', async (t) => {
    place(t, own);
    assert.deepEqual(await prepare(), { used: own, said: [USED] });
    const napi = join(checkout, 'node_modules', '.bin', 'napi');
    mkdirSync(dirname(napi), { recursive: true });
    writeFileSync(napi, '#!/bin/sh\n', { mode: 0o755 });
    t.after(() => rmSync(napi));
    const tools = { PATH: `${placeTools(t, { cargo: '9.9.9', cc: '12.2' })}${delimiter}${bin}` };
    await run(checkout, process.execPath, ['scripts/build.js', '--dev'], tools);
    assert.deepEqual(await prepare(), { used: undefined, said: [LACKING] });
  });

  test('is used if it is of the package for this platform in the same version', async (t) => {
    const file = join(platformPackage, addonName);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const describePackage = (text) =>
      write(
        join(platformPackage, 'package.json'),
        JSON.stringify({ version: text, main: addonName }),
      );
    place(t, file);
    describePackage(version);
    assert.deepEqual(await prepare(), { used: file, said: [USED] });
    describePackage('0.0.1');
    assert.deepEqual(await prepare(), { used: undefined, said: [LACKING] });
  });

  function place(t, file) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    cpSync(join(root, own), join(checkout, file));
    t.after(() => rmSync(join(checkout, file)));
  }

  function setTime(file, time) {
    utimesSync(join(checkout, file), time, time);
  }

  /** Builds as `npm ci` does; gives the addon that is used, and what is said. */
  async function prepare() {
    const args = ['scripts/build.js', '--prebuilt'];
    const { code, stdout, stderr } = await run(checkout, process.execPath, args);
    assert.equal(code, 1);
    return { used: /^native addon: (.+) is used$/m.exec(stdout)?.[1], said: said(stderr) };
  }
});

/** What millrace has said among all that npm says. */
function said(text) {
  const lines = text.split('\n').map((line) => line.replace(/^npm error /, ''));
  return lines.filter((line) => line.startsWith('millrace: '));
}

/** Installs the checkout as a dependency from git. */
async function installFromGit(name) {
  const user = join(folder, name);
  const repository = join(folder, `${name}.git`);
  mkdirSync(user);
  writeFileSync(join(user, 'package.json'), '{}');
  cpSync(checkout, repository, { recursive: true });
  const who = ['-c', 'user.name=test', '-c', 'user.email=test'];
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    [...who, 'commit', '-q', '-m', 'test'],
  ]) {
    const { code, stderr } = await run(repository, 'git', args);
    assert.equal(code, 0, stderr);
  }
  const npm = ['install', '--offline', '--no-audit', '--cache', join(folder, 'cache')];
  const installed = join(user, 'node_modules', 'millrace');
  return { ...(await run(user, 'npm', [...npm, `git+file://${repository}`])), installed };
}

function write(file, text) {
  writeFileSync(join(checkout, file), text);
}

/** The machine's commands and where they are, this Node first. */
function commandsBut(unwanted) {
  const places = process.env.PATH.split(delimiter).filter((place) => existsSync(place));
  const found = new Map([['node', process.execPath]]);
  for (const place of places) {
    for (const name of readdirSync(place)) {
      if (!found.has(name) && !unwanted.test(name)) found.set(name, join(place, name));
    }
  }
  return found;
}

/** Runs a command where no compiler is; resolves to its exit code and what it wrote. */
function run(cwd, command, args, env = {}) {
  const options = { cwd, timeout: 60_000, env: { ...process.env, PATH: bin, CC: '', ...env } };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

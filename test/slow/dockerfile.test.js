// The Dockerfile: its commands are run in a folder in place of an image, whose programs are those of this machine.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { pack, platformFolder, root } from '../fixtures/package/pack.js';
import { UNREACHABLE } from '../fixtures/packages.js';
import { ok } from '../fixtures/truth/scripts.js';
import { truthServer } from '../fixtures/truth/server.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-image-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Instructions of the Dockerfile: `[name, text]`. */
const INSTRUCTIONS = readFileSync(join(root, 'Dockerfile'), 'utf8')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => [/^[A-Z]+/.exec(line)[0], line.replace(/^[A-Z]+ /, '')]);

test('the image runs a load of a scenario, as no user in particular', {
  timeout: 300_000,
}, async (t) => {
  const context = join(folder, 'context');
  mkdirSync(context);
  cpSync(join(root, 'Dockerfile'), join(context, 'Dockerfile'));
  for (const from of [root, await platformFolder(folder)]) await pack(from, context);
  const image = await build(context).catch((error) => {
    if (!UNREACHABLE.test(error.stderr)) throw error;
  });
  if (!image) return t.skip('npm cannot be reached');
  assert.match(image.from, /^node:\d+-slim$/);
  assert.match(image.user, /^[1-9]\d*:[1-9]\d*$/);

  const server = await truthServer(t, ok());
  writeFileSync(
    join(folder, 'look.mjs'),
    `import { request, scenario } from 'millrace/scenario';
     export default scenario('look', [request('look', 'GET /')]);`,
  );
  const args = ['load', 'look.mjs', server.url, '-n', '5', '--log-result'];
  const run = await image.run(args, folder);
  assert.match(run.stdout, /-----END MILLRACE RESULT/);
  assert.equal(server.requests.length, 5);
  assert.deepEqual(readdirSync(image.workingFolder).sort(), [
    'node_modules',
    'package-lock.json',
    'package.json',
  ]);
});

/** Runs the instructions of the Dockerfile. */
async function build(context) {
  const image = { from: '', user: '', workingFolder: '' };
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  const inside = (text) => text.replaceAll('/opt/', `${folder}/opt/`);
  const instructions = {
    FROM: (text) => Object.assign(image, { from: text }),
    USER: (text) => Object.assign(image, { user: text }),
    ARG: (text) => Object.assign(env, { [text.split('=')[0]]: text.split('=')[1] }),
    ENV: (text) =>
      Object.assign(env, { PATH: inside(text.split('=')[1]).replace('$PATH', env.PATH) }),
    WORKDIR(text) {
      image.workingFolder = inside(text);
      mkdirSync(image.workingFolder, { recursive: true });
    },
    COPY(text) {
      const patterns = text.split(' ').slice(0, -1).join('|').replaceAll('.', '\\.');
      const wanted = new RegExp(`^(?:${patterns.replaceAll('*', '.*')})$`);
      for (const name of readdirSync(context).filter((name) => wanted.test(name)))
        cpSync(join(context, name), join(image.workingFolder, name));
    },
    RUN: (text) => execute('sh', ['-c', text], { cwd: image.workingFolder, env }),
    ENTRYPOINT(text) {
      const [program, ...first] = JSON.parse(text);
      image.run = (args, cwd) => execute(program, [...first, ...args], { cwd, env });
    },
  };
  for (const [name, text] of INSTRUCTIONS) await instructions[name](text);
  return image;
}

function execute(program, args, options) {
  return promisify(execFile)(program, args, { ...options, timeout: 240_000 });
}

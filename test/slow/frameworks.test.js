// Applications on frameworks from npm come to the same on Node's own server and on the stack: answers, what they log, and how
// they end.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installed } from '../fixtures/packages.js';
import { REGISTER } from '../fixtures/stack/comparison/two-processes.js';
import { Application } from './frameworks/application.js';
import { APPLICATIONS } from './frameworks/exchanges.js';

const PACKAGES = JSON.parse(fs.readFileSync(new URL('frameworks/packages.json', import.meta.url)));
const SERVERS = fileURLToPath(new URL('frameworks/servers', import.meta.url));
/** An empty module: to load one before the application has effects of its own. */
const NOTHING = 'data:text/javascript,';

/** A folder with the servers, a file for them to send, and the packages of one of them. */
function workplace(packages) {
  const folder = fs.mkdtempSync(join(tmpdir(), 'millrace-servers-'));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.cpSync(SERVERS, folder, { recursive: true });
  fs.symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'), 'junction');
  fs.mkdirSync(join(folder, 'public'));
  fs.writeFileSync(join(folder, 'public', 'large.txt'), 'one line of many\n'.repeat(200_000));
  return folder;
}

/** All that is seen of an application with this preloaded. */
async function seen(name, folder, preloaded) {
  const { parts, slow } = APPLICATIONS[name];
  const app = await Application.start(folder, `${name}.mjs`, preloaded);
  try {
    const seen = {};
    const put = (what, value) => Object.assign(seen, { [what]: value });
    for (const part of parts) await part(app, put, createRequire(join(folder, 'package.json')));
    const end = await app.end('SIGTERM', slow);
    return { ...seen, end, log: app.log() };
  } finally {
    app.kill();
  }
}

for (const name of Object.keys(APPLICATIONS)) {
  test(name, { timeout: 900_000 }, async (t) => {
    const { folder, reason } = await installed(`framework-${name}`, PACKAGES[name]);
    if (reason !== undefined) return t.skip(reason);
    const place = workplace(folder);
    const sides = [NOTHING, REGISTER].map((preloaded) => seen(name, place, preloaded));
    const [plain, stack] = await Promise.all(sides);
    assert.deepEqual(Object.keys(stack), Object.keys(plain));
    for (const [what, expected] of Object.entries(plain))
      assert.deepEqual(stack[what], expected, what);
  });
}

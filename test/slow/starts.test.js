// How servers are started in practice: explain sees them inside, or says why not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installed } from '../fixtures/packages.js';

const { folder, reason } = await installed('starts', {
  ...{ 'cross-env': '10.1.0', nodemon: '3.1.14', pm2: '7.0.4', pnpm: '10.34.8', yarn: '1.22.22' },
  ...{ tsx: '4.23.15', 'ts-node': '10.9.2', typescript: '5.9.3' },
});
const bin = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const major = Number(process.versions.node.split('.')[0]);
const permission = major < 22 ? '--experimental-permission' : '--permission';

/** Writes a service whose port the system chooses; its scripts are those of package.json. */
function writeService() {
  const service = join(folder, 'service');
  mkdirSync(service, { recursive: true });
  const files = {
    'package.json': JSON.stringify({
      ...{ name: 'service', version: '1.0.0' },
      scripts: {
        start: 'node server.js',
        nested: 'npm run start',
        options: 'NODE_OPTIONS=--max-old-space-size=512 node server.js',
        cross: 'cross-env NODE_OPTIONS=--max-old-space-size=512 node server.js',
      },
    }),
    'server.js': `
      const server = require('http').createServer((request, response) => setTimeout(() => response.end('hello'), 5));
      setTimeout(() => server.listen(0), Number(process.env.LATE ?? 0));`,
    'server.ts': `
      import { createServer } from 'node:http';
      const after: number = 5;
      createServer((_, response) => setTimeout(() => response.end('hello'), after)).listen(0);`,
    'cluster.js': `
      const cluster = require('cluster');
      if (cluster.isPrimary) for (const _ of [1, 2]) cluster.fork();
      else require('http').createServer((request, response) => setTimeout(() => response.end('hello'), 5)).listen(0);`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: { module: 'commonjs', target: 'es2022', types: [] },
      'ts-node': { transpileOnly: true },
    }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(service, name), text);
  return service;
}

const REPLACED = /^inside the server: its NODE_OPTIONS were replaced/;
const { node, unseen } = {
  node: process.execPath,
  unseen: (pattern) => ({ unseen: pattern }),
};

/** Commands, each with what explain says of a server that it does not see inside. */
const STARTS = {
  'npm start': [['npm', 'start']],
  'a script that runs a script': [['npm', 'run', '-s', 'nested']],
  'yarn start': [['yarn', 'start']],
  'pnpm start': [['pnpm', 'start']],
  'NODE_OPTIONS set anew by a script': [['npm', 'run', 'options'], unseen(REPLACED)],
  'cross-env': [['npm', 'run', 'cross'], unseen(REPLACED)],
  'an empty environment': [['env', '-i', node, 'server.js'], unseen(REPLACED)],
  nodemon: [['nodemon', 'server.js']],
  tsx: [['tsx', 'server.ts']],
  'tsx watch': [['tsx', 'watch', 'server.ts']],
  'ts-node': [['ts-node', 'server.ts']],
  'node --import tsx': [[node, '--import', 'tsx', 'server.ts']],
  'node --watch': [[node, '--watch', 'server.js']],
  'pm2-runtime': [['pm2-runtime', 'server.js']],
  'pm2 in cluster mode': [['pm2-runtime', 'start', 'cluster.js', '-i', '2']],
  cluster: [[node, 'cluster.js']],
  'a shell': [['sh', '-c', `"${node}" server.js; true`]],
  'a port that opens late': [['env', 'LATE=4000', node, 'server.js']],
  'a folder for temporary files that is missing': [
    ['env', 'TMPDIR=/nonexistent', node, 'server.js'],
  ],
  'the permission model': [
    [
      ...[node, permission, `--allow-fs-read=${folder}/*`],
      ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []),
      'server.js',
    ],
    unseen(/^inside the server: Node\.js's permission model denies the probe; add --allow-fs-read/),
  ],
  ...(process.getuid?.() === 0 && {
    'pid 1 of a namespace': [
      ['unshare', '--pid', '--fork', '--mount-proc', 'sh', '-c', `"${node}" server.js; true`],
    ],
  }),
};

describe('a server that is started by', { skip: reason ?? false, concurrency: 1 }, () => {
  const cwd = reason ? folder : writeService();
  for (const [name, [command, { unseen: pattern } = {}]] of Object.entries(STARTS)) {
    test(name, { timeout: 120_000 }, () => {
      const { cannotSee, load } = explain(command, cwd);
      const inside = cannotSee.filter((line) => line.startsWith('inside the server'));
      assert.ok(load.requests.ok > 100, `${load.requests.ok} responses`);
      if (pattern) assert.match(inside.join('\n'), pattern);
      else assert.deepEqual(inside, []);
    });
  }
});

function explain(command, cwd) {
  const path = [join(folder, 'node_modules', '.bin'), join(node, '..'), process.env.PATH].join(':');
  const { stdout, stderr } = spawnSync(
    node,
    [bin, 'explain', '--budget', '15s', '-c', '10', '--json', '--', ...command],
    { cwd, encoding: 'utf8', env: { ...process.env, PATH: path, HOME: folder } },
  );
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}

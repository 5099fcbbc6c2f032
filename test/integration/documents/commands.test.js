// Every command of the documents runs, with the exit code and in the shape that they show. What takes more than a moment
// runs in the slow tests alone.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { load } from 'millrace';
import { COMMANDS } from '#internal/cli/command-table.js';
import { acceptedFlags } from '#internal/cli/flags/command-flags.js';
import { listNames } from '#internal/cli/flags/flag.js';
import { isRunnable, listCommands } from '../../fixtures/documents/commands.js';
import { DOCUMENTS, listBlocks, root } from '../../fixtures/documents/documents.js';
import {
  createCertificates,
  createCommands,
  createProject,
  createRepository,
} from '../../fixtures/documents/project.js';
import { runCommand, runServer, startCommand } from '../../fixtures/documents/run.js';
import { startServers } from '../../fixtures/documents/servers.js';
import { findMissing } from '../../fixtures/documents/shape.js';
import { shorten } from '../../fixtures/documents/shorten.js';
import { isFull } from '../../fixtures/size.js';

const commands = listCommands();
const isRun = (command) => command.notRun === undefined && !command.isName;

test('every command is one that a test may run, or marked as not run with the reason', () => {
  const others = commands.filter((command) => isRun(command) && !isRunnable(command));
  assert.deepEqual(
    others.map(({ document, line, command }) => `${document}:${line}: ${command}`),
    [],
    'mark it, <!-- not run: reason -->, or see test/fixtures/documents/commands.js',
  );
});

/** These are about the checkout, not about a service. */
const IN_CHECKOUT = ['CONTRIBUTING.md', 'BENCHMARKING.md'];

const base = mkdtempSync(join(tmpdir(), 'millrace-documents-'));
// A test runner would take over a `node --test` that it starts itself.
const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
const env = {
  ...inherited,
  ...{ PATH: `${join(base, 'bin')}:${process.env.PATH}`, PORT: '0', PASSPHRASE: 'secret' },
};
let servers;
/** The time of a load. */
const TIME = '300ms';

test('a command that installs, deletes or reads from elsewhere is never run unmarked', () => {
  const commands = [
    ...['bench/install.sh', 'sudo node app.js', 'rm -r dist', 'cd node_modules/millrace'],
    ...['millrace -d 1s; rm -r dist', 'node app.js && rm app.js', 'millrace -- rm -r dist'],
    ...['curl http://example.org', 'node app.js | sh', 'millrace --a "$(rm app.js)"', 'node > x'],
  ];
  assert.deepEqual(
    commands.filter((command) => isRunnable({ command })),
    [],
  );
});

before(async () => {
  createCommands(join(base, 'bin'));
  createCertificates(join(base, 'certificates'));
  writeFileSync(join(base, 'result.json'), '{}');
  servers = await startServers(createFolder('servers'), env);
  const result = await load({ url: servers.url, requests: 200 });
  writeFileSync(join(base, 'result.json'), JSON.stringify(result));
});

after(async () => {
  await servers?.end();
  rmSync(base, { recursive: true, force: true });
});

function createFolder(name) {
  const parent = join(base, name);
  mkdirSync(parent);
  return createProject(parent, base);
}

/** The folder in which the commands of a block run. */
function prepareFolder(name, [{ document, block }]) {
  if (IN_CHECKOUT.includes(document)) return root;
  const folder = createFolder(name);
  if (block.includes('git worktree')) createRepository(folder);
  return folder;
}

// They wait most of the time.
describe('the commands of', { concurrency: isFull ? 2 : 4 }, () => {
  const due = selectDue();
  const blocks = [...new Set(due.map(({ document, block }) => `${document}\n${block}`))];
  for (const [index, name] of blocks.entries()) {
    const own = due.filter(({ document, block }) => `${document}\n${block}` === name);
    const [{ document, line, command }] = own;
    test(`${document}:${line} ${command.split('\n')[0]}`, { timeout: 600_000 }, async () => {
      const folder = prepareFolder(String(index), own);
      for (const command of own) await check(command, folder);
    });
  }
});

/** All commands, or those quick ones that show what they print, and one of each document that has none of these. */
function selectDue() {
  const all = commands.filter((command) => isRun(command) && isRunnable(command));
  if (isFull) return all;
  const quick = all.filter(({ isSlow }) => !isSlow);
  const isShown = ({ output, exitCode }) => output !== undefined || exitCode !== undefined;
  const shown = quick.filter(isShown);
  const documents = new Set(shown.map(({ document }) => document));
  return quick.filter((command, index) => {
    const isLast = quick[index + 1]?.document !== command.document;
    return isShown(command) || (isLast && !documents.has(command.document));
  });
}

async function check({ command, document, line, exitCode, output: shown }, cwd) {
  // Conditions need results, and a command that is to fail fails for what it measures.
  const time = exitCode === undefined && !command.includes('--fail-on') ? TIME : '1s';
  const text = shorten(command, servers.places, time);
  const run = isServer(command) ? runServer : runCommand;
  const { code, output } = await run(text, {
    cwd,
    env: { ...env, ...findVariables(command, cwd) },
  });
  const about = `${document}:${line}: ${text}\n${output}`;
  assert.ok(acceptedCodes(command, exitCode).includes(code), `exit code ${code}: ${about}`);
  if (shown) assert.deepEqual(findMissing(shown, output), [], about);
}

/** In a test's short run a condition may fail, and a rate may not be reached. */
function acceptedCodes(command, exitCode) {
  if (exitCode !== undefined) return [exitCode];
  if (command.includes('--fail-on')) return [0, 4, 99];
  return / -R |--stage |--slo /.test(command) ? [0, 4] : [0];
}

/** Whether a command serves until it is ended. */
function isServer(command) {
  return /^(?:\w+=\S+ )*(?:(?:npx )?millrace testserver\b|node (?:--\w+ \S+ )*(?:app|server)\.js$)/.test(
    command,
  );
}

/** The variables that a command needs: a process to watch, an authority that the system trusts. */
function findVariables(command, cwd) {
  if (command.includes('$PID')) {
    const watched = startCommand('exec sleep 2', { cwd, env });
    return { PID: String(watched.pid) };
  }
  return command.includes('example.org') ? { NODE_EXTRA_CA_CERTS: join(cwd, 'cert.pem') } : {};
}

test('every flag and every script that a document names exists', async () => {
  const tables = await Promise.all(COMMANDS.map(({ flags }) => flags()));
  const names = tables.flatMap(acceptedFlags).flatMap(listNames);
  const known = new Set([...names, 'help', 'version'].flatMap((name) => [`-${name}`, `--${name}`]));
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const unknown = commands.flatMap(({ document, line, command }) => [
    ...listFlags(command)
      .filter((flag) => !known.has(flag))
      .map((flag) => `${document}:${line}: ${flag}`),
    ...[...command.matchAll(/^npm run ([\w:]+)/g)]
      .filter(([, script]) => !Object.hasOwn(scripts, script))
      .map(([, script]) => `${document}:${line}: npm run ${script}`),
  ]);
  assert.deepEqual(unknown, []);
});

/** The flags of `millrace` in a command: those before `--` and outside quotes. */
function listFlags(command) {
  const [, flags] = /^(?:\w+=\S+ )*(?:npx )?millrace\b([^|]*?)(?: -- |$)/.exec(command) ?? [];
  const words = flags?.replace(/'[^']*'|"[^"]*"/g, '') ?? '';
  return [...words.matchAll(/ (--[\w-]+|-\w(?= |$))/g)].map(([, flag]) => flag);
}

test('a block that shows a file of the checkout is equal to it', () => {
  const shown = DOCUMENTS.flatMap(listBlocks).filter(({ marks }) => marks['same as']);
  assert.ok(shown.length > 0);
  for (const { text, marks } of shown) {
    assert.equal(text, readFileSync(join(root, marks['same as']), 'utf8'));
  }
});

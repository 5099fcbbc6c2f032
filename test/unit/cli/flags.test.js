// What is said of flags and operands that a command does not take.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { refuseBareCommand, refuseForeignCommand } from '#internal/cli/bare-command.js';
import { COMMANDS } from '#internal/cli/command-table.js';
import { explainLine } from '#internal/cli/explain-line.js';
import { acceptedFlags, parseInvocation } from '#internal/cli/flags/command-flags.js';
import { EXPLAIN } from '#internal/cli/flags/explain-flags.js';
import { dashed, listNames } from '#internal/cli/flags/flag.js';
import { FOREIGN_FLAGS } from '#internal/cli/flags/foreign-flags.js';
import { LOAD, LOAD_FLAGS } from '#internal/cli/flags/load/load-flags.js';
import { checkUrlOperand } from '#internal/cli/flags/load/target.js';
import { UnknownFlag } from '#internal/cli/flags/parse.js';
import { commandHelp } from '#internal/cli/help.js';
import { siblingAdvice } from '#internal/cli/sibling-advice.js';
import { PEER_FLAGS } from '../../fixtures/peer-flags.js';

/** What the arguments of `millrace load` stand for. */
function parseLoad(...args) {
  return parseInvocation('load', LOAD, args);
}

const TABLES = await Promise.all(COMMANDS.map(({ flags }) => flags()));
const NAMES = TABLES.flatMap(acceptedFlags).flatMap(listNames);

for (const [index, { name: command }] of COMMANDS.entries()) {
  const flags = TABLES[index];
  test(`millrace ${command} accepts each flag of the other commands, or says what to do`, async () => {
    const own = new Set(acceptedFlags(flags).flatMap(listNames));
    for (const name of NAMES) {
      if (own.has(name)) continue;
      const flag = name.length === 1 ? `-${name}` : `--${name}`;
      let error;
      assert.throws(
        () => parseInvocation(command, flags, [flag]),
        (thrown) => {
          error = thrown;
          return true;
        },
        `${command} ${flag}`,
      );
      if (error instanceof UnknownFlag) {
        assert.match(await siblingAdvice(command, error.flagName), /^it is a flag of millrace \w+/);
      } else {
        assert.match(error.message, /^--?[\w-]+ is not supported: ./);
      }
    }
  });
}

test('the help of every command fits 80 columns', async () => {
  for (const command of COMMANDS) {
    for (const line of (await commandHelp(command)).split('\n')) assert.ok(line.length <= 80, line);
  }
});

test('an unknown flag gets no advice', async () => {
  assert.equal(await siblingAdvice('load', 'frob'), null);
  assert.equal(
    await siblingAdvice('load', 'budget'),
    'it is a flag of millrace explain, millrace capacity, millrace compare; here the time of a load is -d 60s',
  );
});

test('each command has its own name, usage and titles', () => {
  for (const names of [
    COMMANDS.map(({ name }) => name),
    COMMANDS.flatMap(({ usage }) => usage.map(([words]) => words)),
    TABLES.flatMap(({ groups }) => groups.map(({ title }) => title)),
    ...TABLES.map((table) => acceptedFlags(table).flatMap(dashedNames)),
  ]) {
    assert.deepEqual(names, [...new Set(names)]);
  }
});

/** The main name follows two dashes, whatever its length. */
function dashedNames(flag) {
  return listNames(flag).map((name) => (name === flag.name ? `--${name}` : dashed(name)));
}

describe('the time of a load in the flags of explain', () => {
  for (const [args, budget, warmup, note] of [
    [['-d', '40s'], 40_000, undefined, /^-d 40s is taken as --budget 40s/],
    [['-d', '5'], 15_000, undefined, /^-d 5 is taken as --budget 15s.*at least 15s$/],
    [['--duration=1m'], 60_000, undefined, /^--duration 1m is taken as --budget 60s/],
    [['--warmup', '5s'], undefined, 5000, /^--warmup 5s is part of --budget/],
  ]) {
    test(`the time of a load is understood: ${args.join(' ')}`, () => {
      const { own, notes } = parseInvocation('explain', EXPLAIN, args);
      assert.equal(own.budget, budget);
      assert.equal(own.warmup, warmup);
      assert.match(notes.join('\n'), note);
    });
  }

  test('text that looks like a time may be a body', () => {
    const { options, own } = parseInvocation('explain', EXPLAIN, ['-d', '{"a":1}']);
    assert.deepEqual([options.body, own.budget], ['{"a":1}', undefined]);
  });
});

describe('a command without -- before it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bare-'));
  after(() => rmSync(folder, { recursive: true }));
  const script = join(folder, 'server.mjs');
  writeFileSync(script, '');
  for (const [words, typed] of [
    [['node', 'server.js', '-c', '10'], '-- node server.js'],
    [['npm', 'run', 'dev'], '-- npm run dev'],
    [['PORT=3000', 'node', 'server.js'], '-- PORT=3000 node server.js'],
    [[script], `-- node ${script}`],
  ]) {
    test(`a command is refused with the right way to type it: ${words.slice(0, 2).join(' ').slice(-30)}`, () => {
      const [first, ...rest] = words;
      assert.throws(() => refuseBareCommand(first, rest), {
        code: 'ERR_MILLRACE_USAGE',
        message: new RegExp(`a command follows --, as in ${typed}$`),
      });
    });
  }
  test('a file of scenarios after the URL is refused with the right order', () => {
    checkUrlOperand(script, [], true);
    assert.throws(() => checkUrlOperand(script, [], false), {
      code: 'ERR_MILLRACE_USAGE',
      message: new RegExp(`comes before it: millrace run ${script} URL$`),
    });
    checkUrlOperand('no-such-file.js', [], false);
  });
  for (const words of [
    ['node'],
    ['node', '/path'],
    ['node', '-c'],
    ['go', 'http://other/'],
    ['no-such-file.js'],
    ['localhost:3000', 'node'],
    ['http://h/?A=1'],
  ]) {
    test(`arguments are not a command: ${words.join(' ')}`, () =>
      refuseBareCommand(words[0], words.slice(1)));
  }
});

test('each flag of another tool is refused with advice, and is not a flag of the load', () => {
  const own = new Set(LOAD_FLAGS.flatMap(listNames));
  for (const [name, advice] of Object.entries(FOREIGN_FLAGS)) {
    assert.ok(!own.has(name), `${name} is a flag of millrace load`);
    const flag = name.length === 1 ? `-${name}` : `--${name}`;
    assert.throws(() => parseLoad(flag, 'value'), {
      code: 'ERR_MILLRACE_USAGE',
      message: `${flag} is not supported: ${advice}`,
    });
  }
});

for (const [tool, flags] of Object.entries(PEER_FLAGS)) {
  test(`each flag of ${tool} is accepted, or refused with what to type instead`, async () => {
    const accepted = new Set([...LOAD_FLAGS.flatMap(listNames), ...PRINTED]);
    for (const name of flags) {
      if (accepted.has(name) || Object.hasOwn(FOREIGN_FLAGS, name)) continue;
      assert.match((await siblingAdvice('load', name)) ?? '', /; here ./, name);
    }
  });
}

/** Flags that `main` answers. */
const PRINTED = ['h', 'help', 'v', 'V', 'version'];

for (const [args, options] of [
  [['--vus', '5'], { connections: 5 }],
  [['--clients', '5'], { connections: 5 }],
  [['--iterations', '5'], { requests: 5 }],
  [['--rps', '5'], { rate: 5 }],
  [['--max-time', '5'], { timeout: 5000 }],
  [['--warm-up-time', '5'], { warmup: 5000 }],
  [['--insecure-skip-tls-verify'], { insecure: true }],
  [['--servername', 'a'], { sni: 'a' }],
  [['--max-redirects', '5'], { follow: 5 }],
  [['-redirects=5'], { follow: 5 }],
  [['--request', 'PUT'], { method: 'PUT' }],
  [['--local-ips', '127.0.0.2'], { localAddress: ['127.0.0.2'] }],
  [['--socketPath', '/s'], { socketPath: '/s' }],
  [['--socket-path', '/s'], { socketPath: '/s' }],
  [['--unix-socket=/s'], { socketPath: '/s' }],
  [['--tls', 'resume'], { connection: 'close', handshake: 'resume' }],
  [['--tls', 'keep-alive'], { connection: 'keep-alive', handshake: 'full' }],
  [['--env', 'A=1', '--env', 'B=x=y'], { env: { A: '1', B: 'x=y' } }],
]) {
  test(`a flag by habit is understood: ${args.join(' ')}`, () => {
    assert.deepEqual(parseLoad(...args).options, options);
  });
}

for (const [args, message] of [
  [['--data', 'a=1'], /^--data is not supported: a body is -b TEXT/],
  [
    ['-u', 'me:secret'],
    /^-u is not supported: user and password go into the URL.*; virtual users are -c N$/,
  ],
  [['--bearer', 'x'], /Authorization header, by -H$/],
  [['--http1.1'], /HTTP\/1\.1 is the default/],
  [['-h2'], /HTTP\/2 is --http2/],
  [['-I'], /\{\{seq\}\}/],
  [['--bailout=5'], /^--bailout is not supported: it is --fail-on 'errors<N' --abort-on-fail$/],
  [['--disable-keepalive'], /^--disable-keepalive is not supported: it is --connection close$/],
  [['-max-workers=5'], /^-max-workers is not supported/],
  [['--ab', '1'], /^unknown flag '--ab'; run millrace --help for the list/],
  [
    ['--stage', '1s:10,1s:20'],
    /^--stage takes one stage and may be repeated: --stage 1s:10 --stage 1s:20$/,
  ],
  [
    ['--json', '{"a":1}'],
    /^'\{"a":1\}' is not a URL; a body is -b '\{"a":1\}' -H 'Content-Type: application\/json'$/,
  ],
  [['--json', 'result.json'], /^'result.json' is not a URL; .* a file by -o result.json$/],
  [['-m', '10'], /^-m must be a method .* \(got 10\); .* h2load's -m 10 streams, are -p 10$/],
  [['-o', 'csv'], /^-o takes a file, .* \(got csv\): CSV is --csv FILE, .*-o \.\/csv$/],
  [['--output=JSON'], /^--output takes a file.*: JSON on standard output is --json; /],
  [['--concurrent', '5'], /^--concurrent is not supported: virtual users are connections: -c N$/],
  [['--time', '5'], /^--time is not supported: the length of a run is -d 30s$/],
  [['--ramp-up', '5'], /^--ramp-up is not supported: .* --connections-stage 30s:100, .*--stage/],
  [
    ['--connections-stage', '5s'],
    /^--connections-stage must be TIME:N, such as 30s:100 \(got 5s\)$/,
  ],
  [['-d', 'a=1&b=2'], /^-d must be a duration \(got 'a=1&b=2'\): a body is -b 'a=1&b=2'$/],
]) {
  test(`a habit from another tool is refused with advice: ${args.join(' ')}`, () => {
    assert.throws(() => parseLoad(...args), { code: 'ERR_MILLRACE_USAGE', message });
  });
}

test('-t N is threads, and a line says what else it is elsewhere', () => {
  const { options, notes } = parseLoad('-t', '5', 'h:1');
  assert.deepEqual([options.threads, options.timeout], [5, undefined]);
  assert.equal(notes.length, 1);
  assert.match(notes[0], /^-t 5 is 5 threads, as in wrk; as a time, .*, write -T 5s .* or -d 5s/);
  assert.deepEqual(parseLoad('--threads', '5', 'h:1').notes, []);
  assert.equal(parseLoad('-t', '5s', 'h:1').options.timeout, 5000);
});

test('stages of connections and local addresses are read', () => {
  const flags = ['--connections-stage', '30s:100', '--connections-stage', '0:2'];
  const { options } = parseLoad(...flags, '--interface', '::1, 127.0.0.2', 'h:1');
  assert.deepEqual(options.connectionStages, [
    { duration: 30_000, connections: 100 },
    { duration: 0, connections: 2 },
  ]);
  assert.deepEqual(options.localAddress, ['::1', '127.0.0.2']);
});

test('a path or a host with a path may end with .json', () => {
  for (const url of ['/data.json', 'host/data.json', 'http://host/data.json']) {
    assert.deepEqual(parseLoad(url).options.url, [url]);
  }
});

test("curl's -d @FILE and switched-off progress are accepted", () => {
  const invocation = parseLoad('-d', '@body.json', '--no-tui', '-b', 'sid=1', '[::1]:80');
  assert.equal(invocation.options.bodyFile, 'body.json');
  assert.equal(invocation.options.duration, undefined);
  assert.match(invocation.notes[0], /^-d '@body.json' is taken as --body/);
  assert.equal(invocation.progress, false);
  assert.equal(parseLoad('--no-progress').progress, false);
});

test('commands of other tools are not commands of millrace', () => {
  const refuse = (...words) => refuseForeignCommand(words[0], words.slice(1), ['load', 'explain']);
  for (const words of [
    ['run', 'script.js'],
    ['attack'],
    ['web', 'http://h/'],
    ['bench', '-c', '5'],
  ]) {
    assert.throws(() => refuse(...words), {
      code: 'ERR_MILLRACE_USAGE',
      message: `'${words[0]}' is no command of millrace: load, explain; a host of that name is http://${words[0]}/`,
    });
  }
  for (const words of [
    ['web'],
    ['web', '-c', '5'],
    ['localhost', 'web'],
    ['web.test', 'b'],
    ['node', 's.js'],
  ]) {
    refuse(...words);
  }
});

test('the line that explains a load does not show a passphrase', () => {
  const line = explainLine(['--key', 'k.pem', '--passphrase', 'hidden', 'https://a.test/']);
  assert.match(line, /k\.pem/);
  assert.doesNotMatch(line, /hidden/);
});

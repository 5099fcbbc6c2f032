// Commands as people type them, and the servers that they start: which port is taken, and what is said of those that do not start.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { get as getSecurely } from 'node:https';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, describe, test } from 'node:test';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { readCommandLine } from '#internal/process/command/command-line.js';
import { startCommand } from '#internal/process/command/start-command.js';

const noProcfs = process.platform !== 'linux' && 'needs /proc';
const node = process.execPath;
const folder = mkdtempSync(join(tmpdir(), 'millrace-commands-'));
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
after(() => rmSync(folder, { recursive: true }));

/** Starts a command, whose ports are tried by `GET /` or as `trial` says; it is stopped after the test. */
async function start(command, trial = {}) {
  const server = await startCommand(command, {
    timeoutMs: 20_000,
    trial: { method: 'GET', target: '/', ...trial },
  });
  cleanups.push(() => server.stop());
  return server;
}

/** Starts a program of Node. */
const program = (text, trial) => start([node, '-e', text], trial);

function fetched(url) {
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? getSecurely : get;
    request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      resolve(text(response));
    }).on('error', reject);
  });
}

const ECHO = `require('http').createServer((q, r) => r.end(process.env.GREETING || 'hello')).listen(0, '127.0.0.1');`;

/** A server in a second thread; SIGTERM ends the first one only. `stat` then calls its process a zombie. */
const SERVER_WITHOUT_FIRST_THREAD = `
import ctypes, http.server, signal, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever).start()
signal.sigwait([signal.SIGTERM])
ctypes.CDLL(None).pthread_exit(None)
`;

describe('a command line', () => {
  for (const [given, words, environment, shell = false] of [
    [['node', 'server.js'], ['node', 'server.js'], {}],
    [['PORT=1', 'node', 'a=b'], ['node', 'a=b'], { PORT: '1' }],
    [['A=1', 'B=x y', 'node'], ['node'], { A: '1', B: 'x y' }],
    [['node server.js'], ['node server.js'], {}, true],
    [['PORT=1 node server.js'], ['PORT=1 node server.js'], {}, true],
    [['A=1', 'cd app && npm start'], ['cd app && npm start'], { A: '1' }, true],
    [['./my=server', 'x'], ['./my=server', 'x'], {}],
    ['node server.js', ['node server.js'], {}, true],
    ['server', ['server'], {}, true],
  ]) {
    test(`a command line is read: ${JSON.stringify(given)}`, {
      skip: process.platform === 'win32',
    }, () => {
      assert.deepEqual(readCommandLine(given), { words, environment, shell });
    });
  }

  test('a command line of assignments alone names no program', () => {
    assert.throws(() => readCommandLine(['PORT=1']), {
      code: 'ERR_MILLRACE_COMMAND',
      message: 'cannot start `PORT=1`: no program is named: try -- PORT=1 node server.js',
    });
  });

  test('a command line in quotes is not passed to the shell if there is such a file', () => {
    const path = join(folder, 'my server');
    writeFileSync(path, '');
    assert.deepEqual(readCommandLine([path]).words, [path]);
  });
});

describe('commands that cannot be started', { skip: noProcfs }, () => {
  // npm puts the folder of this package's own programs there.
  const { PATH } = process.env;
  const usual = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  before(() => Object.assign(process.env, { PATH: usual.join(delimiter) }));
  after(() => Object.assign(process.env, { PATH }));

  const script = join(folder, 'server.js');
  writeFileSync(script, '');
  mkdirSync(join(folder, 'app'));
  for (const [command, message] of [
    [['no-such-program'], /^cannot start `no-such-program`: no such program$/],
    [['server.js', '-p'], /: no such program; try -- node server\.js -p$/],
    [[script], /: it is not executable; try -- node \/.*server\.js$/],
    [['server.ts'], /: no such program; try -- npx tsx server\.ts$/],
    [[join(folder, 'app')], /: it is a directory; try -- node \/.*app$/],
    [['.'], /: it is a directory; try -- node \.$/],
    [['http://localhost:3000'], /; a URL stands before --: http:\/\/localhost:3000 -- COMMAND$/],
    [
      ['ulimit', '-n', '10'],
      /; it is a word of the shell: -- sh -c 'ulimit -n 10 && node server\.js'$/,
    ],
    // This package's own.
    [['check'], /: no such program; try -- npm run check$/],
    [['biome', 'x'], /: no such program; try -- npx biome x$/],
  ]) {
    test(`\`${command.join(' ')}\``, async () => {
      await assert.rejects(start(command), { code: 'ERR_MILLRACE_COMMAND', message });
    });
  }
});

describe('a command that ends early', { skip: noProcfs }, () => {
  const npm = [
    'npm error code ENOENT',
    'npm error syscall open',
    'npm error path /app/package.json',
    'npm error enoent Could not read package.json',
    'npm error A complete log of this run can be found in: /home/user/.npm/_logs/x.log',
  ];
  for (const [what, lines, told] of [
    ["npm's first sentence", npm, 'npm error enoent Could not read package.json'],
    ["the script's own error", ['Error: no database', ...npm], 'Error: no database'],
    ['the last line', ['starting', 'stopping'], 'stopping'],
  ]) {
    test(`a command that ends early has a reason: ${what}`, async () => {
      const printed = program(
        `console.error(${JSON.stringify(lines.join('\n'))}); process.exitCode = 1`,
      );
      await assert.rejects(printed, ({ message }) => message.endsWith(`on any port: ${told}`));
    });
  }
});

test('the message about a command that goes to the background says what to do', {
  skip: noProcfs,
}, async () => {
  await assert.rejects(program(''), {
    message:
      /ended with exit code 0 before it listened on any port \(for a server that runs in the background, give its URL without --\)$/,
  });
});

describe('a server that a command starts', { skip: noProcfs, timeout: 60_000 }, () => {
  test('a command gets the environment variables that are assigned before it', async () => {
    const { origin } = await start(['GREETING=from outside', node, '-e', ECHO]);
    assert.equal(await fetched(origin), 'from outside');
  });

  test('a command may be started by the shell', async () => {
    const { origin } = await start([`true && GREETING=shell '${node}' -e "${ECHO}"`]);
    assert.equal(await fetched(origin), 'shell');
  });

  test('a command that lives as long as its standard input is stopped nevertheless', async () => {
    const server = await program(`
      process.stdin.resume().on('end', () => process.exit(7));
      setTimeout(() => { ${ECHO} }, 100);
      process.on('SIGTERM', () => process.exit(0));`);
    assert.equal(await fetched(server.origin), 'hello');
    await server.stop();
    assert.equal(await server.exited, 'ended with exit code 0');
  });

  test('a command that has left the process group of its starter is stopped', async () => {
    const server = await program(`
      const code = ${JSON.stringify(ECHO)};
      const options = { detached: true, stdio: 'ignore' };
      require('child_process').spawn(process.execPath, ['-e', code], options);
      setInterval(() => {}, 1000);`);
    assert.equal(await fetched(server.origin), 'hello');
    await server.stop();
    await assert.rejects(fetched(server.origin), { code: 'ECONNREFUSED' });
  });

  test('a command of which SIGTERM ends only the first thread is killed', {
    skip: spawnSync('python3', ['--version']).status !== 0 && 'needs python3',
  }, async () => {
    const server = await start(['python3', '-c', SERVER_WITHOUT_FIRST_THREAD]);
    await server.stop();
    await assert.rejects(fetched(server.origin), { code: 'ECONNREFUSED' });
  });

  test('a command may close its standard input', async () => {
    const { origin } = await program(`process.stdin.destroy(); ${ECHO}`);
    assert.equal(await fetched(origin), 'hello');
  });

  for (const [what, first] of [
    ['speaks no HTTP', `require('net').createServer((s) => s.write('* OK ready\\r\\n'))`],
    ['closes its connections', `require('net').createServer((s) => s.destroy())`],
    ['says nothing', `require('net').createServer(() => {})`],
    [
      'serves metrics only',
      `require('http').createServer((q, r) => { r.statusCode = q.url === '/metrics' ? 200 : 404; r.end(); })`,
    ],
  ]) {
    test(`the second port of a command is loaded if the first ${what}`, async () => {
      const server = await program(
        `${first}.listen(0, '127.0.0.1', () => setTimeout(() => { ${ECHO} }, 100));`,
      );
      assert.equal(await fetched(server.origin), 'hello');
      assert.equal((await server.otherPorts()).length, 1);
    });
  }

  for (const [name, trial, second, scheme] of [
    [
      'HTTP/2 without TLS',
      { h2c: true, tls: false },
      () => `require('http2').createServer((q, r) => r.end())`,
      'http',
    ],
    [
      'TLS',
      { h2c: false, tls: true },
      (own) => `require('http2').createSecureServer(${JSON.stringify(own)}, (q, r) => r.end())`,
      'https',
    ],
  ]) {
    test(`the port of a command is loaded that speaks ${name}, where the load needs it`, async () => {
      const own = await selfSignedCertificate(['localhost']);
      const script = `${ECHO} ${second(own)}.listen(0, '127.0.0.1');`;
      const server = await program(script, trial);
      assert.equal(new URL(server.origin).protocol, `${scheme}:`);
      const [other] = await server.otherPorts();
      assert.equal(await fetched(`http://127.0.0.1:${other}/`), 'hello');
    });
  }

  test('a port of a command is loaded though it does not speak what the load needs', async () => {
    const { origin } = await program(ECHO, { h2c: true, tls: false });
    assert.equal(await fetched(origin), 'hello');
    const secured = await program(ECHO, { h2c: false, tls: true });
    assert.equal(await fetched(secured.origin), 'hello');
  });

  test('a port of a command is loaded even if none answers as wanted', async () => {
    const server = await program(
      `require('http').createServer((q, r) => { r.statusCode = 404; r.end('nothing here'); }).listen(0, '127.0.0.1')`,
    );
    assert.equal(await fetched(server.origin), 'nothing here');
  });

  test('a command that closes its port once more is waited for', async () => {
    const { origin } = await program(`
      const { createServer } = require('net');
      const early = createServer((s) => { s.destroy(); early.close(() => setTimeout(again, 100)); });
      early.listen(0, '127.0.0.1', () => { port = early.address().port; });
      let port;
      const again = () => require('http').createServer((q, r) => r.end('again')).listen(port, '127.0.0.1');`);
    assert.equal(await fetched(origin), 'again');
  });

  test('a command is waited for while a proxy closes connections until it is ready', async () => {
    const { origin } = await program(`
      const ready = require('http').createServer((q, r) => r.end('ready'));
      let taken = 0;
      require('net').createServer((s) => {
        if (++taken <= 4) s.destroy();
        else ready.emit('connection', s);
      }).listen(0, '127.0.0.1');`);
    assert.equal(await fetched(origin), 'ready');
  });

  test('a command is waited for at a given port until it accepts connections', async () => {
    const taken = createNetServer().listen(0, '127.0.0.1');
    await new Promise((listening) => taken.once('listening', listening));
    const { port } = taken.address();
    await new Promise((closed) => taken.close(closed));
    const command = [
      node,
      '-e',
      `setTimeout(() => require('http').createServer((q, r) => r.end()).listen(${port}, '127.0.0.1'), 50)`,
    ];
    const server = await startCommand(command, { port, timeoutMs: 20_000 });
    cleanups.push(() => server.stop());
    assert.equal(server.port, port);
  });

  test('a command that listens on IPv6 only is reached over IPv6', async () => {
    const server = (port) =>
      `require('http').createServer((q, r) => r.end('six')).listen({ port: ${port}, host: '::', ipv6Only: true })`;
    const found = await program(server(0));
    assert.equal(found.origin, `http://[::1]:${found.port}`);
    assert.equal(await fetched(found.origin), 'six');
    await found.stop();
    const { port } = found;
    const given = await startCommand([node, '-e', server(port)], { port, timeoutMs: 20_000 });
    cleanups.push(() => given.stop());
    assert.equal(given.host, '::1');
  });

  test('a command that speaks TLS is reached over TLS', async () => {
    const { cert, key } = await selfSignedCertificate(['localhost']);
    const { origin } = await program(
      `require('https').createServer(${JSON.stringify({ cert, key })}, (q, r) => r.end('secure')).listen(0, '127.0.0.1')`,
    );
    assert.match(origin, /^https:\/\/localhost:\d+$/);
    assert.equal(await fetched(origin), 'secure');
  });

  test('a command is asked once and may answer slowly', async () => {
    const { origin } = await program(`
      let asked = 0;
      require('http').createServer((q, r) => {
        const number = String(++asked);
        setTimeout(() => r.end(number), number === '1' ? 400 : 0);
      }).listen(0, '127.0.0.1')`);
    assert.equal(await fetched(origin), '2');
  });
});

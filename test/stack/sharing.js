// Processes that share a port, and requests to them on raw sockets.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../dist/process/free-port.js';
import { REGISTER } from './pair.js';

const APP = fileURLToPath(new URL('sharing-app.js', import.meta.url));

/** Milliseconds after which what a test waits for does not come any more: it says so before the test is out of time. */
const PATIENCE = 25_000;

/** The same promise, with a limit. */
export async function within(ms, what, promise) {
  const late = Promise.withResolvers?.() ?? resolvers();
  const timer = setTimeout(() => late.reject(new Error(`not within ${ms} ms: ${what()}`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

// Node 20 has not got it.
function resolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** Asks again until the answer is as it should be. */
export async function until(what, ask) {
  const limit = performance.now() + PATIENCE;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (performance.now() > limit) throw new Error(`not within ${PATIENCE} ms: ${what}`);
    await new Promise(setImmediate);
  }
}

/** Until a process that was sent SIGSTOP is stopped: each of its threads goes on until the system has come to it. */
export async function stopped(pid) {
  // Other systems do not tell of threads.
  if (process.platform !== 'linux') return;
  const tasks = `/proc/${pid}/task`;
  await until(`all of ${pid} is stopped`, () =>
    readdirSync(tasks).every((task) => stateOf(`${tasks}/${task}`) === 'T'),
  );
}

/** `undefined`: it has ended. */
function stateOf(task) {
  try {
    const stat = readFileSync(`${task}/stat`, 'utf8');
    // The name before it, in parentheses, may contain some.
    return stat[stat.lastIndexOf(')') + 2];
  } catch {
    return undefined;
  }
}

/** A request's bytes. */
export function request(target, { method, host = 'a', version = '1.1', fields = [], body } = {}) {
  const hosts = host === null ? [] : [`Host: ${host}`];
  const lengths = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  const lines = [`${verb} ${target} HTTP/${version}`, ...hosts, ...fields, ...lengths];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')]);
}

/** What applications say of a body that they have received. */
export function sumOf(body) {
  return createHash('sha1').update(body).digest('hex');
}

/** `200 a`: the status and whose answer it is, or `-` for those that no application gives. */
export function brief({ status, name }) {
  return `${status} ${name ?? '-'}`;
}

/** A client's connection. */
export class Connection {
  #received = [];
  #length = 0;
  #over = null;
  #wake = () => {};
  #asked = [];

  constructor(where) {
    this.socket = net.connect(where);
    this.socket.on('data', (bytes) => {
      this.#received.push(bytes);
      this.#length += bytes.length;
      this.#wake();
    });
    this.socket.on('end', () => this.#end('end'));
    this.socket.on('error', ({ code }) => this.#end(code));
    this.socket.on('close', () => this.#end('close'));
  }

  #end(how) {
    this.#over ??= how;
    this.#wake();
  }

  async connected() {
    await within(PATIENCE, () => 'a connection', once(this.socket, 'connect'));
    return this;
  }

  get port() {
    return this.socket.localPort;
  }

  /** How the server's side has ended; `null`: it has not. */
  get over() {
    return this.#over;
  }

  write(bytes) {
    this.socket.write(bytes);
  }

  /** Sends a request, and does not wait for the response. */
  send(target, options) {
    const bytes = request(target, options);
    this.#asked.push(bytes.subarray(0, bytes.indexOf('\r\n')).toString());
    this.socket.write(bytes);
  }

  async ask(target, options = {}) {
    this.send(target, options);
    return this.response(options.method);
  }

  /** The next response, 1xx included; `method`: of its request. */
  async response(method = 'GET') {
    const head = (await this.#takeHead()).toString('latin1');
    const [line, ...lines] = head.trimEnd().split('\r\n');
    const fields = Object.fromEntries(
      lines.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
      }),
    );
    const status = Number(line.split(' ')[1]);
    const isBodiless = method === 'HEAD' || status < 200 || status === 204 || status === 304;
    const body = isBodiless ? Buffer.alloc(0) : await this.#takeBody(fields);
    const { 'x-name': name, 'x-url': url } = fields;
    return { status, fields, name, url, body, json: parsed(body) };
  }

  /** All that is left, when the server's side has ended. */
  async rest() {
    while (this.#over === null) await this.#more('the end of the connection');
    return this.#take(this.#length);
  }

  async #takeHead() {
    for (;;) {
      const all = this.#gather();
      const end = all.indexOf('\r\n\r\n');
      if (end >= 0) return this.#take(end + 4);
      await this.#more('a head');
    }
  }

  async #takeBody(fields) {
    if (fields['transfer-encoding'] === 'chunked') {
      throw new Error('these applications send no chunks');
    }
    const length = Number(fields['content-length'] ?? 0);
    while (this.#length < length) await this.#more(`a body of ${length} bytes`);
    return this.#take(length);
  }

  #gather() {
    const all = Buffer.concat(this.#received);
    this.#received = [all];
    return all;
  }

  #take(length) {
    const all = this.#gather();
    this.#received = [all.subarray(length)];
    this.#length -= length;
    return all.subarray(0, length);
  }

  async #more(what) {
    const where = () =>
      `${what} on a connection that asked ${JSON.stringify(this.#asked.slice(-3))} and has ${JSON.stringify(
        this.#gather().subarray(0, 200).toString('latin1'),
      )}`;
    if (this.#over !== null) throw new Error(`${this.#over} in place of ${where()}`);
    await within(
      PATIENCE,
      where,
      new Promise((resolve) => {
        this.#wake = resolve;
      }),
    );
  }
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function fits(line, entries) {
  return Object.entries(entries).every(([key, value]) => line[key] === value);
}

const isError = ({ said }) => said === 'error';

/** A process of `sharing-app.js`. */
export class App {
  #said = [];
  #waiting = [];
  #errors = '';
  #code = null;

  /** It does not obey: it is stopped, computes, or is gone. */
  away = false;

  /**
   * `hands`: how many of its threads or workers listen; `settle` waits until the others know what it has done; `user`: what
   * `spawn` takes, and how many `descriptors` it may have.
   */
  constructor(args, env, hands, settle, user) {
    this.hands = hands;
    this.settle = settle;
    const { descriptors, ...who } = user ?? {};
    const node = [process.execPath, '--import', REGISTER, APP, ...args];
    const limit = ['sh', '-c', `ulimit -n ${descriptors} && exec "$@"`, 'sh'];
    const [command, ...words] = descriptors === undefined ? node : [...limit, ...node];
    this.child = spawn(command, words, {
      ...who,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      this.#code = code ?? signal;
      this.#wake();
    });
    this.child.stderr.on('data', (text) => {
      this.#errors += text;
    });
    this.child.stdin.on('error', () => {});
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.#said.push(JSON.parse(line));
      this.#wake();
    });
  }

  #wake() {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  get pid() {
    return this.child.pid;
  }

  /** Waits for a line with these entries, and takes it. */
  async said(entries) {
    for (;;) {
      const at = this.#said.findIndex((line) => fits(line, entries));
      if (at >= 0) return this.#said.splice(at, 1)[0];
      const instead = () =>
        `${JSON.stringify(entries)}; it said ${JSON.stringify(this.#said)} ${this.#errors}`;
      // It does not come any more.
      const hasFailed = entries.said === 'listening' && this.#said.some(isError);
      if (hasFailed) throw new Error(`an error in place of ${instead()}`);
      if (this.#code !== null) throw new Error(`ended (${this.#code}) without ${instead()}`);
      await within(
        PATIENCE,
        instead,
        new Promise((resolve) => {
          this.#waiting.push(resolve);
        }),
      );
    }
  }

  /** Whether there is a line with these entries that nobody has waited for. */
  hasSaid(entries) {
    return this.#said.some((line) => fits(line, entries));
  }

  /** Gives an order, and waits for what comes of it. */
  async order(line, said) {
    this.child.stdin.write(`${line}\n`);
    return said === undefined ? undefined : this.said(said);
  }

  release(key) {
    this.order(`release ${key}`);
  }

  async listen(name) {
    await this.order(`listen ${name}`, { said: 'listening', name });
    await this.settle();
  }

  close(name) {
    const closing = this.order(`close ${name}`, { said: 'closed', name }).then(async (closed) => {
      await this.settle();
      return closed;
    });
    // A test that has failed does not wait for it.
    closing.catch(() => {});
    return closing;
  }

  /** It has taken all that had come before. */
  async turn() {
    // The second is taken in a later turn of its event loop.
    for (const key of [`${Math.random()}`, `${Math.random()}`]) {
      this.order(`turn ${key}`);
      for (let hand = 0; hand < this.hands; hand++) await this.said({ said: 'turn', key });
    }
  }

  async stats(name) {
    return (await this.order(`stats ${name}`, { said: 'stats', name })).stats;
  }

  /** As a crash: nothing is given back. */
  async kill() {
    this.away = true;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** It ends of itself. */
  async end() {
    this.away = true;
    this.child.stdin.end();
    await this.exited;
  }

  /** It does nothing any more when this is over. */
  async stop() {
    this.away = true;
    this.child.kill('SIGSTOP');
    await stopped(this.pid);
  }

  goOn() {
    this.away = false;
    this.child.kill('SIGCONT');
  }
}

/** A port and a directory for those who share it, for the time of the test `t`. */
export class Ground {
  #apps = [];
  #connections = [];

  static async make(t) {
    const ground = new Ground();
    t.after(() => ground.#clear());
    ground.directory = await mkdtemp(join(tmpdir(), 'millrace-sharing-'));
    ground.port = await freePort();
    ground.env = { MILLRACE_PORTS: ground.directory };
    return ground;
  }

  prefix(path = '/', host = '*') {
    return `http://${host}:${this.port}${path}`;
  }

  /** Where those who share the port can be joined: what there is in its directory, but for the lock. */
  async doors() {
    const names = await readdir(join(this.directory, `any-${this.port}`));
    return names.filter((name) => name !== 'lock');
  }

  /** Starts a process: `NAME PATH` or `NAME HOST/PATH` for each of its servers. */
  launch(where, { user, ...settings } = {}) {
    const pairs = where.flatMap((pair) => {
      const [name, place] = pair.split(' ');
      const slash = place.indexOf('/');
      return [name, this.prefix(place.slice(slash), place.slice(0, slash) || '*')];
    });
    const app = new App(
      [JSON.stringify(settings), ...pairs],
      { ...this.env, ...settings.env },
      settings.threads || settings.workers || 1,
      () => this.settle(),
      user,
    );
    this.#apps.push(app);
    return app;
  }

  /** The same, and waits until all of its servers listen. */
  async start(where, settings = {}) {
    const all = typeof where === 'string' ? [where] : where;
    const app = this.launch(all, settings);
    for (const pair of all) {
      const name = pair.split(' ')[0];
      if (settings.later?.includes(name)) continue;
      for (let hand = 0; hand < app.hands; hand++) await app.said({ said: 'listening', name });
    }
    await this.settle();
    return app;
  }

  /** All of them have heard what each has said. */
  async settle() {
    await Promise.all(this.#apps.filter((app) => !app.away).map((app) => app.turn()));
  }

  /** A connection that exists. */
  connect(where = {}) {
    const connection = new Connection({ port: this.port, host: '127.0.0.1', ...where });
    this.#connections.push(connection);
    return connection.connected();
  }

  /** Several processes at once, by what their servers are. */
  startAll(...all) {
    return Promise.all(all.map((where) => this.start(where)));
  }

  /** A connection that the owner of this URL has: it has just answered there. */
  async connectTo(target, options) {
    const connection = await this.connect();
    const { status } = await connection.ask(target, options);
    if (status !== 200) throw new Error(`${status} for ${target}`);
    return connection;
  }

  /** One request on a connection of its own. */
  async ask(target, options = {}) {
    const connection = await this.connect();
    const { fields = [] } = options;
    const response = await connection.ask(target, {
      ...options,
      fields: [...fields, 'Connection: close'],
    });
    connection.socket.destroy();
    return response;
  }

  async #clear() {
    for (const { socket } of this.#connections) socket.destroy();
    for (const app of this.#apps) app.child.kill('SIGKILL');
    await Promise.all(this.#apps.map((app) => app.exited));
    if (this.directory) await rm(this.directory, { recursive: true, force: true });
  }
}

/**
 * Clients that ask without a pause, each on a connection of its own, with a new one when that ends. `next` gives for a client
 * and its number of a request: the `target` and the `body`, whose it is (`owner`, one or several), the `statuses` that may
 * come, and whether it is the last one of its connection (`isLast`).
 */
export class Load {
  /** Answers by owner and status, as `brief` has them. */
  counts = {};
  /** What nobody may ever see. */
  wrong = [];
  /** Requests whose connection broke. */
  lost = [];
  #answers;
  #stopped = false;
  #clients;

  constructor(ground, count, next) {
    this.#answers = new Array(count).fill(0);
    this.#clients = this.#answers.map((_, client) => this.#run(ground, client, next));
  }

  async #run(ground, client, next) {
    let connection = null;
    for (let number = 0; !this.#stopped; number++) {
      const wanted = next(client, number);
      try {
        connection ??= await ground.connect();
        this.#judge(await connection.ask(wanted.target, { body: wanted.body }), wanted);
      } catch (error) {
        this.lost.push({ client, wanted, error: error.message });
        connection?.socket.destroy();
        connection = null;
        continue;
      }
      this.#answers[client]++;
      if (wanted.isLast) {
        connection.socket.destroy();
        connection = null;
      }
    }
    connection?.socket.destroy();
  }

  #judge(response, { target, owner, body, statuses = [200] }) {
    const { status, name, url, json } = response;
    this.counts[brief(response)] = (this.counts[brief(response)] ?? 0) + 1;
    const fits =
      status === 200
        ? [owner].flat().includes(name) && url === target && json.sum === sumOf(body ?? '')
        : name === undefined;
    if (!fits || !statuses.includes(status)) this.wrong.push({ target, status, name, url });
  }

  /** Until each client has had so many more answers. */
  async more(count) {
    const before = [...this.#answers];
    await until('answers to all clients', () =>
      this.#answers.every((answers, client) => answers >= before[client] + count),
    );
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }
}

/** Each request, `[target, owner, host]`, has this owner: on a connection that has been elsewhere, and on new ones. */
export async function assertOwners(ground, requests) {
  const connection = await ground.connect();
  for (const [target, owner, host = 'a'] of requests) {
    const what = `${target} of ${host}`;
    const response = await connection.ask(target, { host });
    assert.equal(brief(response), owner, `${what}, on a connection that has been elsewhere`);
    if (response.status === 200) assert.equal(response.url, target, `what the owner saw`);
    // Two, as either of two processes may accept it.
    for (let at = 0; at < 2; at++) {
      assert.equal(brief(await ground.ask(target, { host })), owner, `${what}, on a new one`);
    }
  }
}

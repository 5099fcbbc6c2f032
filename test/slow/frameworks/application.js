// One application, running: what it writes, and what clients see of it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

/** How long something that is to be told may take. */
const LIMIT_MS = 30_000;

/** What is another in each run. */
const VARYING = [
  [/^(date: ).*/im, '$1<date>'],
  [/(listening |127\.0\.0\.1:)\d+/g, '$1<port>'],
  [/\\n {4}at [^"]*/g, ''],
  [/"(remotePort|responseTime)":[\d.]+/g, '"$1":0'],
];

const withoutVarying = (text) =>
  VARYING.reduce(
    (left, [pattern, instead]) => left.replaceAll(new RegExp(pattern, 'gim'), instead),
    text,
  );

export class Application {
  #child;
  #exited;
  #waiting = new Set();
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  lines = [];

  /** Starts a program of `folder` after `preloaded`; it says where it listens in its first line. */
  static async start(folder, program, preloaded) {
    const application = new Application(folder, ['--import', preloaded, program]);
    const [line] = await application.told(/^listening \d+$/);
    application.port = Number(line.split(' ')[1]);
    return application;
  }

  constructor(cwd, args) {
    const env = { ...process.env, NODE_OPTIONS: '', MILLRACE_STACK: '', NODE_ENV: 'production' };
    this.#child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr]) this.#collect(stream);
    this.#exited.then(() => this.#look());
  }

  #collect(stream) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      this.lines.push(...lines);
      this.#look();
    });
  }

  #look() {
    for (const look of this.#waiting) look();
  }

  /** The lines that are like this, once there are so many; an application that has ended tells no more. */
  async told(pattern, count = 1) {
    const found = () => this.lines.filter((line) => pattern.test(line));
    while (found().length < count) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`ended without ${pattern}:\n${this.lines.join('\n')}`);
      await new Promise((resolve, reject) => {
        const late = () => reject(new Error(`no ${pattern} in:\n${this.lines.join('\n')}`));
        const timer = setTimeout(late, LIMIT_MS);
        const look = () => {
          clearTimeout(timer);
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return found();
  }

  /** The answer to a request, on a connection that is kept. */
  async ask(method, path, { fields, body = '', agent = this.#agent } = {}) {
    const chunked = fields?.['Transfer-Encoding'] !== undefined;
    // Node's client sends what comes with DELETE without saying how long it is.
    const framing = body === '' || chunked ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const request = http.request({
      ...{ port: this.port, host: '127.0.0.1', agent, method, path },
      headers: { Host: 'a', ...fields, ...framing },
    });
    if (fields?.Expect) request.once('continue', () => request.end(body));
    else request.end(body);
    const [response] = await once(request, 'response');
    return answerOf(response);
  }

  /** All that comes for these bytes, until the connection has ended. */
  async raw(bytes) {
    const socket = net.connect(this.port, '127.0.0.1');
    const chunks = [];
    socket.on('error', () => {}).on('data', (chunk) => chunks.push(chunk));
    socket.write(bytes);
    await once(socket, 'close');
    return withoutVarying(Buffer.concat(chunks).toString('latin1'));
  }

  /** Sends these bytes, and resets the connection when something has come for them. */
  async abort(bytes) {
    const socket = net.connect(this.port, '127.0.0.1').on('error', () => {});
    socket.write(bytes);
    await once(socket, 'data');
    socket.resetAndDestroy();
  }

  /**
   * A signal while a request is being answered (it is when the line 'slow' is there), another connection is idle and a third
   * has sent nothing: the answer, and how the process ended when its clients had gone.
   */
  async end(signal, path) {
    const fresh = net.connect(this.port, '127.0.0.1').on('error', () => {});
    await once(fresh, 'connect');
    const agent = new http.Agent({ keepAlive: true });
    const begun = this.lines.filter((line) => line === 'slow').length;
    const answer = this.ask('GET', path, { agent }).catch(({ code }) => code);
    await this.told(/^slow$/, begun + 1);
    this.#child.kill(signal);
    const result = { answer: await answer };
    fresh.destroy();
    for (const used of [agent, this.#agent]) used.destroy();
    const [code, by] = await this.#exited;
    return { ...result, code, by };
  }

  /** What it has written. */
  log() {
    return this.lines.filter((line) => !/^ {4}at /.test(line)).map(withoutVarying);
  }

  kill() {
    this.#agent.destroy();
    this.#child.kill('SIGKILL');
  }
}

async function answerOf(response) {
  const { statusCode, statusMessage, rawHeaders, httpVersion } = response;
  const body = Buffer.concat(await response.toArray().catch((error) => [Buffer.from(error.code)]));
  const short = body.length < 2_000;
  const fields = rawHeaders.map((text, at) =>
    /^date$/i.test(rawHeaders[at - 1]) ? '<date>' : text,
  );
  return {
    ...{ statusCode, statusMessage, httpVersion, fields, complete: response.complete },
    trailers: response.rawTrailers,
    body: short
      ? withoutVarying(body.toString('latin1'))
      : createHash('sha1').update(body).digest('hex'),
  };
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('child.js', import.meta.url));
export const REGISTER = new URL('../../dist/http/register.js', import.meta.url).href;

/** Turns of an event loop in which what has arrived is taken and answered; accepting takes one for each connection. */
const TURNS = 6;

/** One application in two processes: on Node's own server, and on the stack. */
export class Pair {
  static async start(application) {
    const sides = [[], ['--import', REGISTER]].map((execArgv) => Side.start(application, execArgv));
    return new Pair(await Promise.all(sides));
  }

  constructor(sides) {
    this.sides = sides;
  }

  /**
   * Sends each case, a list of pieces, over a connection of its own, a piece when all that was sent before has
   * been dealt with. Gives for each case what came of it on both sides.
   */
  async run(cases) {
    const [plain, stack] = await Promise.all(this.sides.map((side) => side.run(cases)));
    return cases.map((pieces, index) => ({ pieces, plain: plain[index], stack: stack[index] }));
  }

  async stop() {
    await Promise.all(this.sides.map((side) => side.stop()));
  }
}

class Side {
  static async start(application, execArgv) {
    const env = { ...process.env, NODE_OPTIONS: '' };
    const child = fork(CHILD, [application], { execArgv, env });
    const [{ port, died }] = await once(child, 'message');
    if (died) throw new Error(died);
    return new Side(child, port);
  }

  constructor(child, port) {
    this.child = child;
    this.port = port;
  }

  async run(cases) {
    const clients = cases.map((pieces) => new Client(this.port, pieces));
    await Promise.all(clients.map((client) => client.connected()));
    await this.#settled([], { turns: TURNS + clients.length });
    const most = Math.max(...cases.map((pieces) => pieces.length));
    for (let index = 0; index < most; index++) {
      await Promise.all(clients.map((client) => client.send(index)));
      await this.#settled([]);
    }
    await this.#settled([], { last: true });
    await Promise.all(clients.map((client) => client.end()));
    await this.#settled([]);
    for (const client of clients) client.note('after the end');
    for (const client of clients) client.socket.destroy();
    const seen = await this.#settled(clients.map((client) => client.localPort));
    return clients.map((client, index) => client.outcome(seen[index]));
  }

  /** When the server has taken all that was sent, and what it sent has arrived. */
  async #settled(ports, { turns = TURNS, last = false } = {}) {
    const answer = new Promise((resolve, reject) => {
      this.child.once('message', resolve);
      this.child.once('exit', (code, signal) =>
        reject(new Error(`server ended: ${code} ${signal}`)),
      );
    });
    this.child.send({ ports, turns, last });
    const { seen, died } = await answer;
    this.child.removeAllListeners('exit');
    if (died) throw new Error(died);
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
    return seen;
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.disconnect();
    await once(this.child, 'exit');
  }
}

class Client {
  #pieces;
  #received = [];
  #notes = [];

  constructor(port, pieces) {
    this.#pieces = pieces;
    this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.socket.on('data', (chunk) => this.#received.push(chunk));
    this.socket.on('end', () => this.#notes.push('end'));
    this.socket.on('error', () => this.#notes.push('broken'));
  }

  async connected() {
    await once(this.socket, 'connect');
    this.localPort = this.socket.localPort;
  }

  send(index) {
    const piece = this.#pieces[index];
    const over = this.#notes.length > 0 || !this.socket.writable;
    if (piece === undefined || over) return undefined;
    return new Promise((resolve) => this.socket.write(piece, resolve));
  }

  note(text) {
    this.#notes.push(text);
  }

  end() {
    this.note('all is sent');
    if (!this.socket.writable) return undefined;
    return new Promise((resolve) => this.socket.end(resolve));
  }

  outcome(seen) {
    const bytes = Buffer.concat(this.#received).toString('latin1');
    return { bytes: bytes.replace(/Date: [^\r\n]*/g, 'Date: *'), notes: this.#notes, seen };
  }
}

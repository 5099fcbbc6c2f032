import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { PendingCalls, parseObject } from './pending-calls.js';

/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const FINAL = 0x80;
const MASKED = 0x80;
/** Maximum size of an incomplete message: ten times the profile of a busy minute. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** The error of calls to a debugger that has closed the connection. */
const CLOSED = 'the debugger has closed the connection';

interface CdpResponse {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/** A client of the Chrome DevTools Protocol: text messages over a WebSocket (RFC 6455), without extensions. */
export class CdpClient {
  readonly #socket: Socket;
  readonly #pending = new PendingCalls();
  #received = Buffer.alloc(0);
  #message: Buffer[] = [];

  /**
   * Connects to a debugger.
   *
   * @param url for example `ws://127.0.0.1:9229/3f6a...`
   * @throws {Error} if the server does not support WebSocket.
   */
  static async connect(url: string, signal: AbortSignal): Promise<CdpClient> {
    const key = randomBytes(16).toString('base64');
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': 13,
      'Sec-WebSocket-Key': key,
    };
    const asked = request(url.replace(/^ws:/, 'http:'), { headers, agent: false, signal });
    asked.on('response', (response) => {
      asked.destroy(new Error(`the debugger answered with status ${response.statusCode}`));
    });
    asked.end();
    const [response, socket, head] = (await once(asked, 'upgrade')) as [
      IncomingMessage,
      Socket,
      Buffer,
    ];
    const accept = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64');
    if (response.headers['sec-websocket-accept'] !== accept) {
      socket.destroy();
      throw new Error('the port does not belong to a debugger');
    }
    return new CdpClient(socket, head);
  }

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#pending.rejectAll(CLOSED));
    this.#receive(head);
  }

  /**
   * Calls a method such as `Runtime.evaluate` and returns its result.
   *
   * @throws {Error} with the debugger's message, or if the connection ends first.
   */
  call(method: string, params: Record<string, unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed || this.#socket.writableEnded) {
        reject(new Error(CLOSED));
        return;
      }
      const id = this.#pending.add({ resolve, reject });
      this.#send(TEXT, Buffer.from(JSON.stringify({ id, method, params })));
    });
  }

  /** Resolves when either side has ended the connection. */
  get ended(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      if (socket.closed) resolve();
      else socket.once('close', () => resolve());
    });
  }

  close(): void {
    this.#send(CLOSE, Buffer.alloc(0));
    this.#socket.destroySoon();
  }

  /** Sends a frame (RFC 6455, section 5.2); frames of a client are masked. */
  #send(opcode: number, payload: Buffer): void {
    const mask = randomBytes(4);
    const masked = payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
    this.#socket.write(Buffer.concat([buildHeader(opcode, payload.length), mask, masked]));
  }

  #receive(bytes: Buffer): void {
    if (this.#socket.destroyed) return;
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let frame = parseFrame(this.#received); frame; frame = parseFrame(this.#received)) {
      this.#received = this.#received.subarray(frame.length);
      this.#onFrame(frame);
    }
    const bufferedBytes = this.#message.reduce(
      (sum, { length }) => sum + length,
      this.#received.length,
    );
    if (bufferedBytes > MAX_MESSAGE_BYTES) this.#socket.destroy();
  }

  #onFrame({ final, opcode, payload }: Frame): void {
    if (opcode === PING) this.#send(PONG, payload);
    else if (opcode === CLOSE) this.#socket.destroySoon();
    // A message is one text frame, or a text frame and continuations.
    if (opcode > TEXT) return;
    this.#message.push(payload);
    if (!final) return;
    const text = Buffer.concat(this.#message).toString();
    this.#message = [];
    const answer = parseObject<CdpResponse>(text);
    // A WebSocket server that is not a debugger: none of its messages can be a response.
    if (answer === null) this.#socket.destroy();
    else this.#pending.settle(answer.id ?? 0, readError(answer), answer.result ?? {});
  }
}

/** Reads the message of an error; `undefined` if the call has succeeded. */
function readError({ error }: CdpResponse): string | undefined {
  return error ? String(error.message) : undefined;
}

function buildHeader(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL | opcode, MASKED | length]);
  const long = length > 0xffff;
  const bytes = Buffer.alloc(long ? 10 : 4);
  bytes[0] = FINAL | opcode;
  bytes[1] = MASKED | (long ? 127 : 126);
  if (long) bytes.writeBigUInt64BE(BigInt(length), 2);
  else bytes.writeUInt16BE(length, 2);
  return bytes;
}

interface Frame {
  final: boolean;
  opcode: number;
  payload: Buffer;
  /** Length of the whole frame. */
  length: number;
}

/** Parses the first frame of a server's bytes, which are not masked; `null` if it is incomplete. */
function parseFrame(bytes: Buffer): Frame | null {
  if (bytes.length < 2) return null;
  const first = bytes.readUInt8(0);
  const short = bytes.readUInt8(1) & 0x7f;
  const start = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < start) return null;
  const size =
    short === 127
      ? Number(bytes.readBigUInt64BE(2))
      : short === 126
        ? bytes.readUInt16BE(2)
        : short;
  const length = start + size;
  if (bytes.length < length) return null;
  const payload = bytes.subarray(start, length);
  return { final: (first & FINAL) !== 0, opcode: first & 0x0f, payload, length };
}

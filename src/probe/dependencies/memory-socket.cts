import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { ignoreErrors, timers } from '../runtime/clock.cjs';
import type { RecordedResponse } from './recorded-responses.cjs';

/** What a socket tells of its peer. */
export interface Peer {
  properties: Record<string, unknown>;
  certificate?: unknown;
}

/** Reads what a socket tells of its peer. */
export function readPeer(socket: Socket): Peer {
  const { remoteAddress, remoteFamily, remotePort, localAddress, localPort } = socket;
  const properties = { remoteAddress, remoteFamily, remotePort, localAddress, localPort };
  if (!('encrypted' in socket)) return { properties };
  const secure = socket as TLSSocket;
  const { encrypted, authorized, authorizationError, alpnProtocol } = secure;
  return {
    properties: { ...properties, encrypted, authorized, authorizationError, alpnProtocol },
    certificate: secure.getPeerCertificate(true),
  };
}

/**
 * A socket that answers one HTTP/1.1 request with a recorded response. To the application it is a kept connection of
 * a fast server.
 */
export class MemorySocket extends Socket {
  readonly #response: ResponseBytes;
  #isAnswered = false;

  /** @param isHead whether the response has no body, whatever its fields say */
  constructor(response: RecordedResponse, isHead: boolean, { properties, certificate }: Peer) {
    super({ allowHalfOpen: false });
    this.#response = formatResponse(response, isHead);
    for (const [name, value] of Object.entries(properties))
      Object.defineProperty(this, name, { value, configurable: true });
    if (certificate !== undefined) {
      Object.defineProperty(this, 'getPeerCertificate', { value: () => certificate });
    }
    // Without a handle it has no state of its own.
    Object.defineProperty(this, 'readyState', { get: () => (this.destroyed ? 'closed' : 'open') });
    Object.defineProperty(this, 'pending', { value: false });
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    this.#answer();
    done();
  }

  override _writev(_chunks: unknown[], done: () => void): void {
    this.#answer();
    done();
  }

  override _final(done: () => void): void {
    done();
  }

  /** A connection closes after the events of its response. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    timers.setImmediate(() => super._destroy(error, done));
  }

  #answer(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    // A response never arrives while its request is written.
    timers.setImmediate(
      ignoreErrors(() => {
        if (this.destroyed) return;
        this.push(this.#response.bytes);
        if (this.#response.endsConnection) this.push(null);
      }),
    );
  }
}

interface ResponseBytes {
  bytes: Buffer;
  /** Whether the end of the connection is the end of the body. */
  endsConnection: boolean;
}

const LAST_CHUNK = '0\r\n\r\n';

function formatResponse(
  { status, statusText, headers, body }: RecordedResponse,
  isHead: boolean,
): ResponseBytes {
  const fields: string[] = [];
  let [isChunked, hasLength] = [false, false];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    isChunked ||= name.toLowerCase() === 'transfer-encoding' && /chunked/i.test(value);
    hasLength ||= name.toLowerCase() === 'content-length';
    fields.push(`${name}: ${value}\r\n`);
  }
  const head = Buffer.from(`HTTP/1.1 ${status} ${statusText}\r\n${fields.join('')}\r\n`, 'latin1');
  if (isHead) return { bytes: head, endsConnection: false };
  const chunk = body.length > 0 ? [`${body.length.toString(16)}\r\n`, body, '\r\n'] : [];
  const parts = isChunked ? [...chunk, LAST_CHUNK] : [body];
  return {
    bytes: Buffer.concat([head, ...parts.map((part) => Buffer.from(part as Buffer))]),
    endsConnection: !isChunked && !hasLength,
  };
}

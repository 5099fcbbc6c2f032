/** What a request may wait for, as far as the probe knows. */
export interface WaitSource {
  kind: /** Another part of the program settles a promise, or calls back. */
    | 'promise'
    | 'http'
    /** Bytes on another connection that the process has opened. */
    | 'socket'
    | 'connect'
    | 'dns'
    | 'file'
    | 'timer'
    /** The next turn of the event loop. */
    | 'loop'
    /** The body of the request. */
    | 'body'
    | 'worker'
    /** A resource of Node.js, by its name in `async_hooks`. */
    | 'resource'
    /** No code of the request was seen to wait. */
    | 'unseen';
  /** Origin, address, host name or resource; empty if unknown. */
  target: string;
  phase: WaitPhase;
}

/** What is missing of an exchange: a connection for it, the answer's beginning, or the rest of it. */
export type WaitPhase = '' | 'connection' | 'answer' | 'body';

interface Resource {
  hostname?: unknown;
  address?: unknown;
  port?: unknown;
}

/** Names that Node.js gives to its own resources. */
const OWN_RESOURCE = /^(?!UNDICI)[A-Z][A-Z0-9_]+$/;

/** Resources of Node.js in which nothing waits but for the next turn of the loop. */
const LOOP = new Set(['Immediate', 'TickObject', 'Microtask']);

/** Tells what a resource of `async_hooks` stands for. `callTarget` is the origin of the call that was begun last. */
export function toWaitSource(type: string, resource: object, callTarget: string): WaitSource {
  const { hostname, address, port } = resource as Resource;
  if (LOOP.has(type)) return source('loop');
  switch (type) {
    case 'Timeout':
      return source('timer');
    case 'GETADDRINFOREQWRAP':
    case 'GETNAMEINFOREQWRAP':
    case 'QUERYWRAP':
      return source('dns', text(hostname));
    case 'TCPCONNECTWRAP':
      return source('connect', port === undefined ? text(address) : `${text(address)}:${port}`);
    case 'PIPECONNECTWRAP':
      return source('connect', text(address));
    case 'HTTPCLIENTREQUEST':
      return source('http', callTarget, 'answer');
    case 'QueuedRequest':
      return source('http', callTarget, 'connection');
    case 'TCPWRAP':
    case 'PIPEWRAP':
    case 'TLSWRAP':
      return source('socket', '', 'answer');
    case 'MESSAGEPORT':
    case 'WORKER':
      return source('worker');
  }
  if (/^(FSREQ|FILEHANDLE)/.test(type)) return source('file');
  // An application or a package has named it: it calls back as it likes, as a promise does.
  return OWN_RESOURCE.test(type) ? source('resource', type) : source('promise');
}

export function source(kind: WaitSource['kind'], target = '', phase: WaitPhase = ''): WaitSource {
  return { kind, target, phase };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

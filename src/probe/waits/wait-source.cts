import type { WaitPhase, WaitSource } from '../protocol.cjs';

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

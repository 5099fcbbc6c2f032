import { Server } from 'node:net';

/** Moves the port of a server that runs next to another instance with the same port. */
export interface PortRemap {
  /** Main module of the processes to which this applies. */
  script: string;
  from: number;
  to: number;
}

interface ListeningServer {
  listen(...args: unknown[]): Server;
}

/**
 * Makes servers that ask for `from` listen on `to`, and those that ask for other ports on any free port. Returns
 * whether this process is one of those to which it applies.
 */
export function remapPorts({ script, from, to }: PortRemap): boolean {
  if (process.argv[1] !== script) return false;
  const prototype = Server.prototype as ListeningServer;
  const { listen } = prototype;
  const remapPort = (port: number) => (port === from ? to : 0);
  prototype.listen = function (...args) {
    return listen.apply(this, replacePort(args, remapPort));
  };
  return true;
}

/** Returns the arguments of `listen` with the port replaced. Arguments without a TCP port are unchanged. */
function replacePort(
  [first, ...others]: unknown[],
  remapPort: (port: number) => number,
): unknown[] {
  if (isPort(first)) return [remapPort(Number(first)), ...others];
  if (typeof first === 'object' && first !== null && 'port' in first && isPort(first.port)) {
    return [{ ...first, port: remapPort(Number(first.port)) }, ...others];
  }
  return [first, ...others];
}

function isPort(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
}

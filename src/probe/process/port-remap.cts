import { Server } from 'node:net';

/** Where a server listens that was started beside one that has its port. */
export interface PortRemap {
  /** The main module of the processes that this is for. */
  script: string;
  from: number;
  to: number;
}

interface ListeningServer {
  listen(...given: unknown[]): Server;
}

/**
 * From now on a server that asks for the port listens on the other one, and those that ask for further ports on any.
 * Returns whether this process is one of those that it is for.
 */
export function remapPorts({ script, from, to }: PortRemap): boolean {
  if (process.argv[1] !== script) return false;
  const prototype = Server.prototype as ListeningServer;
  const { listen } = prototype;
  const remapPort = (port: number) => (port === from ? to : 0);
  prototype.listen = function (...given) {
    return listen.apply(this, replacePort(given, remapPort));
  };
  return true;
}

/** The arguments of `listen` with another port; what listens on no TCP port stays as it is. */
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

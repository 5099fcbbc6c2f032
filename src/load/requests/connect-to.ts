import { isIP } from 'node:net';
import { usageError } from '../../errors/millrace-error.js';
import { mustBe } from '../../validation/shape.js';
import type { LoadOptions } from '../options.js';

/** The server to connect to for a host and port. */
export interface Destination {
  /** Names or addresses, tried one after the other. */
  hosts: [string, ...string[]];
  port: number;
}

interface Override {
  matches: (host: string, port: number) => boolean;
  resolve: (host: string, port: number) => Destination;
}

const HOST = '(\\[[^\\]]+\\]|[^:\\[\\]]*)';
const RESOLVE = new RegExp(`^\\+?${HOST}:(\\d+):(.+)$`);
const CONNECT_TO = new RegExp(`^${HOST}:(\\d*):${HOST}:(\\d*)$`);

/** The overrides of `connectTo` and `resolve`; as in curl, `connectTo` is applied first. */
export class ConnectionOverrides {
  readonly #connectTo: Override[];
  readonly #resolve: Override[];
  readonly #texts: string[];
  #used = false;

  constructor({ connectTo = [], resolve = [] }: LoadOptions) {
    this.#connectTo = connectTo.map(readConnectTo);
    // A later override takes precedence; one for every host comes last.
    const isWild = (text: string) => /^\+?\*:/.test(text);
    const inOrder = [...resolve.filter(isWild), ...resolve.filter((text) => !isWild(text))];
    this.#resolve = inOrder.reverse().map(readResolve);
    this.#texts = [...connectTo, ...resolve];
  }

  /** Finds the server to connect to for a URL's host and port. */
  findDestination(host: string, port: number): Destination {
    let destination: Destination = { hosts: [host], port };
    for (const overrides of [this.#connectTo, this.#resolve]) {
      const { hosts, port } = destination;
      const override = overrides.find(({ matches }) => matches(hosts[0], port));
      if (!override) continue;
      destination = override.resolve(hosts[0], port);
      this.#used = true;
    }
    return destination;
  }

  /** Refuses overrides that match no target: the wrong server would be loaded. */
  checkUsed(): void {
    if (this.#used || this.#texts.length === 0) return;
    throw usageError(`'${this.#texts[0]}' matches no target: use the host and port of a URL`);
  }
}

function readConnectTo(text: string): Override {
  const [, host, port, toHost = '', toPort = ''] = CONNECT_TO.exec(text) ?? [];
  if (host === undefined || port === undefined) {
    throw mustBe('connectTo', 'HOST1:PORT1:HOST2:PORT2', text);
  }
  return {
    matches: (urlHost, urlPort) =>
      (host === '' || isSameHost(stripBrackets(host), urlHost)) &&
      (port === '' || readPort(port, text) === urlPort),
    resolve: (urlHost, urlPort) => ({
      hosts: [toHost === '' ? urlHost : stripBrackets(toHost)],
      port: toPort === '' ? urlPort : readPort(toPort, text),
    }),
  };
}

function readResolve(text: string): Override {
  const [, host, port, addresses] = RESOLVE.exec(text) ?? [];
  const [first, ...more] = addresses?.split(',').map(stripBrackets) ?? [];
  if (!host || port === undefined || !first || ![first, ...more].every((one) => isIP(one) > 0)) {
    throw mustBe('resolve', 'HOST:PORT:ADDRESS[,ADDRESS]', text);
  }
  const from = readPort(port, text);
  return {
    matches: (urlHost, urlPort) =>
      (host === '*' || isSameHost(stripBrackets(host), urlHost)) && from === urlPort,
    resolve: (_, port) => ({ hosts: [first, ...more], port }),
  };
}

function readPort(digits: string, text: string): number {
  const port = Number(digits);
  if (port >= 1 && port <= 65_535) return port;
  throw usageError(`the port in '${text}' must be from 1 to 65535 (got ${digits})`);
}

function stripBrackets(host: string): string {
  return host.trim().replace(/^\[|\]$/g, '');
}

function isSameHost(one: string, other: string): boolean {
  const plain = (host: string) => host.toLowerCase().replace(/\.$/, '');
  return plain(one) === plain(other);
}

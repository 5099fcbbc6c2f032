import { isIP } from 'node:net';
import { usageError } from '../../errors.js';
import { mustBe } from '../../validation/shape.js';
import type { LoadOptions } from '../options.js';

/** Where connections for a host and port really go. */
export interface Destination {
  /** Names or addresses, tried in turn. */
  hosts: [string, ...string[]];
  port: number;
}

interface Override {
  fits: (host: string, port: number) => boolean;
  to: (host: string, port: number) => Destination;
}

const HOST = '(\\[[^\\]]+\\]|[^:\\[\\]]*)';
const RESOLVE = new RegExp(`^\\+?${HOST}:(\\d+):(.+)$`);
const CONNECT_TO = new RegExp(`^${HOST}:(\\d*):${HOST}:(\\d*)$`);

/** What `connectTo` and `resolve` say about where connections go; as in curl, `connectTo` is read first. */
export class ConnectionOverrides {
  readonly #connectTo: Override[];
  readonly #resolve: Override[];
  readonly #given: string[];
  #used = false;

  constructor({ connectTo = [], resolve = [] }: LoadOptions) {
    this.#connectTo = connectTo.map(readConnectTo);
    // A later one wins, and one for every host comes last.
    const isWild = (text: string) => /^\+?\*:/.test(text);
    const inOrder = [...resolve.filter(isWild), ...resolve.filter((text) => !isWild(text))];
    this.#resolve = inOrder.reverse().map(readResolve);
    this.#given = [...connectTo, ...resolve];
  }

  findDestination(host: string, port: number): Destination {
    let destination: Destination = { hosts: [host], port };
    for (const redirections of [this.#connectTo, this.#resolve]) {
      const { hosts, port } = destination;
      const redirection = redirections.find(({ fits }) => fits(hosts[0], port));
      if (!redirection) continue;
      destination = redirection.to(hosts[0], port);
      this.#used = true;
    }
    return destination;
  }

  /** Refuses to load servers that were to be replaced by others. */
  checkUsed(): void {
    if (this.#used || this.#given.length === 0) return;
    throw usageError(
      `'${this.#given[0]}' fits no target: its host and port are not those of a URL`,
    );
  }
}

function readConnectTo(text: string): Override {
  const [, host, port, toHost = '', toPort = ''] = CONNECT_TO.exec(text) ?? [];
  if (host === undefined || port === undefined) {
    throw mustBe('connectTo', 'HOST1:PORT1:HOST2:PORT2', text);
  }
  return {
    fits: (ofHost, ofPort) =>
      (host === '' || isSameHost(stripBrackets(host), ofHost)) &&
      (port === '' || readPort(port, text) === ofPort),
    to: (ofHost, ofPort) => ({
      hosts: [toHost === '' ? ofHost : stripBrackets(toHost)],
      port: toPort === '' ? ofPort : readPort(toPort, text),
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
    fits: (ofHost, ofPort) =>
      (host === '*' || isSameHost(stripBrackets(host), ofHost)) && from === ofPort,
    to: (_, port) => ({ hosts: [first, ...more], port }),
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

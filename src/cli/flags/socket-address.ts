import { mustBe } from '../../validation/shape.js';

/** An address to listen on. */
export interface SocketAddress {
  host: string;
  port: number;
}

const MAX_PORT = 65_535;

/** Reads `127.0.0.1:9464`, `[::1]:9464` or `localhost:9464`; port 0 is any free one. */
export function parseSocketAddress(value: string, flag: string): SocketAddress {
  const [, ipv6, name, digits] =
    /^(?:\[([\da-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host === undefined || !(port <= MAX_PORT)) {
    throw mustBe(flag, 'an address and a port, such as 127.0.0.1:9464', value);
  }
  return { host, port };
}

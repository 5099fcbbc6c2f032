import { usageError } from '../errors/millrace-error.js';
import { mustBe } from '../validation/shape.js';

/** A machine that runs a share of a load. */
export interface Host {
  /** As it was given: its name in reports and messages. */
  name: string;
  /** Host, perhaps with a user, as ssh takes it. */
  destination: string;
  /** Absent: as ssh's configuration has it. */
  port?: number;
}

const ACCEPTED = 'hosts such as a, user@b:2222 or names of ~/.ssh/config';

/** Reads hosts: text separated by commas, or a list. */
export function readHosts(value: string | readonly string[], name: string): Host[] {
  const texts = [value].flat().flatMap((text) => text.split(',').map((part) => part.trim()));
  const hosts = texts.map((text) => parseHost(text, name));
  const twice = hosts.find((host, index) => texts.indexOf(host.name) !== index);
  if (twice) {
    throw usageError(
      `${name}: '${twice.name}' is named twice: more threads of one machine are -t N`,
    );
  }
  return hosts;
}

function parseHost(text: string, name: string): Host {
  // What begins with a dash would be a flag of ssh.
  if (!/^[^\s@-]\S*$/.test(text) || text.includes('@-')) throw mustBe(name, ACCEPTED, text);
  const [, address, digits] = /^((?:[^@]*@)?(?:\[[^\]]+\]|[^:]+)):(\d+)$/.exec(text) ?? [];
  if (address === undefined) return { name: text, destination: unwrap(text) };
  const port = Number(digits);
  if (port < 1 || port > 65_535)
    throw usageError(`${name}: ${digits} is not a port (in '${text}')`);
  return { name: text, destination: unwrap(address), port };
}

/** IPv6 is in brackets before a port alone. */
function unwrap(address: string): string {
  return address.replace(/\[([^\]]+)\]$/, '$1');
}

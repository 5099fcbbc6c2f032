import { readText } from '../procfs/procfs.js';

/** Reads the range of ports for outgoing connections of this network namespace, both ends included. */
export function readLocalPorts(): { first: number; last: number } | null {
  const text = readText('/proc/sys/net/ipv4/ip_local_port_range');
  if (text === null) return null;
  const [first = 0, last = 0] = text.trim().split(/\s+/).map(Number);
  return { first, last };
}

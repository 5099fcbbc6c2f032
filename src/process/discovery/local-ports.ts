import { readText } from '../procfs/procfs.js';

/** The ports that outgoing connections of this network namespace get, both included. */
export function localPorts(): { first: number; last: number } | null {
  const text = readText('/proc/sys/net/ipv4/ip_local_port_range');
  if (text === null) return null;
  const [first = 0, last = 0] = text.trim().split(/\s+/).map(Number);
  return { first, last };
}

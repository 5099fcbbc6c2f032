import { readText } from './procfs.js';

/** Number of TCP sockets in a network namespace, by `sockstat` and `sockstat6`, which need no walk through a table. */
export interface SocketCounts {
  ipv4: number;
  ipv6: number;
  /** In TIME_WAIT, both IPv4 and IPv6. */
  timeWait: number;
}

/** Counts the sockets; for `folder` see `findNetworkFolder`. */
export function countSockets(folder: string): SocketCounts {
  const [ipv4 = '', ipv6 = ''] = ['sockstat', 'sockstat6'].map((file) => {
    return /^TCP6?: .*/m.exec(readText(`${folder}/${file}`) ?? '')?.[0] ?? '';
  });
  return {
    ipv4: parseField(ipv4, 'inuse'),
    ipv6: parseField(ipv6, 'inuse'),
    timeWait: parseField(ipv4, 'tw'),
  };
}

function parseField(line: string, name: string): number {
  return Number(new RegExp(` ${name} (\\d+)`).exec(line)?.[1] ?? 0);
}

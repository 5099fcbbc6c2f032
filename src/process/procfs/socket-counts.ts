import { readText } from './procfs.js';

/** How many TCP sockets a network namespace has, by `sockstat` and `sockstat6`: told without a walk through a table. */
export interface SocketCounts {
  ipv4: number;
  ipv6: number;
  /** In TIME_WAIT, of both. */
  timeWait: number;
}

/** `folder`: see `networkFolder`. */
export function countSockets(folder: string): SocketCounts {
  const [ipv4 = '', ipv6 = ''] = ['sockstat', 'sockstat6'].map((file) => {
    return /^TCP6?: .*/m.exec(readText(`${folder}/${file}`) ?? '')?.[0] ?? '';
  });
  return { ipv4: number(ipv4, 'inuse'), ipv6: number(ipv6, 'inuse'), timeWait: number(ipv4, 'tw') };
}

function number(line: string, name: string): number {
  return Number(new RegExp(` ${name} (\\d+)`).exec(line)?.[1] ?? 0);
}

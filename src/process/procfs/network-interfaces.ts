import { readdirSync } from 'node:fs';
import { Counter } from '../../statistics/counter.js';
import { ProcFile } from './proc-file.js';
import { readText } from './procfs.js';

/** Speeds of the network interfaces that report one, in bytes per second and direction. */
export function readLinkSpeeds(): Map<string, number> {
  const speeds = new Map<string, number>();
  let names: string[] = [];
  try {
    names = readdirSync('/sys/class/net');
  } catch {
    // Not mounted.
  }
  for (const name of names) {
    // In Mbit/s; -1 or an error for virtual interfaces.
    const speed = Number(readText(`/sys/class/net/${name}/speed`));
    if (name !== 'lo' && speed > 0) speeds.set(name, (speed * 1e6) / 8);
  }
  return speeds;
}

/** Traffic of this machine's network interfaces over time. Costs nothing if no interface reports its speed. */
export class NetworkInterfaces {
  readonly #links: { name: string; speed: number; received: Counter; sent: Counter }[];
  readonly #file: ProcFile | null;

  constructor() {
    this.#links = [...readLinkSpeeds()].map(([name, speed]) => {
      return { name, speed, received: new Counter(), sent: new Counter() };
    });
    this.#file = this.#links.length > 0 ? new ProcFile('/proc/net/dev') : null;
  }

  read(): void {
    const text = this.#file?.read();
    if (!text) return;
    const atMs = performance.now();
    const traffic = parseTraffic(text);
    for (const { name, received, sent } of this.#links) {
      const bytes = traffic.get(name);
      if (bytes === undefined) continue;
      received.add(atMs, bytes.received);
      sent.add(atMs, bytes.sent);
    }
  }

  /** Utilization of the busiest interface in its busier direction; `null` if no interface reports its speed. */
  share(fromMs: number, toMs: number): number | null {
    const seconds = (toMs - fromMs) / 1000;
    const shares = this.#links.map(({ speed, received, sent }) => {
      const bytes = Math.max(received.growth(fromMs, toMs), sent.growth(fromMs, toMs));
      return bytes / seconds / speed;
    });
    return shares.length === 0 ? null : Math.max(...shares);
  }

  close(): void {
    this.#file?.close();
  }
}

/** Parses `/proc/net/dev`: bytes per interface since it came up. */
export function parseTraffic(text: string): Map<string, { received: number; sent: number }> {
  const traffic = new Map<string, { received: number; sent: number }>();
  for (const line of text.split('\n')) {
    const [, name = '', values = ''] = /^\s*([^\s:]+):\s*(.+)/.exec(line) ?? [];
    if (name === '') continue;
    const columns = values.split(/\s+/).map(Number);
    traffic.set(name, { received: columns[0] ?? 0, sent: columns[8] ?? 0 });
  }
  return traffic;
}

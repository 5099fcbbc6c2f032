import { Counter } from '../../statistics/counter.js';
import { ProcFile } from './proc-file.js';

const COLUMNS = {
  listenOverflows: { file: 'netstat', protocol: 'TcpExt', name: 'ListenOverflows' },
  synRetransmitted: { file: 'netstat', protocol: 'TcpExt', name: 'TCPSynRetrans' },
  retransmitted: { file: 'snmp', protocol: 'Tcp', name: 'RetransSegs' },
  sentSegments: { file: 'snmp', protocol: 'Tcp', name: 'OutSegs' },
} as const;

export type TcpCounterName = keyof typeof COLUMNS;

/** TCP counters of a process's network namespace over time. */
export class TcpCounters {
  readonly counters: Record<TcpCounterName, Counter> = {
    listenOverflows: new Counter(),
    synRetransmitted: new Counter(),
    retransmitted: new Counter(),
    sentSegments: new Counter(),
  };
  readonly #files: { netstat: ProcFile; snmp: ProcFile };

  constructor(pid: number) {
    const folder = `/proc/${pid}/net`;
    this.#files = {
      netstat: new ProcFile(`${folder}/netstat`),
      snmp: new ProcFile(`${folder}/snmp`),
    };
  }

  read(): void {
    const atMs = performance.now();
    const texts = { netstat: this.#files.netstat.read(), snmp: this.#files.snmp.read() };
    for (const [key, { file, protocol, name }] of Object.entries(COLUMNS)) {
      const value = parseColumn(texts[file] ?? '', protocol, name);
      if (value !== null) this.counters[key as TcpCounterName].add(atMs, value);
    }
  }

  close(): void {
    this.#files.netstat.close();
    this.#files.snmp.close();
  }
}

/** Reads a value from a text with a line of names and a line of values for each protocol. */
export function parseColumn(text: string, protocol: string, name: string): number | null {
  const begin = text.startsWith(`${protocol}:`) ? 0 : text.indexOf(`\n${protocol}:`) + 1;
  const [names = '', values = ''] = text.slice(begin, begin + MAX_PAIR_LENGTH).split('\n', 2);
  if (!names.startsWith(`${protocol}:`)) return null;
  const value = values.split(' ')[names.split(' ').indexOf(name)];
  return value === undefined ? null : Number(value);
}

const MAX_PAIR_LENGTH = 16_384;

import { Counter } from './counter.js';
import { LinkWatch } from './links.js';
import { parseIdle, parseMachineCpu } from './machine-cpu.js';
import { parsePressure } from './pressure.js';
import { ProcFile } from './proc-file.js';

/** The machine over time. */
export class MachineWatch {
  /** In seconds of one core; `idle` of the cores that were asked for. */
  readonly cpu = { busy: new Counter(), idle: new Counter(), steal: new Counter() };
  readonly links = new LinkWatch();
  /** In microseconds; `null` where the kernel does not tell. */
  diskWaitUs: Counter | null = null;
  readonly #stat = new ProcFile('/proc/stat');
  readonly #pressure = new ProcFile('/proc/pressure/io');

  /** @param cores those whose idle time counts; all if `null` */
  read(cores: Set<number> | null = null): void {
    const text = this.#stat.read() ?? '';
    const cpu = parseMachineCpu(text);
    const waitUs = parsePressure(this.#pressure.read() ?? '');
    const atMs = performance.now();
    if (cpu !== null) {
      this.cpu.busy.add(atMs, cpu.busy);
      this.cpu.idle.add(atMs, cores ? parseIdle(text, cores) : cpu.idle);
      this.cpu.steal.add(atMs, cpu.steal);
    }
    if (waitUs !== null) {
      this.diskWaitUs ??= new Counter();
      this.diskWaitUs.add(atMs, waitUs);
    }
    this.links.read();
  }

  close(): void {
    this.#stat.close();
    this.#pressure.close();
    this.links.close();
  }
}

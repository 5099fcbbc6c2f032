import { Counter } from './counter.js';
import { LinkWatch } from './links.js';
import { parseMachineCpu } from './machine-cpu.js';
import { parsePressure } from './pressure.js';
import { ProcFile } from './proc-file.js';

/** The machine over time. */
export class MachineWatch {
  /** In seconds of one core. */
  readonly cpu = { busy: new Counter(), idle: new Counter(), steal: new Counter() };
  readonly links = new LinkWatch();
  /** In microseconds; `null` where the kernel does not tell. */
  diskWaitUs: Counter | null = null;
  readonly #stat = new ProcFile('/proc/stat');
  readonly #pressure = new ProcFile('/proc/pressure/io');

  read(): void {
    const cpu = parseMachineCpu(this.#stat.read() ?? '');
    const waitUs = parsePressure(this.#pressure.read() ?? '');
    const atMs = performance.now();
    if (cpu !== null) {
      this.cpu.busy.add(atMs, cpu.busy);
      this.cpu.idle.add(atMs, cpu.idle);
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

import { Counter } from '../../statistics/counter.js';
import { computeDemand, parseCores, parseMachineCpu } from '../procfs/machine-cpu.js';
import { NetworkInterfaces } from '../procfs/network-interfaces.js';
import { parsePressure } from '../procfs/pressure.js';
import { ProcFile } from '../procfs/proc-file.js';

/** Counters of the machine over time. */
export class MachineSampler {
  /** In seconds of one core. All but `busy` refer to the cores passed to `read`. */
  readonly cpu = {
    busy: new Counter(),
    idle: new Counter(),
    steal: new Counter(),
    wanted: new Counter(),
  };
  readonly links = new NetworkInterfaces();
  /** In microseconds; `null` if the kernel does not report it. */
  diskWaitUs: Counter | null = null;
  readonly #stat = new ProcFile('/proc/stat');
  readonly #pressure = new ProcFile('/proc/pressure/io');

  /**
   * Takes a reading.
   *
   * @param cores the cores whose times count, except for `busy`; `null` for all
   */
  read(cores: Set<number> | null = null): void {
    const text = this.#stat.read() ?? '';
    const cpu = parseMachineCpu(text);
    const waitUs = parsePressure(this.#pressure.read() ?? '');
    const atMs = performance.now();
    if (cpu !== null) {
      this.cpu.busy.add(atMs, cpu.busy);
      const own = cores ? parseCores(text, cores) : cpu;
      this.cpu.idle.add(atMs, own.idle);
      this.cpu.steal.add(atMs, own.steal);
      this.cpu.wanted.add(atMs, computeDemand(own));
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

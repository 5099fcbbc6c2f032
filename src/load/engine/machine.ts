import { computeDemand, parseMachineCpu } from '../../process/procfs/machine-cpu.js';
import { ProcFile } from '../../process/procfs/proc-file.js';
import { Counter } from '../../process/sampling/counter.js';
import type { MachineResult } from '../result.js';

/** Reads the CPU of this machine when a measurement begins and when it has ended. */
export class MachineReading {
  // Open from the start: the run may take all descriptors that there are.
  readonly #file = new ProcFile('/proc/stat');
  readonly #wanted = new Counter();
  readonly #stolen = new Counter();
  #fromMs: number | null = null;

  /** The first call counts. */
  begin(): void {
    this.#fromMs ??= this.#read();
  }

  /** What it came to; `null` if it did not begin, or the system does not tell. */
  end(): MachineResult | null {
    const [fromMs, toMs] = [this.#fromMs, this.#read()];
    this.#file.close();
    if (fromMs === null || toMs === null || toMs === fromMs) return null;
    const cores = (seconds: Counter) => (seconds.growth(fromMs, toMs) * 1000) / (toMs - fromMs);
    return { wantedCores: cores(this.#wanted), stolenCores: cores(this.#stolen) };
  }

  /** When that was; `null` where the system does not tell. */
  #read(): number | null {
    const cpu = parseMachineCpu(this.#file.read() ?? '');
    if (!cpu) return null;
    const atMs = performance.now();
    this.#wanted.add(atMs, computeDemand(cpu));
    this.#stolen.add(atMs, cpu.steal);
    return atMs;
  }
}

import { computeDemand, parseMachineCpu } from '../../process/procfs/machine-cpu.js';
import { ProcFile } from '../../process/procfs/proc-file.js';
import { Counter } from '../../statistics/counter.js';
import type { MachineResult } from '../result.js';

/** Measures the CPU of this machine from the start to the end of a measurement. */
export class MachineReading {
  // Opened before the run, which may use up all file descriptors.
  readonly #file = new ProcFile('/proc/stat');
  readonly #wanted = new Counter();
  readonly #stolen = new Counter();
  #fromMs: number | null = null;

  /** Begins the measurement; later calls do nothing. */
  begin(): void {
    this.#fromMs ??= this.#read();
  }

  /** Ends the measurement; `null` if it did not begin, or the system does not report its CPU. */
  end(): MachineResult | null {
    const [fromMs, toMs] = [this.#fromMs, this.#read()];
    this.#file.close();
    if (fromMs === null || toMs === null || toMs === fromMs) return null;
    const cores = (seconds: Counter) => (seconds.growth(fromMs, toMs) * 1000) / (toMs - fromMs);
    return { wantedCores: cores(this.#wanted), stolenCores: cores(this.#stolen) };
  }

  /** Reads the counters and returns the time; `null` where the system does not report them. */
  #read(): number | null {
    const cpu = parseMachineCpu(this.#file.read() ?? '');
    if (!cpu) return null;
    const atMs = performance.now();
    this.#wanted.add(atMs, computeDemand(cpu));
    this.#stolen.add(atMs, cpu.steal);
    return atMs;
  }
}

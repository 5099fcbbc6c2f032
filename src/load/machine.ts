import { type MachineCpu, parseMachineCpu } from '../process/machine-cpu.js';
import { ProcFile } from '../process/proc-file.js';
import type { MachineResult } from './result.js';

/** Reads the CPU of this machine when a measurement begins and when it has ended. */
export class MachineReading {
  // Open from the start: the run may take all descriptors that there are.
  readonly #file = new ProcFile('/proc/stat');
  #begun: { atMs: number; cpu: MachineCpu } | null = null;

  /** The first call counts. */
  begin(): void {
    const cpu = this.#begun ? null : this.#read();
    if (cpu) this.#begun = { atMs: performance.now(), cpu };
  }

  /** What it came to; `null` if it did not begin, or the system does not tell. */
  end(): MachineResult | null {
    const [begun, cpu] = [this.#begun, this.#read()];
    this.#file.close();
    const seconds = begun ? (performance.now() - begun.atMs) / 1000 : 0;
    if (!begun || !cpu || seconds === 0) return null;
    // Some kernels take back what they counted.
    const stolenCores = Math.max(0, cpu.steal - begun.cpu.steal) / seconds;
    const usedCores = Math.max(0, used(cpu) - used(begun.cpu)) / seconds;
    return { wantedCores: usedCores + stolenCores, stolenCores };
  }

  #read(): MachineCpu | null {
    return parseMachineCpu(this.#file.read() ?? '');
  }
}

function used({ busy, interrupts }: MachineCpu): number {
  return busy + interrupts;
}

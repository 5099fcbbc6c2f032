import { cpus, release, totalmem, type } from 'node:os';
import type { LabMachine } from './result.js';

/** Describes this machine, as far as figures depend on it. */
export function describeMachine(): LabMachine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${type()} ${release()}`,
    node: process.version,
  };
}

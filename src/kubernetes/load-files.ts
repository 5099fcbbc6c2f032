import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageError } from '../errors/millrace-error.js';
import { isStandardInput } from '../files/standard-input.js';
import { listModuleFiles } from '../load/flows/module-files.js';
import { readInput } from '../load/input/file.js';
import { collectInputs } from '../load/input/provided.js';
import { LOAD_OPTIONS, OTHER_LOAD_NAMES } from '../load/option-schema.js';
import type { LoadOptions } from '../load/options.js';
import { buildPlan, type Plan } from '../load/plan/plan.js';
import { checkOptions } from '../validation/shape.js';
import type { LocalFile } from './pod-files.js';

/** A load that pods run. */
export interface PodLoad {
  /** The files that it reads. */
  files: LocalFile[];
  /** Packages that must be in the image, beside millrace. */
  packages: string[];
  /** How long it lasts with its warm-up; `null`: until its requests are done. */
  lastsMs: number | null;
}

/**
 * Builds the plan of a load that pods run: what cannot be run is refused here. Nothing is sent, and servers need not be known
 * on this machine. `others` are files that the plan does not read.
 */
export async function collectLoad(
  options: LoadOptions,
  others: readonly string[],
): Promise<PodLoad> {
  checkOptions(options, LOAD_OPTIONS, OTHER_LOAD_NAMES);
  const plans: Plan[] = [];
  const inputs = await collectInputs(async () => {
    plans.push(await buildPlan(options));
    for (const path of others) readInput(path, 'file');
  });
  const { scenario } = options;
  const module = typeof scenario === 'string' ? listModuleFiles(realpathSync(scenario)) : null;
  const paths = [...inputs.contents.keys(), ...inputs.files, ...(module?.files ?? [])];
  const [{ summary } = { summary: null }] = plans;
  return {
    files: [...new Set(paths.map(resolveInput))].map((path) => ({
      path,
      bytes: readFileSync(path),
    })),
    packages: [...(module?.packages ?? []), ...(inputs.files.size > 0 ? ['protobufjs'] : [])],
    lastsMs: summary === null ? null : addTimes(summary),
  };
}

function addTimes({ durationMs, warmupMs }: Plan['summary']): number | null {
  return durationMs === null ? null : warmupMs + durationMs;
}

function resolveInput(path: string): string {
  if (!isStandardInput(path)) return resolve(path);
  throw usageError('pods have no standard input: use a file');
}

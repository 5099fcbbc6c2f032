import { readFileSync, realpathSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listModuleFiles } from '../load/flows/module-files.js';
import { collectInputs } from '../load/input/provided.js';
import type { LoadOptions } from '../load/options.js';
import { buildPlan, type Plan } from '../load/plan/plan.js';
import type { SentTree } from './messages.js';

/** A run as it is sent to hosts. */
export interface CollectedRun {
  /** The plan of the whole. */
  plan: Plan;
  /** The options, whose paths are those of the tree. */
  options: LoadOptions;
  /** Contents of files, base64, by the paths that options and placeholders have. */
  inputs: Record<string, string>;
  tree?: SentTree;
}

/** Builds the plan of a run, which refuses what cannot be run, and reads the files that it names. */
export async function collectRun(options: LoadOptions): Promise<CollectedRun> {
  const plans: Plan[] = [];
  const { contents, files } = await collectInputs(async () => {
    plans.push(await buildPlan(options));
  });
  const [plan] = plans;
  if (!plan) throw new RangeError('no plan');
  const inputs = Object.fromEntries(
    [...contents].map(([path, bytes]) => [path, bytes.toString('base64')]),
  );
  const scenario = findScenarioFile(options);
  if (scenario === null && files.size === 0) return { plan, options, inputs };
  const modules = scenario === null ? null : listModuleFiles(scenario);
  const placed = new Set([...(modules?.files ?? []), ...files]);
  const cwd = realpathSync(process.cwd());
  return {
    plan,
    options: {
      ...options,
      ...(scenario !== null && { scenario: toSlashes(relative(cwd, scenario)) }),
      ...(options.proto !== undefined && {
        proto: toSlashes(relative(cwd, resolve(options.proto))),
      }),
    },
    inputs,
    tree: buildTree([...placed], cwd, modules?.packages ?? []),
  };
}

function findScenarioFile({ scenario }: LoadOptions): string | null {
  if (typeof scenario === 'string') return realpathSync(scenario);
  return scenario instanceof URL ? realpathSync(fileURLToPath(scenario)) : null;
}

function buildTree(paths: readonly string[], cwd: string, packages: string[]): SentTree {
  const root = findCommonFolder([cwd, ...paths.map((path) => dirname(path))]);
  return {
    files: paths.map((path) => ({
      path: toSlashes(relative(root, path)),
      content: readFileSync(path).toString('base64'),
    })),
    cwd: toSlashes(relative(root, cwd)),
    packages,
  };
}

function findCommonFolder(folders: readonly string[]): string {
  return folders.reduce((common, folder) => {
    let found = common;
    while (found !== folder && !folder.startsWith(found.endsWith(sep) ? found : found + sep)) {
      found = dirname(found);
    }
    return found;
  });
}

function toSlashes(path: string): string {
  return path.replaceAll(sep, '/');
}

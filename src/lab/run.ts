import { packageVersion } from '../environment/version.js';
import { createBench } from './bench.js';
import { LAB_DEFAULTS } from './defaults.js';
import { describeMachine } from './machine.js';
import type { LabOptions } from './options.js';
import type { LabProgress, LabResult, StudyResult } from './result.js';
import { estimateSeconds, selectStudies } from './studies.js';
import type { Study } from './study.js';

/** Repeats studies one after the other. A failing study rejects the run only if no other one succeeded. */
export async function run(
  { study, quick = LAB_DEFAULTS.quick, signal = new AbortController().signal }: LabOptions,
  onProgress: (progress: LabProgress) => void,
  wanted = selectStudies(study),
): Promise<LabResult> {
  signal.throwIfAborted();
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  const budgetMs = wanted.reduce((sum, it) => sum + estimateSeconds(it, quick) * 1000, 0);
  const studies: StudyResult[] = [];
  const failed: LabResult['failed'] = [];
  for (const one of wanted) {
    const onStep = (step: string) =>
      onProgress({ study: one.name, step, elapsedMs: performance.now() - begun, budgetMs });
    try {
      studies.push(await repeat(one, quick, signal, onStep));
    } catch (error) {
      const isLast = one === wanted.at(-1);
      if (studies.length === 0 && (isLast || error === signal.reason)) throw error;
      if (error === signal.reason) break;
      failed.push({ study: one.name, reason: (error as Error).message });
    }
  }
  return {
    schemaVersion: 2,
    tool: { name: 'millrace', version: packageVersion() },
    startedAt,
    durationMs: performance.now() - begun,
    quick,
    interrupted: signal.aborted,
    machine: describeMachine(),
    studies,
    failed,
  };
}

async function repeat(
  study: Study,
  quick: boolean,
  signal: AbortSignal,
  onStep: (step: string) => void,
): Promise<StudyResult> {
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  const { name, title, original, question } = study;
  const bench = createBench(quick, signal, onStep);
  const found = await study.repeat(bench);
  return {
    name,
    title,
    original,
    question,
    startedAt,
    durationMs: performance.now() - begun,
    ...found,
    missing: [...found.missing, ...bench.warnings],
  };
}

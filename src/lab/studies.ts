import { usageError } from '../errors/millrace-error.js';
import { STUDY_NAMES, type StudyName } from './result.js';
import { connections } from './studies/connections.js';
import { engines } from './studies/engines.js';
import { pipeVsBuffer } from './studies/pipe-vs-buffer.js';
import { pipelining } from './studies/pipelining.js';
import { stacks } from './studies/stacks.js';
import { timeouts } from './studies/timeouts.js';
import type { Study } from './study.js';

/** All studies, by name. */
export const STUDIES: Record<StudyName, Study> = {
  connections,
  pipelining,
  engines,
  stacks,
  timeouts,
  'pipe-vs-buffer': pipeVsBuffer,
};

/** Selects studies by name. */
export function selectStudies(wanted: StudyName | StudyName[] | 'all'): Study[] {
  if (wanted === 'all') return STUDY_NAMES.map((name) => STUDIES[name]);
  return [wanted].flat().map((name) => {
    if (!STUDY_NAMES.includes(name)) {
      throw usageError(`study must be all, ${STUDY_NAMES.join(', ')} (got '${name}')`);
    }
    return STUDIES[name];
  });
}

/** Estimates the duration of a study in seconds. */
export function estimateSeconds({ seconds }: Study, quick: boolean): number {
  return quick ? seconds.quick : seconds.full;
}

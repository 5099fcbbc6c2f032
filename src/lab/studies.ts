import { usageError } from '../errors.js';
import { STUDY_NAMES, type StudyName } from './result.js';
import { connections } from './studies/connections.js';
import { engines } from './studies/engines.js';
import { pipeVsBuffer } from './studies/pipe-vs-buffer.js';
import { pipelining } from './studies/pipelining.js';
import { stacks } from './studies/stacks.js';
import { timeouts } from './studies/timeouts.js';
import type { Study } from './study.js';

/** The studies that can be repeated. */
export const STUDIES: Record<StudyName, Study> = {
  connections,
  pipelining,
  engines,
  stacks,
  timeouts,
  'pipe-vs-buffer': pipeVsBuffer,
};

/** The studies that are asked for. */
export function selectStudies(wanted: StudyName | StudyName[] | 'all'): Study[] {
  if (wanted === 'all') return STUDY_NAMES.map((name) => STUDIES[name]);
  return [wanted].flat().map((name) => {
    if (!STUDY_NAMES.includes(name)) {
      throw usageError(`study: '${name}' given; accepted: all, ${STUDY_NAMES.join(', ')}`);
    }
    return STUDIES[name];
  });
}

/** About how long a study takes, in seconds. */
export function estimateSeconds({ seconds }: Study, quick: boolean): number {
  return quick ? seconds.quick : seconds.full;
}

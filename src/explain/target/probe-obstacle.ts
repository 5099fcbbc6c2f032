import { PRELOAD } from '../observe/probe/hub.js';

/** What denies a command reading the probe: Node.js's permission model, or the system. */
export type ProbeObstacle = 'permission-model' | 'unreadable';

/** Finds what denies the probe by the error with which a command ends; `null` if that has another reason. */
export function findProbeObstacle(error: string): ProbeObstacle | null {
  if (error.includes('Access to this API has been restricted')) return 'permission-model';
  return error.includes(`Cannot find module '${PRELOAD}'`) ? 'unreadable' : null;
}

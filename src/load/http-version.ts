import type { PlanSummary } from './result.js';

/** Whether connections of a run may speak HTTP/2; results of versions without it do not say. */
export function speaksHttp2({ httpVersion = '1.1' }: Pick<PlanSummary, 'httpVersion'>): boolean {
  return httpVersion !== '1.1';
}

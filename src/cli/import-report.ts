import type { Report } from './documents.js';

/**
 * Imports `millrace/report` in parts: Node.js opens the modules of an import at once, and those of all reports are more than
 * 64 descriptors allow.
 */
export async function importReport(): Promise<Report> {
  await import('../report/load/text.js');
  await import('../report/load/html.js');
  await import('../report/explain/html.js');
  return import('../report/index.js');
}

import type { LimitId } from '../limit-ids.js';
import { CONNECTIONS } from './catalogue/connections.js';
import { CPU } from './catalogue/cpu.js';
import type { CatalogueEntry } from './catalogue/entry.js';
import { LOAD } from './catalogue/load.js';
import { MACHINE } from './catalogue/machine.js';
import { WAITING } from './catalogue/waiting.js';

/** Descriptions of all limits by id; a missing one does not compile. */
export const CATALOGUE: Record<LimitId, CatalogueEntry> = {
  ...LOAD,
  ...CPU,
  ...WAITING,
  ...CONNECTIONS,
  ...MACHINE,
};

import type { CapacityResult } from '../../../capacity/result.js';
import { duration, plural } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import {
  connectionSettings,
  type Setting,
  settingsTable,
  targetSettings,
} from '../../html/settings.js';
import { took } from '../settings.js';

/** What was asked for and what was done for it. */
export function runTable(result: CapacityResult): Markup | null {
  const { plan, budgetMs } = result;
  return settingsTable([
    ...question(result),
    ...targetSettings(plan),
    ['threads', plan.threads],
    ['time', `${took(result)} of ${duration(budgetMs)}`],
    ...connectionSettings(plan),
  ]);
}

function question({ sweep, search }: CapacityResult): Setting[] {
  if (search) {
    return [
      ['looked for', `the highest rate that holds ${search.objective.join(' and ')}`],
      ['model', 'open: requests become due at a rate'],
      ['blocks', plural(search.trials.length + (search.confirmed ? 1 : 0), 'block')],
    ];
  }
  const levels = sweep?.levels ?? [];
  const blocks = levels.reduce((sum, level) => sum + level.blocks.length, 0);
  return [
    ['looked for', 'throughput over connections'],
    ['model', 'closed: each connection sends its next request when the last one is answered'],
    ['blocks', `${plural(blocks, 'block')} at ${plural(levels.length, 'level')}`],
  ];
}

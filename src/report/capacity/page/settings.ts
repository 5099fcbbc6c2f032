import type { CapacityResult } from '../../../capacity/result.js';
import { duration, plural } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import {
  listConnectionSettings,
  listTargetSettings,
  renderSettings,
  type SettingRow,
} from '../../html/settings.js';
import { formatElapsed } from '../settings.js';

/** Renders the question, the settings and the length of the run. */
export function renderRunTable(result: CapacityResult): Markup | null {
  const { plan, budgetMs } = result;
  return renderSettings([
    ...listQuestion(result),
    ...listTargetSettings(plan),
    ['threads', plan.threads],
    ['time', `${formatElapsed(result)} of ${duration(budgetMs)}`],
    ...listConnectionSettings(plan),
  ]);
}

function listQuestion({ sweep, search }: CapacityResult): SettingRow[] {
  if (search) {
    return [
      ['question', `the highest rate that holds ${search.objective.join(' and ')}`],
      ['model', 'open: requests become due at a rate'],
      ['blocks', plural(search.trials.length + (search.confirmed ? 1 : 0), 'block')],
    ];
  }
  const levels = sweep?.levels ?? [];
  const blocks = levels.reduce((sum, level) => sum + level.blocks.length, 0);
  return [
    ['question', 'throughput over connections'],
    ['model', 'closed: each connection sends its next request when the previous one is answered'],
    ['blocks', `${plural(blocks, 'block')} at ${plural(levels.length, 'level')}`],
  ];
}

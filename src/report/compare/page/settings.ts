import type { ComparisonResult, ComparisonSide } from '../../../compare/result.js';
import { count } from '../../../format/units.js';
import { speaksHttp2 } from '../../../load/http-version.js';
import type { Markup } from '../../html/markup.js';
import {
  listConnectionSettings,
  listTargetSettings,
  renderSettings,
  type SettingRow,
} from '../../html/settings.js';
import { describeLength, describeSchedule } from '../../plan.js';
import { formatConfidence, formatSize } from '../metrics.js';

/** Renders the sides, the rules of the comparison and the load of a run. */
export function renderSettingsTable({
  plan,
  sides,
  margin,
  width,
  confidence,
}: ComparisonResult): Markup | null {
  return renderSettings([
    ...listSideSettings('A', sides.a),
    ...listSideSettings('B', sides.b),
    ['margin', formatSize(1 + margin)],
    ['width of the interval', width === null ? null : `${formatSize(1 + width)} or less`],
    ['confidence', formatConfidence(confidence)],
    // Commands are those of the sides.
    ...listTargetSettings({ ...plan, command: null }),
    ['schedule', plan.model === 'open' ? describeSchedule(plan) : null],
    ['connections', count(plan.connections)],
    [speaksHttp2(plan) ? 'streams per connection' : 'pipelining', plan.pipelining],
    ['threads', plan.threads],
    ['length of a run', describeLength(plan)],
    ...listConnectionSettings(plan),
  ]);
}

function listSideSettings(letter: string, side: ComparisonSide): SettingRow[] {
  const { label, command, env, cwd, stack, files } = side;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [
    [letter, label],
    [`${letter}: command`, command === null ? null : command.join(' ')],
    [`${letter}: environment`, variables.length > 0 ? variables.join(' ') : null],
    [`${letter}: directory`, cwd],
    [`${letter}: native stack`, stack === null ? null : stack ? 'yes' : 'no'],
    [`${letter}: results`, files.length > 0 ? files.join(', ') : null],
  ];
}

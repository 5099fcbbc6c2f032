import { bytes, duration } from '../../format/units.js';
import type { PlanSummary } from '../../load/result.js';
import type { Child, Markup } from './markup.js';
import { textTable } from './tables.js';

/** A setting in effect; `null` where it has no meaning. */
export type Setting = readonly [name: string, value: Child];

/** The settings that have a meaning. */
export function settingsTable(settings: Setting[]): Markup | null {
  const rows = settings.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  return textTable('Settings in effect', [], rows);
}

/** What was loaded. */
export function targetSettings({ targets, order, addresses, command }: PlanSummary): Setting[] {
  return [
    ...targets.map(
      ({ method, url, weight, bodyBytes }): Setting => [
        order === 'weighted' ? `target, weight ${weight ?? 1}` : 'target',
        `${method} ${url}${bodyBytes > 0 ? `, body ${bytes(bodyBytes)}` : ''}`,
      ],
    ),
    ['addresses', addresses.join(', ')],
    ['command', command === null ? null : command.join(' ')],
  ];
}

/** How connections were used. */
export function connectionSettings(plan: PlanSummary): Setting[] {
  return [
    ['connection', plan.connection],
    ['TLS', plan.tls],
    ['certificate', certificate(plan.verifyCertificate)],
    [
      'time limits',
      `request ${duration(plan.timeoutMs)}, connect ${duration(plan.connectTimeoutMs)}`,
    ],
  ];
}

function certificate(verified: boolean | null): string | null {
  if (verified === null) return null;
  return verified ? 'verified' : 'not verified';
}

import { bytes, count, duration } from '../../format/units.js';
import type { PlanSummary } from '../../load/result.js';
import type { Child, Markup } from './markup.js';
import { renderTextTable } from './tables.js';

/** A setting in effect; `null` if it does not apply. */
export type SettingRow = readonly [name: string, value: Child];

/** Renders the settings that apply. */
export function renderSettings(settings: SettingRow[]): Markup | null {
  const rows = settings.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  return renderTextTable('Settings in effect', [], rows);
}

/** Lists the settings of the targets. */
export function listTargetSettings({
  targets,
  order,
  addresses,
  command,
}: PlanSummary): SettingRow[] {
  return [
    ...targets.map(
      ({ method, url, weight, bodyBytes }): SettingRow => [
        order === 'weighted' ? `target, weight ${weight ?? 1}` : 'target',
        `${method} ${url}${bodyBytes > 0 ? `, body ${bytes(bodyBytes)}` : ''}`,
      ],
    ),
    ['addresses', addresses.join(', ')],
    ['command', command === null ? null : command.join(' ')],
  ];
}

/** Lists the scenarios and their users. */
export function listScenarioSettings({ model, flows }: PlanSummary): SettingRow[] {
  if (!flows) return [];
  return [
    ...flows.scenarios.map(
      ({ name, weight, steps }): SettingRow => [
        flows.scenarios.length > 1 ? `scenario, weight ${weight}` : 'scenario',
        `${name}: ${steps.map((step) => step.name).join(', ')}`,
      ],
    ),
    [model === 'open' ? 'users, maximum' : 'users', count(flows.users)],
    ['connections of users', flows.ownConnections ? 'their own' : 'shared'],
  ];
}

/** Lists the settings of connections. */
export function listConnectionSettings(plan: PlanSummary): SettingRow[] {
  return [
    ['HTTP', plan.httpVersion],
    ['gRPC', plan.grpc ?? null],
    ['connection', plan.connection],
    ['TLS handshake', plan.handshake],
    ['certificate', describeCertificate(plan.verifyCertificate)],
    [
      'time limits',
      `request ${duration(plan.timeoutMs)}, connect ${duration(plan.connectTimeoutMs)}`,
    ],
  ];
}

function describeCertificate(verified: boolean | null): string | null {
  if (verified === null) return null;
  return verified ? 'verified' : 'not verified';
}

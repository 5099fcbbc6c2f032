import { findAnsweredDependency } from '../hypotheses/outbound/calls-from-memory.js';
import { chooseExchangeDelay } from '../hypotheses/outbound/exchange-delay.js';
import { findMainDependency } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import { TCP_PREFIX } from '../observe/probe/view.js';
import { type Experiment, requireProbe, requireRestart } from './experiment.js';
import type { ExperimentSetting } from './setting.js';

/** Why calls to other services may not be changed; `null` if they may. */
function requirePermission(setting: ExperimentSetting, { model }: Metrics): string | null {
  return (
    requireProbe(setting) ??
    requireRestart(setting) ??
    (model === 'open' ? 'the load has a rate' : null) ??
    (setting.canChangeDependencies
      ? null
      : 'it changes calls to other services (--allow-dependency-experiments permits it)')
  );
}

/** Experiments with the services that the server calls. Only those that the user permits, and none that writes. */
export const DEPENDENCY_EXPERIMENTS: Experiment[] = [
  {
    name: 'pool-x2',
    changesDependencies: true,
    derived: 'dependency-time-pool-x2',
    describe: () => 'twice the connections of the database pools, as far as the database has room',
    findObstacle: (setting, metrics) =>
      requirePermission(setting, metrics) ??
      (findMainDependency(metrics)?.origin.startsWith(TCP_PREFIX)
        ? null
        : 'no calls to a database were seen'),
    change: ({ base }) => {
      const processes = base.inside?.processes ?? 1;
      return {
        probe: {
          on: { name: 'databasePools', options: { factor: 2, processes } },
          off: { name: 'databasePools', options: { factor: 1, processes } },
        },
      };
    },
  },
  {
    name: 'outbound-from-memory',
    changesDependencies: true,
    describe: (metrics) =>
      `GET and HEAD requests to ${findAnsweredDependency(metrics)?.origin} are answered from memory, with its response to the same request`,
    findObstacle: (setting, metrics) =>
      requirePermission(setting, metrics) ??
      (findAnsweredDependency(metrics) === null ? 'no calls by HTTP were seen' : null),
    change: (metrics) => ({
      probe: {
        on: {
          name: 'answerFromMemory',
          options: { origin: findAnsweredDependency(metrics)?.origin ?? null },
        },
        off: { name: 'answerFromMemory', options: { origin: null } },
      },
    }),
  },
  {
    name: 'dependency-delay',
    changesDependencies: true,
    describe: (metrics) => {
      const delay = chooseExchangeDelay(metrics);
      return `each exchange with ${delay?.origin} begins ${delay?.ms} ms later`;
    },
    findObstacle: (setting, metrics) =>
      requirePermission(setting, metrics) ??
      (chooseExchangeDelay(metrics) === null
        ? 'no calls of another protocol than HTTP were seen whose time is known'
        : null),
    change: (metrics) => {
      const { origin, ms } = chooseExchangeDelay(metrics) ?? { origin: '', ms: 0 };
      return {
        probe: {
          on: { name: 'exchangeDelay', options: { origin, ms } },
          off: { name: 'exchangeDelay', options: { origin, ms: 0 } },
        },
      };
    },
  },
];

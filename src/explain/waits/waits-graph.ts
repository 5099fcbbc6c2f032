import type { MeasuredRatio } from '../../statistics/types.js';
import { FlameGraphBuilder } from '../flame-graph/builder.js';
import { selectHeaviest } from '../flame-graph/paths.js';
import type { RouteView } from '../observe/types.js';
import type { ExplainStage, ExplainStageName, FlameFrame, HeavyPath, Waits } from '../result.js';
import type { WaitPath } from './wait-paths.js';

/** Stages of the population whose requests wait in handlers. */
const HANDLER_STAGES = new Set<ExplainStageName>([
  'connection-wait',
  'dependency',
  'file-access',
  'dns-lookup',
  'handler',
]);
const UNSEEN = 'not attributed';

/** What was observed of the waits. */
export interface ObservedWaits {
  paths: WaitPath[];
  cost: MeasuredRatio | null;
}

/** A path with the mean number of requests that wait there. */
interface WeighedPath extends WaitPath {
  requests: number;
}

/** Counts the requests that wait in handlers. */
export function countInHandlers(population: readonly ExplainStage[]): number {
  return sum(population.filter(({ stage }) => HANDLER_STAGES.has(stage)));
}

/**
 * Builds the graph of waits, which sums to the population: the requests that wait in handlers are divided as the observed
 * ones waited; the others are in frames of their stages.
 *
 * @param routes the routes under the unchanged load, whose times give each its part
 */
export function buildWaits(
  { paths, cost }: ObservedWaits,
  population: readonly ExplainStage[],
  routes: readonly RouteView[],
): Waits | null {
  const inHandlers = countInHandlers(population);
  if (inHandlers === 0 || paths.length === 0) return null;
  const weighed = weigh(paths, inHandlers, routes);
  const builder = new FlameGraphBuilder('requests');
  for (const { waitsFor, frames, requests } of weighed)
    builder.add([nameFrame(waitsFor), ...frames], requests);
  const left = inHandlers - sum(weighed);
  if (left > inHandlers * 1e-6) builder.add([nameFrame(UNSEEN)], left);
  for (const { stage, label, requests } of population)
    if (!HANDLER_STAGES.has(stage)) builder.add([nameFrame(label)], requests);
  return {
    graph: builder.build(),
    heaviest: findHeaviest(weighed, sum(population)),
    attributed: sum(weighed.filter(({ frames }) => frames.length > 0)) / inHandlers,
    cost,
  };
}

/**
 * Divides the requests among the paths. Each route has the part that its requests take by their rate and time: in the
 * sample, routes with long waits or many of them are rarer than they are.
 */
function weigh(
  paths: readonly WaitPath[],
  inHandlers: number,
  routes: readonly RouteView[],
): WeighedPath[] {
  const observedMs = new Map<string, number>();
  for (const { route, ms } of paths) observedMs.set(route, (observedMs.get(route) ?? 0) + ms);
  const expected = new Map(
    routes.map(({ route, rate, handlerMs, syncMs }) => [
      route,
      (rate * Math.max(0, handlerMs - syncMs)) / 1000,
    ]),
  );
  const total = [...expected.values()].reduce((all, one) => all + one, 0);
  const allMs = [...observedMs.values()].reduce((all, one) => all + one, 0);
  return paths.map((path) => {
    const share = path.ms / Math.max(Number.MIN_VALUE, observedMs.get(path.route) ?? 0);
    const ofRoute =
      total > 0
        ? (expected.get(path.route) ?? 0) / total
        : (observedMs.get(path.route) ?? 0) / allMs;
    return { ...path, requests: inHandlers * ofRoute * share };
  });
}

function findHeaviest(paths: readonly WeighedPath[], total: number): HeavyPath[] {
  const heaviest = new Map<string, HeavyPath>();
  for (const { waitsFor, frames: code, requests } of paths) {
    const frames = code.filter(({ origin }) => origin === 'application');
    if (frames.length === 0) continue;
    const key = JSON.stringify([waitsFor, frames]);
    const known = heaviest.get(key) ?? { frames, waitsFor, weight: 0, share: 0 };
    known.weight += requests;
    known.share = known.weight / total;
    heaviest.set(key, known);
  }
  return selectHeaviest(heaviest.values());
}

function nameFrame(name: string): FlameFrame {
  return { name, place: '', origin: 'none' };
}

function sum(parts: readonly { requests: number }[]): number {
  return parts.reduce((all, { requests }) => all + requests, 0);
}

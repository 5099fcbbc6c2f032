import type { MeasuredRatio } from '../../statistics/types.js';
import { FlameGraphBuilder } from '../flame-graph/builder.js';
import { selectHeaviest } from '../flame-graph/paths.js';
import type { RouteView } from '../observe/types.js';
import type { ExplainStage, ExplainStageName, FlameFrame, HeavyPath, Waits } from '../result.js';
import { NOT_ATTRIBUTED } from './wait-names.js';
import type { WaitPath } from './wait-paths.js';

/** Stages of the population whose requests wait in handlers. */
const HANDLER_STAGES = new Set<ExplainStageName>([
  'connection-wait',
  'dependency',
  'file-access',
  'dns-lookup',
  'handler',
]);

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
  if (left > inHandlers * 1e-6) builder.add([nameFrame(NOT_ATTRIBUTED)], left);
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
 * sample, routes with long waits or many of them are rarer than they are. A route of which no request ended has the part
 * that it has in the sample.
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
  const total = sumUp([...expected.values()]);
  const isExpected = (route: string) => total > 0 && expected.has(route);
  const observed = [...observedMs];
  const allMs = Math.max(Number.MIN_VALUE, sumUp([...observedMs.values()]));
  const expectedShare =
    sumUp(observed.flatMap(([route, ms]) => (isExpected(route) ? ms : []))) / allMs;
  return paths.map((path) => {
    const ofRoute = Math.max(Number.MIN_VALUE, observedMs.get(path.route) ?? 0);
    const part = isExpected(path.route)
      ? (expectedShare * (expected.get(path.route) ?? 0)) / total
      : ofRoute / allMs;
    return { ...path, requests: (inHandlers * part * path.ms) / ofRoute };
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

function sumUp(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}

function sum(parts: readonly { requests: number }[]): number {
  return sumUp(parts.map(({ requests }) => requests));
}

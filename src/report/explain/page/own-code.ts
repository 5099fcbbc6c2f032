import type { Explanation } from '../../../explain/result.js';
import { share } from '../../../format/units.js';
import { renderFlameGraph } from '../../flame-graph/figure.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTable } from '../../html/tables.js';
import {
  type DescribedPath,
  describeAllocationPaths,
  describeCpuPaths,
  describeGrowth,
  describeWaitPaths,
  describeWaits,
} from '../paths.js';
import { renderHotFunctions } from './tables.js';
import { renderList } from './verdict.js';

/** Renders where the CPU time goes; without a graph, the most expensive functions. */
export function renderCpu(explanation: Explanation): Markup | null {
  const { cpu } = explanation;
  const functions = renderHotFunctions(explanation);
  if (!cpu) return functions;
  const graph = renderFlameGraph({
    field: 'cpu',
    graph: cpu.graph,
    heading: 'CPU time by caller',
    explanation: `By a profile of process ${cpu.pid} under the unchanged load; its event loop was ${share(cpu.busy)} busy. Each frame is below its caller, and as wide as its time with all that it calls.`,
  });
  const paths = renderPaths('CPU time', 'costs', describeCpuPaths(explanation));
  return html`${graph}${paths}${functions}`;
}

/** Renders what requests wait for. */
export function renderWaits(explanation: Explanation): Markup | null {
  const { waits } = explanation;
  if (!waits) return null;
  const graph = renderFlameGraph({
    field: 'waits',
    graph: waits.graph,
    heading: 'Requests in flight by what they wait for',
    explanation: `At the top is what requests wait for; below it is the waiting code, outermost first. Of the requests that wait in handlers, ${describeWaits(waits)}.`,
  });
  const paths = renderPaths(
    'waiting requests',
    'requests',
    describeWaitPaths(explanation.waits?.heaviest ?? []),
  );
  return graph && html`${graph}${paths}`;
}

/** Renders where memory is allocated, and what grows. */
export function renderAllocations(explanation: Explanation): Markup | null {
  const { allocations } = explanation;
  if (!allocations) return null;
  const graph = renderFlameGraph({
    field: 'allocations',
    graph: allocations.graph,
    heading: 'Allocated memory by caller',
    explanation:
      'Mean bytes per request, from samples of allocations; most of them are garbage-collected later.',
  });
  const paths = renderPaths('allocated memory', 'memory', describeAllocationPaths(explanation));
  const growth = (allocations.growth ?? []).map(describeGrowth);
  return html`${graph}${paths}${growth.length > 0 ? html`<h3>What grows</h3>` : null}${renderList('growth', growth)}`;
}

function renderPaths(what: string, weight: string, paths: DescribedPath[]): Markup | null {
  return renderTable(
    `The heaviest paths through your code, by ${what}`,
    ['path', 'share', weight],
    paths.map((path) => [
      html`<code>${path.where}</code>${path.how === '' ? null : html`<small>${path.how}</small>`}`,
      path.share,
      path.weight || '-',
    ]),
  );
}

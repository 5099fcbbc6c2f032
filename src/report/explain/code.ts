// The blocks of the text report about the service's own code: CPU time, waits and allocations.
import type { Explanation } from '../../explain/result.js';
import { share } from '../../format/units.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';
import {
  type DescribedPath,
  describeAllocationPaths,
  describeCpuPaths,
  describeGrowth,
  describeOutside,
  describeWaitPaths,
  describeWaits,
} from './paths.js';

/** Formats where the CPU time goes: the heaviest paths through the service's own code, and the rest. */
export function formatCpuPaths(explanation: Explanation, sheet: Sheet): string[] {
  const { cpu } = explanation;
  if (!cpu) return [];
  const outside = describeOutside(explanation);
  const paths = describeCpuPaths(explanation);
  const rest =
    paths.length > 0 ? `outside it: ${outside}` : `none of it is in your code: ${outside}`;
  return [
    sheet.paint('dim', `in your code, by CPU time (the event loop is ${share(cpu.busy)} busy)`),
    ...formatPaths(paths.map(addCost), sheet),
    ...(outside === '' ? [] : formatParagraph(sheet, `  ${rest}`, 4)),
  ];
}

function addCost(path: DescribedPath): DescribedPath {
  return path.weight === '' ? path : { ...path, weight: `costs ${path.weight}` };
}

/** Formats what requests wait for, and where in the service's own code that began. */
export function formatWaitPaths(explanation: Explanation, sheet: Sheet): string[] {
  const { waits } = explanation;
  const paths = describeWaitPaths(waits?.heaviest ?? []);
  if (!waits || paths.length === 0) return [];
  return [
    sheet.paint('dim', `in your code, by waiting requests (${describeWaits(waits)})`),
    ...formatPaths(paths, sheet),
  ];
}

/** Formats where memory is allocated, and what stays. */
export function formatAllocations(explanation: Explanation, sheet: Sheet): string[] {
  const { allocations } = explanation;
  if (!allocations) return [];
  const paths = describeAllocationPaths(explanation);
  const growth = (allocations.growth ?? []).map(describeGrowth);
  return [
    ...(paths.length > 0 ? [sheet.paint('dim', 'in your code, by allocated memory')] : []),
    ...formatPaths(paths, sheet),
    ...(growth.length > 0 ? [sheet.paint('dim', 'what grows')] : []),
    ...growth.flatMap((line) => formatParagraph(sheet, `  ${line}`, 4)),
  ];
}

/** Indent of the text beside the share of a path. */
const INDENT = 9;

/** Formats described paths as lines of a text report. */
export function formatPaths(paths: DescribedPath[], sheet: Sheet): string[] {
  return paths.flatMap(({ share: part, where, how, weight }) => {
    const words = [where, weight].filter((word) => word !== '').join(': ');
    return [
      ...formatParagraph(sheet, `  ${part.padStart(INDENT - 4)}  ${words}`, INDENT + 2),
      ...(how === ''
        ? []
        : formatParagraph(sheet, `${' '.repeat(INDENT)}${how}`, INDENT + 2, 'dim')),
    ];
  });
}

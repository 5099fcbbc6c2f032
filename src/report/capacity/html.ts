import type { CapacityResult } from '../../capacity/result.js';
import { definitionList } from '../html/definitions.js';
import type { Markup } from '../html/markup.js';
import { originOf, page, section, warningList } from '../html/page.js';
import { hasEnd } from './answer.js';
import { answerBlock } from './page/answer.js';
import { objectiveDefinitions, sweepDefinitions } from './page/definitions.js';
import { searchFigures } from './page/search.js';
import { runTable } from './page/settings.js';
import { sweepFigures } from './page/sweep.js';
import { levelTable, trialTable } from './page/tables.js';
import { searchTiles, sweepTiles } from './page/tiles.js';
import { searchAnswer } from './search-answer.js';
import { settings } from './settings.js';
import { sweepAnswer } from './sweep-answer.js';

/** The result of a capacity run as one HTML page that needs nothing from any network, and no script. */
export function capacityPage(result: CapacityResult): string {
  return page({
    title: 'Capacity',
    summary: settings(result),
    origin: originOf(result.tool, result.startedAt),
    styles: ['verdict.css', 'chart.css', 'capacity.css'],
    main: [
      ...sweepParts(result),
      ...searchParts(result),
      section('What was run', runTable(result)),
      section(
        'What the words mean',
        definitionList(result.search ? objectiveDefinitions : sweepDefinitions),
      ),
    ],
    result,
  });
}

function sweepParts({ sweep, warnings }: CapacityResult): (Markup | null)[] {
  if (!sweep) return [];
  const answer = sweepAnswer(sweep);
  const known = sweep.model?.maxThroughput && sweep.model.knee;
  return [
    answerBlock(answer, known ? 'found' : sweep.best ? 'at-least' : 'not-found'),
    sweepTiles(sweep),
    warningList([...answer.doubts, ...warnings.map(({ message }) => message)]),
    part('Over connections', sweepFigures(sweep)),
    part('Measured', [levelTable(sweep)]),
  ];
}

function searchParts({ search, warnings }: CapacityResult): (Markup | null)[] {
  if (!search) return [];
  const answer = searchAnswer(search);
  const { rate } = search;
  const known = rate !== null && hasEnd(rate.high);
  return [
    answerBlock(answer, known ? 'found' : rate ? 'at-least' : 'not-found'),
    searchTiles(search),
    warningList([...answer.doubts, ...warnings.map(({ message }) => message)]),
    part('Over the rate', searchFigures(search)),
    part('Rates that were tried', [trialTable(search)]),
  ];
}

/** A section, unless there is nothing for it. */
function part(heading: string, content: (Markup | null)[]): Markup | null {
  return content.some((one) => one !== null) ? section(heading, content) : null;
}

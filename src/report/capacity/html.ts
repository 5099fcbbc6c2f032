import type { CapacityResult } from '../../capacity/result.js';
import { renderDefinitions } from '../html/definitions.js';
import type { Markup } from '../html/markup.js';
import { formatOrigin, renderPage, renderSection, renderWarnings } from '../html/page.js';
import { hasUpperEnd } from './answer.js';
import { renderAnswer } from './page/answer.js';
import { OBJECTIVE_DEFINITIONS, SWEEP_DEFINITIONS } from './page/definitions.js';
import { renderSearchCharts } from './page/search.js';
import { renderRunTable } from './page/settings.js';
import { renderSweepCharts } from './page/sweep.js';
import { renderLevelTable, renderTrialTable } from './page/tables.js';
import { renderSearchTiles, renderSweepTiles } from './page/tiles.js';
import { answerSearch } from './search-answer.js';
import { describeSettings } from './settings.js';
import { answerSweep } from './sweep-answer.js';
import { chooseWords } from './words.js';

/** Renders the result of a capacity run as a self-contained HTML page without scripts. */
export function renderCapacityPage(result: CapacityResult): string {
  return renderPage({
    title: 'Capacity',
    summary: describeSettings(result),
    origin: formatOrigin(result.tool, result.startedAt),
    styles: ['verdict.css', 'chart.css', 'capacity.css'],
    main: [
      ...renderSweep(result),
      ...renderSearch(result),
      renderSection('Settings', renderRunTable(result)),
      renderSection(
        'Definitions',
        renderDefinitions(result.search ? OBJECTIVE_DEFINITIONS : SWEEP_DEFINITIONS),
      ),
    ],
    result,
  });
}

function renderSweep({ sweep, warnings }: CapacityResult): (Markup | null)[] {
  if (!sweep) return [];
  const answer = answerSweep(sweep);
  const known = sweep.model?.maxThroughput && sweep.model.knee;
  return [
    renderAnswer(answer, known ? 'found' : sweep.best ? 'at-least' : 'not-found'),
    renderSweepTiles(sweep),
    renderWarnings([...answer.warnings, ...warnings.map(({ message }) => message)]),
    renderPart(`By number of ${chooseWords(sweep).place}s`, renderSweepCharts(sweep)),
    renderPart('Measured', [renderLevelTable(sweep)]),
  ];
}

function renderSearch({ search, warnings }: CapacityResult): (Markup | null)[] {
  if (!search) return [];
  const answer = answerSearch(search);
  const { rate } = search;
  const known = rate !== null && hasUpperEnd(rate.high);
  return [
    renderAnswer(answer, known ? 'found' : rate ? 'at-least' : 'not-found'),
    renderSearchTiles(search),
    renderWarnings([...answer.warnings, ...warnings.map(({ message }) => message)]),
    renderPart('By rate', renderSearchCharts(search)),
    renderPart('Rates tried', [renderTrialTable(search)]),
  ];
}

/** Renders a section; `null` without content. */
function renderPart(heading: string, content: (Markup | null)[]): Markup | null {
  return content.some((one) => one !== null) ? renderSection(heading, content) : null;
}

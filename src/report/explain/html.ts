import type { Explanation } from '../../explain/result.js';
import { duration, share } from '../../format/units.js';
import { definitionList } from '../html/definitions.js';
import { headline } from '../html/headline.js';
import { html, type Markup } from '../html/markup.js';
import { originOf, page, section, warningList } from '../html/page.js';
import { planSentence } from '../plan.js';
import { warningMessages } from '../warnings.js';
import { capacityFigure } from './page/capacity.js';
import { definitions } from './page/definitions.js';
import { forestTable } from './page/forest.js';
import { latencyFigure } from './page/latency.js';
import { populationFigure } from './page/population.js';
import { evidenceTable, hotTable, ruledOutTable } from './page/tables.js';
import { list, remedyBlock, verdictBlock } from './page/verdict.js';

/** An explanation as one HTML page that needs nothing from any network, and no script. */
export function explanationPage(explanation: Explanation): string {
  const { load, tool, startedAt, durationMs, cannotSee } = explanation;
  const took = duration(Math.round(durationMs / 1000) * 1000);
  return page({
    title: 'Explanation',
    summary: planSentence(load.plan),
    origin: `${originOf(tool, startedAt)} · took ${took}`,
    styles: ['verdict.css', 'chart.css', 'explain.css'],
    main: [
      verdictBlock(explanation),
      headline(load),
      warningList(doubts(explanation)),
      remedyBlock(explanation),
      part('Where the requests are', populationFigure(explanation)),
      part('What was tried', forestTable(explanation), resolution(explanation)),
      part('How much it bears', capacityFigure(explanation)),
      part('How long requests take', latencyFigure(explanation)),
      part("The loop's time, by function", hotTable(explanation)),
      part('What speaks for it and against others', grounds(explanation)),
      part('What could not be seen', list('unseen', cannotSee)),
      section('What the words mean', definitionList(definitions)),
    ],
    result: explanation,
  });
}

/** A section, unless there is nothing for it. */
function part(heading: string, content: Markup | null, ...more: Markup[]): Markup | null {
  return content && section(heading, content, ...more);
}

function doubts({ interrupted, load }: Explanation): string[] {
  const messages = warningMessages(load);
  return interrupted ? ['Ended early: what was not tried is missing.', ...messages] : messages;
}

function resolution({ noise, probeCost }: Explanation): Markup {
  const lost = (ratio: number) => share(Math.max(0, 1 - ratio));
  const cost = probeCost
    ? ` The probe inside the server costs ${lost(probeCost.ratio)} of throughput [${lost(probeCost.high)}, ${lost(probeCost.low)}].`
    : '';
  return html`<p class="resolution">What differs by less than ${share(noise)} is noise.${cost}</p>`;
}

function grounds(explanation: Explanation): Markup | null {
  const tables = [evidenceTable(explanation), ruledOutTable(explanation)];
  return tables.every((one) => one === null) ? null : html`${tables}`;
}

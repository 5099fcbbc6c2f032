import { duration, rate } from '../../format/units.js';
import type { LabCause, LabClaim, LabResult, LabTable, StudyResult } from '../../lab/result.js';
import { STATUS } from '../explain/status.js';
import { capitalize, html, type Markup } from '../html/markup.js';
import { formatOrigin, renderPage } from '../html/page.js';
import { renderTable } from '../html/tables.js';
import { renderFigure } from './figures.js';
import { formatValue } from './format-value.js';

/** Renders repeated studies as a self-contained HTML page without scripts. */
export function renderLabPage(result: LabResult): string {
  const { cpu, cores, memoryGb, system, node } = result.machine;
  const length = result.quick ? 'short runs' : 'full runs';
  const [first] = result.studies;
  const failed = result.failed.map(({ study, reason }) => `${study}: ${reason}`);
  const single = result.studies.length === 1 ? first : undefined;
  return renderPage({
    title: single ? single.title : 'Studies of HTTP in Node.js, repeated',
    summary: `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}; ${length}${result.interrupted ? '; interrupted: incomplete studies are left out' : ''}`,
    origin: formatOrigin(result.tool, result.startedAt),
    styles: ['verdict.css', 'chart.css', 'lab.css'],
    main: [
      single ? null : renderContents(result),
      ...result.studies.map(renderStudy),
      renderList('Not repeated', failed),
    ],
    result,
  });
}

function renderContents({ studies }: LabResult): Markup {
  return html`<nav><ol>${studies.map(({ name, title, question }) => html`<li><a href="#${name}">${title}</a>: ${question}</li>`)}</ol></nav>`;
}

function renderStudy(one: StudyResult, _: number, all: StudyResult[]): Markup {
  const { name, title, question, original, tables, figures, causes, changes, claims } = one;
  const seconds = duration(Math.round(one.durationMs / 1000) * 1000);
  // The title of a single study is the title of the page.
  return html`<article id="${name}">
${all.length > 1 ? html`<h2>${title}</h2>` : null}
<p class="question">${question}</p>
<p class="then">Then: ${original}. Now: repeated in ${seconds}.</p>
${renderClaims(claims)}
${tables.map(renderTableOfStudy)}
${figures.map(renderFigure)}
${causes.map(renderCause)}
${renderList('What Millrace changes', changes)}
${renderList('Not measured here', one.missing)}
${renderSetup('Set-up', one.setup)}
</article>`;
}

/** Renders the claims, and whether each holds. */
function renderClaims(claims: LabClaim[]): Markup | null {
  if (claims.length === 0) return null;
  const items = claims.map(({ text, held }) => {
    const kind = held === null ? 'unknown' : held ? 'yes' : 'no';
    const word = held === null ? 'not decided' : held ? 'holds' : 'does not hold';
    return html`<li class="${kind}"><span>${word}</span> ${text}</li>
`;
  });
  return html`<ul class="claims">${items}</ul>`;
}

function renderTableOfStudy({ title, rowsAre, columns, rows }: LabTable): Markup | null {
  return renderTable(
    title,
    [rowsAre, ...columns.map(({ name, from }) => `${from}: ${name}`)],
    rows.map(({ name, cells }) => [
      name,
      ...columns.map(({ unit }, index) => formatValue(cells[index] ?? null, unit)),
    ]),
  );
}

function renderCause({ limit, status, sentence, arithmetic, remedy, command }: LabCause): Markup {
  const predicted = remedy?.predictedThroughput;
  const promise = predicted
    ? ` Predicted: ${rate(predicted.low)} to ${rate(predicted.high)} req/s.`
    : '';
  return html`<div class="verdict ${status}">
<p class="status"><span class="badge">${STATUS[status].word}</span>${limit ? html`<code>${limit}</code>` : null}</p>
<p class="sentence">${capitalize(sentence)}</p>
<ul>${arithmetic.map((line) => html`<li>${line}</li>`)}</ul>
${remedy ? html`<p>Remedy: ${remedy.change}.${promise}</p>` : null}
<p><code>${command}</code></p>
</div>`;
}

function renderList(heading: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<h3>${heading}</h3><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function renderSetup(heading: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<details><summary>${heading}</summary><pre>${lines.join('\n')}</pre></details>`;
}

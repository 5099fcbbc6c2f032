import { duration, rate } from '../../format/units.js';
import type { Claim, LabCause, LabResult, LabTable, StudyResult } from '../../lab/result.js';
import { STATUS } from '../explain/status.js';
import { html, type Markup } from '../html/markup.js';
import { originOf, page } from '../html/page.js';
import { table } from '../html/tables.js';
import { labFigure } from './figures.js';
import { printed } from './numbers.js';

/** Repeated studies as one HTML page that needs nothing from any network, and no script. */
export function labPage(result: LabResult): string {
  const { cpu, cores, memoryGb, system, node } = result.machine;
  const length = result.quick ? 'short runs' : 'full runs';
  const [first] = result.studies;
  const failed = result.failed.map(({ study, reason }) => `${study}: ${reason}`);
  const single = result.studies.length === 1 ? first : undefined;
  return page({
    title: single ? single.title : 'Studies of HTTP in Node.js, repeated',
    summary: `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}; ${length}${result.interrupted ? '; interrupted: studies that were not complete are left out' : ''}`,
    origin: originOf(result.tool, result.startedAt),
    styles: ['verdict.css', 'chart.css', 'lab.css'],
    main: [
      single ? null : contents(result),
      ...result.studies.map(study),
      list('Not repeated', failed),
    ],
    result,
  });
}

function contents({ studies }: LabResult): Markup {
  return html`<nav><ol>${studies.map(({ name, title, question }) => html`<li><a href="#${name}">${title}</a>: ${question}</li>`)}</ol></nav>`;
}

function study(one: StudyResult, _: number, all: StudyResult[]): Markup {
  const { name, title, question, original, tables, figures, causes, changes, claims } = one;
  const seconds = duration(Math.round(one.durationMs / 1000) * 1000);
  // Of a single one the page has the title.
  return html`<article id="${name}">
${all.length > 1 ? html`<h2>${title}</h2>` : null}
<p class="question">${question}</p>
<p class="then">Then: ${original}. Now: in ${seconds}.</p>
${claimList(claims)}
${tables.map(thenAndNow)}
${figures.map(labFigure)}
${causes.map(causeBlock)}
${list('What Millrace changes', changes)}
${list('Not measured here', one.missing)}
${codeList('Set-up', one.setup)}
</article>`;
}

/** What holds here, first of all: the colour and the word say whether. */
function claimList(claims: Claim[]): Markup | null {
  if (claims.length === 0) return null;
  const items = claims.map(({ text, held }) => {
    const kind = held === null ? 'unknown' : held ? 'yes' : 'no';
    const word = held === null ? 'not seen' : held ? 'holds' : 'does not hold';
    return html`<li class="${kind}"><span>${word}</span> ${text}</li>
`;
  });
  return html`<ul class="claims">${items}</ul>`;
}

function thenAndNow({ title, rowsAre, columns, rows }: LabTable): Markup | null {
  return table(
    title,
    [rowsAre, ...columns.map(({ name, from }) => `${from}: ${name}`)],
    rows.map(({ name, cells }) => [
      name,
      ...columns.map(({ unit }, index) => printed(cells[index] ?? null, unit)),
    ]),
  );
}

function causeBlock({ limit, status, sentence, arithmetic, remedy, command }: LabCause): Markup {
  const predicted = remedy?.predictedThroughput;
  const promise = predicted
    ? ` Predicted: ${rate(predicted.low)} to ${rate(predicted.high)} req/s.`
    : '';
  return html`<div class="verdict ${status}">
<p class="status"><span class="badge">${STATUS[status].word}</span>${limit ? html`<code>${limit}</code>` : null}</p>
<p class="sentence">${sentence}</p>
<ul>${arithmetic.map((line) => html`<li>${line}</li>`)}</ul>
${remedy ? html`<p>Remedy: ${remedy.change}.${promise}</p>` : null}
<p><code>${command}</code></p>
</div>`;
}

function list(heading: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<h3>${heading}</h3><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function codeList(heading: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<details><summary>${heading}</summary><pre>${lines.join('\n')}</pre></details>`;
}

// Flame graphs of reports: layout, markup and words, without a browser.
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { renderExplanationPage } from '#internal/report/explain/html.js';
import { renderExplanationMarkdown } from '#internal/report/explain/markdown.js';
import { formatExplanationText } from '#internal/report/explain/text.js';
import { layOut } from '#internal/report/flame-graph/layout.js';
import { tooFewConnections } from '../../fixtures/explain/explanations.js';
import { cpuTimes, largeCpuTimes, withGraphs } from '../../fixtures/explain/flame-graphs.js';
import { assertRefersToNothing } from '../../fixtures/report/static-page.js';

const toText = (explanation) =>
  formatExplanationText(explanation, { color: false, width: 100, notes: [] });

/** The lines of a block of a text report, without its heading. */
function block(text, heading) {
  const found = text.split('\n\n').find((one) => one.startsWith(heading));
  return found?.split('\n').slice(1);
}

test('a node lies within its caller, and siblings lie beside each other', () => {
  const { graph } = largeCpuTimes();
  const { sum, from, wide, depth } = layOut(graph);
  const total = graph.self.reduce((all, weight) => all + weight, 0);
  ok(Math.abs(sum - total) < 1e-6 * total);
  const ends = new Map();
  graph.parents.forEach((parent, node) => {
    const [left, right] = parent < 0 ? [0, 1] : [from[parent], from[parent] + wide[parent]];
    equal(depth[node], parent < 0 ? 0 : depth[parent] + 1);
    ok(from[node] >= left - 1e-9 && from[node] + wide[node] <= right + 1e-9);
    ok(Math.abs(from[node] - (ends.get(parent) ?? left)) < 1e-9);
    ends.set(parent, from[node] + wide[node]);
  });
});

test('the text has the heaviest paths through the own code, with line, share and cost, and the rest by origin', () => {
  const text = toText(withGraphs());
  deepEqual(block(text, 'in your code, by CPU time (the event loop is 98 % busy)'), [
    '   40 %  hashPassword (src/auth.ts:12): costs 667 req/s',
    '         called by handleOrder (src/server.ts:30), mostly in digest',
    '   30 %  renderPage (src/page.ts:44): costs 429 req/s',
    '         called by handleOrder (src/server.ts:30), mostly in compile',
    '    5 %  handleOrder (src/server.ts:30): costs 52.6 req/s',
    '  outside it: Node.js 15 %, garbage collection 9 %, Millrace 1 %',
  ]);
  deepEqual(block(text, 'in your code, by waiting requests'), [
    '   60 %  pool of pg, in loadOrder (src/orders.ts:71): 12.0 requests',
    '         called by handleOrder (src/server.ts:30)',
    '   20 %  timer, in handleOrder (src/server.ts:30): 4.00 requests',
  ]);
  match(
    text,
    /Session: 1\.00 objects and 412 B per request, allocated in remember \(src\/store\.ts:8\)/,
  );
});

test('a path has no cost where the loop is not the limit, and functions are not listed twice', () => {
  const explanation = withGraphs();
  explanation.hot = [
    { name: 'digest called from hashPassword', place: 'src/auth.ts:12', share: 0.4 },
  ];
  explanation.cpu.heaviest[0].throughputCost = null;
  const text = toText(explanation);
  match(text, /hashPassword \(src\/auth\.ts:12\)\n/);
  doesNotMatch(text, /by function/);
  match(toText({ ...tooFewConnections(), hot: explanation.hot }), /the loop's time, by function/);
});

test('the Markdown has a table for each graph', () => {
  const markdown = renderExplanationMarkdown(withGraphs());
  match(markdown, /\| hashPassword \(src\/auth.ts:12\), called by .* \| 40 % \| 667 req\/s \|/);
  match(markdown, /\| pool of pg, in loadOrder .* \| 60 % \| 12\.0 requests \|/);
  match(markdown, /\| renderPage .* \| 77 % \| 1\.02 kB per request \|/);
});

test('a page with graphs permits its own script alone, and refers to nothing', () => {
  const page = renderExplanationPage(withGraphs());
  const [, code] = /<script>(.*?)<\/script>/s.exec(page);
  const hash = createHash('sha256').update(code).digest('base64');
  ok(page.includes(`script-src &#39;sha256-${hash}&#39;"`));
  equal(page.match(/<script>/g).length, 1);
  doesNotMatch(code, /fetch|XMLHttp|import|https?:(?!\/\/www\.w3\.org)/);
  doesNotMatch(page.replace(code, ''), /NaN|undefined|Infinity/);
  assertRefersToNothing(page);
});

test('a page of 10,000 frames is less than 3 MB', () => {
  const page = renderExplanationPage({ ...withGraphs(), cpu: largeCpuTimes() });
  ok(page.length < 3e6, `${page.length}`);
});

test('the picture for browsers without scripts has the frames with name, place and share', () => {
  const page = renderExplanationPage({ ...tooFewConnections(), cpu: cpuTimes() });
  match(page, /<title>hashPassword src\/auth\.ts:12: 40 %, 800 ms<\/title>/);
});

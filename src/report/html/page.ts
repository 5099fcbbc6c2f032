import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Child, html, type Markup, markTrusted, renderJsonScript } from './markup.js';
import type { Plot } from './plot.js';

/** A self-contained page: it loads nothing, and needs no script for anything but its plots. */
export interface Page {
  title: string;
  /** Below the title. */
  summary: string;
  /** What made the page, and when. */
  origin: string;
  main: Child;
  /** The plots whose figures stand in `main`. */
  plots?: Plot[];
  /** Style sheets of assets/ after page.css. */
  styles?: string[];
  /** The result that the page shows, for programs: the JSON of the element `result`. */
  result: unknown;
}

/** The page as a document. */
export function renderPage({
  title,
  summary,
  origin,
  main,
  plots = [],
  styles = [],
  result,
}: Page): string {
  const script = plots.length > 0 ? buildScript() : null;
  const charts = script === null ? [] : ['uPlot.min.css'];
  const css = [...charts, 'page.css', ...styles].map(readAsset).join('\n');
  const scripts = script === null ? `'none'` : `'${hash(script)}'`;
  const policy = `default-src 'none'; img-src data:; style-src '${hash(css)}'; script-src ${scripts}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${markTrusted(css)}</style>
</head>
<body>
<header>
<p class="origin">${origin}</p>
<h1>${title}</h1>
<p class="summary">${summary}</p>
</header>
<main>
${main}
</main>
<footer>The whole result is in this page as JSON, in the element <code>#result</code>.</footer>
${renderJsonScript('result', result)}
${script === null ? null : html`${renderJsonScript('plots', plots)}\n<script>${markTrusted(script)}</script>`}
</body>
</html>
`.text;
}

/** What made a result, and when: `millrace 1.2.3 · 2026-03-02 09:30:00 UTC`. */
export function formatOrigin(tool: { name: string; version: string }, startedAt: string): string {
  return `${tool.name} ${tool.version} · ${startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}`;
}

/** What makes a result doubtful; nothing without a message. */
export function renderWarnings(messages: string[]): Markup | null {
  if (messages.length === 0) return null;
  return html`<ul class="warnings">${messages.map((message) => html`<li>${message}</li>`)}</ul>`;
}

/** A part of a page under a heading. */
export function renderSection(heading: string, ...content: Child[]): Markup {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

/** The chart library with its licence, the functions that print numbers, and what draws the plots. */
function buildScript(): string {
  const licence = `/*\nuPlot\n${readAsset('uPlot.LICENSE')}\n*/`;
  const units = readFileSync(new URL('../../format/units.js', import.meta.url), 'utf8');
  const scripts = [
    licence,
    readAsset('uPlot.iife.min.js'),
    units.replace(/^export /gm, ''),
    readAsset('plots.js'),
  ];
  // An element ends at the first end tag, even within a string or a comment of the script.
  return scripts.join('\n').replaceAll('</script', '<\\/script');
}

function readAsset(name: string): string {
  return readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Child, html, type Markup, markTrusted, renderJsonScript } from './markup.js';
import type { Plot } from './plot.js';

/** A self-contained page. It loads nothing, and only its plots need a script. */
export interface Page {
  title: string;
  /** Text below the title. */
  summary: string;
  /** Tool and time that made the page. */
  origin: string;
  main: Child;
  /** The plots of the figures in `main`. */
  plots?: Plot[];
  /** Style sheets of assets/, in addition to page.css. */
  styles?: string[];
  /** The result that the page shows, included as JSON in the element `result`. */
  result: unknown;
}

/** Renders a page as an HTML document. */
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
<footer>This page contains the complete result as JSON, in the element <code>#result</code>.</footer>
${renderJsonScript('result', result)}
${script === null ? null : html`${renderJsonScript('plots', plots)}\n<script>${markTrusted(script)}</script>`}
</body>
</html>
`.text;
}

/** Formats tool and time of a result: `millrace 1.2.3 · 2026-03-02 09:30:00 UTC`. */
export function formatOrigin(tool: { name: string; version: string }, startedAt: string): string {
  return `${tool.name} ${tool.version} · ${startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}`;
}

/** Renders warnings; `null` if there are none. */
export function renderWarnings(messages: string[]): Markup | null {
  if (messages.length === 0) return null;
  return html`<ul class="warnings">${messages.map((message) => html`<li>${message}</li>`)}</ul>`;
}

/** Renders a section with a heading. */
export function renderSection(heading: string, ...content: Child[]): Markup {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

/** Builds the script: the chart library with its license, the functions that format numbers and place ticks, and plots.js. */
function buildScript(): string {
  const license = `/*\nuPlot\n${readAsset('uPlot.LICENSE')}\n*/`;
  const modules = ['../../format/units.js', './charts/scale.js'].map((path) =>
    readFileSync(new URL(path, import.meta.url), 'utf8').replace(/^export /gm, ''),
  );
  const scripts = [license, readAsset('uPlot.iife.min.js'), ...modules, readAsset('plots.js')];
  // A script element ends at the first end tag, even within a string or a comment.
  return scripts.join('\n').replaceAll('</script', '<\\/script');
}

function readAsset(name: string): string {
  return readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

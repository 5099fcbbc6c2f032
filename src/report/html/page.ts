import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Child, html, jsonScript, type Markup, trusted } from './markup.js';
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
  plots: Plot[];
  /** The result that the page shows, for programs: the JSON of the element `result`. */
  result: unknown;
}

/** The page as a document. */
export function page({ title, summary, origin, main, plots, result }: Page): string {
  const style = `${asset('uPlot.min.css')}\n${asset('page.css')}`;
  const script = pageScript();
  const policy = `default-src 'none'; img-src data:; style-src '${digest(style)}'; script-src '${digest(script)}'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${trusted(style)}</style>
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
${jsonScript('result', result)}
${jsonScript('plots', plots)}
<script>${trusted(script)}</script>
</body>
</html>
`.text;
}

/** A part of a page under a heading. */
export function section(heading: string, ...content: Child[]): Markup {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

/** The chart library with its licence, the functions that print numbers, and what draws the plots. */
function pageScript(): string {
  const licence = `/*\nuPlot\n${asset('uPlot.LICENSE')}\n*/`;
  const units = readFileSync(new URL('../units.js', import.meta.url), 'utf8');
  const scripts = [
    licence,
    asset('uPlot.iife.min.js'),
    units.replace(/^export /gm, ''),
    asset('plots.js'),
  ];
  // An element ends at the first end tag, even within a string or a comment of the script.
  return scripts.join('\n').replaceAll('</script', '<\\/script');
}

function asset(name: string): string {
  return readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

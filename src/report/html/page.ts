import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Child, html, type Markup, markTrusted, renderJsonScript } from './markup.js';

/** A self-contained page. It loads nothing, and runs no script but its own. */
export interface Page {
  title: string;
  /** Text below the title. */
  summary: string;
  /** Tool and time that made the page. */
  origin: string;
  main: Child;
  /** Style sheets of assets/, in addition to page.css. */
  styles?: string[];
  /** Scripts of assets/. What the page shows must not depend on them. */
  scripts?: string[];
  /** The result that the page shows, included as JSON in the element `result`. */
  result: unknown;
}

/** Renders a page as an HTML document. */
export function renderPage(page: Page): string {
  const { title, summary, origin, main, styles = [], scripts = [], result } = page;
  const css = ['page.css', ...styles].map(readAsset).join('\n');
  const codes = scripts.map(readAsset);
  const allowed = codes.length > 0 ? codes.map((code) => `'${hash(code)}'`).join(' ') : "'none'";
  const policy = `default-src 'none'; img-src data:; style-src '${hash(css)}'; script-src ${allowed}`;
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
${codes.map(
  (code) => html`<script>${markTrusted(code)}</script>
`,
)}</body>
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

function readAsset(name: string): string {
  return readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

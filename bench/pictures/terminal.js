// Draws text with terminal colors as an SVG image of a terminal. Pure.
import { escapeXml } from './xml.js';

const FONT_SIZE = 13;
const LINE_HEIGHT = 18;
/** Width of a character of a monospaced font; each run of text is stretched to it, whatever font the reader has. */
const CHARACTER_WIDTH = 7.8;
const MARGIN = 16;
/** Height of the bar with the three buttons. */
const BAR_HEIGHT = 30;

const FOREGROUND = '#d6dbe1';
/** Looks by ECMA-48 codes (Select Graphic Rendition), those that reports use. */
const LOOKS = {
  1: { 'font-weight': 'bold' },
  2: { fill: '#8b949e' },
  31: { fill: '#ff7b72' },
  32: { fill: '#5fd068' },
  33: { fill: '#e3b341' },
  36: { fill: '#56c8d8' },
};

/**
 * Draws lines of text as an SVG document.
 *
 * @param text lines, with SGR sequences (`\x1b[...m`); other control characters must not occur
 * @param title what a reader who cannot see the image is told
 */
export function drawTerminal(text, title) {
  const lines = text.split('\n').map(parseLine);
  const columns = Math.max(
    ...lines.map((runs) => runs.reduce((sum, run) => sum + run.text.length, 0)),
  );
  const width = Math.ceil(2 * MARGIN + columns * CHARACTER_WIDTH);
  const height = BAR_HEIGHT + MARGIN + lines.length * LINE_HEIGHT;
  const body = lines.flatMap((runs, row) =>
    drawLine(runs, BAR_HEIGHT + (row + 1) * LINE_HEIGHT - 4),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="#12161c"/>
${['#ff5f57', '#febc2e', '#28c840'].map((fill, index) => `<circle cx="${20 + index * 18}" cy="16" r="5.5" fill="${fill}"/>`).join('')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}" fill="${FOREGROUND}" xml:space="preserve">
${body.join('\n')}
</g>
</svg>
`;
}

/** Splits a line into runs of one look: `{ text, look }`, `look` being attributes of SVG text. */
function parseLine(line) {
  const [plain, ...others] = line.split('\x1b[');
  const runs = [{ text: plain, look: {} }];
  for (const part of others) {
    const end = part.indexOf('m');
    const look = changeLook(runs.at(-1).look, part.slice(0, end));
    runs.push({ text: part.slice(end + 1), look });
  }
  return runs;
}

/** The look behind ECMA-48 codes, separated by semicolons; 0 ends all looks. */
function changeLook(look, codes) {
  const list = codes.split(';').map(Number);
  const added = list.slice(list.lastIndexOf(0) + 1).map((code) => LOOKS[code]);
  return Object.assign({}, list.includes(0) ? null : look, ...added);
}

/** Draws the runs of a line on this base line. Blanks at the ends of a run only move it. */
function drawLine(runs, y) {
  let column = 0;
  return runs.flatMap(({ text, look }) => {
    const start = column + text.length - text.trimStart().length;
    column += text.length;
    const shown = text.trim();
    if (shown === '') return [];
    const x = (MARGIN + start * CHARACTER_WIDTH).toFixed(1);
    const length = (shown.length * CHARACTER_WIDTH).toFixed(1);
    const attributes = Object.entries(look).map(([name, value]) => ` ${name}="${value}"`);
    return `<text x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${attributes.join('')}>${escapeXml(shown)}</text>`;
  });
}

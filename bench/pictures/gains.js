// Draws the gains of the stack as an SVG image: a row for each case that compares requests/s with plain Node.js. Pure.
import { escapeXml } from './xml.js';

const WIDTH = 800;
const ROW_HEIGHT = 20;
const LABEL_WIDTH = 250;
const FIGURE_WIDTH = 130;
const HEAD_HEIGHT = 52;
const FOOT_HEIGHT = 30;
/** The scale is logarithmic: twice as fast is as far from 1 as half as fast. */
const TICKS = [0.75, 1, 1.5, 2, 3, 4, 6, 8];
const PLOT = { left: LABEL_WIDTH, right: WIDTH - FIGURE_WIDTH };

/** The cases of the suite `stack` whose figure is requests/s of the same server with the stack and without. */
const SERVERS = {
  hello: 'hello world',
  'pipelining-16': 'hello world, 16 requests pipelined',
  close: 'hello world, a connection each',
  query: 'eight header fields, a query string',
  echo: 'POST of 10 bytes, sent back',
  upload: 'upload of 1 MiB',
  'upload-file': 'upload of 100 MiB into a file',
  multipart: 'form with a file of 1 MiB',
  'download-64-kib': 'download of 64 KiB',
  'download-1-mib': 'download of 1 MiB',
  'download-16-mib': 'download of 16 MiB',
  'download-64-kib-file': 'file of 64 KiB',
  'download-1-mib-file': 'file of 1 MiB',
  'download-16-mib-file': 'file of 16 MiB',
  'tls-keep-alive': 'TLS',
  'tls-resume': 'TLS, a resumed session each',
  'tls-full': 'TLS, a full handshake each',
  express: 'Express 5, hello world',
  fastify: 'Fastify 5, hello world',
  koa: 'Koa 3, hello world',
};

const APPLICATIONS = {
  express: 'Express 5, routes',
  'express-mounted': 'Express 5, a mounted application',
  'express-mounted-2': 'Express 5, mounted twice',
  'express-middlewares': 'Express 5, twelve middlewares',
  'nest-express': 'Nest on Express',
  'nest-fastify': 'Nest on Fastify',
  'fastify-plugins': 'Fastify 5, seven plugins',
  apollo: 'Apollo Server',
  yoga: 'GraphQL Yoga',
  next: 'Next.js, production build',
  'socket-io': 'Socket.IO by polling',
};

/** Lists the rows of `drawGains()` from the figures of both suites (figures.json) on this major version. */
export function listGains({ stack, apps }, major) {
  const pick = (cases, labels, figure) =>
    Object.entries(labels).flatMap(([name, label]) => {
      const measured = cases[name]?.on.find(({ node }) => node === major);
      return measured ? [{ label, ...parseRatio(measured[figure]) }] : [];
    });
  return [
    { label: 'small servers' },
    ...pick(stack, SERVERS, 'main'),
    { label: 'applications' },
    ...pick(apps, APPLICATIONS, 'throughput'),
  ];
}

/** Parses `1.86 [1.62..1.97]`; without an interval its ends are the figure. */
function parseRatio(text) {
  const [median, low = median, high = median] = text.match(/\d+(?:\.\d+)?/g).map(Number);
  return { median, low, high };
}

const INK = { gain: '#1a7f37', none: '#6e7781', loss: '#cf222e' };

/**
 * Draws rows `{ label, median, low, high }`, in order; a row with `label` alone is a heading.
 *
 * @param title what is drawn, one line
 * @param origin where and when it was measured, one line
 */
export function drawGains(rows, { title, origin }) {
  const height = HEAD_HEIGHT + rows.length * ROW_HEIGHT + FOOT_HEIGHT;
  const bottom = height - FOOT_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escapeXml(title)}">
<title>${escapeXml(title)}</title>
<rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>
<g font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">
<text x="16" y="22" font-size="14" font-weight="600">${escapeXml(title)}</text>
${TICKS.map((tick) => drawTick(tick, bottom)).join('\n')}
${rows.map((row, index) => drawRow(row, HEAD_HEIGHT + (index + 0.5) * ROW_HEIGHT)).join('\n')}
<text x="16" y="${height - 11}" font-size="11" fill="#57606a">${escapeXml(origin)}</text>
</g>
</svg>
`;
}

function drawTick(tick, bottom) {
  const x = place(tick);
  const look = tick === 1 ? 'stroke="#1f2328"' : 'stroke="#d8dee4"';
  return `<text x="${x}" y="${HEAD_HEIGHT - 8}" text-anchor="middle" fill="#57606a">${tick} ×</text><line x1="${x}" x2="${x}" y1="${HEAD_HEIGHT - 2}" y2="${bottom}" ${look}/>`;
}

function drawRow({ label, median, low, high }, y) {
  const text = `y="${y + 4}"`;
  if (median === undefined)
    return `<text x="16" ${text} font-weight="600">${escapeXml(label)}</text>`;
  const ink = low > 1 ? INK.gain : high < 1 ? INK.loss : INK.none;
  const figures = `${median.toFixed(2)} [${low.toFixed(2)}..${high.toFixed(2)}]`;
  return `<text x="28" ${text}>${escapeXml(label)}</text><line x1="${place(low)}" x2="${place(high)}" y1="${y}" y2="${y}" stroke="${ink}" stroke-width="3" stroke-opacity="0.45"/><circle cx="${place(median)}" cy="${y}" r="4" fill="${ink}"/><text x="${WIDTH - 16}" ${text} text-anchor="end" fill="${ink}">${figures}</text>`;
}

/** The horizontal place of a ratio; beyond the scale it is at its end. */
function place(ratio) {
  const share = Math.log(ratio / TICKS[0]) / Math.log(TICKS.at(-1) / TICKS[0]);
  const x = PLOT.left + Math.min(1, Math.max(0, share)) * (PLOT.right - PLOT.left - 24);
  return x.toFixed(1);
}

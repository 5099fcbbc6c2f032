// Loads a server and writes what the command line writes with --html, --markdown and -o. The first result is kept: each
// later one is compared with it, as with --baseline.
//   node examples/report.mjs reports 5s
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'millrace';
import { formatHtml, formatJson, formatMarkdown, formatText } from 'millrace/report';

const [folder = 'reports', duration = '5s'] = process.argv.slice(2);
const server = fileURLToPath(new URL('server.js', import.meta.url));
const first = join(folder, 'first.json');

const { comparison, ...result } = await load({
  command: [process.execPath, server],
  rate: 200,
  duration,
  ...(existsSync(first) && { baseline: first }),
});

const color = process.stdout.isTTY;
const width = process.stdout.columns ?? 80;
console.log(formatText(result, { color, width }));
if (comparison) console.log(`\n${formatText(comparison, { color, width })}`);

const results = comparison ? [result, comparison] : [result];
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'report.html'), formatHtml(result));
writeFileSync(join(folder, 'report.md'), formatMarkdown(results));
if (!comparison) writeFileSync(first, formatJson(result));

// Copies the assets of the HTML pages next to the compiled code: the chart library with its license, which is therefore not
// a dependency at run time, and our own style sheets and script.
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const assets = join(root, 'dist', 'report', 'assets');
const uplot = dirname(createRequire(import.meta.url).resolve('uplot/package.json'));

mkdirSync(assets, { recursive: true });
cpSync(join(root, 'src', 'report', 'assets'), assets, { recursive: true });
copyFileSync(join(uplot, 'dist', 'uPlot.iife.min.js'), join(assets, 'uPlot.iife.min.js'));
copyFileSync(join(uplot, 'dist', 'uPlot.min.css'), join(assets, 'uPlot.min.css'));
copyFileSync(join(uplot, 'LICENSE'), join(assets, 'uPlot.LICENSE'));

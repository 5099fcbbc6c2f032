// Copies the style sheets of the HTML pages next to the compiled code.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './step.js';

const assets = join('report', 'assets');
cpSync(join(root, 'src', assets), join(root, 'dist', assets), { recursive: true });

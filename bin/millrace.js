#!/usr/bin/env node
import { describeFewFiles } from '../dist/process/open-files.js';

// The modules that follow would not all open, and the error would name one of them.
const few = describeFewFiles();
if (few === null) {
  const { main } = await import('../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.error(`millrace: ${few}`);
  process.exitCode = 2;
}

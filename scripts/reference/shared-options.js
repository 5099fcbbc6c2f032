// Which options of `load()` another function has: from the option schemas.
import { code } from './tables.js';

/** The sentence that names the options of `load()` that the function in a folder of `src` does not have. */
export async function formatLoadOptions(folder) {
  const [all, own] = await Promise.all(['load', folder].map(readOptionNames));
  const missing = all.filter((name) => !own.includes(name)).map(code);
  const names = [missing.slice(0, -1).join(', '), ...missing.slice(-1)].join(' and ');
  return `${wrap(`The options are those of \`load()\` without ${names}, and:`)}\n`;
}

/** Lists the names of the options that the function in a folder of `src` accepts. */
export async function readOptionNames(folder) {
  const schema = Object.entries(await import(`../../dist/${folder}/option-schema.js`));
  const [, options] = schema.find(([name]) => name.endsWith('_OPTIONS'));
  return Object.keys(options);
}

const WIDTH = 120;

function wrap(text) {
  return text.replace(new RegExp(`(.{1,${WIDTH}})(?: |$)`, 'g'), '$1\n').trimEnd();
}

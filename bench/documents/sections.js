// The Markdown file of a suite's results: a title and an introduction, then a section for each case. Pure.

/** Last line of every section; a section without it was truncated or has another origin. */
const MEASURED = /^Measured .+ by `.+` \(.+\)\.$/m;

/** Formats the line with date, machine and command of a measurement. */
export function formatMeasuredLine({ date, machine, runs, command }) {
  const { cpu, cores, kernel, node, commit } = machine;
  return `Measured ${date} on ${cpu}, ${cores} cores, ${kernel}, Node ${node}, commit ${commit}, by \`${command}\` (${runs}).`;
}

/**
 * Parses the text of a file into `{ introduction, sections }`, the latter a map from names to whole sections. Throws an
 * error that describes why the text is invalid.
 */
export function parseSections(text) {
  const [introduction, ...parts] = text.split(/^(?=## )/m);
  if (!introduction.startsWith('# ')) throw new Error('does not begin with a title');
  const sections = new Map();
  for (const part of parts) {
    const name = part.split('\n', 1)[0].slice('## '.length).trim();
    if (sections.has(name)) throw new Error(`has two sections "${name}"`);
    if (!MEASURED.test(part))
      throw new Error(`the section "${name}" does not say how it was measured; is it cut off?`);
    sections.set(name, part.trim());
  }
  return { introduction: introduction.trim(), sections };
}

/**
 * Replaces a section by name in the text of a file; returns `{ text, dropped }`. `cases` are the names of the cases in
 * order. The part of a section's name before a comma is its case: the section `hello` also replaces `hello, Node 24`.
 * Sections of cases that no longer exist are `dropped`; all others are unchanged.
 */
export function replaceSection(text, { name, lines }, cases) {
  const { introduction, sections } = parseSections(text);
  const caseOf = (one) => one.split(',')[0];
  for (const one of sections.keys()) if (one !== name && caseOf(one) === name) sections.delete(one);
  sections.set(name, [`## ${name}`, '', ...lines].join('\n').trim());
  const place = (one) => cases.indexOf(caseOf(one));
  const names = [...sections.keys()].toSorted();
  const kept = names
    .filter((one) => place(one) >= 0)
    .toSorted((one, other) => place(one) - place(other));
  return {
    text: `${[introduction, ...kept.map((one) => sections.get(one))].join('\n\n')}\n`,
    dropped: names.filter((one) => place(one) < 0),
  };
}

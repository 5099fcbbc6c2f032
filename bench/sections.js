// The Markdown file of a suite's results: a title and an introduction, then a section for each case. Pure.

/** What every section has as its last line; one without it was cut off, or is none of ours. */
const MEASURED = /^Measured .+ by `.+` \(.+\)\.$/m;

/** The line that says when, on what and by which command something was measured. */
export function formatMeasuredLine({ date, machine, runs, command }) {
  const { cpu, cores, kernel, node, commit } = machine;
  return `Measured ${date} on ${cpu}, ${cores} cores, ${kernel}, Node ${node}, commit ${commit}, by \`${command}\` (${runs}).`;
}

/**
 * The text of a file as `{ introduction, sections }`, the latter a map of names to whole sections. An error says what
 * keeps it from being understood.
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
 * The text of a file with a section in place of the one of its name, as `{ text, dropped }`. `cases` are the names of
 * the cases in order. Before a comma in a section's name is its case: `hello, Node 24`. Sections of cases that are no
 * more are `dropped`, all others stay as they are.
 */
export function replaceSection(text, { name, lines }, cases) {
  const { introduction, sections } = parseSections(text);
  sections.set(name, [`## ${name}`, '', ...lines].join('\n').trim());
  const place = (one) => cases.indexOf(one.split(',')[0]);
  const names = [...sections.keys()].toSorted();
  const kept = names
    .filter((one) => place(one) >= 0)
    .toSorted((one, other) => place(one) - place(other));
  return {
    text: `${[introduction, ...kept.map((one) => sections.get(one))].join('\n\n')}\n`,
    dropped: names.filter((one) => place(one) < 0),
  };
}

// Text from elsewhere (bodies, header fields, names, messages, names of files) in what millrace prints: each output has one
// function that encodes it. HTML, Markdown, CSV and XML have theirs beside their markup; all of them are built on these.

/**
 * Characters that control a terminal or the order of what is shown: C0, DEL and C1 (ECMA-48), separators of lines, the
 * embeddings and isolates of bidirectional text (UAX 9), and surrogates without a partner.
 */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/** Shows that there was a character that cannot be shown (Unicode's replacement character). */
export const REPLACEMENT = '\u{fffd}';

/** Replaces characters that control, line breaks among them; `encode` says by what. */
export function replaceControls(
  text: string,
  encode: (character: string) => string = () => REPLACEMENT,
): string {
  return text.replace(CONTROLS, encode);
}

/**
 * Where a line commands a CI runner: `::name::` at its beginning (GitHub), `##[name]` and `##vso[` anywhere (GitHub, Azure),
 * `##teamcity[` (TeamCity). Runners trim blanks before the first; GitLab's and Travis' marks need control characters.
 */
const RUNNER_MARK = /#(?=#(?:\[|vso\[|teamcity\[))/gi;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colors may stand before it
const RUNNER_LINE = /^(?:[\s\p{Cf}]|\x1b\[[\d;]*m)*:(?=:)/gmu;

/** Replaces the first `#` of what commands a CI runner wherever it stands; `hash` is how the output writes `#` otherwise. */
export function replaceRunnerMarks(text: string, hash: string): string {
  return text.replace(RUNNER_MARK, hash);
}

/** Replaces the first colon of what commands a CI runner at the beginning of a line. */
export function replaceRunnerLines(text: string, colon: string): string {
  return text.replace(RUNNER_LINE, (begin) => begin.slice(0, -1) + colon);
}

/** Puts a blank into what commands a CI runner, in each line: `: :error::`, `# #[error]`. */
export function disarmLines(text: string): string {
  return replaceRunnerLines(replaceRunnerMarks(text, '# '), ': ');
}

/** The sequences that the painter of the text report writes (`text/paint.ts`); text from elsewhere has none of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins them
const PAINT = /(\x1b\[(?:1|2|7|22|27|31|32|33|36|39)m)/;

/**
 * Encodes what is printed on a terminal, or into the log of a CI runner: lines stay, colors stay where the report has them
 * (`hasColor`), nothing else controls.
 */
export function encodeTerminal(text: string, hasColor = false): string {
  const parts = hasColor ? text.split(PAINT) : [text];
  const encoded = parts.map((part, index) =>
    index % 2 === 1
      ? part
      : part
          .split('\n')
          .map((line) => replaceControls(line))
          .join('\n'),
  );
  return disarmLines(encoded.join(''));
}

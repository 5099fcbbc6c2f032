/** Creates a text of about `kilobytes` kB that compresses like natural text. */
export function document(kilobytes) {
  let state = 1;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  const words = Array.from({ length: 500 }, () => random().toString(36));
  const lines = [];
  for (let length = 0; length < kilobytes * 1000; length += lines.at(-1).length) {
    lines.push(`${Array.from({ length: 12 }, () => words[random() % words.length]).join(' ')}\n`);
  }
  return lines.join('');
}

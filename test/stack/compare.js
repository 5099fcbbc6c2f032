// Whether the stack did what Node does.

/**
 * Gives the results in which the stack differs. A stream of bytes has no packets: where the stack does not what Node
 * does with these pieces, it is right if Node does that with smaller ones. (Node dispatches all requests of one packet
 * before it lets the first one answer; the stack takes one after the other.)
 */
export async function differences(pair, cases) {
  const results = (await pair.run(cases)).map(compared);
  for (const cut of [atMessages, atHeads, atBytes]) {
    const left = results.filter((result) => result.plain !== result.stack && !result.finer);
    if (left.length === 0) break;
    const finer = await pair.sides[0].run(left.map(({ pieces }) => cut(Buffer.concat(pieces))));
    for (const [index, outcome] of finer.entries()) {
      const result = left[index];
      if (text(outcome) === result.stack) result.finer = true;
    }
  }
  return results.filter((result) => result.plain !== result.stack && !result.finer);
}

function compared({ pieces, plain, stack }) {
  return { pieces, plain: text(plain), stack: text(stack) };
}

/** In front of each message that is well-formed, and of the first that is not. */
function atMessages(bytes) {
  return cut(bytes, false);
}

/** And behind their heads. */
function atHeads(bytes) {
  return cut(bytes, true);
}

function cut(bytes, atHeads) {
  const text = bytes.toString('latin1');
  const ends = [0];
  for (let at = 0; at < text.length; at = ends.at(-1)) {
    const head = /^[^]*?\r\n\r\n/.exec(text.slice(at))?.[0] ?? text.slice(at);
    if (/^CONNECT|^upgrade:/im.test(head)) break;
    if (atHeads) ends.push(at + head.length);
    ends.push(at + head.length + bodyLength(head, text.slice(at + head.length)));
  }
  const pieces = ends.map((end, index) => bytes.subarray(end, ends[index + 1]));
  return pieces.filter((piece) => piece.length > 0);
}

function bodyLength(head, rest) {
  if (/^transfer-encoding: *chunked/im.test(head)) {
    return /^(?:[^]*?\r\n)?0(?:;.*)?\r\n(?:.+\r\n)*\r\n/.exec(rest)?.[0].length ?? rest.length;
  }
  return Math.min(rest.length, Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
}

const LONGEST = 400;

function atBytes(bytes) {
  if (bytes.length > LONGEST) return atHeads(bytes);
  return Array.from(bytes, (byte) => Buffer.of(byte));
}

/**
 * An outcome as text, without what depends on packets: the order among different objects, and where in its packet
 * an error was found.
 */
export function text({ bytes, notes, seen }) {
  const byObject = new Map();
  for (const line of seen?.lines ?? ['nothing']) {
    const object = /^\d+ (?:req|res)?/.exec(line)?.[0] ?? 'connection';
    byObject.set(object, [...(byObject.get(object) ?? []), line.replace(/^clientError .*/, relative)]);
  }
  const lines = [...byObject.keys()].sort().flatMap((object) => byObject.get(object));
  return [JSON.stringify(bytes), notes.join(', '), ...lines, ...(seen?.states ?? [])].join('\n');
}

function relative(line) {
  return line.replace(/"bytesParsed":(\d+),"packet":(".*")\}/, (_all, parsed, packet) => {
    return `"rest":${JSON.stringify(JSON.parse(packet).slice(parsed))}}`;
  });
}

// Whether the stack did what Node does.

/**
 * Gives the results in which the stack differs. A stream of bytes has no packets: where the stack does not what Node
 * does with these pieces, it is right if Node does that with smaller ones. (Node dispatches all requests of one packet
 * before it lets the first one answer; the stack takes one after the other.)
 */
export async function differences(pair, cases) {
  const results = (await pair.run(cases)).map(compared);
  for (const cut of CUTS) {
    const left = results.filter((result) => result.plain !== result.stack && !result.finer);
    if (left.length === 0) break;
    const finer = await pair.sides[0].run(left.map(({ pieces }) => cutAgain(pieces, cut)));
    for (const [index, outcome] of finer.entries()) {
      const result = left[index];
      if (text(outcome) === result.stack) result.finer = true;
    }
  }
  return results.filter((result) => result.plain !== result.stack && !result.finer);
}

function compared({ pieces, plain, stack }) {
  const native = stack.seen?.native ?? true;
  return { pieces, native, plain: text(plain), stack: text(stack) };
}

/** The same bytes with more cuts. */
function cutAgain(pieces, cut) {
  const bytes = Buffer.concat(pieces);
  const cuts = cut(bytes);
  let at = 0;
  for (const piece of pieces) {
    at += piece.length;
    cuts.push(at);
  }
  cuts.sort((a, b) => a - b);
  const smaller = cuts.map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
  return smaller.filter((piece) => piece.length > 0);
}

/** Where messages end, the well-formed ones. */
function atMessages(bytes) {
  return ends(bytes, false);
}

/** And their heads. */
function atHeads(bytes) {
  return ends(bytes, true);
}

/** Of a seed. */
const MOST_MESSAGES = 64;

const CUTS = [
  atMessages,
  atHeads,
  atBytes,
  ...Array.from({ length: MOST_MESSAGES }, (_, n) => (bytes) => atMessages(bytes).slice(n, n + 1)),
];

function ends(bytes, atHeads) {
  const text = bytes.toString('latin1');
  const found = [];
  for (let at = 0; at < text.length; at = found.at(-1)) {
    const head = /^.*?\r\n\r\n/s.exec(text.slice(at))?.[0] ?? text.slice(at);
    if (/^CONNECT /.test(head) || /^upgrade:/im.test(head)) break;
    if (atHeads) found.push(at + head.length);
    found.push(at + head.length + bodyLength(head, text.slice(at + head.length)));
  }
  return found;
}

const LAST_CHUNK = /^(?:[\0-\uffff]*?\r\n)?0(?:;.*)?\r\n(?:.+\r\n)*\r\n/;

function bodyLength(head, rest) {
  if (/^transfer-encoding: *chunked/im.test(head)) {
    return LAST_CHUNK.exec(rest)?.[0].length ?? rest.length;
  }
  return Math.min(rest.length, Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
}

const LONGEST = 400;

function atBytes(bytes) {
  if (bytes.length > LONGEST) return atHeads(bytes);
  return Array.from(bytes, (_, index) => index);
}

/**
 * An outcome as text, without what depends on packets: the order among different objects, and where in which packet
 * an error was found.
 */
export function text({ bytes, notes, seen }) {
  const byObject = new Map();
  for (const line of seen?.lines ?? ['nothing']) {
    const object = /^\d+ (?:req|res)?/.exec(line)?.[0] ?? 'connection';
    byObject.set(object, [...(byObject.get(object) ?? []), line.replace(PLACE, '')]);
  }
  const lines = [...byObject.keys()].sort().flatMap((object) => byObject.get(object));
  return [JSON.stringify(bytes), notes.join(', '), ...lines, ...(seen?.states ?? [])].join('\n');
}

const PLACE = /,"bytesParsed":.*(?=\})/;

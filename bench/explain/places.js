// Evaluates where explain says that CPU time, waits and bytes are, against what is known by construction (`where` of a case).
// Pure.

/** Points by which a share may be off, and the relative error of bytes. */
const MAX_POINTS = 5;
const MAX_ERROR = 0.1;

const GRAPHS = ['cpu', 'waits', 'allocations'];
const listOf = (places) => (places === undefined ? [] : [places].flat());

/**
 * Evaluates the places of a case: a list of `{ graph, place, expected, found, distance, within }`.
 *
 * `found` is `null` if the explanation lacks the graph. Shares are of the graph's total, and `distance` is in points. Where
 * `bytes` are known they are per request, and `distance` is relative. In `growth` without `bytes` they are 1 or 0: whether
 * the class that is retained by the retainer is listed with its place.
 *
 * @typedef {{ place: string, share?: number, bytes?: number, retainer?: string }} Place
 * @param {{ where?: Record<string, Place | Place[]> }} bench
 */
export function evaluatePlaces({ where = {} }, explanation) {
  const ofGraphs = GRAPHS.flatMap((graph) =>
    listOf(where[graph]).map((one) => evaluatePlace(graph, one, explanation?.[graph]?.graph)),
  );
  const growth = explanation?.allocations?.growth;
  return [...ofGraphs, ...listOf(where.growth).map((one) => evaluateGrowth(one, growth))];
}

function evaluatePlace(graph, { place, share, bytes }, flameGraph) {
  const expected = share ?? bytes;
  if (!flameGraph) return { graph, place, ...compare(expected, null, bytes !== undefined) };
  const weight = sumWeight(flameGraph, place);
  const found = bytes === undefined ? weight / (sumAll(flameGraph) || 1) : weight;
  return { graph, place, ...compare(expected, found, bytes !== undefined) };
}

function evaluateGrowth({ place, retainer, bytes }, growth) {
  const head = { graph: 'growth', place: `${retainer}, ${place}` };
  if (!growth) return { ...head, ...compare(bytes ?? 1, null, bytes !== undefined) };
  const own = growth.filter(
    ({ retainedBy, allocatedAt }) =>
      retainedBy.some((text) => hasWord(text, retainer)) &&
      allocatedAt !== null &&
      matches(allocatedAt, place),
  );
  if (bytes === undefined) return { ...head, ...compare(1, own.length > 0 ? 1 : 0, false) };
  const found = own.reduce((sum, { bytesPerRequest }) => sum + bytesPerRequest, 0);
  return { ...head, ...compare(bytes, found, true) };
}

function compare(expected, found, relative) {
  if (found === null) return { expected, found, distance: null, within: false, relative };
  const distance = relative ? Math.abs(found / expected - 1) : Math.abs(found - expected) * 100;
  const within = distance <= (relative ? MAX_ERROR : MAX_POINTS) + 1e-9;
  return { expected, found, distance, within, relative };
}

/** The weight of all nodes that are at a place or called from there, each once, however often the place is above it. */
export function sumWeight({ frames, parents, frameOf, self }, place) {
  const isThere = frames.map((frame) => matches(frame, place));
  const below = [];
  let sum = 0;
  for (let node = 0; node < parents.length; node++) {
    below[node] = isThere[frameOf[node]] || (parents[node] >= 0 && below[parents[node]]);
    if (below[node]) sum += self[node];
  }
  return sum;
}

const sumAll = ({ self }) => self.reduce((sum, one) => sum + one, 0);

/** Whether a frame is at a place: the name of a function, `file:line` or `file:from-to`. */
export function matches({ name, place: at }, place) {
  const lines = /^(.+):(\d+)(?:-(\d+))?$/.exec(place);
  if (!lines) return hasWord(name, place);
  const [, file, from, to = from] = lines;
  const own = /^(.+?):(\d+)(?::\d+)?$/.exec(at);
  if (!own || !`/${own[1]}`.endsWith(`/${file}`)) return false;
  return Number(from) <= Number(own[2]) && Number(own[2]) <= Number(to);
}

/** Whether a name is one of the words of a text, as in `async Pool.acquire`. */
function hasWord(text, word) {
  return text.split(/[^\w$]+/).includes(word);
}

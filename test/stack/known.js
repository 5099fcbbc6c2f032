// Where the stack is meant to differ from Node: each rule has its reason.

const [MAJOR] = process.versions.node.split('.').map(Number);

/** Applications that answer when all requests have arrived. */
const LATE = ['parts', 'uneven', 'never', 'unread', 'upgradeLate'];

const RULES = [
  {
    reason:
      'Node 20 drops what came with an upgrade that nobody wants; later ones and the stack read on',
    holds: (application, text) =>
      MAJOR < 22 && /^upgrade:/im.test(text) && !application.startsWith('upgrade'),
  },
  {
    reason: 'a request that is left to Node waits until those before it are answered',
    holds: (application, text) => LATE.includes(application) && requests(text) > 1,
  },
  {
    reason: 'what is left to Node is parsed there without ticks between its parts',
    holds: (application, _text, native, { mutated }) =>
      !native && (mutated || [...LATE, 'throttled'].includes(application)),
  },
  {
    reason: 'what is wrong in a line may be told at its end only',
    holds: (_application, text, _native, { plain, stack }) =>
      !text.endsWith('\n') && withoutEnd(plain) === withoutEnd(stack),
  },
  {
    reason:
      'the reactor reads up to 256 KiB ahead of an application that does not read; Node reads 64',
    holds: (application, text) => application === 'unread' && text.length > 65_536,
  },
];

/** Without when, and by which error, the connection ended. */
function withoutEnd(outcome) {
  const lines = outcome.split('\n').toSpliced(1, 1);
  return lines.filter((line) => !line.startsWith('clientError')).join();
}

function requests(text) {
  return text.match(/HTTP\/1\.[01]/g)?.length ?? 0;
}

/** Why a difference is no defect; `undefined` if it is one. */
export function known(application, result) {
  const { pieces, native } = result;
  const text = Buffer.concat(pieces).toString('latin1');
  return RULES.find(({ holds }) => holds(application, text, native, result))?.reason;
}

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
    holds: (application, _text, native) => !native && [...LATE, 'throttled'].includes(application),
  },
  {
    reason: 'a connection that is handed over starts to count its requests anew',
    holds: (application, text) => application === 'counted' && requests(text) > 1,
  },
  {
    reason:
      'the reactor reads up to 256 KiB ahead of an application that does not read; Node reads 64',
    holds: (application, text) => application === 'unread' && text.length > 65_536,
  },
];

function requests(text) {
  return text.match(/HTTP\/1\.[01]/g)?.length ?? 0;
}

/** Why a difference is no defect; `undefined` if it is one. */
export function known(application, { pieces, native }) {
  const text = Buffer.concat(pieces).toString('latin1');
  return RULES.find(({ holds }) => holds(application, text, native))?.reason;
}

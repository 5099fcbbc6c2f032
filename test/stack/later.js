const waiting = [];
let released = false;

/** What an application does later: when all that the client sends has been dealt with. */
export function later(action) {
  if (released) setImmediate(action);
  else waiting.push(action);
}

/** From now on, later is the next turn of the event loop; until `hold` is called. */
export function release() {
  released = true;
  for (const action of waiting.splice(0)) action();
}

export function hold() {
  released = false;
}

/** Creates a semaphore with `count` permits: `admit()` resolves in order with a function that releases the permit. */
export function permits(count) {
  const waiting = [];
  let free = count;
  const release = () => {
    const next = waiting.shift();
    if (next) next(release);
    else free++;
  };
  return () =>
    new Promise((resolve) => {
      if (free > 0) {
        free--;
        resolve(release);
      } else waiting.push(resolve);
    });
}

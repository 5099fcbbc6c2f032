/** `admit()` resolves, in order, when one of `count` permits is free, and gives the function that returns it. */
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

/** Each puts listeners of the process in their places, unless they are there. */
const installers: (() => void)[] = [];

/** Puts listeners of the process in their places, and again whenever the application has removed all there are. */
export function lasting(install: () => void): void {
  if (installers.length === 0) watchRemovals();
  installers.push(install);
  install();
}

function watchRemovals(): void {
  const { removeAllListeners } = process;
  process.removeAllListeners = function (...args) {
    const result = removeAllListeners.apply(this, args);
    for (const install of installers) install();
    return result;
  };
}

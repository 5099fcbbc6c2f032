let isLoaded = false;

/** Records that a module of the user runs in this process: what it leaves open would keep the process from ending. */
export function markUserModule(): void {
  isLoaded = true;
}

/** Reports whether a module of the user runs in this process. */
export function hasUserModule(): boolean {
  return isLoaded;
}

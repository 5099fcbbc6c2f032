/** What an idle connection has in place of a list of its own, whose places V8 would keep. */
export const NONE: never[] = Object.freeze([]) as never;

import type { FrameOrigin } from '../../explain/result.js';

/** What the legend and the text reports call each origin, in the order of the legend. */
export const ORIGINS: Record<FrameOrigin, string> = {
  application: 'your code',
  dependency: 'packages',
  node: 'Node.js',
  native: 'native code',
  'garbage-collection': 'garbage collection',
  millrace: 'Millrace',
  none: 'no code',
};

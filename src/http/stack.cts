/** The stack for `require`. */
export * from './stack.js';

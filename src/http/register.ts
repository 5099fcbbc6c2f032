/**
 * Puts the native stack under `node:http` and `node:https`: `node --import millrace/register app.js`.
 *
 * @module millrace/register
 */
import { register } from './stack.js';

register();

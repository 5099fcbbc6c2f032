// An Express application that is mounted in another; with an argument, that many, each in the one before.
import express from 'express';
import { announce } from '../../stack/apps/announce.js';
import { list } from './list.js';

const mounted = Number(process.argv[2]);
const app = express();
let innermost = app;
for (let depth = 0; depth < mounted; depth++) {
  const inner = express();
  innermost.use('/', inner);
  innermost = inner;
}
innermost.get('/', list);
announce(app.listen(0, '127.0.0.1'));

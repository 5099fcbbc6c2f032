import express from 'express';
import { announce } from './announce.js';

const mounted = express();
mounted.get('/', (_request, response) => {
  response.send('hello world\n');
});
const app = express();
app.use(mounted);
announce(app.listen(0, '127.0.0.1'));

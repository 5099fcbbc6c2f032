import express from 'express';
import { announce } from './announce.js';

const app = express();
app.get('/', (_request, response) => {
  response.send('hello world\n');
});
announce(app.listen(0, '127.0.0.1'));

// Express without anything else: an answer in JSON.
import express from 'express';
import { announce } from '../../stack/apps/announce.js';
import { list } from './list.js';

const app = express();
app.get('/', list);
announce(app.listen(0, '127.0.0.1'));

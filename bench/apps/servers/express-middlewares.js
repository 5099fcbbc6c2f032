// Express with twelve middlewares that applications often have.
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import compression from 'compression';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import helmet from 'helmet';
import methodOverride from 'method-override';
import morgan from 'morgan';
import responseTime from 'response-time';
import { announce } from '../../stack/apps/announce.js';
import { list } from './list.js';

/** Takes the log: where it is written to is no part of the measurement. */
const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
const folder = fileURLToPath(new URL('.', import.meta.url));

const app = express();
app.use(morgan('combined', { stream: nowhere }));
app.use(responseTime());
app.use(helmet());
app.use(cors());
app.use(compression());
app.use(rateLimit({ windowMs: 3_600_000, limit: 1_000_000_000 }));
app.use(cookieParser());
app.use(session({ secret: 'of the benchmark', resave: false, saveUninitialized: false }));
app.use(express.json());
app.use(express.urlencoded({ extended: false }));
app.use(methodOverride());
app.use('/public', express.static(folder));
app.get('/', list);
announce(app.listen(0, '127.0.0.1'));

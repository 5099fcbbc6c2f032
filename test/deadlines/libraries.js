// Client libraries as services have them: the text of what a URL answers, or the library's own error.
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import superagent from 'superagent';
import * as undici5 from 'undici-5';
import * as undici6 from 'undici-6';

const once = { retry: { limit: 0 } };

/** The limit is the library's own. */
export const limited = {
  axios: async (url, ms) => (await axios.get(url, { timeout: ms })).data,
  got: async (url, ms) => got(url, { ...once, timeout: { request: ms } }).text(),
  'node-fetch': async (url, ms) =>
    (await nodeFetch(url, { signal: AbortSignal.timeout(ms) })).text(),
  superagent: async (url, ms) => (await superagent.get(url).timeout(ms)).text,
  'undici 5': async (url, ms) => body(await undici5.request(url, { headersTimeout: ms })),
  'undici 6': async (url, ms) => body(await undici6.request(url, { headersTimeout: ms })),
  'undici 5, fetch': async (url, ms) =>
    (await undici5.fetch(url, { signal: AbortSignal.timeout(ms) })).text(),
  'undici 6, fetch': async (url, ms) =>
    (await undici6.fetch(url, { signal: AbortSignal.timeout(ms) })).text(),
};

/** Nobody sets a limit. */
export const unlimited = {
  axios: async (url) => (await axios.get(url)).data,
  got: async (url) => got(url, once).text(),
  'node-fetch': async (url) => (await nodeFetch(url)).text(),
  superagent: async (url) => (await superagent.get(url)).text,
  'undici 5': async (url) => body(await undici5.request(url)),
  'undici 6': async (url) => body(await undici6.request(url)),
  'undici 5, fetch': async (url) => (await undici5.fetch(url)).text(),
  'undici 6, fetch': async (url) => (await undici6.fetch(url)).text(),
};

function body(response) {
  return text(Readable.from(response.body));
}

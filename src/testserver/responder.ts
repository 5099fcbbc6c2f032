import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { TestServerPlan } from './options.js';
import { readQuery } from './query.js';
import { prepareReply, type Reply, sendReply } from './reply.js';
import type { Response } from './response.js';

/** A request listener that follows a plan, and its count of requests. */
export interface Responder {
  listener(request: IncomingMessage | Http2ServerRequest, response: Response): void;
  /** Number of requests whose head has arrived. */
  requests(): number;
}

/** Creates a responder. Responses are prepared in advance: a request without a query costs a count and a few comparisons. */
export function createResponder(plan: TestServerPlan): Responder {
  const { fromMs, toMs, every } = plan.delay;
  const usual = prepareReply(plan);
  const failure = prepareReply({ ...plan, status: 500 });
  let requests = 0;

  const listener: Responder['listener'] = (request, response) => {
    requests += 1;
    let delayMs = requests % every === 0 ? fromMs + Math.random() * (toMs - fromMs) : 0;
    let reply = isFailure(requests, plan.errorRate) ? failure : usual;
    const url = request.url ?? '';
    if (url.includes('?')) {
      try {
        const { delayMs: wanted = delayMs, ...changes } = readQuery(url);
        delayMs = wanted;
        if (Object.keys(changes).length > 0) reply = prepareReply({ ...plan, ...changes });
      } catch (error) {
        reply = prepareReply({ ...plan, status: 400 }, `${(error as Error).message}\n`);
      }
    }
    if (request.method === 'GET' || request.method === 'HEAD') {
      answer(response, reply, delayMs);
    } else {
      request.resume().once('end', () => answer(response, reply, delayMs));
    }
  };
  return { listener, requests: () => requests };
}

function answer(response: Response, reply: Reply, delayMs: number): void {
  // A pending response must not keep the process of a closed server alive.
  if (delayMs > 0) setTimeout(sendReply, delayMs, response, reply).unref();
  else sendReply(response, reply);
}

/** Whether the n-th request fails: it does when the accumulated share grows by a whole request. Not random. */
function isFailure(n: number, share: number): boolean {
  // Ten times 0.1 may be a little less than 1.
  const failures = (requests: number) => Math.floor(requests * share + 1e-9);
  return share > 0 && failures(n) > failures(n - 1);
}

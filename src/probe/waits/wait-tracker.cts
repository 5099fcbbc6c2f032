import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';
import { promiseHooks } from 'node:v8';
import {
  type InboundMessage,
  isAborted,
  subscribeFinish,
  subscribeStart,
  unsubscribeFinish,
  unsubscribeStart,
} from '../inbound/channels.cjs';
import type { PortFilter } from '../inbound/port-filter.cjs';
import type { Routes } from '../inbound/routes.cjs';
import type { WaitSource } from '../protocol.cjs';
import { every, ignoreErrors, now } from '../runtime/clock.cjs';
import type { Admission } from './admission.cjs';
import { type CapturedStack, captureStack } from './captured-stack.cjs';
import { type Asked, type OutboundCall, TrackedRequest, type Wait } from './tracked-request.cjs';
import { WaitReservoir } from './wait-samples.cjs';
import { source, toWaitSource } from './wait-source.cjs';

const SWEEP_MS = 20;
/** Cost in ms of a request without its stacks, and the maximum that counts for a stack: it may include another program's time. */
const REQUEST_MS = 0.005;
const MAX_CAPTURE_MS = 0.05;
/** Maximum number of requests that are tracked at a time, and of waits of one. */
const MAX_OPEN = 500;
const MAX_WAITS = 2000;
/** Maximum number of stacks of one wait that may tell where it began. */
const MAX_STACKS = 5;
/** Frames of Node.js between its hook and its caller. */
const HOOK_DEPTH = 5;

type HookFunction = (...args: never[]) => void;

/**
 * Tracks what requests wait for. From a request's arrival on, the context of its code is known by the hooks of Node.js
 * (callbacks) and V8 (promises). Between two runs of its code, a request waits for what continues the second one.
 * Only a sample of the requests is tracked, chosen on arrival, each from then on until its end.
 *
 * `AsyncLocalStorage` would cost more before Node.js 24, and does not tell when code runs.
 */
export class WaitTracker {
  requests = 0;
  readonly reservoir = new WaitReservoir();
  readonly #admission: Admission;
  readonly #portFilter: PortFilter;
  readonly #routes: Routes;
  readonly #depth: number;
  readonly #open = new Map<InboundMessage['response'], TrackedRequest>();
  readonly #byResource = new Map<number, Wait>();
  readonly #byPromise = new WeakMap<object, Wait>();
  /** The request whose code runs; the contexts around it. */
  #current: TrackedRequest | null = null;
  #outer: (TrackedRequest | null)[] = [];
  /** Depth of running promise reactions: more than 1 in nested scopes. */
  #reactions = 0;
  /** Whether `async_hooks` tells of promises too: older versions of Node.js cannot leave them out. */
  #seesPromises = false;
  #isAdmitting = true;
  readonly #undoSteps: (() => void)[] = [];

  constructor(portFilter: PortFilter, routes: Routes, admission: Admission, depth: number) {
    this.#admission = admission;
    this.#routes = routes;
    this.#portFilter = portFilter;
    this.#depth = depth;
  }

  /** The request whose code runs now; `null` if it is none that is tracked. */
  get current(): TrackedRequest | null {
    const request = this.#current;
    return request === null || request.isEnded ? null : request;
  }

  /** Number of requests that are tracked now. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Runs code that belongs to another request than the one whose callback runs; `null`: to none that is tracked. */
  runAs<T>(request: TrackedRequest | null, run: () => T): T {
    const outer = this.#current;
    this.#current = request;
    try {
      return run();
    } finally {
      this.#current = outer;
    }
  }

  start(): void {
    this.#isAdmitting = true;
    this.#reactions = 0;
    const { promise, resource } = this.#hooks();
    const hook = createHook({ ...resource, ...({ trackPromises: false } as object) });
    hook.enable();
    const stopPromiseHooks = promiseHooks.createHook(promise);
    const timer = every(SWEEP_MS, () => this.#sweep());
    subscribeStart(this.#onStart);
    subscribeFinish(this.#onFinish);
    this.#undoSteps.push(
      () => unsubscribeStart(this.#onStart),
      () => unsubscribeFinish(this.#onFinish),
      () => clearInterval(timer),
      () => void stopPromiseHooks(),
      () => hook.disable(),
    );
  }

  /** Tracks no further requests until it starts again. */
  stopAdmitting(): void {
    this.#isAdmitting = false;
  }

  /** Ends the observation until it starts again; what requests wait for now is guessed. */
  stop(): void {
    for (const undo of this.#undoSteps.splice(0)) ignoreErrors(undo)();
    for (const request of this.#open.values()) request.end(request.guessWait(), this.#onWaited);
    this.#open.clear();
    this.#byResource.clear();
    this.#current = null;
    this.#outer = [];
  }

  /** Registers that an existing resource continues the code that runs now; without a tracked request, that it continues none. */
  expect(resource: number, target: string): void {
    const request = this.current;
    if (!request) {
      if (this.#byResource.size > 0) this.#byResource.delete(resource);
      return;
    }
    if (request.waitCount >= MAX_WAITS) {
      this.#byResource.delete(resource);
      return;
    }
    const stacks = this.#captureAll(request, true, this.expect);
    this.#register(resource, request.add({ source: source('socket', target, 'answer'), stacks }));
  }

  /** Captures the stack of the caller. */
  capture(added = HOOK_DEPTH, calledFrom: HookFunction = this.capture): CapturedStack {
    const from = now();
    const captured = captureStack(this.#depth + added, calledFrom);
    this.#admission.spend(Math.min(MAX_CAPTURE_MS, now() - from));
    return captured;
  }

  /** Finds the outbound request of `node:http` that has a connection, by its handle. */
  findCall: (handle: object) => OutboundCall | undefined = () => undefined;
  /** Number of callbacks that have begun. */
  callbacks = 0;

  /** Finds the question that the bytes answer which a connection receives now, by its handle. */
  findAsked: (handle: object) => Asked | undefined = () => undefined;

  /** The hooks. They run for all code of the process, so they do little, and what they throw would end the process. */
  #hooks() {
    const tracker = this;
    return {
      promise: {
        init: function onInit(promise: object, parent?: object) {
          if (tracker.#current === null) return;
          try {
            tracker.#addPromise(promise, parent, onInit);
          } catch {
            // It is not tracked.
          }
        },
        before(promise: object) {
          tracker.#reactions++;
          tracker.#enter(tracker.#open.size === 0 ? undefined : tracker.#byPromise.get(promise));
        },
        after() {
          if (tracker.#reactions > 0) tracker.#reactions--;
          tracker.#leave();
        },
        settled(promise: object) {
          if (tracker.#open.size > 0) tracker.#settle(promise);
        },
      },
      resource: {
        init: function onInit(id: number, type: string, _trigger: number, resource: object) {
          if (type === 'PROMISE') tracker.#seesPromises = true;
          if (tracker.#current === null || type === 'PROMISE') return;
          try {
            tracker.#addResource(id, type, resource, onInit);
          } catch {
            // As above.
          }
        },
        before(id: number) {
          tracker.callbacks++;
          if (!tracker.#isReaction()) tracker.#enter(tracker.#byResource.get(id));
        },
        after() {
          if (!tracker.#isReaction()) tracker.#leave();
        },
      },
    };
  }

  /** Whether the callback is a promise reaction, which the promise hooks report; the order of both hooks varies. */
  #isReaction(): boolean {
    return this.#seesPromises && executionAsyncResource() instanceof Promise;
  }

  /** Enters a run of code: of the request that `wait` belongs to, or of no tracked request. */
  #enter(wait: Wait | undefined): void {
    this.#outer.push(this.#current);
    const request = wait && !wait.request.isEnded ? wait.request : null;
    this.#current = request;
    if (request) request.resume(wait as Wait, this.#onWaited);
  }

  #leave(): void {
    const left = this.#current;
    const outer = this.#outer.pop() ?? null;
    this.#current = outer;
    if (left !== null && left !== outer) left.pause();
  }

  #addPromise(promise: object, parent: object | undefined, calledFrom: HookFunction): void {
    const request = this.current;
    if (!request || request.waitCount >= MAX_WAITS) return;
    const awaited = parent && this.#byPromise.get(parent);
    const of = awaited?.request === request ? awaited : null;
    // What waits for a promise of its own began where that was created.
    const isKnown = of !== null && of.stacks.length > 0;
    const stacks = isKnown ? of.stacks : this.#captureAll(request, false, calledFrom);
    const isReaction = parent !== undefined;
    this.#byPromise.set(promise, request.add({ source: PROMISE, stacks, of, isReaction }));
  }

  #settle(promise: object): void {
    const wait = this.#byPromise.get(promise);
    if (!wait) return;
    if (!wait.isReaction) wait.isOver = true;
    if (this.#reactions === 0) wait.answered = this.findAsked(executionAsyncResource()) ?? null;
  }

  #addResource(id: number, type: string, resource: object, calledFrom: HookFunction): void {
    const request = this.current;
    if (!request || request.waitCount >= MAX_WAITS) return;
    const from = toWaitSource(type, resource, request.call?.origin ?? '');
    const isOutbound = OUTBOUND.has(from.kind);
    const stacks =
      from.kind === 'loop' ? request.lastStacks : this.#captureAll(request, isOutbound, calledFrom);
    // For a reused connection, the resource of `async_hooks` is another object; `handle` is the connection's.
    const { handle: reused } = resource as { handle?: object };
    const handle = from.kind === 'socket' ? (reused ?? resource) : null;
    this.#register(id, request.add({ source: from, stacks, handle }));
  }

  /** Captures where something begins, with other stacks for the case that Node.js begins it by itself. */
  #captureAll(
    request: TrackedRequest,
    isOutbound: boolean,
    calledFrom: HookFunction,
  ): readonly CapturedStack[] {
    const { call, cause } = request;
    const stacks = [this.capture(HOOK_DEPTH, calledFrom)];
    // A connection is opened, or used again, after the code has returned that asked for it.
    if (call && isOutbound) stacks.push(call.stack);
    // Node.js goes on, as with the parts of a file.
    stacks.push(...cause.slice(0, MAX_STACKS));
    request.lastStacks = stacks;
    return stacks;
  }

  #register(id: number, wait: Wait): void {
    this.#byResource.set(id, wait);
    wait.request.resources.push(id);
  }

  readonly #onStart = ignoreErrors((message: unknown) => {
    const { request, response } = message as InboundMessage;
    const id = executionAsyncId();
    this.#byResource.delete(id);
    // The request before it on a connection, or in a batch of the native stack, has returned.
    this.#current?.pause();
    this.#current = null;
    const isMeant = this.#portFilter.matches(message as InboundMessage);
    if (!isMeant || !this.#isAdmitting || this.#open.size >= MAX_OPEN) return;
    const represented = this.#admission.decide();
    if (represented === 0) return;
    const { name } = this.#routes.find(request.method ?? '', request.url ?? '');
    const tracked = new TrackedRequest(response, name, represented);
    this.requests++;
    this.#admission.spend(REQUEST_MS);
    this.#open.set(response, tracked);
    this.#register(id, tracked.add({ source: source('body') }));
    this.#current = tracked;
  });

  readonly #onFinish = ignoreErrors((message: unknown) => {
    const { response } = message as InboundMessage;
    const request = this.#open.get(response);
    if (request) this.#end(request, request.unseen());
  });

  #end(request: TrackedRequest, waitsFor: Wait | null): void {
    request.end(waitsFor, this.#onWaited);
    this.#open.delete(request.response as InboundMessage['response']);
    for (const id of request.resources) {
      if (this.#byResource.get(id)?.request === request) this.#byResource.delete(id);
    }
  }

  /** Ends requests that were aborted. */
  #sweep(): void {
    for (const request of this.#open.values())
      if (isAborted(request.response)) this.#end(request, null);
    // An uncaught exception leaves scopes open. At this point only the timer's own should be.
    if (this.#outer.length <= 2) return;
    this.#outer = [];
    this.#reactions = 0;
  }

  /** Adds to the sample what a request waited for. */
  readonly #onWaited = ignoreErrors((wait: Wait, from: number, to: number): void => {
    const { request, of } = wait;
    const { handle } = wait;
    const call = handle && this.findCall(handle);
    // The call that its code began last may be another one.
    const stacks = call ? [call.stack, ...wait.stacks] : wait.stacks;
    const add = (from: WaitSource, ms: number) =>
      this.reservoir.add(from, stacks, request.route, ms * request.represented);
    if (wait.source.kind === 'socket' && call)
      wait.source = { kind: 'http', target: call.origin, phase: 'answer' };
    const { kind, target } = wait.source;
    const isOfOperation = kind === 'connect' || (kind === 'socket' && target === '');
    const operation =
      kind === 'promise' ? request.takeOperation(from) : isOfOperation && request.findOperation();
    if (operation) {
      operation.split(from, to, add);
      return;
    }
    if (kind !== 'promise') {
      add(wait.source, to - from);
      // The rest of the answer comes by the same resource.
      if (kind === 'http') wait.source = { ...wait.source, phase: 'body' };
      return;
    }
    const answer = wait.answered ?? of?.answered;
    if (!answer) {
      add(PROMISE, to - from);
      return;
    }
    const asked = Math.min(to, Math.max(from, answer.askedAt));
    add(source('promise', answer.target, 'connection'), asked - from);
    add(source('promise', answer.target, 'answer'), to - asked);
  });
}

const PROMISE = source('promise');
const OUTBOUND = new Set<WaitSource['kind']>(['http', 'socket', 'connect', 'dns']);

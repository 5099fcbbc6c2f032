import { connect, type Socket } from 'node:net';
import { Channel } from './channel.cjs';
import { type CommandContext, runCommand } from './commands.cjs';
import { buildHello } from './handshake.cjs';
import { type InboundMessage, subscribeStart, unsubscribeStart } from './inbound/channels.cjs';
import { ProbeObserver } from './observer.cjs';
import { ListeningWorkers } from './process/listening-workers.cjs';
import type { CommandMessage } from './protocol.cjs';
import { LiveAllocations } from './runtime/allocations.cjs';
import { every, ignoreErrors, nextTick } from './runtime/clock.cjs';
import { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { setInlining } from './runtime/v8.cjs';
import { stopWaits } from './waits/take-waits.cjs';

const SAMPLE_MS = 100;
/** In production, where a window lasts for seconds. */
const OBSERVER_SAMPLE_MS = 1000;

/** Called when the channel to Millrace has closed; `wasOpen` is `false` if it never opened. */
export type OnDisconnect = (wasOpen: boolean) => void;

/**
 * Connects this process to the Millrace that listens at the path. Observation begins with the first request that
 * counts. When Millrace disconnects, all changes are undone.
 */
export const connectProbe = ignoreErrors((path: string, options: ProbeOptions): void =>
  startProbe(connect(path), options),
);

/** How a probe is started. */
export interface ProbeOptions {
  /** Whether the application runs already, and may have stored the standard streams. */
  isRunning: boolean;
  /** Whether it only observes, in production: commands that change something are refused. */
  isObserver: boolean;
  /** Called after all changes are undone. */
  onDisconnect?: OnDisconnect;
}

/** Observes this process for the Millrace at the other end of a socket; see `connectProbe()`. */
export const startProbe = ignoreErrors(
  (socket: Socket, { isRunning, isObserver, onDisconnect }: ProbeOptions): void => {
    const output = new SynchronousWrites();
    const observer = new ProbeObserver(output, isObserver);
    const liveAllocations = new LiveAllocations();
    let timer: NodeJS.Timeout | null = null;
    let isServing = false;
    const sendHello = () => channel.send(buildHello(isServing, workers.all));
    const workers = new ListeningWorkers(ignoreErrors(sendHello));

    const observe = (on: boolean) => {
      if (on === (timer !== null)) return;
      clearInterval(timer ?? undefined);
      timer = on ? every(isObserver ? OBSERVER_SAMPLE_MS : SAMPLE_MS, sampleIfFree) : null;
      // Samples at the bounds: counters are interpolated between samples, and grow only while observing.
      if (!on) sample();
      observer.observe(on);
      if (on) sample();
    };
    const sample = () => channel.send(observer.sample());
    const sampleIfFree = () => {
      if (channel.isFree) sample();
    };
    // Deferred, since the channel is still calling its subscribers.
    const onRequest = ignoreErrors((message: unknown) => {
      if (observer.portFilter.matches(message as InboundMessage)) nextTick(startServing);
    });
    const startServing = ignoreErrors(() => {
      if (!unsubscribeStart(onRequest)) return;
      isServing = true;
      sendHello();
      observe(true);
    });
    const setPorts = (ports: number[] | null) => {
      const serves = observer.portFilter.setPorts(ports);
      if (serves || timer === null) return;
      observe(false);
      isServing = false;
      sendHello();
      subscribeStart(onRequest);
    };
    // Each step is independent, so a failure does not affect the others or the application.
    const undoSteps = [
      stopWaits,
      () => observer.requests.setSpin(0),
      () => observer.cork.setEnabled(false),
      () => observer.http2Streams.uninstall(),
      () => observer.clientRequests.restore(),
      () => observer.fetches.setDelay(0),
      () => observer.undiciPools.restore(),
      () => void observer.exchanges.setNoDelay(false),
      () => liveAllocations.stop(),
      () => void setInlining(true).catch(() => {}),
      () => void observer.exchanges.setDelay('', 0),
      () => observer.memory.restore(),
      () => observer.dispatches.restore(),
      () => observer.databasePools.restore(),
      () => output.uninstall(),
      () => unsubscribeStart(onRequest),
      () => workers.watch(false),
      () => observe(false),
    ];
    const disconnect: OnDisconnect = (wasOpen) => {
      for (const step of undoSteps) ignoreErrors(step)();
      onDisconnect?.(wasOpen);
    };

    const context: CommandContext = {
      ...{ observe, setPorts, sample },
      ...{ isObserver, observer, output, liveAllocations },
    };
    const runAndReply = (message: CommandMessage) => {
      runCommand(context, message).then(
        ignoreErrors((value: unknown) => channel.send({ type: 'answer', id: message.id, value })),
        ignoreErrors((error: unknown) => {
          channel.send({ type: 'answer', id: message.id, error: String(error) });
        }),
      );
    };
    const channel = new Channel(socket, runAndReply, disconnect);
    sendHello();
    workers.watch(true);
    // A closed standard stream cannot be observed.
    ignoreErrors(() => output.install(isRunning))();
    subscribeStart(onRequest);
  },
);

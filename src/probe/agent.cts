import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Channel } from './channel.cjs';
import { type CommandContext, runCommand } from './commands.cjs';
import { buildHello } from './handshake.cjs';
import type { RequestStart } from './inbound/port-filter.cjs';
import { ProbeObserver } from './observer.cjs';
import { ListeningWorkers } from './process/listening-workers.cjs';
import type { CommandMessage } from './protocol.cjs';
import { every, ignoreErrors, nextTick } from './runtime/clock.cjs';
import { SynchronousWrites } from './runtime/synchronous-writes.cjs';

const SAMPLE_MS = 100;
const START = 'http.server.request.start';

/** Told when millrace has gone, with whether it was there at all. */
export type OnDisconnect = (wasOpen: boolean) => void;

/**
 * Connects this process with the millrace that listens at the path. Nothing is observed before the first request for
 * what is under study. When millrace goes, everything is as it was; `left` may have more to do then.
 *
 * @param running whether the application already runs, and may have kept the standard streams
 * @param left called when all is as it was
 */
export const connectProbe = ignoreErrors(
  (path: string, isRunning: boolean, onDisconnect?: OnDisconnect): void => {
    const output = new SynchronousWrites();
    const observer = new ProbeObserver(output);
    let timer: NodeJS.Timeout | null = null;
    let isServing = false;
    const sendHello = () => channel.send(buildHello(isServing, workers.all));
    const workers = new ListeningWorkers(ignoreErrors(sendHello));

    const observe = (on: boolean) => {
      if (on === (timer !== null)) return;
      clearInterval(timer ?? undefined);
      timer = on ? every(SAMPLE_MS, sampleIfFree) : null;
      // What was seen ends here, or begins: counters grow evenly only between.
      if (!on) sample();
      observer.observe(on);
      if (on) sample();
    };
    const sample = () => channel.send(observer.sample());
    const sampleIfFree = () => {
      if (channel.isFree) sample();
    };
    // Not at once: the channel is just telling all its subscribers, one after the other.
    const onRequest = ignoreErrors((message: unknown) => {
      if (observer.portFilter.matches(message as RequestStart)) nextTick(startServing);
    });
    const startServing = ignoreErrors(() => {
      if (!unsubscribe(START, onRequest)) return;
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
      subscribe(START, onRequest);
    };
    // What was changed is undone first, each for itself: the application goes on.
    const undoSteps = [
      () => observer.requests.setSpin(0),
      () => observer.cork.setEnabled(false),
      () => observer.clientRequests.restore(),
      () => observer.fetches.setDelay(0),
      () => observer.undiciPools.restore(),
      () => void observer.exchanges.setNoDelay(false),
      () => output.uninstall(),
      () => unsubscribe(START, onRequest),
      () => workers.watch(false),
      () => observe(false),
    ];
    const disconnect: OnDisconnect = (wasOpen) => {
      for (const step of undoSteps) ignoreErrors(step)();
      onDisconnect?.(wasOpen);
    };

    const context: CommandContext = { observe, setPorts, sample, observer, output };
    const runAndReply = (message: CommandMessage) => {
      runCommand(context, message).then(
        ignoreErrors((value: unknown) => channel.send({ type: 'answer', id: message.id, value })),
        ignoreErrors((error: unknown) => {
          channel.send({ type: 'answer', id: message.id, error: String(error) });
        }),
      );
    };
    const channel = new Channel(path, runAndReply, disconnect);
    sendHello();
    workers.watch(true);
    output.install(isRunning);
    subscribe(START, onRequest);
  },
);

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Channel } from './channel.cjs';
import { type CommandContext, perform } from './commands.cjs';
import { hello } from './handshake.cjs';
import type { Arrival } from './inbound/port-filter.cjs';
import { Observer } from './observer.cjs';
import { ListeningWorkers } from './process/listening-workers.cjs';
import type { CommandMessage } from './protocol.cjs';
import { every, nextTick, quiet } from './runtime/clock.cjs';
import { SynchronousWrites } from './runtime/synchronous-writes.cjs';

const SAMPLE_MS = 100;
const START = 'http.server.request.start';

/** Told when millrace has gone, with whether it was there at all. */
export type Left = (wasOpen: boolean) => void;

/**
 * Connects this process with the millrace that listens at the path. Nothing is observed before the first request for
 * what is under study. When millrace goes, everything is as it was; `left` may have more to do then.
 *
 * @param running whether the application already runs, and may have kept the standard streams
 * @param left called when all is as it was
 */
export const connectProbe = quiet((path: string, running: boolean, left?: Left): void => {
  const output = new SynchronousWrites();
  const observer = new Observer(output);
  let timer: NodeJS.Timeout | null = null;
  let serving = false;
  const tell = () => channel.send(hello(serving, workers.all));
  const workers = new ListeningWorkers(quiet(tell));

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
  const serve = quiet((message: unknown) => {
    if (observer.studied.covers(message as Arrival)) nextTick(begin);
  });
  const begin = quiet(() => {
    if (!unsubscribe(START, serve)) return;
    serving = true;
    tell();
    observe(true);
  });
  const study = (ports: number[] | null) => {
    const serves = observer.studied.turnTo(ports);
    if (serves || timer === null) return;
    observe(false);
    serving = false;
    tell();
    subscribe(START, serve);
  };
  // What was changed is undone first, each for itself: the application goes on.
  const undo = [
    () => observer.requests.spin(0),
    () => observer.cork.turn(false),
    () => observer.clientRequests.restore(),
    () => observer.fetches.delay(0),
    () => observer.undiciPools.restore(),
    () => void observer.exchanges.noDelay(false),
    () => output.uninstall(),
    () => unsubscribe(START, serve),
    () => workers.watch(false),
    () => observe(false),
  ];
  const end: Left = (wasOpen) => {
    for (const step of undo) quiet(step)();
    left?.(wasOpen);
  };

  const context: CommandContext = { observe, study, sample, observer, output };
  const answer = (message: CommandMessage) => {
    perform(context, message).then(
      quiet((value: unknown) => channel.send({ type: 'answer', id: message.id, value })),
      quiet((error: unknown) => {
        channel.send({ type: 'answer', id: message.id, error: String(error) });
      }),
    );
  };
  const channel = new Channel(path, answer, end);
  tell();
  workers.watch(true);
  output.install(running);
  subscribe(START, serve);
});

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Channel } from './channel.cjs';
import { every, nextTick, quiet } from './clock.cjs';
import { type CommandContext, perform } from './commands.cjs';
import { hello } from './hello.cjs';
import { Observer } from './observer.cjs';
import { Output } from './output.cjs';
import type { CommandMessage } from './protocol.cjs';

const SAMPLE_MS = 100;
const START = 'http.server.request.start';

/**
 * Connects this process with the millrace that listens at the path. Nothing is observed before the first request. When
 * millrace goes, everything is as it was.
 */
export const connectProbe = quiet((path: string): void => {
  const output = new Output();
  const observer = new Observer(output);
  let timer: NodeJS.Timeout | null = null;

  const observe = (on: boolean) => {
    if (on === (timer !== null)) return;
    clearInterval(timer ?? undefined);
    timer = on ? every(SAMPLE_MS, sample) : null;
    observer.observe(on);
  };
  const sample = () => {
    if (channel.isFree) channel.send(observer.sample());
  };
  // Not at once: the channel is just telling all its subscribers, one after the other.
  const serve = () => nextTick(begin);
  const begin = quiet(() => {
    if (!unsubscribe(START, serve)) return;
    observe(true);
    channel.send(hello(true));
    sample();
  });
  const end = () => {
    unsubscribe(START, serve);
    observe(false);
    observer.requests.spin(0);
    observer.clientRequests.restore();
    output.uninstall();
  };

  const context: CommandContext = { observe, observer, output };
  const answer = (message: CommandMessage) => {
    perform(context, message).then(
      quiet((value: unknown) => channel.send({ type: 'answer', id: message.id, value })),
      quiet((error: unknown) => {
        channel.send({ type: 'answer', id: message.id, error: String(error) });
      }),
    );
  };
  const channel = new Channel(path, answer, end);
  channel.send(hello(false));
  output.install();
  subscribe(START, serve);
});

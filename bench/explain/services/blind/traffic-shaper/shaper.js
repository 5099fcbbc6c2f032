// Token bucket; requests over the rate are held back, not refused (clients hate 429).
module.exports = function shaper({ ratePerSecond, burst = 10, tick = 50 }) {
  let tokens = burst;
  const waiting = [];
  setInterval(() => {
    tokens = Math.min(burst, tokens + (ratePerSecond * tick) / 1000);
    while (tokens >= 1 && waiting.length) {
      tokens--;
      waiting.shift()();
    }
  }, tick).unref();
  return (_req, _res, next) => {
    if (!waiting.length && tokens >= 1) {
      tokens--;
      return next();
    }
    waiting.push(next);
  };
};

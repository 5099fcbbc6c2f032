// When users of artillery stop to repeat a flow: `seconds`, a variable of the run, after the first of them has begun.
let end;

exports.untilTimeIsUp = (context, next) => {
  end ??= Date.now() + context.vars.seconds * 1000;
  next(Date.now() < end);
};

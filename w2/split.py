import re
p='src/explain/phases/experiment-runner.ts'; s=open(p).read()
def rep(a,b,cnt=1):
    global s
    assert a in s,a[:80]
    s=s.replace(a,b)
def cut(start,end,new):
    global s
    i=s.index(start); j=s.index(end,i); s=s[:i]+new+s[j:]
# header
cut("const MAX_ROUNDS = 5;\n","/** Runs the experiments on one server","/** Maximum number of rounds of live experiments. */\nconst MAX_ROUNDS = 5;\n\n")
rep("  readonly #untilMs: number;\n","")
rep("  readonly #length: BlockLength;\n","  readonly #length: BlockLength;\n  readonly #budget: TimeBudget;\n")
rep("    this.#untilMs = options.untilMs;\n","")
rep("    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);\n","    this.#length = computeBlockLength(metrics.base.load, metrics.responseMs);\n    this.#budget = new TimeBudget(options.untilMs, this.#length);\n")
s=s.replace("this.#selectAffordable(","this.#budget.selectAffordable(").replace("this.#blockMs()","this.#budget.blockMs").replace("this.#untilMs","this.#budget.untilMs")
# ramp
cut("  /** Adds connections until requests queue","  /** Time reserved for experiments that start servers","""  /** Adds connections until requests queue, if there are too few connections. */
  async rampConnections(): Promise<void> {
    if (!this.#canRamp() || this.#decide().chosen?.limit !== 'too-few-connections') return;
    await rampConnections(this.#subject, this.#metrics, {
      budget: this.#budget,
      length: this.#length,
      onStep: this.#onStep,
      onBlock: (connectionRamp, block) => {
        this.#rampBlocks.push(block);
        this.#metrics = { ...this.#metrics, connectionRamp };
        this.#evaluation = this.#evaluate();
      },
      onSkipped: (reason) => this.skippedExperiments.push(reason),
    });
  }

  #canRamp(): boolean {
    return this.#setting.canAddLoad && canTryMore(this.#metrics);
  }

""")
i=s.index("  /** Time reserved for experiments that start servers"); j=s.index("  /**\n   * Discards the blocks",i)
s=s[:i]+"""  #computeReserveMs(ranked: Experiment[]): number {
    return this.#budget.computeReserveMs({
      ranked,
      metrics: this.#metrics,
      subject: this.#subject,
      canRestart: this.#setting.canRestart,
      profileMs: this.#computeProfileMs(),
      rampMs: this.#computeRampMs(),
    });
  }

  /** Time for the connection ramp, if there seem to be too few connections. */
  #computeRampMs(): number {
    const [top] = this.#evaluation.hypotheses;
    const applies = top?.limit === 'too-few-connections' && this.#canRamp();
    return applies ? this.#budget.computeRampMs() : 0;
  }

"""+s[j:]
# restarts
rep("const leftMs = this.#budget.untilMs - performance.now() - this.#computeReferenceMs();","const leftMs = this.#budget.leftMs - this.#computeReferenceMs();")
# probe cost
cut("    this.#onStep('measuring the cost of the probe');","  /** Takes a CPU profile","""    this.#onStep('measuring the cost of the probe');
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    this.#probeCost = await measureProbeCost(
      this.#subject,
      this.#length,
      this.#budget,
      reserveMs,
      (error) => this.#recordProbeFailure('cost of the probe', error),
    );
  }

""")
# repeat
i=s.index("    const settleMs = Math.max(REPEAT_LENGTH"); j=s.index("    this.#onStep(`repeating for longer",i)
s=s[:i]+"""    const length = computeRepeatLength(this.#length);
    const reserveMs = this.#estimateRestartsMs(this.#rankRestartExperiments());
    if (!this.#budget.fits(length.settleMs + length.measureMs, reserveMs)) return;
"""+s[j:]
i=s.index("    const repeat = () =>"); j=s.index("      this.#recordRepetition(",i)
s=s[:i]+"""    const onFailure = (why: string) => this.skippedExperiments.push(why);
    try {
      const block = await repeatChange(this.#subject, hub, length, change, onFailure);
"""+s[j:]
# block ms, affordable, serversMs
i=s.index("  #blockMs(): number {"); j=s.index("  async #runRestartExperiment",i)
s=s[:i]+"""  #estimateRestartsMs(experiments: Experiment[]): number {
    return this.#budget.estimateRestartsMs(experiments, this.#metrics, this.#subject);
  }

"""+s[j:]
# imports
cut("import {\n  addKnee,","import { EXPERIMENTS","import { canTryMore } from '../experiments/connection-ramp.js';\n")
rep("import { count, share, time }","import { share, time }")
rep("import type { ConnectionRamp, Metrics }","import type { Metrics }")
rep("import { withProbePaused } from '../observe/probe/hub.js';\n","")
rep("import type { Change, ExperimentName, ExperimentSetting }","import type { ExperimentName, ExperimentSetting }")
rep("import { estimateRestartMs, isAfterRestart, runOnNewServers }","import { isAfterRestart, runOnNewServers }")
rep("import type { Baseline } from './baseline.js';\n","import type { Baseline } from './baseline.js';\nimport { rampConnections } from './connection-ramp.js';\nimport { computeRepeatLength, measureProbeCost, repeatChange } from './follow-up-runs.js';\nimport { TimeBudget } from './time-budget.js';\n")
open(p,'w').write(s)

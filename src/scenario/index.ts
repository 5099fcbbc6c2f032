/** Scenarios: what a user does, step by step, with values taken from answers and checks of them. */
export type { AfterHook, BeforeHook, HookContext, HookResponse } from './hooks.js';
export type { ScenarioModule, SetupContext } from './module.js';
export { type Scenario, type ScenarioOptions, scenario } from './scenario.js';
export {
  body,
  cookie,
  header,
  json,
  regex,
  type Source,
  type SourceOptions,
  status,
} from './sources.js';
export {
  absent,
  type Expectations,
  exists,
  type GrpcOptions,
  grpc,
  type JsonValue,
  type MultipartPart,
  type Operator,
  type PauseStep,
  pause,
  type RepeatStep,
  type RequestOptions,
  type RequestStep,
  repeat,
  request,
  type Step,
  type ValueTest,
  type WhenStep,
  when,
} from './steps.js';

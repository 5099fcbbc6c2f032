//! Flows of a plan, as JavaScript gives them.

use millrace_load::plan::flow::{
    BodyFormat, Check, Condition, Flows, Operator, RequestStep, Save, Scenario, Source, Step, Test,
};
use napi::{Error, Result};
use napi_derive::napi;

use crate::ffi::node_api::List;
use crate::time::milliseconds;

/// What the users of a run do.
#[napi(object, object_to_js = false)]
pub struct NativeFlows {
    /// Each iteration is one of them, drawn by weight.
    #[napi(ts_type = "Array<NativeScenario>")]
    pub scenarios: List<NativeScenario>,
    /// The names of the variables.
    #[napi(ts_type = "Array<string>")]
    pub variables: List<String>,
    /// Variables that each iteration begins with.
    #[napi(ts_type = "Array<NativeInitialVariable>")]
    pub initial: List<NativeInitialVariable>,
    /// Users (closed), or iterations at the same time at most (open).
    pub users: u32,
    /// Each user has connections of its own.
    pub own_connections: bool,
    /// Bytes of a body that are kept for checks and saves.
    pub max_body: f64,
    /// Everything of each step is kept: for a dry run of a few iterations.
    pub trace: Option<bool>,
}

/// The value of a variable at the beginning.
#[napi(object, object_to_js = false)]
pub struct NativeInitialVariable {
    /// Index into the variables.
    pub variable: u32,
    /// A JSON text.
    pub json: String,
}

/// What a user does in one iteration.
#[napi(object, object_to_js = false)]
pub struct NativeScenario {
    /// Its name.
    pub name: String,
    /// Share of the iterations.
    pub weight: f64,
    /// Keeps cookies.
    pub cookies: bool,
    /// Redirections of one step that are followed at most.
    pub follow: u32,
    /// In order.
    #[napi(ts_type = "Array<NativeStep>")]
    pub steps: List<NativeStep>,
}

/// A step: exactly one of its members is present.
#[napi(object, object_to_js = false)]
pub struct NativeStep {
    /// Sends a request.
    pub request: Option<NativeRequestStep>,
    /// Waits.
    pub pause: Option<NativePause>,
    /// Does steps several times.
    pub repeat: Option<NativeRepeat>,
    /// Does steps if a condition holds.
    pub when: Option<NativeWhen>,
}

/// A random time between the two.
#[napi(object, object_to_js = false)]
pub struct NativePause {
    /// Milliseconds.
    pub least_ms: f64,
    /// Milliseconds.
    pub most_ms: f64,
}

/// Steps that are done several times.
#[napi(object, object_to_js = false)]
pub struct NativeRepeat {
    /// How often.
    pub count: u32,
    /// In order.
    #[napi(ts_type = "Array<NativeStep>")]
    pub steps: List<NativeStep>,
}

/// Steps that are done if a condition holds.
#[napi(object, object_to_js = false)]
pub struct NativeWhen {
    /// May hold placeholders.
    pub left: String,
    /// `=`, `!=`, `<`, `<=`, `>` or `>=`.
    pub operator: String,
    /// May hold placeholders.
    pub right: String,
    /// In order.
    #[napi(ts_type = "Array<NativeStep>")]
    pub steps: List<NativeStep>,
}

/// A request of a flow.
#[napi(object, object_to_js = false)]
pub struct NativeRequestStep {
    /// Index into the plan's requests.
    pub request: u32,
    /// Values that are kept.
    #[napi(ts_type = "Array<NativeSave>")]
    pub saves: List<NativeSave>,
    /// What the response must be like.
    #[napi(ts_type = "Array<NativeCheck>")]
    pub checks: List<NativeCheck>,
    /// The iteration goes on when the step has failed.
    pub continues: bool,
    /// Number of the JavaScript call before the request is built.
    pub before: Option<u32>,
    /// Number of the JavaScript call with the response.
    pub after: Option<u32>,
}

/// Where a value stands in a response.
#[napi(object, object_to_js = false)]
pub struct NativeSource {
    /// `json`, `header`, `cookie`, `regex`, `body` or `status`.
    pub kind: String,
    /// The JSON pointer, the name, or the pattern.
    pub argument: Option<String>,
    /// Of a regular expression: the group, 0 is the whole match.
    pub group: Option<u32>,
}

/// A value of a response that is kept.
#[napi(object, object_to_js = false)]
pub struct NativeSave {
    /// Index into the variables.
    pub variable: u32,
    /// Where it is.
    pub source: NativeSource,
    /// The step does not fail if there is none.
    pub optional: bool,
}

/// What a response must be like.
#[napi(object, object_to_js = false)]
pub struct NativeCheck {
    /// `status` (one of `statuses`), `within` (`most` milliseconds), `size` (`least` to `most` bytes), or the test of a
    /// value: `exists`, `absent`, `equals`, `json`, `contains`, `matches`.
    pub kind: String,
    /// The value that is tested.
    pub source: Option<NativeSource>,
    /// What it is tested against; may hold placeholders, but for a pattern.
    pub text: Option<String>,
    /// Statuses.
    #[napi(ts_type = "Array<number>")]
    pub statuses: Option<List<u32>>,
    /// Least number of bytes.
    pub least: Option<f64>,
    /// Most bytes or milliseconds.
    pub most: Option<f64>,
}

impl TryFrom<NativeFlows> for Flows {
    type Error = Error;

    fn try_from(flows: NativeFlows) -> Result<Self> {
        let NativeFlows { scenarios, variables, initial, users, own_connections, max_body, trace } =
            flows;
        Ok(Self {
            scenarios: scenarios.into_iter().map(Scenario::try_from).collect::<Result<_>>()?,
            variables: variables.0,
            initial: initial.into_iter().map(|it| (it.variable as usize, it.json)).collect(),
            users: users as usize,
            own_connections,
            max_body: max_body as usize,
            trace: trace.unwrap_or(false),
        })
    }
}

impl TryFrom<NativeScenario> for Scenario {
    type Error = Error;

    fn try_from(scenario: NativeScenario) -> Result<Self> {
        let NativeScenario { name, weight, cookies, follow, steps } = scenario;
        Ok(Self { name, weight, cookies, follow, steps: read_steps(steps)? })
    }
}

fn read_steps(steps: List<NativeStep>) -> Result<Vec<Step>> {
    steps.into_iter().map(Step::try_from).collect()
}

impl TryFrom<NativeStep> for Step {
    type Error = Error;

    fn try_from(step: NativeStep) -> Result<Self> {
        let NativeStep { request, pause, repeat, when } = step;
        Ok(match (request, pause, repeat, when) {
            (Some(request), None, None, None) => Self::Request(request.try_into()?),
            (None, Some(pause), None, None) => {
                Self::Pause(milliseconds(pause.least_ms), milliseconds(pause.most_ms))
            }
            (None, None, Some(repeat), None) => {
                Self::Repeat(repeat.count, read_steps(repeat.steps)?)
            }
            (None, None, None, Some(when)) => {
                let NativeWhen { left, operator, right, steps } = when;
                let operator = read_operator(&operator)?;
                Self::When(Condition { left, operator, right }, read_steps(steps)?)
            }
            _ => return Err(Error::from_reason("a step is one of request, pause, repeat, when")),
        })
    }
}

fn read_operator(operator: &str) -> Result<Operator> {
    Ok(match operator {
        "=" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => return Err(Error::from_reason(format!("unknown operator {operator}"))),
    })
}

impl TryFrom<NativeRequestStep> for RequestStep {
    type Error = Error;

    fn try_from(step: NativeRequestStep) -> Result<Self> {
        let NativeRequestStep { request, saves, checks, continues, before, after } = step;
        Ok(Self {
            request: request as usize,
            saves: saves.into_iter().map(Save::try_from).collect::<Result<_>>()?,
            checks: checks.into_iter().map(Check::try_from).collect::<Result<_>>()?,
            continues,
            before,
            after,
        })
    }
}

impl TryFrom<NativeSource> for Source {
    type Error = Error;

    fn try_from(source: NativeSource) -> Result<Self> {
        let NativeSource { kind, argument, group } = source;
        let argument = argument.unwrap_or_default();
        Ok(match &kind[..] {
            "json" => Self::Json(argument),
            "header" => Self::Header(argument),
            "cookie" => Self::Cookie(argument),
            "regex" => Self::Regex { pattern: argument, group: group.unwrap_or(0) as usize },
            "body" => Self::Body,
            "status" => Self::Status,
            _ => return Err(Error::from_reason(format!("unknown source {kind}"))),
        })
    }
}

impl TryFrom<NativeSave> for Save {
    type Error = Error;

    fn try_from(save: NativeSave) -> Result<Self> {
        let NativeSave { variable, source, optional } = save;
        Ok(Self { variable: variable as usize, source: source.try_into()?, optional })
    }
}

impl TryFrom<NativeCheck> for Check {
    type Error = Error;

    fn try_from(check: NativeCheck) -> Result<Self> {
        let NativeCheck { kind, source, text, statuses, least, most } = check;
        let text = text.unwrap_or_default();
        let most = most.unwrap_or(f64::INFINITY);
        let test = match &kind[..] {
            "status" => {
                let statuses = statuses.into_iter().flatten();
                return Ok(Self::Status(
                    statuses.filter_map(|status| u16::try_from(status).ok()).collect(),
                ));
            }
            "within" => return Ok(Self::Within(milliseconds(most))),
            // Saturates: no body is as long.
            "size" => return Ok(Self::Size(least.unwrap_or(0.0) as u64, most as u64)),
            "exists" => Test::Exists,
            "absent" => Test::Absent,
            "equals" => Test::Equals(text),
            "json" => Test::EqualsJson(text),
            "contains" => Test::Contains(text),
            "matches" => Test::Matches(text),
            _ => return Err(Error::from_reason(format!("unknown check {kind}"))),
        };
        let source =
            source.ok_or_else(|| Error::from_reason("a test of a value needs a source"))?;
        Ok(Self::Value(source.try_into()?, test))
    }
}

/// Returns the format of a body by its name.
pub(crate) fn read_body_format(name: Option<&str>) -> BodyFormat {
    match name {
        Some("json") => BodyFormat::Json,
        Some("form") => BodyFormat::Form,
        _ => BodyFormat::Text,
    }
}

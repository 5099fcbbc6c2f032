//! Flows: what users do, step by step. The values of answers are kept as variables, and answers are checked.

use std::time::Duration;

use crate::StatusSet;

/// The users of a run and what they do. With flows the plan's requests are those of the steps, and its schedule is that of
/// iterations.
#[derive(Clone, Debug)]
pub struct Flows {
    /// What users do; each iteration is one of them, drawn by weight.
    pub scenarios: Vec<Scenario>,
    /// The names of the variables; saves and templates refer to them.
    pub variables: Vec<String>,
    /// Variables that have a value at the beginning of each iteration, by index, with their JSON texts.
    pub initial: Vec<(usize, String)>,
    /// Users over all threads: those that repeat their iterations (closed), or iterations at the same time at most (open).
    pub users: usize,
    /// Each user has connections of its own, one to each server that it uses; otherwise all share the plan's connections.
    pub own_connections: bool,
    /// Bytes of a body that are kept for checks and saves; one that is longer fails its step.
    pub max_body: usize,
    /// Everything of each step is kept: for a dry run of a few iterations.
    pub trace: bool,
}

/// What a user does in one iteration.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Share of the iterations.
    pub weight: f64,
    /// Cookies that responses set are sent with the requests that follow (RFC 6265).
    pub cookies: bool,
    /// Redirections of one step that are followed at most, among the plan's servers.
    pub follow: u32,
    /// In order.
    pub steps: Vec<Step>,
}

/// A step of a scenario.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends a request.
    Request(RequestStep),
    /// Waits for a random time between the two.
    Pause(Duration, Duration),
    /// Does the steps so many times.
    Repeat(u32, Vec<Step>),
    /// Does the steps if the condition holds.
    When(Condition, Vec<Step>),
}

/// A request of a flow.
#[derive(Clone, Debug, Default)]
pub struct RequestStep {
    /// Index into the plan's requests.
    pub request: usize,
    /// Values of the response that are kept.
    pub saves: Vec<Save>,
    /// What the response must be like. Without one of the status, an error status fails the step: from 400 on,
    /// or of gRPC another one than OK.
    pub checks: Vec<Check>,
    /// The iteration goes on when the step has failed.
    pub continues: bool,
    /// JavaScript is called before the request is built, or with the response, by the number of the call.
    pub before: Option<u32>,
    /// As `before`.
    pub after: Option<u32>,
}

/// A value of a response that is kept as a variable.
#[derive(Clone, Debug)]
pub struct Save {
    /// Index into the variables.
    pub variable: usize,
    /// Where the value is.
    pub source: Source,
    /// The step does not fail if there is none.
    pub optional: bool,
}

/// Where a value stands in a response.
#[derive(Clone, Debug)]
pub enum Source {
    /// In a JSON body: a pointer (RFC 6901).
    Json(String),
    /// The first field of this name.
    Header(String),
    /// The value of a cookie that the response sets.
    Cookie(String),
    /// The part of the body that a group of a regular expression matches.
    Regex {
        /// In the syntax of the crate `regex`.
        pattern: String,
        /// 0 is the whole match.
        group: usize,
    },
    /// The whole body, as text.
    Body,
    /// The status.
    Status,
}

/// What a response must be like.
#[derive(Clone, Debug)]
pub enum Check {
    /// One of these statuses.
    Status(StatusSet),
    /// The value of a source fulfils a test.
    Value(Source, Test),
    /// The time from when the step was due to the end of the response is at most this.
    Within(Duration),
    /// The number of bytes of the body, decoded, is in this range.
    Size(u64, u64),
}

/// A test of a value. Texts may have placeholders.
#[derive(Clone, Debug)]
pub enum Test {
    /// There is one.
    Exists,
    /// There is none.
    Absent,
    /// It equals this text.
    Equals(String),
    /// As a JSON value it equals this one, a JSON text.
    EqualsJson(String),
    /// Its text contains this one.
    Contains(String),
    /// A regular expression matches its text.
    Matches(String),
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct Condition {
    /// A text with placeholders.
    pub left: String,
    /// How they are compared.
    pub operator: Operator,
    /// A text with placeholders.
    pub right: String,
}

/// How two texts are compared: as numbers if both are numbers, otherwise as texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The same.
    Equal,
    /// Not the same.
    NotEqual,
    /// The left one comes first.
    Less,
    /// The left one does not come after.
    LessOrEqual,
    /// The left one comes after.
    Greater,
    /// The left one does not come first.
    GreaterOrEqual,
}

/// What a body is, which decides how values are put into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyFormat {
    /// Text: values as they are.
    #[default]
    Text,
    /// JSON: a string that is only a variable becomes its value; other values are escaped as parts of strings.
    Json,
    /// `application/x-www-form-urlencoded`: values are encoded.
    Form,
}

//! A request step, ready to be done: what it needs, what its response must be like and what is kept of it.

use std::time::Duration;

use regex::Regex;

use super::pointer::Pointer;
use super::response::{ContentError, Response};
use super::value::Value;
use crate::metrics::flow_stats::{FailureReason, StepStats, TracedStep};
use crate::metrics::statuses::is_error;
use crate::plan::flow::{Check, Flows, RequestStep, Save, Scenario, Source, Test};
use crate::rendered::Capture;
use crate::template::{Names, Template, TextPosition, Values};
use crate::{RunError, StatusSet};

/// Bytes of a compiled regular expression.
const MAX_REGEX: usize = 10 << 20;

/// A request step.
#[derive(Debug)]
pub(crate) struct CompiledStep {
    /// Index into the mix.
    pub(crate) request: u32,
    saves: Vec<CompiledSave>,
    checks: Vec<CompiledCheck>,
    /// Whether a check is about the status.
    judges_status: bool,
    pub(crate) continues: bool,
    pub(crate) before: Option<u32>,
    pub(crate) after: Option<u32>,
}

#[derive(Debug)]
struct CompiledSave {
    variable: usize,
    name: String,
    source: CompiledSource,
    optional: bool,
}

#[derive(Debug)]
enum CompiledSource {
    Json(Pointer, String),
    Header(String),
    Cookie(String),
    Regex(Regex, usize),
    Body,
    Status,
}

#[derive(Debug)]
enum CompiledCheck {
    Status(StatusSet),
    Value(CompiledSource, CompiledTest),
    Within(Duration),
    Size(u64, u64),
}

#[derive(Debug)]
enum CompiledTest {
    Exists,
    Absent,
    Equals(Template),
    EqualsJson(Template),
    Contains(Template),
    Matches(Regex),
}

/// Why there is no value, in words.
#[derive(Clone, Debug)]
enum Missing {
    /// It is not there.
    Absent(String),
    /// What it would be in cannot be read.
    Unreadable(String),
}

impl Missing {
    fn text(&self) -> &str {
        match self {
            Self::Absent(text) | Self::Unreadable(text) => text,
        }
    }
}

fn unreadable(error: ContentError) -> Missing {
    Missing::Unreadable(error.describe())
}

/// Why a step fails, with an example.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: FailureReason,
    pub(crate) text: String,
}

impl CompiledStep {
    pub(super) fn compile(step: &RequestStep, names: Names<'_>) -> Result<Self, RunError> {
        let RequestStep { request, saves, checks, continues, before, after } = step;
        let saves = saves.iter().map(|save| CompiledSave::compile(save, names));
        let saves = saves.collect::<Result<Vec<_>, _>>()?;
        let compile = |check| CompiledCheck::compile(check, names);
        Ok(Self {
            request: *request as u32,
            saves,
            checks: checks.iter().map(compile).collect::<Result<Vec<_>, _>>()?,
            judges_status: checks.iter().any(|check| matches!(check, Check::Status(_))),
            continues: *continues,
            before: *before,
            after: *after,
        })
    }

    /// Returns its figures before any request.
    pub(super) fn stats(&self) -> StepStats {
        StepStats {
            failures: Vec::new(),
            checks: vec![Default::default(); self.checks.len()],
            saves: vec![Default::default(); self.saves.len()],
        }
    }

    /// Returns how much of the response the step looks at in its scenario.
    pub(super) fn capture(&self, scenario: &Scenario, flows: &Flows) -> Capture {
        let &Flows { max_body, trace, .. } = flows;
        let mut sources = self.saves.iter().map(|save| &save.source).chain(
            self.checks.iter().filter_map(|check| match check {
                CompiledCheck::Value(source, _) => Some(source),
                _ => None,
            }),
        );
        let has_size = self.checks.iter().any(|check| matches!(check, CompiledCheck::Size(..)));
        if trace || self.after.is_some() || has_size || sources.any(CompiledSource::needs_body) {
            return Capture::Body(max_body);
        }
        let needs_head = !self.saves.is_empty()
            || self.checks.iter().any(|check| matches!(check, CompiledCheck::Value(..)));
        if needs_head || scenario.cookies || scenario.follow > 0 {
            Capture::Head
        } else {
            Capture::Status
        }
    }

    /// Checks a response and keeps its values in `variables`. `time`: from when the step was due to the end of the response.
    /// `response` is `None` where the step looks at the status alone. Counts each check and save in `stats`, if they are
    /// measured; gives the first failure.
    pub(super) fn judge(
        &self,
        status: u16,
        response: Option<&Response>,
        time: Duration,
        values: &mut Values<'_>,
        mut stats: Option<&mut StepStats>,
        mut trace: Option<&mut TracedStep>,
    ) -> Result<Vec<(usize, Option<Value>)>, Failure> {
        let mut failure = None;
        if !self.judges_status && is_error(status) {
            let beginning = response.map(Response::beginning).unwrap_or_default();
            let text = describe(format!("status {status}"), &beginning);
            failure = Some(Failure { reason: FailureReason::Status, text });
        }
        for (index, check) in self.checks.iter().enumerate() {
            let found = check.check(status, response, time, values);
            let example = || found.as_ref().err().cloned().unwrap_or_default();
            if let Some(stats) = stats.as_deref_mut() {
                stats.checks[index].count(found.is_ok(), example);
            }
            if let Some(trace) = trace.as_deref_mut() {
                trace.checks.push(found.as_ref().err().cloned());
            }
            if found.is_err() && failure.is_none() {
                failure = Some(Failure { reason: FailureReason::Check, text: example() });
            }
        }
        // Of an answer that is not as it should be nothing is kept.
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut kept = Vec::with_capacity(self.saves.len());
        let mut missing = None;
        for (index, save) in self.saves.iter().enumerate() {
            let CompiledSave { variable, name, source, optional } = save;
            let found = source.find(status, response);
            let example =
                || found.as_ref().err().map(|it| it.text().to_owned()).unwrap_or_default();
            if let Some(stats) = stats.as_deref_mut() {
                stats.saves[index].count(found.is_ok(), example);
            }
            match &found {
                Ok(value) => kept.push((*variable, Some(value.clone()))),
                Err(_) if *optional => kept.push((*variable, None)),
                Err(why) if missing.is_none() => {
                    let text = format!("{name}: {}", why.text());
                    missing = Some(Failure { reason: FailureReason::Save, text });
                }
                Err(_) => {}
            }
        }
        missing.map_or(Ok(kept), Err)
    }
}

impl CompiledSave {
    fn compile(save: &Save, names: Names<'_>) -> Result<Self, RunError> {
        let Save { variable, source, optional } = save;
        let source = CompiledSource::compile(source)?;
        let name = names.variables[*variable].clone();
        Ok(Self { variable: *variable, name, source, optional: *optional })
    }
}

impl CompiledSource {
    fn compile(source: &Source) -> Result<Self, RunError> {
        Ok(match source {
            Source::Json(text) => {
                let pointer = Pointer::parse(text).ok_or_else(|| {
                    RunError::Usage(format!(
                        "'{text}' is no JSON pointer: it begins with /, as /items/0/id (RFC 6901)"
                    ))
                })?;
                Self::Json(pointer, text.clone())
            }
            Source::Header(name) => Self::Header(name.clone()),
            Source::Cookie(name) => Self::Cookie(name.clone()),
            Source::Regex { pattern, group } => {
                let regex = compile_regex(pattern)?;
                if *group >= regex.captures_len() {
                    return Err(RunError::Usage(format!(
                        "regular expression {pattern}: there is no group {group}"
                    )));
                }
                Self::Regex(regex, *group)
            }
            Source::Body => Self::Body,
            Source::Status => Self::Status,
        })
    }

    fn needs_body(&self) -> bool {
        matches!(self, Self::Json(..) | Self::Regex(..) | Self::Body)
    }

    /// Returns the value, or what was found instead.
    fn find(&self, status: u16, response: Option<&Response>) -> Result<Value, Missing> {
        if matches!(self, Self::Status) {
            return Ok(Value::Json(status.to_string().into()));
        }
        let Some(response) = response else {
            return Err(Missing::Unreadable("no response was kept".to_owned()));
        };
        match self {
            Self::Status => Ok(Value::Json(status.to_string().into())),
            Self::Json(pointer, text) => {
                let content = response.content().map_err(unreadable)?;
                match pointer.find(content) {
                    Ok(Some(raw)) => Ok(Value::from_raw(raw)),
                    Ok(None) => Err(Missing::Absent(describe(
                        format!("nothing at '{text}'"),
                        &response.beginning(),
                    ))),
                    Err(_) => {
                        let text = describe("no JSON".to_owned(), &response.beginning());
                        Err(Missing::Unreadable(text))
                    }
                }
            }
            Self::Header(name) => match response.values(name).next() {
                Some(value) => Ok(Value::from_text(&value)),
                None => Err(Missing::Absent(format!("no header {name}"))),
            },
            Self::Cookie(name) => {
                let set: Vec<_> = response.values("set-cookie").collect();
                let value = set.iter().rev().find_map(|cookie| cookie_value(cookie, name));
                value
                    .map(Value::from_text)
                    .ok_or_else(|| Missing::Absent(format!("no cookie {name} was set")))
            }
            Self::Regex(regex, group) => {
                let text = response.text().map_err(unreadable)?;
                match regex.captures(&text).and_then(|captures| captures.get(*group)) {
                    Some(found) => Ok(Value::from_text(found.as_str())),
                    None => {
                        let what = format!("nothing matches {regex}");
                        Err(Missing::Absent(describe(what, &response.beginning())))
                    }
                }
            }
            Self::Body => {
                let text = response.text().map_err(unreadable)?;
                Ok(Value::from_text(&text))
            }
        }
    }
}

impl CompiledCheck {
    fn compile(check: &Check, names: Names<'_>) -> Result<Self, RunError> {
        let parse = |text: &str, place| Template::parse(text.as_bytes(), names, place);
        Ok(match check {
            Check::Status(statuses) => Self::Status(*statuses),
            Check::Within(time) => Self::Within(*time),
            Check::Size(least, most) => Self::Size(*least, *most),
            Check::Value(source, test) => {
                let test = match test {
                    Test::Exists => CompiledTest::Exists,
                    Test::Absent => CompiledTest::Absent,
                    Test::Equals(text) => CompiledTest::Equals(parse(text, TextPosition::Body)?),
                    Test::EqualsJson(text) => {
                        CompiledTest::EqualsJson(parse(text, TextPosition::Json)?)
                    }
                    Test::Contains(text) => {
                        CompiledTest::Contains(parse(text, TextPosition::Body)?)
                    }
                    Test::Matches(pattern) => CompiledTest::Matches(compile_regex(pattern)?),
                };
                Self::Value(CompiledSource::compile(source)?, test)
            }
        })
    }

    /// Gives what was found instead, in words, if it fails.
    fn check(
        &self,
        status: u16,
        response: Option<&Response>,
        time: Duration,
        values: &mut Values<'_>,
    ) -> Result<(), String> {
        match self {
            Self::Status(statuses) if statuses.contains(status) => Ok(()),
            Self::Status(_) => {
                let beginning = response.map(Response::beginning).unwrap_or_default();
                Err(describe(format!("status {status}"), &beginning))
            }
            Self::Within(most) if time <= *most => Ok(()),
            Self::Within(_) => Err(format!("it took {:.1} ms", time.as_secs_f64() * 1e3)),
            Self::Size(least, most) => {
                let content = response.map_or(Ok(&[][..]), Response::content);
                let size = content.map_err(|error| error.describe())?.len() as u64;
                let fits = (*least..=*most).contains(&size);
                if fits { Ok(()) } else { Err(format!("{size} bytes")) }
            }
            Self::Value(source, test) => test.check(source.find(status, response), values),
        }
    }
}

impl CompiledTest {
    fn check(&self, found: Result<Value, Missing>, values: &mut Values<'_>) -> Result<(), String> {
        if let Self::Absent = self {
            return match found {
                Ok(value) => Err(format!("there is '{}'", shorten(value.as_text()))),
                Err(Missing::Absent(_)) => Ok(()),
                Err(Missing::Unreadable(text)) => Err(text),
            };
        }
        let value = found.map_err(|missing| missing.text().to_owned())?;
        let mut render = |template: &Template| {
            let mut text = Vec::new();
            template.render(values, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let holds = match self {
            Self::Exists | Self::Absent => true,
            Self::Equals(template) => value.as_text() == render(template),
            Self::EqualsJson(template) => {
                let mut json = Vec::new();
                value.push_json(&mut json);
                let parse = serde_json::from_slice::<serde_json::Value>;
                match (parse(&json), parse(render(template).as_bytes())) {
                    (Ok(found), Ok(expected)) => equal_json(&found, &expected),
                    _ => false,
                }
            }
            Self::Contains(template) => value.as_text().contains(&render(template)),
            Self::Matches(regex) => regex.is_match(value.as_text()),
        };
        if holds { Ok(()) } else { Err(format!("'{}'", shorten(value.as_text()))) }
    }
}

/// Whether two values are the same: numbers by their values, so that 1 and 1.0 are equal.
fn equal_json(left: &serde_json::Value, right: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal_json(l, r))
        }
        (Json::Object(left), Json::Object(right)) => {
            let same =
                |(name, value)| right.get(name).is_some_and(|other| equal_json(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

fn compile_regex(pattern: &str) -> Result<Regex, RunError> {
    let built = regex::RegexBuilder::new(pattern).size_limit(MAX_REGEX).build();
    built.map_err(|error| {
        let reason = match &error {
            regex::Error::CompiledTooBig(limit) => format!("it takes more than {limit} bytes"),
            error => error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        };
        RunError::Usage(format!("regular expression {pattern}: {reason}"))
    })
}

/// The value of a cookie in a field `Set-Cookie`, if it is the cookie of this name.
fn cookie_value<'a>(field: &'a str, name: &str) -> Option<&'a str> {
    let pair = field.split(';').next()?;
    let (found, value) = pair.split_once('=')?;
    (found.trim() == name).then(|| value.trim().trim_matches('"'))
}

fn describe(what: String, beginning: &str) -> String {
    if beginning.is_empty() { what } else { format!("{what} in: {beginning}") }
}

fn shorten(text: &str) -> String {
    /// As much as a line of a report shows.
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

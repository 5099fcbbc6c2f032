//! A scenario as a program: steps in a row, with jumps.

use std::time::Duration;

use super::step::CompiledStep;
use crate::RunError;
use crate::plan::flow::{Condition, Operator, Scenario, Step};
use crate::template::{Names, Template, TextPosition, Values};

/// An instruction.
#[derive(Debug)]
pub(super) enum Op {
    /// Sends the request of a step, by its index in [`Programs::steps`].
    Request(u32),
    /// Waits for a random time between the two.
    Pause(Duration, Duration),
    /// Begins a loop of so many turns; of none, goes on at the instruction.
    Enter(u32, usize),
    /// Goes back to the instruction, unless the innermost loop is done.
    Loop(usize),
    /// Goes on at the instruction, unless the comparison holds.
    Unless(Comparison, usize),
}

/// A scenario's program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) cookies: bool,
    pub(super) follow: u32,
}

/// A condition whose texts are templates.
#[derive(Debug)]
pub(super) struct Comparison {
    left: Template,
    operator: Operator,
    right: Template,
}

impl Program {
    /// Compiles a scenario; its request steps are added to `steps`.
    pub(super) fn compile(
        scenario: &Scenario,
        names: Names<'_>,
        steps: &mut Vec<CompiledStep>,
    ) -> Result<Self, RunError> {
        let Scenario { cookies, follow, .. } = *scenario;
        let mut program = Self { ops: Vec::new(), cookies, follow };
        program.append(&scenario.steps, names, steps)?;
        Ok(program)
    }

    fn append(
        &mut self,
        sources: &[Step],
        names: Names<'_>,
        steps: &mut Vec<CompiledStep>,
    ) -> Result<(), RunError> {
        for step in sources {
            match step {
                Step::Request(step) => {
                    self.ops.push(Op::Request(steps.len() as u32));
                    steps.push(CompiledStep::compile(step, names)?);
                }
                Step::Pause(least, most) => self.ops.push(Op::Pause(*least, *most)),
                Step::Repeat(count, inner) => {
                    // Steps that are done never have their place in the figures all the same.
                    let at = self.ops.len();
                    self.ops.push(Op::Enter(*count, 0));
                    self.append(inner, names, steps)?;
                    self.ops.push(Op::Loop(at + 1));
                    self.jump_to_end(at);
                }
                Step::When(condition, inner) => {
                    let at = self.ops.len();
                    self.ops.push(Op::Unless(Comparison::compile(condition, names)?, 0));
                    self.append(inner, names, steps)?;
                    self.jump_to_end(at);
                }
            }
        }
        Ok(())
    }

    /// Lets the instruction at `at` lead behind the last one.
    fn jump_to_end(&mut self, at: usize) {
        let end = self.ops.len();
        if let Op::Enter(_, target) | Op::Unless(_, target) = &mut self.ops[at] {
            *target = end;
        }
    }
}

impl Comparison {
    fn compile(condition: &Condition, names: Names<'_>) -> Result<Self, RunError> {
        let parse = |text: &str| Template::parse(text.as_bytes(), names, TextPosition::Body);
        let Condition { left, operator, right } = condition;
        Ok(Self { left: parse(left)?, operator: *operator, right: parse(right)? })
    }

    /// Compares numbers as numbers, and other texts as texts. A variable without a value is an empty text.
    pub(super) fn holds(&self, values: &mut Values<'_>) -> bool {
        let mut text = |template: &Template| {
            let mut text = Vec::new();
            template.render(values, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let (left, right) = (text(&self.left), text(&self.right));
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let order = match (number(&left), number(&right)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => Some(left.cmp(&right)),
        };
        match self.operator {
            Operator::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
            Operator::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
            Operator::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Operator::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Operator::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Operator::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

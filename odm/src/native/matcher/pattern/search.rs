//! The search that can do all of a pattern: it tries one way after another, as PCRE does, and so may take
//! long; a limit on its steps keeps it bounded, as the server's does.

use super::program::{Loop, Program, Step};
use super::set::is_same;
use super::syntax::{Case, Place};

/// The most steps of one search.
const MOST_STEPS: usize = 10_000_000;
/// The most that one search remembers to go back to.
const MOST_REMEMBERED: usize = 1 << 20;
/// The deepest that groups may call groups.
const DEEPEST_CALL: usize = 2_000;

/// A value that is not set.
const UNSET: usize = usize::MAX;

/// Where a match and its groups are, in bytes; the first is the whole.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

/// A search that was given up, with PCRE's code for its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exhausted(pub(crate) i32);

const TOO_MANY_STEPS: Exhausted = Exhausted(-8);
const TOO_DEEP: Exhausted = Exhausted(-21);
const ENDLESS_CALL: Exhausted = Exhausted(-26);

impl Program {
    /// The first match from a position on. `earliest`: no match starts before it.
    pub(super) fn search(
        &self,
        text: &str,
        from: usize,
        earliest: usize,
    ) -> Result<Option<Spans>, Exhausted> {
        let mut search = Search {
            program: self,
            text,
            from,
            values: vec![UNSET; self.values],
            trail: Vec::new(),
            frames: Vec::new(),
            steps: 0,
        };
        let mut start = earliest;
        loop {
            if search.run(start)? {
                return Ok(Some(search.spans()));
            }
            match text[start..].chars().next() {
                Some(c) if !self.is_anchored => start += c.len_utf8(),
                _ => return Ok(None),
            }
        }
    }
}

struct Search<'s> {
    program: &'s Program,
    text: &'s str,
    /// Where the search starts.
    from: usize,
    values: Vec<usize>,
    /// What is undone and tried when a way fails, the last first.
    trail: Vec<Entry>,
    /// The calls that have not come back.
    frames: Vec<Frame>,
    steps: usize,
}

enum Entry {
    /// Goes on at a step from a position.
    Attempt { step: usize, position: usize },
    /// Sets a value again.
    Restore { value: usize, before: usize },
    /// Gives back a character that a run took, unless that leaves too few.
    Shorter {
        step: usize,
        least: usize,
        position: usize,
    },
    /// Takes one more character, of so many.
    Longer { step: usize, position: usize, more: u32 },
    /// Ends a call that failed.
    Uncall,
}

struct Frame {
    group: usize,
    entry: usize,
    back: usize,
    position: usize,
    values: Vec<usize>,
    trail: usize,
}

impl Search<'_> {
    fn spans(&self) -> Spans {
        (0..=self.program.groups)
            .map(
                |group| match (self.values[2 * group], self.values[2 * group + 1]) {
                    (UNSET, _) | (_, UNSET) => None,
                    (start, end) => Some((start.min(end), end)),
                },
            )
            .collect()
    }

    /// Whether there is a match at a position.
    fn run(&mut self, start: usize) -> Result<bool, Exhausted> {
        let program = self.program;
        self.steps += self.values.len() / 16;
        self.values.fill(UNSET);
        self.trail.clear();
        self.frames.clear();
        let (mut index, mut position) = (0, start);
        while let Some(step) = program.steps.get(index) {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(TOO_MANY_STEPS);
            }
            if self.trail.len() > MOST_REMEMBERED {
                return Err(TOO_DEEP);
            }
            let next = match step {
                Step::Matched => return Ok(true),
                Step::Call { group, entry } => Some(self.call(*group, *entry, index, position)?),
                step => self.take(step, index, position),
            };
            match next.or_else(|| self.back()) {
                Some(next) => (index, position) = next,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Takes a step: the next one and the position there; `None` when it fails.
    fn take(&mut self, step: &Step, index: usize, position: usize) -> Option<(usize, usize)> {
        let behind = index + 1;
        match step {
            Step::One(one) => {
                let c = self.text[position..].chars().next()?;
                one.takes(c).then(|| (behind, position + c.len_utf8()))
            }
            Step::Run { .. } => self.run_of(step, index, position),
            Step::Try(there) => {
                self.attempt(*there, position);
                Some((behind, position))
            }
            Step::TryThere(there) => {
                self.attempt(behind, position);
                Some((*there, position))
            }
            Step::Jump(there) => Some((*there, position)),
            Step::Save(value) => {
                self.set(*value, position);
                Some((behind, position))
            }
            Step::Taken { group, start } => {
                self.set(2 * group, self.values[*start]);
                self.set(2 * group + 1, position);
                Some((behind, position))
            }
            Step::Return(value) => Some((behind, self.values[*value])),
            Step::Back(length) => {
                let mut before = position;
                for _ in 0..*length {
                    before -= self.text[..before].chars().next_back()?.len_utf8();
                }
                Some((behind, before))
            }
            Step::At(place) => self.holds(*place, position).then_some((behind, position)),
            Step::Count(value) => {
                self.set(*value, 0);
                Some((behind, position))
            }
            Step::Loop(repetition) => Some((self.repeated(repetition, behind, position), position)),
            Step::Enter(count, start) => {
                self.set(*count, self.values[*count] + 1);
                self.set(*start, position);
                Some((behind, position))
            }
            Step::Mark(value) => {
                self.set(*value, self.trail.len() + 1);
                Some((behind, position))
            }
            Step::Cut(value) => {
                self.cut(self.values[*value]);
                Some((behind, position))
            }
            Step::Abandon(value) => {
                let mark = self.values[*value];
                while self.trail.len() > mark {
                    if let Some(Entry::Restore { value, before }) = self.trail.pop() {
                        self.values[value] = before;
                    }
                }
                None
            }
            Step::Reference { groups, case } => {
                let taken = groups.iter().find(|group| self.is_taken(**group))?;
                let (start, end) = (self.values[2 * taken], self.values[2 * taken + 1]);
                let length = self.same(start.min(end), end, position, *case)?;
                Some((behind, position + length))
            }
            Step::Leave(entry) => match self.frames.pop_if(|frame| frame.entry == *entry) {
                Some(frame) => {
                    self.values = frame.values;
                    self.trail.truncate(frame.trail);
                    Some((frame.back, position))
                }
                None => Some((behind, position)),
            },
            Step::IfTaken { groups, otherwise } => match groups.iter().any(|group| self.is_taken(*group)) {
                true => Some((behind, position)),
                false => Some((*otherwise, position)),
            },
            Step::IfCalled { groups, otherwise } => {
                let is_called = self
                    .frames
                    .last()
                    .is_some_and(|frame| groups.as_ref().is_none_or(|groups| groups.contains(&frame.group)));
                Some((if is_called { behind } else { *otherwise }, position))
            }
            Step::Fail | Step::Matched | Step::Call { .. } => None,
        }
    }

    /// The last way that was not tried.
    fn back(&mut self) -> Option<(usize, usize)> {
        loop {
            match self.trail.pop()? {
                Entry::Attempt { step, position } => return Some((step, position)),
                Entry::Restore { value, before } => self.values[value] = before,
                Entry::Shorter {
                    step,
                    least,
                    position,
                } => {
                    let c = self.text[..position].chars().next_back()?;
                    let position = position - c.len_utf8();
                    if position > least {
                        self.trail.push(Entry::Shorter {
                            step,
                            least,
                            position,
                        });
                    }
                    return Some((step, position));
                }
                Entry::Longer { step, position, more } => {
                    if let Some(Step::Run { one, .. }) = self.program.steps.get(step)
                        && let Some(c) = self.text[position..].chars().next()
                        && one.takes(c)
                    {
                        let position = position + c.len_utf8();
                        if more > 1 {
                            self.trail.push(Entry::Longer {
                                step,
                                position,
                                more: more - 1,
                            });
                        }
                        return Some((step + 1, position));
                    }
                }
                Entry::Uncall => {
                    self.frames.pop();
                }
            }
        }
    }

    fn attempt(&mut self, step: usize, position: usize) {
        self.trail.push(Entry::Attempt { step, position });
    }

    fn set(&mut self, value: usize, to: usize) {
        let before = std::mem::replace(&mut self.values[value], to);
        self.trail.push(Entry::Restore { value, before });
    }

    /// Forgets attempts, and keeps what is to be undone.
    fn cut(&mut self, mark: usize) {
        let mut kept = mark;
        for index in mark..self.trail.len() {
            if matches!(self.trail[index], Entry::Restore { .. }) {
                self.trail.swap(kept, index);
                kept += 1;
            }
        }
        self.trail.truncate(kept);
    }

    fn is_taken(&self, group: usize) -> bool {
        self.values[2 * group] != UNSET && self.values[2 * group + 1] != UNSET
    }

    fn run_of(&mut self, step: &Step, index: usize, position: usize) -> Option<(usize, usize)> {
        let Step::Run {
            one,
            least,
            most,
            lazy,
        } = step
        else {
            return None;
        };
        let wanted = if *lazy { *least } else { *most };
        let (mut taken, mut end, mut shortest) = (0, position, position);
        for c in self.text[position..].chars() {
            if taken == wanted || !one.takes(c) {
                break;
            }
            taken += 1;
            end += c.len_utf8();
            if taken == *least {
                shortest = end;
            }
        }
        self.steps += taken as usize / 16;
        if taken < *least {
            return None;
        }
        if *lazy && most > least {
            self.trail.push(Entry::Longer {
                step: index,
                position: end,
                more: most - least,
            });
        } else if end > shortest {
            self.trail.push(Entry::Shorter {
                step: index + 1,
                least: shortest,
                position: end,
            });
        }
        Some((index + 1, end))
    }

    /// The step after a repetition.
    fn repeated(&mut self, repetition: &Loop, behind: usize, position: usize) -> usize {
        let count = self.values[repetition.count];
        if count < repetition.least as usize {
            return behind;
        }
        // Nothing, taken without end, is no more.
        let is_over = match repetition.most {
            u32::MAX => count > 0 && self.values[repetition.start] == position,
            most => count >= most as usize,
        };
        if is_over {
            return repetition.end;
        }
        let (first, second) = match repetition.lazy {
            true => (repetition.end, behind),
            false => (behind, repetition.end),
        };
        self.attempt(second, position);
        first
    }

    fn call(
        &mut self,
        group: usize,
        entry: usize,
        index: usize,
        position: usize,
    ) -> Result<(usize, usize), Exhausted> {
        let kept = self.frames.len() * self.values.len();
        if self.frames.len() >= DEEPEST_CALL || kept > MOST_REMEMBERED {
            return Err(TOO_DEEP);
        }
        self.steps += (self.frames.len() + self.values.len()) / 16;
        let is_endless = |frame: &Frame| frame.entry == entry && frame.position == position;
        if self.frames.iter().rev().any(is_endless) {
            return Err(ENDLESS_CALL);
        }
        self.frames.push(Frame {
            group,
            entry,
            back: index + 1,
            position,
            values: self.values.clone(),
            trail: self.trail.len(),
        });
        self.trail.push(Entry::Uncall);
        Ok((entry, position))
    }

    fn holds(&self, place: Place, position: usize) -> bool {
        let (before, rest) = self.text.split_at(position);
        let is_word =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let is_edge = || is_word(before.as_bytes().last()) != is_word(rest.as_bytes().first());
        match place {
            Place::Start => position == 0,
            Place::End => rest.is_empty(),
            Place::LastLine => rest.is_empty() || rest == "\n",
            Place::LineStart => position == 0 || before.ends_with('\n') && !rest.is_empty(),
            Place::LineEnd => rest.is_empty() || rest.starts_with('\n'),
            Place::Edge => is_edge(),
            Place::Inside => !is_edge(),
            Place::Search => position == self.from,
        }
    }

    /// The length of what follows a position, if it is the same as a part of the text.
    fn same(&mut self, start: usize, end: usize, position: usize, case: Case) -> Option<usize> {
        let (part, rest) = (&self.text[start..end], &self.text[position..]);
        self.steps += part.len() / 16;
        if case == Case::Kept {
            return rest.starts_with(part).then_some(part.len());
        }
        self.steps += part.len();
        let mut rest_of = rest.chars();
        part.chars()
            .all(|c| rest_of.next().is_some_and(|other| is_same(c, other, case)))
            .then(|| rest.len() - rest_of.as_str().len())
    }
}

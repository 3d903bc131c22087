//! Holds events until their message is due, and tells each what became of it.
//!
//! Invariants: nothing is acknowledged before it is posted, so a crash loses nothing: all of it is sent again; one
//! event is posted once, however often it comes, as long as it is remembered; an event that nobody waits for any more
//! is told all the same, and its next coming finds that.
//! Left out: when a message is due (announce/pace.rs), and sending it (chat_webhook.rs).

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloudevents::Event;
use lru::LruCache;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::sink_refusal::Untold;
use crate::announce::notice::{EventKey, Notice, Urgency};
use crate::announce::pace::{LONGEST_HOLD, Next, Pace, Stage, Waiting};

/// How many posted events are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// For how long: a Broker's last attempt comes about a minute after the first.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);

/// How many events may wait for one destination: more than a burst, and less than the memory of a small pod.
const MOST_WAITING: usize = 2000;

/// When it is worth asking again for a turn.
const A_TURN: Duration = Duration::from_secs(1);

/// What became of an event: told, or why not.
pub type Told = Result<(), Untold>;

/// What is to be told.
#[derive(Clone, Debug)]
pub struct Telling {
    /// What the event says.
    pub notice: Notice,
    /// The event itself, where it is wanted unchanged.
    pub event: Option<Event>,
}

/// All that waits for one destination.
#[derive(Debug)]
pub struct Hold {
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Held>,
    /// Who waits for which event, those on their way included.
    waiters: HashMap<EventKey, Vec<oneshot::Sender<Told>>>,
    posted: LruCache<EventKey, Instant>,
    last_answer: Option<Instant>,
    in_flight: usize,
    paused_until: Option<Instant>,
    stage: Stage,
}

#[derive(Debug)]
struct Held {
    telling: Telling,
    since: Instant,
}

/// What a newcomer is told.
#[derive(Debug)]
pub enum Joined {
    /// It waits, or the same event does already.
    Waits(Fate, oneshot::Receiver<Told>),
    /// It was posted before.
    PostedBefore,
    /// The service asked for a pause, or too many wait.
    NotNow(Duration),
}

/// Whether an event came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    New,
    /// It waits, or is on its way.
    Again,
}

/// What the hold wants done.
#[derive(Debug)]
pub enum Due {
    /// Nothing, until something happens.
    Nothing,
    /// Nothing before that, unless something happens.
    After(Duration),
    /// Post these in one message.
    Post(Vec<Telling>),
}

impl Hold {
    /// A hold with nothing in it.
    #[must_use]
    pub fn new(pace: Pace, stage: Stage) -> Self {
        let state = State {
            queue: VecDeque::new(),
            waiters: HashMap::new(),
            posted: LruCache::new(REMEMBERED),
            last_answer: None,
            in_flight: 0,
            paused_until: None,
            stage,
        };
        Self { pace, state: Mutex::new(state) }
    }

    /// Takes an event in.
    pub fn join(&self, telling: Telling) -> Joined {
        let (key, now) = (telling.notice.key.clone(), Instant::now());
        let mut state = self.state();
        if state.posted.peek(&key).is_some_and(|at| now - *at < REMEMBERED_FOR) {
            return Joined::PostedBefore;
        }
        let (sender, receiver) = oneshot::channel();
        if let Some(waiters) = state.waiters.get_mut(&key) {
            waiters.push(sender);
            return Joined::Waits(Fate::Again, receiver);
        }
        if let Some(until) = state.paused_until.filter(|until| *until > now) {
            return Joined::NotNow(until - now);
        }
        if state.queue.len() >= MOST_WAITING {
            return Joined::NotNow(A_TURN);
        }
        state.waiters.insert(key, vec![sender]);
        state.queue.push_back(Held { telling, since: now });
        Joined::Waits(Fate::New, receiver)
    }

    /// What to do now. What has waited too long is given back here.
    pub fn due(&self) -> Due {
        let now = Instant::now();
        let mut state = self.state();
        loop {
            let waiting = state.waiting(now);
            match self.pace.next(waiting) {
                Next::Nothing => return Due::Nothing,
                Next::After(wait) => return Due::After(wait),
                Next::Post(count) => {
                    state.in_flight += 1;
                    return Due::Post(state.queue.drain(..count).map(|held| held.telling).collect());
                }
                Next::GiveBack => {
                    let Some(held) = state.queue.pop_front() else { return Due::Nothing };
                    state.answer(&held.telling.notice.key, Err(Untold::Held(A_TURN)));
                }
            }
        }
    }

    /// Tells the events of a message what became of it; with a pause, those that wait are given back too.
    pub fn done<'a>(&self, keys: impl Iterator<Item = &'a EventKey>, told: Told, pause: Option<Duration>) {
        let now = Instant::now();
        let mut state = self.state();
        state.in_flight = state.in_flight.saturating_sub(1);
        state.last_answer = Some(now);
        for key in keys {
            if told.is_ok() {
                state.posted.put(key.clone(), now);
            }
            state.answer(key, told);
        }
        state.forget(now);
        if let Some(pause) = pause {
            // A longer one that was asked for before still counts.
            state.paused_until = state.paused_until.max(Some(now + pause));
            while let Some(held) = state.queue.pop_front() {
                state.answer(&held.telling.notice.key, Err(Untold::Held(pause)));
            }
        }
    }

    /// No more events will come: what waits does not wait for company.
    pub fn close(&self) {
        self.state().stage = Stage::Closing;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting(&self, now: Instant) -> Waiting {
        let is_urgent = |held: &Held| held.telling.notice.urgency() == Urgency::AtOnce;
        Waiting {
            events: self.queue.len(),
            oldest: self.queue.front().map_or(Duration::ZERO, |held| now - held.since).min(LONGEST_HOLD),
            urgency: if self.queue.iter().any(is_urgent) { Urgency::AtOnce } else { Urgency::CanWait },
            since_answer: self.last_answer.map(|at| now - at),
            in_flight: self.in_flight,
            stage: self.stage,
        }
    }

    /// Forgets what was posted too long ago to come again.
    fn forget(&mut self, now: Instant) {
        while self.posted.peek_lru().is_some_and(|(_, at)| now - *at >= REMEMBERED_FOR) {
            self.posted.pop_lru();
        }
    }

    fn answer(&mut self, key: &EventKey, told: Told) {
        for waiter in self.waiters.remove(key).unwrap_or_default() {
            // Nobody waits any more where the request was given up.
            let _ = waiter.send(told);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::announce::notice::NoticedOutcome;
    use crate::announce::sink_kind::SinkKind;

    fn hold() -> Hold {
        Hold::new(SinkKind::Slack.pace(Duration::from_secs(1)), Stage::Open)
    }

    fn telling(id: usize) -> Telling {
        let notice = Notice {
            key: EventKey { source: "s".to_owned(), id: id.to_string() },
            outcome: NoticedOutcome::Reloaded,
            cluster: None,
            namespace: None,
            kind: None,
            name: "api".to_owned(),
            sources: Vec::new(),
            reason: None,
            note: None,
            at: None,
            link: None,
        };
        Telling { notice, event: None }
    }

    fn waits(joined: Joined) -> oneshot::Receiver<Told> {
        match joined {
            Joined::Waits(_, told) => told,
            other => panic!("{other:?}"),
        }
    }

    fn posted(due: Due) -> Vec<EventKey> {
        match due {
            Due::Post(tellings) => tellings.into_iter().map(|telling| telling.notice.key).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_acknowledged_before_it_is_posted() {
        let hold = hold();
        let mut told = waits(hold.join(telling(1)));
        assert!(matches!(hold.due(), Due::After(wait) if wait == Duration::from_secs(1)));
        advance(Duration::from_secs(1)).await;
        let keys = posted(hold.due());
        assert!(told.try_recv().is_err());
        hold.done(keys.iter(), Ok(()), None);
        assert_eq!(told.await, Ok(Ok(())));
        assert!(matches!(hold.join(telling(1)), Joined::PostedBefore));
        advance(REMEMBERED_FOR).await;
        waits(hold.join(telling(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_any_more_is_told_all_the_same_and_known_when_it_comes_again() {
        let hold = hold();
        drop(waits(hold.join(telling(1))));
        advance(Duration::from_secs(1)).await;
        let keys = posted(hold.due());
        hold.done(keys.iter(), Ok(()), None);
        assert!(matches!(hold.join(telling(1)), Joined::PostedBefore));
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_turn_for_ten_seconds_is_given_back_and_the_one_on_its_way_is_not() {
        let hold = hold();
        let first = waits(hold.join(telling(1)));
        advance(Duration::from_secs(1)).await;
        let keys = posted(hold.due());
        let second = waits(hold.join(telling(2)));
        advance(LONGEST_HOLD).await;
        assert!(matches!(hold.due(), Due::Nothing));
        assert_eq!(second.await, Ok(Err(Untold::Held(A_TURN))));
        hold.done(keys.iter(), Ok(()), None);
        assert_eq!(first.await, Ok(Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_gives_back_who_waits_and_refuses_who_comes_and_a_longer_one_wins() {
        let hold = hold();
        waits(hold.join(telling(1)));
        advance(Duration::from_secs(1)).await;
        let keys = posted(hold.due());
        let waiting = waits(hold.join(telling(2)));
        let pause = Duration::from_secs(30);
        hold.done(keys.iter(), Err(Untold::Broken), Some(pause));
        assert_eq!(waiting.await, Ok(Err(Untold::Held(pause))));
        hold.done(keys.iter(), Err(Untold::Broken), Some(Duration::from_secs(1)));
        assert!(matches!(hold.join(telling(3)), Joined::NotNow(wait) if wait == pause));
        advance(pause).await;
        waits(hold.join(telling(3)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_has_an_end() {
        let hold = hold();
        for id in 0..MOST_WAITING {
            waits(hold.join(telling(id)));
        }
        assert!(matches!(hold.join(telling(MOST_WAITING)), Joined::NotNow(_)));
        assert!(matches!(hold.join(telling(0)), Joined::Waits(Fate::Again, _)), "it waits already");
    }

    #[tokio::test(start_paused = true)]
    async fn who_ends_waits_for_no_company() {
        let hold = hold();
        waits(hold.join(telling(1)));
        hold.close();
        assert_eq!(posted(hold.due()).len(), 1);
    }
}

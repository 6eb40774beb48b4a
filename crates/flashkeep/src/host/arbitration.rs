//! Host queues: which of those whose first request can be fetched is served next.

use super::{Arbitration, PriorityClass};

/// The weights of the classes high, medium and low while no urgent request waits.
const CLASS_WEIGHTS: [u32; 3] = [4, 2, 1];

/// Queues that share the credits of one weight; they take turns.
#[derive(Clone, Debug)]
struct Group {
    /// Before all groups that are not.
    urgent: bool,
    weight: u32,
    /// Requests that it may still fetch before the others have used theirs.
    credits: u32,
    queues: Vec<usize>,
    /// The place in `queues` whose turn it is.
    turn: usize,
}

/// Chooses a queue. Each group fetches as many requests in a round as its weight says, one at a time; a round ends when
/// no group with a waiting request has credits left.
#[derive(Clone, Debug)]
pub struct Arbiter {
    groups: Vec<Group>,
    /// The group whose turn it is.
    turn: usize,
}

/// A chosen queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its number.
    pub queue: usize,
    group: usize,
    place: usize,
    new_round: bool,
}

impl Arbiter {
    /// An arbiter over queues with these classes and weights.
    #[must_use]
    pub fn new(arbitration: Arbitration, queues: &[(PriorityClass, u32)]) -> Self {
        let group = |urgent, weight, queues| Group { urgent, weight, credits: weight, queues, turn: 0 };
        let all = 0..queues.len();
        let of_class = |class| all.clone().filter(|&at| queues[at].0 == class).collect();
        let groups = match arbitration {
            Arbitration::RoundRobin => vec![group(false, 1, all.collect())],
            Arbitration::Weighted => all.map(|at| group(false, queues[at].1, vec![at])).collect(),
            Arbitration::Priority => {
                let [high, medium, low] = CLASS_WEIGHTS;
                let classes = [
                    (true, 1, of_class(PriorityClass::Urgent)),
                    (false, high, of_class(PriorityClass::High)),
                    (false, medium, of_class(PriorityClass::Medium)),
                    (false, low, of_class(PriorityClass::Low)),
                ];
                classes.map(|(urgent, weight, queues)| group(urgent, weight, queues)).into()
            }
        };
        Arbiter { groups, turn: 0 }
    }

    /// The next queue of those that are ready.
    #[must_use]
    pub fn choose(&self, is_ready: impl Fn(usize) -> bool) -> Option<Chosen> {
        let of_group = |at: usize| {
            let group = &self.groups[at];
            let count = group.queues.len();
            let place = (0..count).map(|n| (group.turn + n) % count).find(|&n| is_ready(group.queues[n]))?;
            Some(Chosen { queue: group.queues[place], group: at, place, new_round: false })
        };
        let count = self.groups.len();
        if let Some(chosen) = (0..count).filter(|&at| self.groups[at].urgent).find_map(of_group) {
            return Some(chosen);
        }
        let in_turn = || (0..count).map(|n| (self.turn + n) % count).filter(|&at| !self.groups[at].urgent);
        in_turn()
            .filter(|&at| self.groups[at].credits > 0)
            .find_map(of_group)
            .or_else(|| in_turn().find_map(of_group).map(|chosen| Chosen { new_round: true, ..chosen }))
    }

    /// A request of a chosen queue is fetched.
    pub fn fetch(&mut self, chosen: Chosen) {
        if chosen.new_round {
            self.groups.iter_mut().for_each(|group| group.credits = group.weight);
        }
        let group = &mut self.groups[chosen.group];
        group.turn = (chosen.place + 1) % group.queues.len();
        if !group.urgent {
            group.credits -= 1;
            self.turn = (chosen.group + 1) % self.groups.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PriorityClass::{High, Low, Medium, Urgent};

    /// The first queues that are chosen, `ready(n)` being those that are ready at the nth time.
    fn order(arbiter: &mut Arbiter, times: usize, ready: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
        let next = |n| {
            let ready = ready(n);
            let chosen = arbiter.choose(|queue| ready.contains(&queue)).expect("one is ready");
            arbiter.fetch(chosen);
            chosen.queue
        };
        (0..times).map(next).collect()
    }

    #[test]
    fn queues_take_turns() {
        let mut arbiter = Arbiter::new(Arbitration::RoundRobin, &[(Medium, 1); 3]);
        assert_eq!(order(&mut arbiter, 6, |_| vec![0, 1, 2]), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(&mut arbiter, 4, |_| vec![0, 2]), [0, 2, 0, 2]);
        assert_eq!(arbiter.choose(|_| false), None);
    }

    #[test]
    fn weights_are_shares_of_a_round() {
        let mut arbiter = Arbiter::new(Arbitration::Weighted, &[(Medium, 3), (Medium, 1), (Medium, 2)]);
        assert_eq!(order(&mut arbiter, 6, |_| vec![0, 1, 2]), [0, 1, 2, 0, 2, 0]);
        let many = order(&mut arbiter, 600, |_| vec![0, 1, 2]);
        assert_eq!([0, 1, 2].map(|queue| many.iter().filter(|&&at| at == queue).count()), [300, 100, 200]);
        // A queue without requests leaves its share to the others, and saves no credits.
        assert_eq!(order(&mut arbiter, 3, |_| vec![1]), [1, 1, 1]);
        let after = order(&mut arbiter, 60, |_| vec![0, 1, 2]);
        let first = after.iter().filter(|&&at| at == 0).count();
        assert!((29..=32).contains(&first), "{first} of 60");
    }

    #[test]
    fn urgent_goes_first_and_classes_have_weights() {
        let classes = [(Low, 1), (High, 1), (Urgent, 1), (Medium, 1), (High, 1)];
        let mut arbiter = Arbiter::new(Arbitration::Priority, &classes);
        assert_eq!(order(&mut arbiter, 3, |_| vec![0, 1, 2, 3]), [2, 2, 2]);
        let many = order(&mut arbiter, 700, |_| vec![0, 1, 3, 4]);
        assert_eq!(
            [0, 1, 3, 4].map(|at| many.iter().filter(|&&one| one == at).count()),
            [100, 200, 200, 200]
        );
        assert_eq!(order(&mut arbiter, 2, |_| vec![0]), [0, 0]);
    }
}

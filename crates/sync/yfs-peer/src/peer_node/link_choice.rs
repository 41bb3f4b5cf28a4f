//! Which of two connections with the same peer stays. Both sides must choose the same one.

/// How a connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkKind {
    /// Whether this side made it.
    pub(super) is_dialed: bool,
    /// Whether it goes through a relay.
    pub(super) is_relayed: bool,
}

/// Reports whether a connection is refused because of one that is known; else it replaces it.
///
/// The direct one stays; else the one that the peer with the lesser key made; a later one of the
/// same side replaces the earlier.
pub(super) fn must_refuse(known: LinkKind, later: LinkKind, is_lesser_mine: bool) -> bool {
    if known.is_relayed != later.is_relayed {
        // A peer that makes a direct and then a relayed one was started again, and has lost the
        // first.
        return later.is_relayed && (known.is_dialed || later.is_dialed);
    }
    known.is_dialed != later.is_dialed && known.is_dialed == is_lesser_mine
}

/// Reports whether the side that has made a connection gives it up, because another one with the
/// peer came about while it was made. The exchange on the known one would begin anew otherwise.
pub(super) fn is_not_needed(is_relayed: bool, known: LinkKind) -> bool {
    is_relayed || !known.is_relayed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> impl Iterator<Item = (LinkKind, LinkKind)> {
        let one = [false, true]
            .map(|is_dialed| [false, true].map(|is_relayed| LinkKind { is_dialed, is_relayed }));
        let one = one.concat();
        one.clone()
            .into_iter()
            .flat_map(move |known| one.clone().into_iter().map(move |b| (known, b)))
    }

    #[test]
    fn a_direct_connection_replaces_a_relayed_one_and_not_the_reverse() {
        for (known, later) in kinds().filter(|(known, later)| known.is_relayed != later.is_relayed)
        {
            for is_lesser_mine in [false, true] {
                let was_restarted = !known.is_dialed && !later.is_dialed;
                let is_refused = later.is_relayed && !was_restarted;
                assert_eq!(must_refuse(known, later, is_lesser_mine), is_refused);
            }
        }
    }

    /// A peer that was called before it started was sent everything twice: its own call was
    /// replaced by that of the other side.
    #[test]
    fn a_call_that_was_overtaken_is_given_up_unless_it_is_direct_and_the_other_is_not() {
        for is_dialed in [false, true] {
            let known = |is_relayed| LinkKind { is_dialed, is_relayed };
            assert!(is_not_needed(false, known(false)));
            assert!(is_not_needed(true, known(false)));
            assert!(is_not_needed(true, known(true)));
            assert!(!is_not_needed(false, known(true)));
        }
    }

    #[test]
    fn both_sides_choose_the_same() {
        let seen_by_other = |kind: LinkKind| LinkKind { is_dialed: !kind.is_dialed, ..kind };
        for (known, later) in kinds() {
            let here = must_refuse(known, later, true);
            let there = must_refuse(seen_by_other(known), seen_by_other(later), false);
            // Only the side that was not started again has both.
            let is_of_one_side = known.is_dialed == later.is_dialed;
            let is_after_restart = is_of_one_side && later.is_relayed && !known.is_relayed;
            assert!(here == there || is_after_restart, "{known:?} {later:?}");
        }
    }

    #[test]
    fn of_two_of_one_kind_the_lesser_peers_stays_and_a_later_one_replaces() {
        let kind = |is_dialed| LinkKind { is_dialed, is_relayed: false };
        assert!(must_refuse(kind(true), kind(false), true));
        assert!(!must_refuse(kind(true), kind(false), false));
        assert!(!must_refuse(kind(false), kind(true), true));
        assert!(must_refuse(kind(false), kind(true), false));
        assert!(!must_refuse(kind(true), kind(true), true));
        assert!(!must_refuse(kind(false), kind(false), false));
    }
}

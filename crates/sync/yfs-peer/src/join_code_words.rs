//! The words of join codes.
//!
//! Any two differ in their first three letters, and by three changes of single letters or more, so
//! that a typing error is noticed before it costs the code.

/// The words, in alphabetical order.
pub(crate) const WORDS: [&str; 256] = [
    "acorn", "album", "amber", "anchor", "angle", "arrow", "atlas", "attic", "autumn", "badge",
    "bamboo", "banjo", "barley", "basket", "beacon", "bench", "berry", "bicycle", "biscuit",
    "bonfire", "bottle", "bracelet", "bronze", "bubble", "buffalo", "button", "cabin", "cactus",
    "camel", "canoe", "captain", "carpet", "castle", "cedar", "chimney", "cinema", "circus",
    "clover", "cobalt", "coffee", "copper", "cousin", "coyote", "cradle", "cricket", "crystal",
    "cushion", "cypress", "daisy", "dancer", "desert", "diamond", "dolphin", "donkey", "dragon",
    "drummer", "duck", "dynamo", "earth", "echo", "eclipse", "elbow", "elephant", "emerald",
    "engine", "envelope", "evening", "fabric", "falcon", "family", "farmer", "feather", "festival",
    "fiddle", "finger", "flamingo", "flute", "forest", "fossil", "fountain", "furnace", "galaxy",
    "garden", "gazelle", "geyser", "giant", "glacier", "gondola", "gorilla", "granite", "guitar",
    "harbor", "helmet", "herring", "hickory", "highway", "horizon", "hotel", "hunter", "husky",
    "iceberg", "igloo", "insect", "iris", "island", "ivory", "jaguar", "jasmine", "jelly", "jewel",
    "jigsaw", "journey", "jubilee", "juniper", "justice", "kangaroo", "kayak", "kennel", "kidney",
    "kitchen", "kiwi", "koala", "ladder", "lagoon", "lamp", "lantern", "lavender", "legend",
    "lemon", "leopard", "lettuce", "library", "lilac", "linen", "lizard", "lobster", "locket",
    "lotus", "lynx", "magnet", "mailbox", "mammoth", "maple", "meadow", "mercury", "meteor",
    "mineral", "mirror", "mobile", "mosaic", "muffin", "museum", "napkin", "nectar", "needle",
    "nickel", "notebook", "nugget", "nutmeg", "oasis", "ocean", "octopus", "olive", "omelet",
    "onion", "opera", "orange", "orchid", "osprey", "otter", "oval", "palace", "panda", "paper",
    "pelican", "pigeon", "pillow", "pirate", "planet", "polar", "postcard", "prairie", "pretzel",
    "pudding", "pumpkin", "puzzle", "pyramid", "quail", "quiver", "rabbit", "raccoon", "raft",
    "rainbow", "raven", "recipe", "reef", "reindeer", "ribbon", "rodeo", "rubber", "saffron",
    "sailor", "saturn", "scarf", "seagull", "sesame", "signal", "silver", "sketch", "sled",
    "soccer", "sofa", "sonnet", "spider", "sponge", "spruce", "swan", "syrup", "talent", "teapot",
    "temple", "tennis", "thimble", "toast", "tomato", "topaz", "tortoise", "tractor", "trumpet",
    "tulip", "turtle", "twig", "typist", "umbrella", "unicorn", "vanilla", "vault", "vessel",
    "village", "violin", "volcano", "voyage", "waffle", "walnut", "whale", "wheat", "window",
    "wolf", "wombat", "woodland", "yacht", "yarn", "yogurt", "zebra", "zenith", "zigzag",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the number of letters to insert, remove or replace to change one word into another.
    fn n_changes(from: &str, to: &str) -> usize {
        let mut row: Vec<usize> = (0..=to.len()).collect();
        for (i, left) in from.bytes().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, right) in to.bytes().enumerate() {
                let replaced = diagonal + usize::from(left != right);
                diagonal = row[j + 1];
                row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[to.len()]
    }

    #[test]
    fn a_typing_error_makes_no_other_word() {
        assert_eq!(n_changes("kitten", "sitting"), 3);
        let beginnings: BTreeSet<&str> = WORDS.iter().map(|word| &word[..3]).collect();
        assert_eq!(beginnings.len(), WORDS.len());
        for (at, word) in WORDS.iter().enumerate() {
            assert!(word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()));
            for other in &WORDS[..at] {
                assert!(n_changes(word, other) >= 3, "{word} and {other}");
            }
        }
    }
}

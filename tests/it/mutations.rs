//! Inputs that nearly make sense: seeds with pieces changed, left out, doubled and taken from each other.
//!
//! Invariant: the same seeds give the same mutations, in the same order and without end.

/// Pieces that the grammars of all targets are made of.
const PIECES: [&str; 40] = [
    "\0", "\n", "\n\n", "\"", "\\", "\\u0000", "{", "}", "[", "]", "[]", "{}", "null", "0", "-1", "1e999", "(", ")",
    "(?i)", "(?:", "*", "+", "?", "{2}", "{1000}", "{,2}", "|", "[^", "[:", ":]", "\\Q", "\\E", "\\p{", ",", "=",
    "true", "false", "\u{202e}", "😀", "é",
];

/// Numbers that look like chance and are none (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }

    /// A piece of an input, which may be empty and is mostly short.
    fn piece(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.below(input.len() + 1);
        let longest = if self.below(4) == 0 { input.len() } else { 8 };
        start..(start + self.below(longest + 1)).min(input.len())
    }
}

/// Mutations of these seeds.
pub(crate) fn mutations(seeds: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    let mut chance = Chance(1);
    std::iter::repeat_with(move || {
        let mut input = seeds[chance.below(seeds.len())].clone();
        for _ in 0..=chance.below(4) {
            let other = &seeds[chance.below(seeds.len())];
            mutate(&mut chance, &mut input, other);
        }
        input
    })
}

fn mutate(chance: &mut Chance, input: &mut Vec<u8>, other: &[u8]) {
    let place = chance.piece(input);
    match chance.below(6) {
        0 => drop(input.drain(place)),
        1 => {
            let again = input[place.clone()].to_vec();
            input.splice(place.end..place.end, again);
        }
        2 => {
            let piece = chance.piece(other);
            input.splice(place, other[piece].iter().copied());
        }
        3 => {
            let piece = PIECES[chance.below(PIECES.len())];
            input.splice(place.start..place.start, piece.bytes());
        }
        4 => {
            let piece = PIECES[chance.below(PIECES.len())];
            input.splice(place, piece.bytes());
        }
        _ => {
            if let Some(byte) = input.get_mut(place.start) {
                *byte ^= 1 << chance.below(8);
            }
        }
    }
}

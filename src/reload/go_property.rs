//! The Unicode properties that Go's patterns may name (`\pL`, `\p{Greek}`), cut to ASCII, of which names are made.
//!
//! Invariant: a name is known here exactly if Go 1.26 knows it. Both tables were printed by a Go program that asked its
//! `regexp` about each name and each character. Go ignores case, `_`, `-` and blanks, and so never finds the scripts
//! whose names are of two words (`Old_Italic`): they are refused here too.
//! Left out: where a property stands in a pattern (go_class.rs).

/// Characters, as the inside of a class, and the properties that hold just these.
const IN_ASCII: [(&str, &str); 18] = [
    (r"\x00-\x7F", "any ascii assigned"),
    (r"\x00-\x1F\x7F", "c cc cntrl control other"),
    (r"A-Za-z", "casedletter l latin lc letter"),
    (r"\x29\x5D\x7D", "closepunctuation pe"),
    (r"\x00-\x40\x5B-\x60\x7B-\x7F", "common"),
    (r"\x5F", "connectorpunctuation pc"),
    (r"\x24", "currencysymbol sc"),
    (r"\x2D", "dashpunctuation pd"),
    (r"0-9", "decimalnumber digit n nd number"),
    (r"a-z", "ll lowercaseletter"),
    (r"A-Z", "lu uppercaseletter"),
    (r"\x2B\x3C-\x3E\x7C\x7E", "mathsymbol sm"),
    (r"\x5E\x60", "modifiersymbol sk"),
    (r"\x28\x5B\x7B", "openpunctuation ps"),
    (r"\x21-\x23\x25-\x27\x2A\x2C\x2E-\x2F\x3A-\x3B\x3F-\x40\x5C", "otherpunctuation po"),
    (r"\x21-\x23\x25-\x2A\x2C-\x2F\x3A-\x3B\x3F-\x40\x5B-\x5D\x5F\x7B\x7D", "p punct punctuation"),
    (r"\x24\x2B\x3C-\x3E\x5E\x60\x7C\x7E", "s symbol"),
    (r"\x20", "separator spaceseparator z zs"),
];

/// Properties that no ASCII character has.
const BEYOND_ASCII: &str = "adlam ahom arabic armenian avestan balinese bamum batak bengali bhaiksuki bopomofo brahmi braille buginese \
    buhid carian cf chakma cham cherokee chorasmian cn co combiningmark coptic cs cuneiform cypriot cyrillic \
    deseret devanagari dogra duployan elbasan elymaic enclosingmark ethiopic finalpunctuation format georgian \
    glagolitic gothic grantha greek gujarati gurmukhi han hangul hanunoo hatran hebrew hiragana inherited \
    initialpunctuation javanese kaithi kannada katakana kawi kharoshthi khmer khojki khudawadi lao lepcha \
    letternumber limbu lineseparator lisu lm lo lt lycian lydian m mahajani makasar malayalam mandaic manichaean \
    marchen mark mc me medefaidrin miao mn modi modifierletter mongolian mro multani myanmar nabataean nandinagari \
    newa nko nl no nonspacingmark nushu ogham oriya osage osmanya otherletter othernumber othersymbol palmyrene \
    paragraphseparator pf phoenician pi privateuse rejang runic samaritan saurashtra sharada shavian siddham \
    sinhala so sogdian soyombo spacingmark sundanese surrogate syriac tagalog tagbanwa takri tamil tangsa tangut \
    telugu thaana thai tibetan tifinagh tirhuta titlecaseletter toto ugaritic unassigned vai vithkuqi wancho \
    yezidi yi zl zp";

/// The ASCII characters of a property, as the inside of a class: empty if there are none, nothing if Go has no such
/// property.
pub(super) fn ascii_of(name: &str) -> Option<&'static str> {
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let is_among = |names: &str| names.split(' ').any(|known| known == name);
    let class = IN_ASCII.iter().find(|(_, names)| is_among(names)).map(|(class, _)| *class);
    class.or_else(|| is_among(BEYOND_ASCII).then_some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_as_go_knows_them() {
        let rows = [
            ("L", Some("A-Za-z")),
            ("Lu", Some("A-Z")),
            ("L-u", Some("A-Z")),
            ("uppercase letter", Some("A-Z")),
            ("Greek", Some("")),
            ("greek", Some("")),
            ("Any", Some(r"\x00-\x7F")),
            ("Old_Italic", None),
            ("Alphabetic", None),
            ("Latn", None),
            ("", None),
            ("^L", None),
            ("é", None),
        ];
        for (name, expected) in rows {
            assert_eq!(ascii_of(name), expected, "{name}");
        }
    }
}

//! Text that others wrote, in messages of ours.

/// Text from outside, as it may stand in a message: short, on one line, without control characters.
pub(crate) fn shown(text: &str) -> String {
    let cut: String = text.chars().take(300).collect();
    let words: Vec<&str> = cut.split_whitespace().collect();
    words.join(" ").replace(|c: char| c.is_control(), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_short_on_one_line_and_cannot_steer_a_terminal() {
        assert_eq!(shown(" two\r\n  words\t"), "two words");
        assert_eq!(shown("\u{1b}[2J\0"), "\u{fffd}[2J\u{fffd}");
        assert_eq!(shown(&"é".repeat(1000)).chars().count(), 300);
    }
}

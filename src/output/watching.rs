//! Draws an answer over the last one.

use super::Printed;

/// The bytes that replace what a terminal of so many rows shows: from the top, each line cleared to
/// its end, and what is left below. Lines are cut at the right edge, and as many of them shown as
/// there is room for, so that nothing scrolls; the terminal is left as it was found.
#[must_use]
pub fn screen(printed: &Printed, rows: usize) -> Vec<u8> {
    const HOME: &[u8] = b"\x1b[H";
    const TO_END_OF_LINE: &[u8] = b"\x1b[K";
    const TO_END_OF_SCREEN: &[u8] = b"\x1b[J";
    const WRAP_OFF: &[u8] = b"\x1b[?7l";
    const WRAP_ON: &[u8] = b"\x1b[?7h";
    let text = [&printed.stdout, printed.stderr.as_bytes()].concat();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    // the cursor stands on the last row
    let room = rows.saturating_sub(1);
    let shown = if lines.len() > room {
        room.saturating_sub(1)
    } else {
        lines.len()
    };
    let mut bytes = [WRAP_OFF, HOME].concat();
    for line in &lines[..shown] {
        bytes.extend_from_slice(line.trim_ascii_end());
        bytes.extend_from_slice(TO_END_OF_LINE);
        bytes.extend_from_slice(b"\r\n");
    }
    if let more @ 1.. = lines.len() - shown {
        bytes.extend_from_slice(format!("… and {more} more lines\x1b[K\r\n").as_bytes());
    }
    bytes.extend_from_slice(TO_END_OF_SCREEN);
    bytes.extend_from_slice(WRAP_ON);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_nothing_scrolls() {
        let of = |lines: usize, rows: usize| {
            let stdout = (1..=lines)
                .map(|n| format!("line {n}\n"))
                .collect::<String>();
            let printed = Printed {
                stdout: stdout.into_bytes(),
                stderr: String::new(),
            };
            String::from_utf8(screen(&printed, rows)).expect("UTF-8")
        };
        let newlines = |text: &str| text.matches('\n').count();
        for (lines, rows) in [
            (0, 24),
            (3, 24),
            (23, 24),
            (24, 24),
            (100, 24),
            (5, 2),
            (1, 1),
        ] {
            let text = of(lines, rows);
            assert!(
                newlines(&text) < rows.max(2),
                "{lines} lines in {rows} rows: {text:?}"
            );
        }
        assert!(of(23, 24).contains("line 23") && !of(23, 24).contains("more"));
        assert!(
            of(24, 24).contains("line 22\u{1b}[K\r\n… and 2 more lines"),
            "{:?}",
            of(24, 24)
        );
    }
}

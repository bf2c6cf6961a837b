//! A recording as an SVG file that plays by CSS, without a script; a viewer that cannot move pictures shows the still.

use std::fmt::Write;

use super::record::{COLUMNS, ROWS, Recording, Span};

/// Seconds that each frame is shown, and how many times as long the last one.
const SHOWN: f64 = 0.5;
const LAST: usize = 8;

const WIDTH: f64 = 8.4;
const HEIGHT: u32 = 18;
const MARGIN: u32 = 16;

const STYLE: &str = "svg{color-scheme:light dark;--back:#fff;--text:#1f2328;--edge:#d0d7de}
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--edge:#30363d}}
rect{fill:var(--back);stroke:var(--edge)}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--text);white-space:pre}
.b{font-weight:bold}
.f{visibility:hidden}.still{visibility:visible}
@media(prefers-reduced-motion:reduce){.f{animation:none!important}}
";

/// Text for readers who do not see the picture.
const TITLE: &str = "Recording of skein demo in a terminal";
const DESCRIPTION: &str = "Five simulated vehicles boot, take off and hold. A pilot takes one over. All land.";

pub fn picture(recording: &Recording) -> String {
    let count = recording.frames.len();
    let parts = count + LAST - 1;
    #[allow(clippy::cast_precision_loss, reason = "some tens of frames")]
    let percent = |part: usize| 100.0 * part as f64 / parts as f64;
    #[allow(clippy::cast_precision_loss, reason = "some tens of frames")]
    let seconds = SHOWN * parts as f64;
    let width = (f64::from(COLUMNS) * WIDTH).ceil() + f64::from(2 * MARGIN);
    let height = u32::from(ROWS) * HEIGHT + 2 * MARGIN;
    let mut style = STYLE.to_owned();
    let mut frames = String::new();
    for (index, screen) in recording.frames.iter().enumerate() {
        let end = if index + 1 == count { parts } else { index + 1 };
        let (from, to) = (percent(index), percent(end));
        let _ = writeln!(
            style,
            "@keyframes k{index}{{0%{{visibility:hidden}}{from:.2}%{{visibility:visible}}{to:.2}%{{visibility:hidden}}}}\
             #f{index}{{animation:k{index} {seconds:.1}s step-end infinite}}"
        );
        let still = if index == recording.still { " still" } else { "" };
        let _ = writeln!(frames, r#"<g id="f{index}" class="f{still}">"#);
        for (row, spans) in (0u32..).zip(screen) {
            frames.push_str(&line(MARGIN + HEIGHT * row + 14, spans));
        }
        frames.push_str("</g>\n");
    }
    let style = style.replacen("0%{visibility:hidden}0.00%", "0%", 1);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="t d" xml:space="preserve">
<title id="t">{TITLE}</title>
<desc id="d">{DESCRIPTION}</desc>
<style>
{style}</style>
<rect x="0.5" y="0.5" width="{}" height="{}" rx="8"/>
{frames}</svg>
"#,
        width - 1.0,
        height - 1
    )
}

fn line(y: u32, spans: &[Span]) -> String {
    let length: usize = spans.iter().map(|span| span.text.chars().count()).sum();
    if length == 0 {
        return String::new();
    }
    #[allow(clippy::cast_precision_loss, reason = "a line of a terminal")]
    let length = length as f64 * WIDTH;
    let all_bold = spans.iter().all(|span| span.bold);
    let text: String = spans
        .iter()
        .map(|span| match span.bold && !all_bold {
            true => format!(r#"<tspan class="b">{}</tspan>"#, escaped(&span.text)),
            false => escaped(&span.text),
        })
        .collect();
    let class = if all_bold { r#" class="b""# } else { "" };
    format!("<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length:.1}\"{class}>{text}</text>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        let line = |text: &str, bold| {
            vec![Span {
                text: text.to_owned(),
                bold,
            }]
        };
        Recording {
            frames: vec![
                vec![line("==> a & b", true)],
                vec![line("NODE   STAGE", false), vec![]],
                vec![line("end", false)],
            ],
            still: 1,
        }
    }

    #[test]
    fn each_frame_has_its_time_and_together_they_are_all_of_it() {
        let picture = picture(&recording());
        for part in [
            "@keyframes k0{0%{visibility:visible}10.00%{visibility:hidden}}",
            "@keyframes k1{0%{visibility:hidden}10.00%{visibility:visible}20.00%{visibility:hidden}}",
            "@keyframes k2{0%{visibility:hidden}20.00%{visibility:visible}100.00%{visibility:hidden}}",
            r#"<g id="f1" class="f still">"#,
        ] {
            assert!(picture.contains(part), "{part} is not in {picture}");
        }
    }

    #[test]
    fn text_stays_text_and_there_is_no_script() {
        let picture = picture(&recording());
        assert!(picture.contains(r#" class="b">==&gt; a &amp; b</text>"#), "{picture}");
        assert!(picture.contains(">NODE   STAGE</text>"), "{picture}");
        assert!(!picture.contains("<script"));
    }
}

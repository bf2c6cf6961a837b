//! The base map: a PMTiles file of the person, served in ranges.

use crate::failure::Failure;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use std::io::{Read as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

/// Start of a PMTiles file, version 3.
const PMTILES_MAGIC: &[u8] = b"PMTiles\x03";

const PIECE_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone)]
pub struct Basemap {
    path: PathBuf,
    tag: String,
}

impl Basemap {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let cannot = |why: std::io::Error| Failure::Usage(format!("--basemap: cannot read {}: {why}", path.display()));
        let mut file = std::fs::File::open(path).map_err(cannot)?;
        let mut begin = [0; PMTILES_MAGIC.len()];
        if file.read_exact(&mut begin).is_err() || begin != PMTILES_MAGIC {
            return Err(Failure::Usage(format!(
                "--basemap: {} is no PMTiles file of version 3; make one with `pmtiles extract` or `pmtiles convert`",
                path.display()
            )));
        }
        let meta = file.metadata().map_err(cannot)?;
        let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let tag = format!("\"{:x}-{:x}\"", meta.len(), modified.unwrap_or_default().as_millis());
        Ok(Self {
            path: path.to_owned(),
            tag,
        })
    }

    pub async fn serve(&self, headers: &HeaderMap) -> Response {
        let (mut file, length) = match self.file().await {
            Ok(opened) => opened,
            Err(why) => {
                return (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("cannot read the base map: {why}"),
                )
                    .into_response();
            }
        };
        let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
        let range = asked.map(|range| bytes(range, length));
        let common = [
            (header::ACCEPT_RANGES, "bytes".to_owned()),
            (header::ETAG, self.tag.clone()),
            (header::CONTENT_TYPE, "application/vnd.pmtiles".to_owned()),
        ];
        let (first, last) = match range {
            None | Some(Asked::Unknown) => (0, length.saturating_sub(1)),
            Some(Asked::Range(first, last)) => (first, last),
            Some(Asked::Outside) => {
                let range = [(header::CONTENT_RANGE, format!("bytes */{length}"))];
                return (StatusCode::RANGE_NOT_SATISFIABLE, common, range).into_response();
            }
        };
        if let Err(why) = file.seek(SeekFrom::Start(first)).await {
            return (
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("cannot read the base map: {why}"),
            )
                .into_response();
        }
        let body = pieces(file, last + 1 - first);
        if matches!(range, Some(Asked::Range(..))) {
            let range = [
                (header::CONTENT_RANGE, format!("bytes {first}-{last}/{length}")),
                (header::CONTENT_LENGTH, (last + 1 - first).to_string()),
            ];
            (StatusCode::PARTIAL_CONTENT, common, range, body).into_response()
        } else {
            (common, [(header::CONTENT_LENGTH, length.to_string())], body).into_response()
        }
    }

    async fn file(&self) -> std::io::Result<(File, u64)> {
        let file = File::open(&self.path).await?;
        let length = file.metadata().await?.len();
        Ok((file, length))
    }
}

fn pieces(file: File, length: u64) -> Body {
    Body::from_stream(stream::unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return None;
        }
        let mut piece = vec![0; usize::try_from(left.min(PIECE_BYTES)).unwrap_or_default()];
        let read = file.read_exact(&mut piece).await;
        let left = if read.is_ok() { left - piece.len() as u64 } else { 0 };
        Some((read.map(|_| Bytes::from(piece)), (file, left)))
    }))
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// Both included.
    Range(u64, u64),
    Outside,
    /// Answered with the whole file (RFC 9110, 14.2).
    Unknown,
}

fn bytes(range: &str, length: u64) -> Asked {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Asked::Unknown;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let end = length.saturating_sub(1);
    let (first, last) = match (first, last) {
        ("", last) => match number(last) {
            Some(count) => (length.saturating_sub(count), if count == 0 { 0 } else { end }),
            None => return Asked::Unknown,
        },
        (first, "") => match number(first) {
            Some(first) => (first, end),
            None => return Asked::Unknown,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => (first, last.min(end)),
            _ => return Asked::Unknown,
        },
    };
    if first < length && first <= last {
        Asked::Range(first, last)
    } else {
        Asked::Outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        for (range, expected) in [
            ("bytes=0-9", Asked::Range(0, 9)),
            ("bytes=90-", Asked::Range(90, 99)),
            ("bytes=90-200", Asked::Range(90, 99)),
            ("bytes=-10", Asked::Range(90, 99)),
            ("bytes=-200", Asked::Range(0, 99)),
            ("bytes=100-", Asked::Outside),
            ("bytes=-0", Asked::Outside),
            ("bytes=9-0", Asked::Unknown),
            ("bytes=0-1,5-6", Asked::Unknown),
            ("lines=0-1", Asked::Unknown),
        ] {
            assert_eq!(bytes(range, 100), expected, "{range}");
        }
    }

    #[tokio::test]
    async fn a_range_of_the_file_and_nothing_else_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pmtiles");
        std::fs::write(&path, b"not one").unwrap();
        assert!(
            Basemap::open(&path)
                .unwrap_err()
                .to_string()
                .contains("is no PMTiles file")
        );
        let content: Vec<u8> = PMTILES_MAGIC
            .iter()
            .copied()
            .chain((0..200_000_u32).map(|n| (n % 251) as u8))
            .collect();
        std::fs::write(&path, &content).unwrap();
        let map = Basemap::open(&path).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, "bytes=7-150006".parse().unwrap());
        let answer = map.serve(&headers).await;
        assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT);
        assert_eq!(answer.headers()[header::CONTENT_RANGE], "bytes 7-150006/200008");
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert_eq!(body, content[7..=150_006]);
        let whole = map.serve(&HeaderMap::new()).await;
        assert_eq!(
            axum::body::to_bytes(whole.into_body(), usize::MAX).await.unwrap(),
            content
        );
    }
}

//! Downloads that are interrupted at every place, and logs that are damaged, grow or go.

use super::*;
use futures::FutureExt;
use model::ids::NodeName;
use proto::v1::LogBytes;
use std::collections::VecDeque;

const NAME: &str = "skein-pine-20261121T080203Z-17.tlog";

struct Fake {
    log: Vec<u8>,
    answers: usize,
    piece: usize,
    sent: usize,
    damages: usize,
}

impl Fake {
    fn of(log: &[u8]) -> Self {
        Self {
            log: log.to_vec(),
            answers: usize::MAX,
            piece: 10,
            sent: 0,
            damages: 0,
        }
    }
}

impl Source for Fake {
    async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        if self.answers == 0 {
            return std::future::pending().await;
        }
        self.answers -= 1;
        Ok(match question {
            Question::Read(read) => {
                assert_eq!(read.name, NAME);
                let offset = usize::try_from(read.offset).unwrap().min(self.log.len());
                let most = usize::try_from(read.most).unwrap().min(self.piece);
                let mut data: Vec<u8> = self.log[offset..].iter().copied().take(most).collect();
                self.sent += data.len();
                if self.damages > 0 && !data.is_empty() {
                    self.damages -= 1;
                    data[0] ^= 1;
                }
                let size = self.log.len() as u64;
                Answer::Bytes(LogBytes { data, size })
            }
            Question::Digest(digest) => {
                let bytes = usize::try_from(digest.bytes).unwrap();
                Answer::Sha256(Sha256::digest(&self.log[..bytes.min(self.log.len())]).to_vec())
            }
            other => unreachable!("{other:?}"),
        })
    }
}

/// Sends the digest of other bytes of equal length for the log's beginning.
struct Liar(Fake, Vec<u8>);

impl Source for Liar {
    async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        match &question {
            Question::Digest(digest) if digest.bytes == self.1.len() as u64 => {
                Ok(Answer::Sha256(Sha256::digest(&self.1).to_vec()))
            }
            _ => self.0.ask(question).await,
        }
    }
}

struct Slow(Fake, VecDeque<u64>);

impl Source for Slow {
    async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        match &question {
            Question::Digest(digest) if digest.in_parts => match self.1.pop_front() {
                Some(done) => Ok(Answer::Digested(done)),
                None => self.0.ask(question).await,
            },
            _ => self.0.ask(question).await,
        }
    }
}

fn file(bytes: usize) -> ListedLog {
    ListedLog {
        name: LogName::parse(NAME).unwrap(),
        bytes: bytes as u64,
    }
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 7 % 251) as u8).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_download_killed_anywhere_goes_on_there_and_loses_and_repeats_nothing() {
    let log = content(95);
    for answers in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Fake::of(&log);
        first.answers = answers;
        let killed = copy(&mut first, &file(95), folder.path(), |_| ()).now_or_never();
        let mut second = Fake::of(&log);
        if let Some(copied) = killed {
            assert!(answers >= 11 && copied.is_ok());
        } else {
            assert!(
                !folder.path().join(NAME).exists(),
                "it has its name only when it is whole"
            );
            copy(&mut second, &file(95), folder.path(), |_| ()).await.unwrap();
        }
        assert_eq!(names(folder.path()), [NAME]);
        assert_eq!(fs::read(folder.path().join(NAME)).unwrap(), log);
        assert_eq!(first.sent + second.sent, 95, "killed after {answers}");
    }
}

#[tokio::test]
async fn a_copy_that_is_not_equal_is_begun_anew_once() {
    let log = content(40);
    let folder = tempfile::tempdir().unwrap();
    let mut source = Fake::of(&log);
    source.damages = 1;
    let copied = copy(&mut source, &file(40), folder.path(), |_| ()).await.unwrap();
    assert_eq!((source.sent, copied.before), (80, false));
    assert_eq!(fs::read(copied.path).unwrap(), log);

    let folder = tempfile::tempdir().unwrap();
    source.damages = usize::MAX;
    let why = copy(&mut source, &file(40), folder.path(), |_| ()).await.unwrap_err();
    assert!(why.to_string().contains("not equal to the log"), "{why}");
    assert_eq!(names(folder.path()), [format!("{NAME}.part")]);
}

#[tokio::test]
async fn what_is_left_of_another_log_is_not_taken_for_this_one() {
    let log = content(40);
    for left in [vec![9; 20], vec![9; 40], vec![9; 60]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{NAME}.part")), &left).unwrap();
        let copied = copy(&mut Fake::of(&log), &file(40), folder.path(), |_| ())
            .await
            .unwrap();
        assert_eq!(fs::read(copied.path).unwrap(), log);
        assert_eq!(names(folder.path()), [NAME]);
    }
}

#[tokio::test]
async fn a_log_that_is_there_is_not_copied_again_and_one_that_has_grown_is() {
    let log = content(95);
    let folder = tempfile::tempdir().unwrap();
    let mut source = Fake::of(&log);
    copy(&mut source, &file(50), folder.path(), |_| ()).await.unwrap();
    let again = copy(&mut source, &file(50), folder.path(), |_| ()).await.unwrap();
    assert_eq!((again.before, source.sent), (true, 50));
    assert_eq!(
        fs::read(&again.path).unwrap(),
        log[..50],
        "as long as it was when it was listed"
    );
    let grown = copy(&mut source, &file(95), folder.path(), |_| ()).await.unwrap();
    assert_eq!(fs::read(grown.path).unwrap(), log);
}

#[tokio::test]
async fn two_downloads_of_one_log_do_not_write_into_each_other() {
    let log = content(40);
    let folder = tempfile::tempdir().unwrap();
    let mut slow = Fake::of(&log);
    slow.answers = 1;
    let first = file(40);
    let mut first = Box::pin(copy(&mut slow, &first, folder.path(), |_| ()));
    assert!(first.as_mut().now_or_never().is_none());
    let why = copy(&mut Fake::of(&log), &file(40), folder.path(), |_| ())
        .await
        .unwrap_err();
    assert!(why.to_string().contains("another `skein logs`"), "{why}");
}

#[tokio::test]
async fn a_log_that_has_become_shorter_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let why = copy(&mut Fake::of(&content(40)), &file(41), folder.path(), |_| ())
        .await
        .unwrap_err();
    assert!(why.to_string().contains("shorter"), "{why}");
}

#[test]
fn an_agent_that_lists_any_other_file_gets_nothing_written() {
    let pine = NodeName::parse("pine").unwrap();
    let caps = SizeCaps::of_mib(1, 2);
    let listed = |name: &str, bytes| v1::LogFile {
        name: name.to_owned(),
        bytes,
        ..v1::LogFile::default()
    };
    let long = format!("skein-pine-20261121T080203Z-{}.tlog", "1".repeat(300));
    for name in [
        "../../etc/passwd",
        "/etc/passwd",
        "nul",
        "Makefile",
        "id_ed25519",
        ".bashrc",
        "a\u{1b}[2J.tlog",
        "skein-oak-20261121T080203Z-17.tlog",
        "skein-pine-20261121T080203Z-17.tlog.part",
        "00000003.BIN",
        &long,
    ] {
        let both = [listed(NAME, 1), listed(name, 1)];
        let why = ListedLog::all_of(&both, LogsFrom::Agent(Some(&pine)), caps)
            .unwrap_err()
            .to_string();
        assert!(
            why.contains("cannot have") && !why.contains(char::is_control),
            "{why:?}"
        );
    }
    let all = [listed(NAME, 1 << 20), listed(NAME, 1 << 20)];
    assert_eq!(
        ListedLog::all_of(&all, LogsFrom::Agent(Some(&pine)), caps)
            .unwrap()
            .len(),
        2
    );
    assert!(ListedLog::all_of(&[listed(NAME, 2 << 20)], LogsFrom::Agent(None), caps).is_err());
    let three = [listed(NAME, 1 << 20), listed(NAME, 1 << 20), listed(NAME, 1)];
    assert!(ListedLog::all_of(&three, LogsFrom::Agent(None), caps).is_err());
}

#[tokio::test]
async fn no_other_file_is_replaced() {
    let log = content(40);
    for there in [content(41), vec![8; 40], vec![8; 20], vec![8; 60]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        fs::write(&path, &there).unwrap();
        let why = copy(&mut Fake::of(&log), &file(40), folder.path(), |_| ())
            .await
            .unwrap_err()
            .to_string();
        assert!(why.contains("move it away") && why.contains(NAME), "{why}");
        assert_eq!(fs::read(&path).unwrap(), there);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    fs::write(&path, [8; 20]).unwrap();
    let mut liar = Liar(Fake::of(&log), vec![8; 20]);
    let why = copy(&mut liar, &file(40), folder.path(), |_| ()).await.unwrap_err();
    assert!(why.to_string().contains("move it away"), "{why}");
    assert_eq!(fs::read(&path).unwrap(), [8; 20]);
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let log = content(40);
    for name in [NAME.to_owned(), format!("{NAME}.part")] {
        for hard in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let precious = folder.path().join("precious");
            fs::write(&precious, b"precious").unwrap();
            let link = folder.path().join(&name);
            if hard {
                fs::hard_link(&precious, &link).unwrap();
            } else {
                std::os::unix::fs::symlink(&precious, &link).unwrap();
            }
            let why = copy(&mut Fake::of(&log), &file(40), folder.path(), |_| ())
                .await
                .unwrap_err();
            assert!(why.to_string().contains("move it away"), "{why}");
            assert_eq!(fs::read(&precious).unwrap(), b"precious", "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_digest_that_takes_several_answers_is_waited_for() {
    let log = content(40);
    let folder = tempfile::tempdir().unwrap();
    let mut slow = Slow(Fake::of(&log), VecDeque::from([10, 20, 5, 15, 25]));
    let copied = copy(&mut slow, &file(40), folder.path(), |_| ()).await.unwrap();
    assert_eq!(fs::read(copied.path).unwrap(), log);
    let folder = tempfile::tempdir().unwrap();
    let mut stuck = Slow(Fake::of(&log), VecDeque::from(vec![10; 10_000]));
    let why = copy(&mut stuck, &file(40), folder.path(), |_| ()).await.unwrap_err();
    assert!(why.to_string().contains("makes no sense"), "{why}");
}

/// Like a full disk: nothing can be made in the folder, not even by root.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_takes_no_file_is_named_with_what_to_do() {
    let folder = Path::new("/proc/self");
    let mut source = Fake::of(&content(40));
    let failure = copy(&mut source, &file(40), folder, |_| ()).await.unwrap_err();
    let said = failure.to_string();
    assert!(
        said.starts_with(&format!("cannot copy {NAME} into /proc/self: ")) && said.contains("--download=DIR"),
        "{said}"
    );
}

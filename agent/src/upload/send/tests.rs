//! Logs on their way into a store that fails at every request, while the agent dies at any step.

mod answers;

use super::*;
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store of which the `fails_at`-th request is lost: before it reaches the store, or its answer.
#[derive(Debug, Default)]
struct Shaky {
    store: InMemory,
    requests: AtomicUsize,
    fails_at: AtomicUsize,
    only_the_answer: bool,
}

impl Shaky {
    fn lost() -> object_store::Error {
        object_store::Error::Generic {
            store: "shaky",
            source: Box::new(HttpError::new(
                object_store::client::HttpErrorKind::Connect,
                io::Error::other("the line is cut"),
            )),
        }
    }

    async fn request<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        let fails = self.requests.fetch_add(1, Ordering::Relaxed) == self.fails_at.load(Ordering::Relaxed);
        if fails && !self.only_the_answer {
            return Err(Self::lost());
        }
        let answer = request.await;
        if fails { Err(Self::lost()) } else { answer }
    }
}

impl fmt::Display for Shaky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("shaky")
    }
}

#[async_trait]
impl ObjectStore for Shaky {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.request(self.store.put_opts(location, payload, opts)).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.request(self.store.get_opts(location, options)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for Shaky {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.request(self.store.create_multipart(path)).await
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, index: usize, data: PutPayload) -> Result<PartId> {
        self.request(self.store.put_part(path, id, index, data)).await
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        self.request(self.store.complete_multipart(path, id, parts)).await
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.request(self.store.abort_multipart(path, id)).await
    }
}

fn node() -> NodeName {
    NodeName::parse("pine").unwrap()
}

fn log(folder: &std::path::Path, bytes: u64) -> WholeLog {
    let name = "skein-pine-20261121T080203Z-9.tlog".to_owned();
    let path = folder.join(&name);
    let data: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
    fs::write(&path, data).unwrap();
    WholeLog {
        name,
        path,
        bytes,
        autopilot: false,
    }
}

async fn objects(store: &InMemory) -> Vec<String> {
    let list: Vec<ObjectMeta> = store.list(None).try_collect().await.unwrap();
    list.into_iter().map(|object| object.location.to_string()).collect()
}

#[tokio::test]
async fn whichever_request_is_lost_the_log_is_there_once_and_equal_in_the_end() {
    for bytes in [0, 7, 2 * PART + 7] {
        for only_the_answer in [false, true] {
            for fails_at in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let log = log(folder.path(), bytes);
                let store = Shaky {
                    fails_at: fails_at.into(),
                    only_the_answer,
                    ..Shaky::default()
                };
                let sender = Sender {
                    store: &store,
                    node: &node(),
                    prefix: "fleet",
                };
                let mut sent = None;
                let mut lives = 0;
                while sent.is_none() {
                    // A new life each time, with what is on the disk.
                    let mut ledger = Ledger::open(folder.path(), &node()).unwrap();
                    sent = sender.send(&mut ledger, &log).await.ok();
                    lives += 1;
                    assert!(lives < 4, "{bytes} bytes, request {fails_at}");
                }
                let sent = sent.unwrap();
                assert_eq!(
                    objects(&store.store).await,
                    [sent.key.clone(), format!("{}.json", sent.key)]
                );
                let stored = store.store.get(&Path::from(sent.key.as_str())).await.unwrap();
                assert_eq!(stored.bytes().await.unwrap()[..], fs::read(&log.path).unwrap());
                if lives == 1 {
                    assert!(fails_at > 2, "there were requests that could fail");
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn parts_that_the_store_has_are_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 3 * PART);
    let store = Shaky {
        // Is it there, begin, two parts.
        fails_at: 4.into(),
        ..Shaky::default()
    };
    let sender = Sender {
        store: &store,
        node: &node(),
        prefix: "",
    };
    let mut ledger = Ledger::open(folder.path(), &node()).unwrap();
    let why = sender.send(&mut ledger, &log).await.unwrap_err().to_string();
    assert!(why.contains("the line is cut"), "{why}");
    let mut again = Ledger::open(folder.path(), &node()).unwrap();
    assert_eq!(again.now.under_way.as_ref().unwrap().parts.len(), 2);
    sender.send(&mut again, &log).await.unwrap();
    // Is it there, the last part, the end, is it there and its bytes, the record.
    assert_eq!(store.requests.load(Ordering::Relaxed), 5 + 6);
}

#[tokio::test]
async fn an_object_of_another_content_under_the_key_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [7, PART + 1] {
        let log = log(folder.path(), bytes);
        let store = InMemory::new();
        let sums = Sums::of(&mut File::open(&log.path).unwrap(), bytes).unwrap();
        let key = Path::from(log.key("", &node(), &sums.sha256));
        let other = vec![0; usize::try_from(bytes).unwrap()];
        store.put(&key, other.into()).await.unwrap();
        let sender = Sender {
            store: &store,
            node: &node(),
            prefix: "",
        };
        let mut ledger = Ledger::open(folder.path(), &node()).unwrap();
        sender.send(&mut ledger, &log).await.unwrap();
        let stored = store.get(&key).await.unwrap().bytes().await.unwrap();
        assert_eq!(stored[..], fs::read(&log.path).unwrap());
    }
}

//! One log on its way into the store, from where it was left, until the store has all of it and shows that it is equal.
//!
//! Owns: the order of steps, what is written down between them, and what counts as equal. Must not: decide when, or try again.
//!
//!   is it there? --no--> one request, or parts: each is written down once the store has it --> is it there? --> its record --> done
//!
//! A log's key has the beginning of its SHA-256, so to send one twice changes nothing. One that is killed between two steps goes on with what is
//! written down; the store is asked before that is believed.

use super::disk::{PART, Sums, WholeLog, hex};
use super::http::NoExchange;
use super::ledger::{Ledger, SentLog, UnderWay};
use crate::logs::library::summary_of;
use futures_util::TryStreamExt;
use model::ids::NodeName;
use object_store::client::HttpError;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs::File;
use std::io;
use tracing::{debug, warn};

/// An upload whose end the store refuses so often is sent again from its beginning.
const REFUSALS_AT_MOST: u32 = 3;

/// The store's id of an upload is a part of addresses, and those have at most 64 KiB: the library panics at longer ones.
const ID_AT_MOST: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub(super) enum NotSent {
    #[error("the agent's disk: {0}")]
    Disk(#[from] io::Error),
    #[error("{}", in_words(.0))]
    Store(#[from] object_store::Error),
    #[error("the store names an upload by {0} bytes, more than {ID_AT_MOST}; check SKEIN_UPLOAD_ENDPOINT")]
    LongId(usize),
    #[error("what the store has of {0} is not equal to it; it is sent again")]
    Differs(String),
    #[error("the store has given up what it had of {0}; it is sent again")]
    Forgotten(String),
}

#[derive(Debug)]
pub(super) struct Sender<'a, S> {
    pub(super) store: &'a S,
    pub(super) node: &'a NodeName,
    pub(super) prefix: &'a str,
}

impl<S: ObjectStore + MultipartStore> Sender<'_, S> {
    /// What the store has is written into `ledger` on the way. Safe to drop at any point, and to call again.
    pub(super) async fn send(&self, ledger: &mut Ledger, log: &WholeLog) -> Result<SentLog, NotSent> {
        let mut file = File::open(&log.path)?;
        let sums = Sums::of(&mut file, log.bytes)?;
        let sent = SentLog {
            name: log.name.clone(),
            bytes: log.bytes,
            key: log.key(self.prefix, self.node, &sums.sha256),
            sha256: sums.sha256.clone(),
        };
        let key = Path::from(sent.key.as_str());
        if !self.has(&key, log.bytes, &sums, true).await? {
            if log.bytes <= PART {
                self.store.put(&key, log.part(&mut file, 0)?.into()).await?;
            } else {
                self.send_parts(ledger, log, &mut file, &sums, &sent, &key).await?;
            }
            if !self.has(&key, log.bytes, &sums, false).await? {
                self.abandon(ledger).await?;
                return Err(NotSent::Differs(sent.name));
            }
        }
        let record = self.record(log, &sent)?;
        self.store
            .put(&Path::from(format!("{}.json", sent.key)), record.into())
            .await?;
        Ok(sent)
    }

    async fn send_parts(
        &self,
        ledger: &mut Ledger,
        log: &WholeLog,
        file: &mut File,
        sums: &Sums,
        sent: &SentLog,
        key: &Path,
    ) -> Result<(), NotSent> {
        if ledger
            .now
            .under_way
            .as_ref()
            .is_none_or(|under_way| under_way.log != *sent)
        {
            self.abandon(ledger).await?;
            let id = self.store.create_multipart(key).await?;
            if id.len() > ID_AT_MOST {
                return Err(NotSent::LongId(id.len()));
            }
            ledger.now.under_way = Some(UnderWay::of(sent.clone(), id));
            ledger.save()?;
        }
        let Some(UnderWay { id, parts, .. }) = ledger.now.under_way.clone() else {
            return Err(NotSent::Forgotten(sent.name.clone()));
        };
        for (index, md5) in sums.parts.iter().enumerate().skip(parts.len()) {
            let data = log.part(file, u64::try_from(index).unwrap_or(u64::MAX))?;
            let part = match self.store.put_part(key, &id, index, data.into()).await {
                Err(object_store::Error::NotFound { .. }) => {
                    ledger.now.under_way = None;
                    ledger.save()?;
                    return Err(NotSent::Forgotten(sent.name.clone()));
                }
                part => part?,
            };
            if is_md5(&part.content_id) && bare(&part.content_id) != *md5 {
                return Err(NotSent::Differs(sent.name.clone()));
            }
            if let Some(under_way) = &mut ledger.now.under_way {
                under_way.parts.push(part.content_id);
            }
            ledger.save()?;
        }
        let parts = ledger
            .now
            .under_way
            .iter()
            .flat_map(|under_way| under_way.parts.clone());
        let parts: Vec<_> = parts.map(|content_id| PartId { content_id }).collect();
        match self.store.complete_multipart(key, &id, parts).await {
            // Of an end whose answer was lost: what is there says the rest.
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(why) if is_of_the_network(&why) => Err(why.into()),
            Err(why) => {
                let refusals = ledger.now.under_way.as_mut().map_or(0, |under_way| {
                    under_way.refusals += 1;
                    under_way.refusals
                });
                if refusals >= REFUSALS_AT_MOST {
                    self.abandon(ledger).await?;
                } else {
                    ledger.save()?;
                }
                Err(why.into())
            }
        }
    }

    async fn abandon(&self, ledger: &mut Ledger) -> Result<(), NotSent> {
        let Some(under_way) = ledger.now.under_way.take() else {
            return Ok(());
        };
        ledger.save()?;
        let key = Path::from(under_way.log.key.as_str());
        if let Err(why) = self.store.abort_multipart(&key, &under_way.id).await {
            // Those are removed by a rule of the bucket, which the guide recommends.
            debug!(
                why = in_words(&why),
                key = under_way.log.key,
                "parts of a log may be left in the store"
            );
        }
        Ok(())
    }

    /// Whether the store has these bytes. Before they were sent, a store that shows nothing to those who may not list is believed to have none.
    async fn has(&self, key: &Path, bytes: u64, sums: &Sums, before: bool) -> Result<bool, NotSent> {
        let about = match self.store.head(key).await {
            Ok(about) => about,
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(object_store::Error::PermissionDenied { .. }) if before => return Ok(false),
            Err(why) => return Err(why.into()),
        };
        if about.size != bytes {
            return Ok(false);
        }
        let etag = about.e_tag.as_deref().map(bare).unwrap_or_default();
        if etag == sums.md5 || etag == sums.md5_of_parts {
            return Ok(true);
        }
        // A store whose ETags are no MD5, as with keys of a key service: it is read back, if that has as many bytes.
        let object = self.store.get(key).await?;
        if object.meta.size != bytes {
            return Ok(false);
        }
        let mut stream = object.into_stream();
        let mut digest = Sha256::new();
        while let Some(piece) = stream.try_next().await? {
            digest.update(&piece);
        }
        let equal = hex(&digest.finalize()) == sums.sha256;
        if !equal {
            warn!(%key, "the object has another content than the log");
        }
        Ok(equal)
    }

    fn record(&self, log: &WholeLog, sent: &SentLog) -> io::Result<Vec<u8>> {
        let mut record = json!({
            "node": self.node.as_str(),
            "log": sent.name,
            "key": sent.key,
            "bytes": sent.bytes,
            "sha256": sent.sha256,
            "autopilot": log.autopilot,
        });
        if !log.autopilot
            && let Some(fields) = record.as_object_mut()
        {
            let summary = summary_of(File::open(&log.path)?)?;
            fields.insert("begunMilliseconds".to_owned(), summary.begun_ms().into());
            fields.insert("lengthSeconds".to_owned(), summary.length().as_secs_f64().into());
            fields.insert("armedSeconds".to_owned(), summary.armed().as_secs_f64().into());
            fields.insert("inAirSeconds".to_owned(), summary.in_air().as_secs_f64().into());
            fields.insert("highestMetersAboveHome".to_owned(), summary.highest_m().into());
        }
        Ok(serde_json::to_vec_pretty(&record)?)
    }
}

fn bare(etag: &str) -> String {
    etag.trim_matches('"').to_ascii_lowercase()
}

fn is_md5(etag: &str) -> bool {
    let etag = bare(etag);
    etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn is_of_the_network(error: &object_store::Error) -> bool {
    causes(error).any(|cause| cause.is::<HttpError>() || cause.is::<NoExchange>())
}

/// The innermost reason, where the store said nothing.
fn in_words(error: &object_store::Error) -> String {
    let text = if is_of_the_network(error) {
        causes(error).last().map_or_else(String::new, ToString::to_string)
    } else {
        error.to_string()
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(400).collect()
}

#[cfg(test)]
mod tests;

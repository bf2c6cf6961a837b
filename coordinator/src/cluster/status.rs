//! Writing the status of an object, and of no other one that was made again under its name.
//!
//! An API server does not compare `metadata.uid` where the status of a custom resource is written: it takes it from the stored object. What a
//! late watch shows of an object that is gone would become the status of its successor, whose generation may be the same. So a status is
//! written on one version of the object. Where that is not the newest, the newest is asked for, and the status goes on it if it is of the same
//! object: others who change it, or a watch that is late, keep no status back. (That of a Node is refused where the uid is another's;
//! `tests/tests/api/subresources.rs` has both.) A leader puts it on a newer version only while it may act ([`write_while`]): that version may
//! be the next leader's.
//!
//! Owns: that. Must not: decide what is written, or when it is tried again.

use super::api::{self, ApiError};
use crds::labels;
use kube::Resource;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

/// So often one write asks for the newest version.
const ROUNDS: u32 = 3;

/// Writes `status` on the object `about`, and returns it as it is then; `what` completes "cannot …".
///
/// # Errors
/// [`ApiError`]; it is overtaken where the object is gone, even if there is another of its name.
pub async fn write<K>(
    what: &'static str,
    api: &Api<K>,
    about: &ObjectMeta,
    status: &(impl Serialize + Sync),
) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    write_while(|| true, what, api, about, status).await
}

/// The same, by a leader: on a newer version of the object only while it `acts`.
///
/// # Errors
/// [`ApiError`]; it is overtaken also where the object has changed and the leader acts no more.
pub async fn write_while<K>(
    acts: impl Fn() -> bool,
    what: &'static str,
    api: &Api<K>,
    about: &ObjectMeta,
    status: &(impl Serialize + Sync),
) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let name = about.name.as_deref().unwrap_or_default();
    let params = PatchParams::apply(labels::COORDINATOR).force();
    let mut version = about.resource_version.clone();
    let mut rounds = 0;
    loop {
        let patch = Patch::Apply(json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": {"name": name, "uid": about.uid, "resourceVersion": version},
            "status": status,
        }));
        match api::call(what, api.patch_status(name, &params, &patch)).await {
            Err(error) if error.is_conflict() && rounds < ROUNDS && acts() => {
                rounds += 1;
                version = newest(what, api, about).await?;
                // The answer may have taken its time.
                if version.is_none() || !acts() {
                    return Err(error);
                }
            }
            written => return written,
        }
    }
}

/// The version of the object now; `None` where it is gone.
async fn newest<K>(what: &'static str, api: &Api<K>, about: &ObjectMeta) -> Result<Option<String>, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    // A coordinator may list all kinds, and get only some.
    let named = ListParams::default().fields(&format!("metadata.name={}", about.name.as_deref().unwrap_or_default()));
    let found = api::call(what, api.list_metadata(&named)).await?;
    let same = found.items.into_iter().find(|found| found.metadata.uid == about.uid);
    Ok(same.and_then(|same| same.metadata.resource_version))
}

#[cfg(test)]
mod tests;

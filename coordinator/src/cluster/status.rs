//! Writes the status of an object, and never that of a successor with its name.
//!
//! An API server does not compare `metadata.uid` on the status subresource of a custom resource: it takes the uid from the stored object. A
//! late watch could so put the status of a deleted object on its successor, whose generation may be the same. Therefore a status is written
//! on one resourceVersion. Where that is not the newest, the newest is asked for, and the write is repeated if the uid is the same, so that
//! other writers or a late watch keep no status back. (For a Node another uid is refused; `tests/tests/api/subresources.rs` has both.) A
//! leader repeats a write only while it may act ([`write_while`]): the newer version may be the next leader's.

use super::api::{self, ApiError};
use crds::labels;
use kube::Resource;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

/// Each on the newest version.
const MAX_WRITE_ATTEMPTS: u32 = 3;

/// Writes `status` on the object `about`, and returns the object; `what` completes "cannot …". Overtaken if the object is gone.
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

/// The same, by a leader: on a newer version only while it `acts`, else overtaken.
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
            Err(error) if error.is_conflict() && rounds < MAX_WRITE_ATTEMPTS && acts() => {
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

/// `None` where the object is gone.
async fn newest<K>(what: &'static str, api: &Api<K>, about: &ObjectMeta) -> Result<Option<String>, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    // RBAC: the coordinator may list all kinds, and get only some.
    let named = ListParams::default().fields(&format!("metadata.name={}", about.name.as_deref().unwrap_or_default()));
    let found = api::call(what, api.list_metadata(&named)).await?;
    let same = found.items.into_iter().find(|found| found.metadata.uid == about.uid);
    Ok(same.and_then(|same| same.metadata.resource_version))
}

#[cfg(test)]
mod tests;

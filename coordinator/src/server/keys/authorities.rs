//! Our authorities in Secret `skein-ca`.

use super::KeysError;
use crate::cluster::api;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::core::ObjectMeta;
use std::collections::BTreeMap;
use std::time::SystemTime;
use trust::Authorities;

const NAME: &str = "skein-ca";

const KEY: &str = "authorities.pem";

pub(super) async fn current(client: &kube::Client, namespace: &str, now: SystemTime) -> Result<Authorities, KeysError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    // Another coordinator may be first, twice at most: once to make it, once to add to it.
    let mut tries = 3;
    loop {
        tries -= 1;
        let found = api::call("read Secret skein-ca", secrets.get_opt(NAME)).await?;
        let kept = found.as_ref().and_then(text);
        let (next, wanted) = match kept {
            Some(text) => {
                let authorities = Authorities::from_pem(&text)?;
                match authorities.next(now)? {
                    None => return Ok(authorities),
                    Some(next) => (next, "next authority made; it signs once all had time to read it"),
                }
            }
            None => (Authorities::make(now)?, "first authority made"),
        };
        match write(&secrets, namespace, found, &next).await {
            Ok(()) => {
                tracing::info!(namespace, secret = NAME, "{wanted}");
                return Ok(next);
            }
            Err(error) if error.is_overtaken() && tries > 0 => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn text(secret: &Secret) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(KEY)?;
    // Bytes that are no text are reported where the text is parsed.
    Some(String::from_utf8_lossy(&bytes.0).into_owned())
}

async fn write(
    secrets: &Api<Secret>,
    namespace: &str,
    found: Option<Secret>,
    authorities: &Authorities,
) -> Result<(), api::ApiError> {
    let params = api::posting();
    let exists = found.is_some();
    let mut secret = found.unwrap_or_else(|| Secret {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(super::published::labels()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    });
    secret.metadata.managed_fields = None;
    let bytes = ByteString(authorities.to_pem().into_bytes());
    secret
        .data
        .get_or_insert_with(BTreeMap::new)
        .insert(KEY.to_owned(), bytes);
    // It keeps its resourceVersion, so that of two writers one is refused.
    if exists {
        api::call("write Secret skein-ca", secrets.replace(NAME, &params, &secret)).await?;
    } else {
        api::call("create Secret skein-ca", secrets.create(&params, &secret)).await?;
    }
    Ok(())
}

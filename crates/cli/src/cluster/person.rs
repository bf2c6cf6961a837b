//! How a person with a token proves who they are to a coordinator: by a key in a CertificateSigningRequest
//! ([`trust::proof`]). Nobody need approve it: the API server notes its author, and the coordinator reads that. A
//! program that answers in the coordinator's place gets no token, and nothing of use elsewhere.

use super::refusal::Refusal;
use super::stored_proof::StoredProof;
use super::{Cluster, answer_of};
use crate::failure::Failure;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;
use trust::person::is_due;
use trust::proof::{REQUEST_LIFE, SIGNER};
use trust::{Identity, PersonKey, RequestName};

const PREFIX: &str = "skein-person-";

/// Time for a new request while an earlier proof is still good.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Proof {
    pub identity: Identity,
    /// Where an earlier command stored it.
    pub stored: Option<StoredProof>,
}

impl Cluster {
    /// Reuses an earlier command's proof and renews it after half of its life. The old one serves while the API server
    /// takes no new requests: a ground order must not depend on them.
    pub async fn proof(&self) -> Result<Proof, Failure> {
        let now = SystemTime::now();
        let earlier = match &self.stored {
            Some(stored) => stored.clone().read(now).await,
            None => None,
        };
        let stored = self.stored.clone();
        match earlier {
            Some(identity) if !is_due(identity.validity(), now) => Ok(Proof { identity, stored }),
            Some(identity) => match timeout(RENEWAL_TIMEOUT, self.new_proof(now)).await {
                Ok(Ok(renewed)) => Ok(renewed),
                Ok(Err(_)) | Err(_) => Ok(Proof { identity, stored }),
            },
            None => self.new_proof(now).await,
        }
    }

    async fn new_proof(&self, now: SystemTime) -> Result<Proof, Failure> {
        let fault = |why: trust::person::PersonError| Failure::Failed(why.to_string());
        let key = PersonKey::make().map_err(fault)?;
        let name = self.request(key.request_pem().map_err(fault)?).await?;
        let identity = key.identity(&name, now).map_err(fault)?;
        if let Some(stored) = &self.stored {
            stored.clone().write(identity.clone(), now).await;
        }
        Ok(Proof { identity, stored: None })
    }

    async fn request(&self, pem: String) -> Result<RequestName, Failure> {
        let requests: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let what = "create certificatesigningrequests";
        let (params, request) = (PostParams::default(), request(pem));
        let made = match answer_of(what, requests.create(&params, &request)).await {
            Err(Refusal::Forbidden { what, why }) => return Err(Refusal::Unconfirmed { what, why }.into()),
            answer => answer?,
        };
        let name = made.metadata.name.unwrap_or_default();
        RequestName::parse(&name).map_err(|why| {
            let why = why.to_string();
            Refusal::Other {
                what: what.to_owned(),
                why,
            }
            .into()
        })
    }
}

fn request(pem: String) -> CertificateSigningRequest {
    CertificateSigningRequest {
        metadata: ObjectMeta {
            generate_name: Some(PREFIX.to_owned()),
            labels: Some(BTreeMap::from([(
                "app.kubernetes.io/part-of".to_owned(),
                "skein".to_owned(),
            )])),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(pem.into_bytes()),
            signer_name: SIGNER.to_owned(),
            usages: Some(vec!["client auth".to_owned()]),
            expiration_seconds: i32::try_from(REQUEST_LIFE.as_secs()).ok(),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    }
}

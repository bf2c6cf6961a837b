//! A user of Kubernetes, as the API server knows them.

use k8s_openapi::api::authentication::v1::UserInfo;
use std::collections::BTreeMap;

/// The group of all who have shown who they are.
const AUTHENTICATED: &str = "system:authenticated";

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User {
    pub name: String,
    /// Empty when there is none.
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user that the API server takes a client certificate for.
    pub fn of_certificate(name: &str, groups: &[String]) -> Self {
        let mut groups = groups.to_vec();
        groups.push(AUTHENTICATED.to_owned());
        Self {
            name: name.to_owned(),
            groups,
            ..Self::default()
        }
    }
}

impl From<UserInfo> for User {
    fn from(info: UserInfo) -> Self {
        Self {
            name: info.username.unwrap_or_default(),
            uid: info.uid.unwrap_or_default(),
            groups: info.groups.unwrap_or_default(),
            extra: info.extra.unwrap_or_default(),
        }
    }
}

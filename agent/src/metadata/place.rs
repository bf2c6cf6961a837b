//! Where a piece of metadata is: the URIs that an autopilot names.

/// What fits into one packet.
const LONGEST: usize = crate::ftp::packet::DATA;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the vehicle, with the component that serves it if it is not the autopilot.
    Vehicle {
        component: Option<u8>,
        path: String,
    },
    /// Never fetched: a companion computer need not have the Internet.
    Internet,
    Unknown,
}

pub(super) fn place(uri: &str) -> Place {
    let uri = uri.trim_end_matches('\0').trim();
    if ["http://", "https://"].iter().any(|scheme| uri.starts_with(scheme)) {
        return Place::Internet;
    }
    let Some(rest) = uri.strip_prefix("mftp://") else {
        return Place::Unknown;
    };
    let (component, path) = match rest.strip_prefix("[;comp=").and_then(|rest| rest.split_once(']')) {
        Some((component, path)) => match component.parse() {
            Ok(component) => (Some(component), path),
            Err(_) => return Place::Unknown,
        },
        None => (None, rest),
    };
    let good = !path.is_empty() && path.len() <= LONGEST && !path.chars().any(char::is_control);
    match good {
        true => Place::Vehicle {
            component,
            path: path.to_owned(),
        },
        false => Place::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vehicle(component: Option<u8>, path: &str) -> Place {
        let path = path.to_owned();
        Place::Vehicle { component, path }
    }

    #[test]
    fn a_file_on_the_vehicle_has_a_path_and_perhaps_a_component() {
        assert_eq!(
            place("mftp://etc/extras/a.json.xz"),
            vehicle(None, "etc/extras/a.json.xz")
        );
        assert_eq!(place("mftp:///a.json\0\0"), vehicle(None, "/a.json"));
        assert_eq!(
            place("mftp://[;comp=100]info/a.json"),
            vehicle(Some(100), "info/a.json")
        );
    }

    #[test]
    fn a_file_on_the_internet_is_known_as_such_and_everything_else_is_nothing() {
        assert_eq!(place("https://example.org/a.json.xz"), Place::Internet);
        assert_eq!(place("http://example.org/a.json.xz"), Place::Internet);
        let long = format!("mftp://{}", "a".repeat(240));
        for uri in ["", "mftp://", "mftp://[;comp=1000]a", "ftp://a", "mftp://a\nb", &long] {
            assert_eq!(place(uri), Place::Unknown, "{uri}");
        }
    }
}

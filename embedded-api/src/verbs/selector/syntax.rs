//! The form of label keys and values.
//!
//! Owns: what is wrong with one. Must not: know where it stands.

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LONGEST: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// What is wrong with a key.
pub(super) fn of_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > LONGEST_PREFIX {
                    faults.push(format!("prefix part must be no more than {LONGEST_PREFIX} bytes"));
                }
                if !prefix.split('.').all(is_domain_part) {
                    faults.push(format!("prefix part {SUBDOMAIN}"));
                }
            }
            name
        }
        _ => {
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME} {prefix}")];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LONGEST {
        faults.push(format!("name part must be no more than {LONGEST} bytes"));
    }
    if !is_name(name) {
        faults.push(format!("name part {NAME}"));
    }
    faults
}

/// What is wrong with a value.
pub(super) fn of_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > LONGEST {
        faults.push(format!("must be no more than {LONGEST} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn is_name(text: &str) -> bool {
    let outer = |letter: Option<u8>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let inner = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    outer(text.bytes().next()) && outer(text.bytes().last()) && text.bytes().all(inner)
}

fn is_domain_part(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let outer = |letter: Option<u8>| letter.is_some_and(plain);
    outer(text.bytes().next()) && outer(text.bytes().last()) && text.bytes().all(|letter| plain(letter) || letter == b'-')
}

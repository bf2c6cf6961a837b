//! Authorities over the years.

use super::*;
use crate::validity::at;
use proptest::prelude::*;

const DAY: Duration = Duration::from_secs(86_400);

fn start() -> SystemTime {
    at(1_800_000_000)
}

fn lived(days: u32) -> Vec<Validity> {
    let mut lives = vec![Validity::of(start(), LIFE)];
    for day in 0..days {
        let now = start() + DAY * day;
        if is_time(&lives, now) {
            lives.push(Validity::of(now, LIFE));
        }
    }
    lives
}

#[test]
fn a_new_authority_is_made_two_years_ahead_and_signs_once_all_had_time_to_learn_it() {
    let days = |span: Duration| u32::try_from(span.as_secs() / DAY.as_secs()).unwrap();
    assert_eq!(lived(days(LIFE - AHEAD)).len(), 1);
    let lives = lived(days(LIFE - AHEAD) + 2);
    assert_eq!(lives.len(), 2);
    let made = lives[1].not_before + crate::validity::SKEW;
    assert_eq!(signer(&lives, made), 0);
    assert_eq!(signer(&lives, made + OVERLAP - DAY), 0);
    assert_eq!(signer(&lives, made + OVERLAP), 1);
    assert_eq!(lived(365 * 20).len(), 7, "one each three years");
}

#[test]
fn no_client_certificate_outlives_the_authorities_of_its_holder() {
    assert!(LONGEST_CLIENT < OVERLAP);
    assert!(
        OVERLAP + LONGEST_CLIENT < AHEAD + DAY * 366,
        "the old one is good until its last client has ended"
    );
}

proptest! {
    #[test]
    fn at_any_time_the_signer_is_good_and_was_known_to_those_who_enrolled_before(day in 0_u32..365 * 30) {
        let now = start() + DAY * day;
        let lives = lived(day + 1);
        let signs = signer(&lives, now);
        prop_assert!(lives[signs].holds(now));
        // A client that enrolled within the longest life of a certificate received it then.
        prop_assert!(signs == 0 || lives[signs].not_before + LONGEST_CLIENT < now);
    }
}

#[test]
fn a_clock_that_jumped_into_the_future_and_back_changes_no_signer() {
    let (first, later) = (Validity::of(start(), LIFE), Validity::of(start() + DAY * 9000, LIFE));
    assert!(is_time(&[first], start() + DAY * 9000));
    assert_eq!(signer(&[first, later], start() + DAY), 0);
    assert!(is_time(&[first, later], start() + LIFE - AHEAD + DAY));
}

#[test]
fn authorities_are_read_back_as_they_were_written() {
    let first = Authorities::make(start()).unwrap();
    let later = start() + LIFE - AHEAD + DAY;
    assert_eq!(first.next(start()).unwrap(), None);
    let both = first.next(later).unwrap().unwrap();
    assert_eq!(Authorities::from_pem(&both.to_pem()).unwrap(), both);
    assert_eq!(both.bundle(later).certificates().len(), 2);
    assert_eq!(both.signer(later), first.signer(later));
    assert_eq!(
        both.bundle(start() + LIFE + DAY).certificates().len(),
        1,
        "the first has ended"
    );
    assert!(both.next(later).unwrap().is_none());
}

#[test]
fn damaged_authorities_are_reported_and_not_replaced() {
    let one = Authorities::make(start()).unwrap().to_pem();
    let other = Authorities::make(start()).unwrap().to_pem();
    let key = |text: &str| text.find("-----BEGIN PRIVATE KEY-----").unwrap();
    let swapped = format!("{}{}", &one[..key(&one)], &other[key(&other)..]);
    assert!(matches!(Authorities::from_pem(""), Err(AuthoritiesError::Empty)));
    assert!(matches!(
        Authorities::from_pem(&swapped),
        Err(AuthoritiesError::Damaged(1, AuthorityError::Strangers))
    ));
    for cut in [one.len() / 4, one.len() / 2, key(&one), one.len() - 60] {
        assert!(Authorities::from_pem(&one[..cut]).is_err(), "{cut}");
        let second = format!("{one}{}", &other[..cut.min(other.len() - 1)]);
        assert!(
            matches!(Authorities::from_pem(&second), Err(AuthoritiesError::Damaged(2, _))),
            "{cut}"
        );
    }
}

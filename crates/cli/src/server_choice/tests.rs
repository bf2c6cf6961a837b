//! Precedence of coordinators, case by case.

use super::*;

fn url(text: &str) -> ServerUrl {
    text.parse().unwrap()
}

fn given() -> WhereArgs {
    WhereArgs::default()
}

fn record() -> StationRecord {
    StationRecord {
        server: "https://127.0.0.1:50051".into(),
        listen: "0.0.0.0:50051".into(),
        kubeconfig: "/data/kubeconfig".into(),
    }
}

fn field() -> Environment {
    Environment {
        data: Some("/data".into()),
        station: Some(record()),
        ..Environment::default()
    }
}

fn cluster(environment: &Environment, given: WhereArgs) -> cluster::Choice {
    match choose(given, environment).unwrap() {
        Route::Cluster { choice, .. } => choice,
        other => panic!("{other:?}"),
    }
}

fn is_station(environment: &Environment) -> bool {
    matches!(choose(given(), environment), Ok(Route::Station { .. }))
}

fn refusal(given: WhereArgs, environment: &Environment) -> String {
    match choose(given, environment).unwrap_err() {
        Failure::Usage(text) | Failure::Away(text) => text,
        other => panic!("{other}"),
    }
}

#[test]
fn an_address_that_is_named_counts_before_all_else_and_a_flag_before_the_variable() {
    let environment = Environment {
        server: Some("http://127.0.0.1:3".into()),
        ..field()
    };
    assert_eq!(
        choose(given(), &environment).unwrap(),
        Route::Plain(url("http://127.0.0.1:3"))
    );
    let flag = WhereArgs {
        server: Some(url("http://localhost:4")),
        ..given()
    };
    assert_eq!(
        choose(flag, &environment).unwrap(),
        Route::Plain(url("http://localhost:4"))
    );
    let wrong = Environment {
        server: Some("ftp://c:3".into()),
        ..Environment::default()
    };
    assert!(refusal(given(), &wrong).starts_with("SKEIN_SERVER is \"ftp://c:3\": give"));
}

#[test]
fn a_flag_about_a_cluster_or_a_station_counts_before_a_variable_about_an_address() {
    let environment = Environment {
        server: Some("http://127.0.0.1:3".into()),
        ..Environment::default()
    };
    let context = WhereArgs {
        context: Some("north".into()),
        ..given()
    };
    assert_eq!(cluster(&environment, context).context.as_deref(), Some("north"));
}

#[test]
fn the_station_of_this_machine_is_found_by_itself() {
    assert!(is_station(&field()));
    assert!(is_station(&Environment {
        has_usual_kubeconfig: true,
        ..field()
    }));
    // Its own kubeconfig is no other cluster, also when kubectl calls.
    assert!(is_station(&Environment {
        kubeconfig: Some("/data/kubeconfig".into()),
        is_plugin: true,
        ..field()
    }));
}

#[test]
fn where_two_fleets_could_be_meant_the_person_has_to_choose() {
    let environment = Environment {
        kubeconfig: Some("/home/a/cluster".into()),
        ..field()
    };
    assert!(refusal(given(), &environment).contains("say which one with --station DIR, or with --context NAME"));
    let plugin = Environment {
        is_plugin: true,
        ..environment.clone()
    };
    cluster(&plugin, given());
    let named = Environment {
        data_is_named: true,
        ..environment
    };
    assert!(is_station(&named));
    let both = WhereArgs {
        station: Some("/data".into()),
        context: Some("north".into()),
        ..given()
    };
    assert!(refusal(both, &field()).contains("leave out"));
}

#[test]
fn without_a_station_it_is_the_cluster_of_the_kubeconfig() {
    for environment in [
        Environment {
            kubeconfig: Some("/home/a/cluster".into()),
            ..Environment::default()
        },
        Environment {
            has_usual_kubeconfig: true,
            ..Environment::default()
        },
        Environment {
            is_plugin: true,
            ..Environment::default()
        },
    ] {
        assert_eq!(cluster(&environment, given()), cluster::Choice::default());
    }
    assert!(refusal(given(), &Environment::default()).contains("no coordinator is known here"));
    let named = Environment {
        data: Some("/none".into()),
        data_is_named: true,
        ..Environment::default()
    };
    assert!(refusal(given(), &named).contains("no ground station runs with the data folder /none"));
}

#[test]
fn a_credential_is_shown_only_where_the_authority_that_it_belongs_to_is_believed() {
    let https = WhereArgs {
        server: Some(url("https://c:3")),
        ..given()
    };
    // The kubeconfig's credential goes with the authority that its cluster publishes, and with no other.
    assert!(matches!(
        choose(https.clone(), &Environment::default()).unwrap(),
        Route::Cluster { server: Some(_), .. }
    ));
    let other = WhereArgs {
        server_ca: Some("ca.crt".into()),
        ..https
    };
    assert!(refusal(other.clone(), &field()).contains("nothing says who you are"));
    let half = WhereArgs {
        client_cert: Some("c".into()),
        ..other.clone()
    };
    assert!(refusal(half.clone(), &field()).contains("belong together"));
    let whole = WhereArgs {
        client_key: Some("k".into()),
        ..half
    };
    assert!(matches!(choose(whole, &field()).unwrap(), Route::Files { .. }));
    let token = WhereArgs {
        token_file: Some("t".into()),
        ..other
    };
    assert!(matches!(choose(token, &field()).unwrap(), Route::Files { .. }));
}

#[test]
fn plain_text_stays_on_this_machine_unless_it_is_meant() {
    let plain = WhereArgs {
        server: Some(url("http://c:3")),
        ..given()
    };
    assert!(refusal(plain.clone(), &Environment::default()).contains("--insecure-plaintext if you mean it"));
    let meant = WhereArgs {
        insecure_plaintext: true,
        ..plain
    };
    assert!(matches!(
        choose(meant, &Environment::default()).unwrap(),
        Route::Plain(_)
    ));
}

#[test]
fn the_kubeconfig_of_a_station_that_has_ended_is_no_cluster() {
    let environment = Environment {
        station: None,
        ended: Some(record()),
        kubeconfig: Some("/data/kubeconfig".into()),
        ..field()
    };
    let error = refusal(given(), &environment);
    assert!(
        error.starts_with("no ground station runs with the data folder /data; start it with `skein up`"),
        "{error}"
    );
    let other = Environment {
        kubeconfig: Some("/home/ada/.kube/config".into()),
        ..environment
    };
    assert_eq!(cluster(&other, given()).kubeconfig, None, "another cluster is one");
}

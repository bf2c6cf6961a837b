//! Rights in the Kubernetes API: those of our programs, and those for people.

use super::{PLANE, SYSTEM, kubectl, kubectl_line, object, objects, rendered};
use std::time::Duration;
use testkit::control_plane::workspace_root;
use testkit::wait_for;

fn may(account: &str, request: &str) -> bool {
    user_may(&format!("system:serviceaccount:{SYSTEM}:{account}"), request)
}

fn user_may(user: &str, request: &str) -> bool {
    let user = format!("--as={user}");
    let mut args = vec!["auth", "can-i", &user];
    args.extend(request.split(' '));
    let output = PLANE.kubectl().output(&args).unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(
        answer == "yes" || answer == "no",
        "{request}: {answer} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    answer == "yes"
}

#[test]
fn the_coordinator_may_do_its_work_and_nothing_beside_it() {
    for request in [
        "watch swarms.skein.dev -A",
        "create drones.skein.dev -n anywhere",
        "patch drones.skein.dev --subresource=status -n anywhere",
        "get swarms.skein.dev -n anywhere",
        "list nodes",
        "get nodes",
        "create groundorders.skein.dev",
        "delete groundorders.skein.dev",
        "patch groundorders.skein.dev --subresource=status",
        "create vehicles.skein.dev",
        "delete vehicles.skein.dev",
        "patch vehicles.skein.dev --subresource=status",
        "watch geofences.skein.dev",
        "patch geofences.skein.dev --subresource=status",
        "list parameterprofiles.skein.dev",
        "patch parameterprofiles.skein.dev --subresource=status",
        "watch missions.skein.dev",
        "delete missions.skein.dev -n anywhere",
        "patch missions.skein.dev --subresource=status -n anywhere",
        "watch operators.skein.dev",
        "patch operators.skein.dev --subresource=status",
        "create events.events.k8s.io -n anywhere",
        "update leases.coordination.k8s.io -n skein-system",
        "get daemonset.apps/skein-agent -n skein-system",
        "delete pods -n skein-system",
        "get certificatesigningrequests.certificates.k8s.io",
    ] {
        assert!(may("skein-coordinator", request), "may not {request}");
    }
    for request in [
        "get secrets -n skein-system",
        "create pods -n skein-system",
        "delete pods -n default",
        "patch daemonset.apps/skein-agent -n skein-system",
        "patch nodes",
        "get leases.coordination.k8s.io -n kube-node-lease",
        "delete swarms.skein.dev -n anywhere",
        "patch geofences.skein.dev",
        "patch operators.skein.dev",
        "delete parameterprofiles.skein.dev",
        "create missions.skein.dev -n anywhere",
        "delete leases.coordination.k8s.io -n skein-system",
        "create clusterrolebindings.rbac.authorization.k8s.io",
        "list certificatesigningrequests.certificates.k8s.io",
        "create certificatesigningrequests.certificates.k8s.io",
        "update certificatesigningrequests.certificates.k8s.io --subresource=approval",
        "update certificatesigningrequests.certificates.k8s.io --subresource=status",
    ] {
        assert!(!may("skein-coordinator", request), "may {request}");
    }
}

#[test]
fn the_agent_may_do_nothing_at_all() {
    for request in [
        "get drones.skein.dev -A",
        "get nodes",
        "get secrets -n skein-system",
        "list pods -A",
        "watch leases -A",
    ] {
        assert!(!may("skein-agent", request), "may {request}");
    }
}

/// In the namespace of their role: read, edit, ground (with release and resume), kill (with connect).
fn rights_of(user: &str, namespace: &str) -> [bool; 4] {
    let may = |request: &str| user_may(user, &format!("{request} -n {namespace}"));
    let all = |requests: &[&str]| {
        let answers: Vec<bool> = requests.iter().map(|request| may(request)).collect();
        assert!(
            answers.windows(2).all(|pair| pair[0] == pair[1]),
            "{user}: {requests:?} {answers:?}"
        );
        answers[0]
    };
    // Only the coordinator writes statuses.
    for never in [
        "patch swarms.skein.dev --subresource=status",
        "update drones.skein.dev --subresource=status",
        "patch vehicles.skein.dev --subresource=status",
        "create vehicles.skein.dev",
    ] {
        assert!(!may(never), "{user} may {never}");
    }
    [
        all(&[
            "get drones.skein.dev",
            "list swarms.skein.dev",
            "watch drones.skein.dev",
        ]),
        all(&[
            "create swarms.skein.dev",
            "patch drones.skein.dev",
            "delete drones.skein.dev",
            "update swarms.skein.dev --subresource=scale",
        ]),
        all(&[
            "ground swarms.skein.dev",
            "release swarms.skein.dev",
            "resume drones.skein.dev",
        ]),
        // A ground station can stop motors, too.
        all(&[
            "kill drones.skein.dev",
            "kill swarms.skein.dev",
            "connect drones.skein.dev",
        ]),
    ]
}

#[test]
fn the_built_in_roles_fly_nothing_until_the_chart_is_told_so() {
    kubectl(&["create", "namespace", "field"]);
    for (user, role) in [("vera", "view"), ("edda", "edit"), ("ada", "admin")] {
        kubectl_line(&format!(
            "-n field create rolebinding {user} --clusterrole={role} --user={user}"
        ));
    }
    for user in ["vera", "edda", "ada"] {
        assert_eq!(rights_of(user, "field"), [false; 4], "{user}");
    }
    let labels = |settings: &[&str]| {
        let roles = objects(&rendered(settings));
        ["skein-viewer", "skein-operator", "skein-admin"]
            .map(|name| object(&roles, "ClusterRole", name)["metadata"]["labels"].clone())
    };
    let adds = |settings: &[&str]| {
        ["view", "edit", "admin"]
            .map(|role| format!("rbac.authorization.k8s.io/aggregate-to-{role}"))
            .into_iter()
            .zip(labels(settings))
            .filter(|(label, labels)| labels[label.as_str()] == "true")
            .count()
    };
    assert_eq!((adds(&[]), adds(&["roles.aggregate=true"])), (0, 3));
}

#[test]
fn our_roles_stand_alone_and_grounding_can_be_given_without_killing() {
    kubectl(&["create", "namespace", "range"]);
    kubectl_line("create clusterrole may-ground --verb=ground --resource=swarms.skein.dev");
    for role in ["skein-viewer", "skein-operator", "skein-admin", "may-ground"] {
        kubectl_line(&format!(
            "-n range create rolebinding {role} --clusterrole={role} --user={role}"
        ));
    }
    assert_eq!(rights_of("skein-viewer", "range"), [true, false, false, false]);
    assert_eq!(rights_of("skein-operator", "range"), [true, true, true, false]);
    assert_eq!(rights_of("skein-admin", "range"), [true, true, true, true]);
    assert!(user_may("may-ground", "ground swarms.skein.dev -n range"));
    for request in [
        "kill drones.skein.dev",
        "release swarms.skein.dev",
        "get drones.skein.dev",
        "patch swarms.skein.dev",
    ] {
        assert!(!user_may("may-ground", &format!("{request} -n range")), "may {request}");
    }
}

fn answer(user: &str, line: &str) -> String {
    let user = format!("--as={user}");
    let mut args = vec![user.as_str()];
    args.extend(line.split(' '));
    let output = PLANE.kubectl().output(&args).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_planner_reads_all_kinds_and_writes_by_dry_run_only() {
    let refused = "you may plan and not command";
    let example = |name: &str| {
        let path = workspace_root().join("examples").join(name);
        path.to_str().unwrap().to_owned()
    };
    let (swarm, operator) = (example("bench.yaml"), example("operator.yaml"));
    for (user, role) in [
        ("paula", "skein-planner"),
        ("otto", "skein-operator"),
        ("odile", "skein-operator"),
        ("odile", "skein-planner"),
    ] {
        kubectl_line(&format!(
            "create clusterrolebinding {user}-{role} --clusterrole={role} --user={user}"
        ));
    }
    for kind in [
        "swarms",
        "drones",
        "missions",
        "vehicles",
        "groundorders",
        "geofences",
        "parameterprofiles",
        "operators",
    ] {
        assert!(user_may("paula", &format!("list {kind}.skein.dev -A")), "{kind}");
    }
    for request in [
        "ground swarms.skein.dev -A",
        "release swarms.skein.dev -A",
        "resume drones.skein.dev -A",
        "connect drones.skein.dev -A",
        "kill drones.skein.dev -A",
        "create groundorders.skein.dev",
        "delete vehicles.skein.dev",
        "deletecollection swarms.skein.dev -A",
        "patch drones.skein.dev --subresource=status -A",
        "get drones.skein.dev --subresource=log -A",
        "get secrets -A",
    ] {
        assert!(!user_may("paula", request), "may {request}");
    }
    // A policy takes effect some moments after its creation. An Operator moves no vehicle.
    wait_for("the policy to be in force", Duration::from_secs(60), || {
        let said = answer("paula", &format!("create -f {operator}"));
        if said.contains(" created") {
            kubectl_line(&format!("delete -f {operator}"));
        }
        anyhow::ensure!(said.contains(refused), "{said}");
        Ok(())
    })
    .unwrap();
    kubectl_line(&format!("create -f {swarm}"));
    let writes = [
        "scale swarm/bench --replicas=3",
        "annotate swarm bench note=x",
        "patch swarm bench --type=merge -p {\"spec\":{\"grounded\":false}}",
        "delete swarm bench",
    ];
    for write in writes {
        let said = answer("paula", write);
        assert!(said.contains(refused), "{write}: {said}");
        let said = answer("paula", &format!("{write} --dry-run=server"));
        assert!(!said.contains("rror") && !said.contains("denied"), "{write}: {said}");
    }
    for file in ["mission.yaml", "operator.yaml", "geofence.yaml"].map(example) {
        let said = answer("paula", &format!("apply --dry-run=server -f {file}"));
        assert!(said.contains("created (server dry run)"), "{file}: {said}");
        let said = answer("paula", &format!("create -f {file}"));
        assert!(said.contains(refused), "{file}: {said}");
    }
    // Neither pilots, in a namespace or outside of all, nor a planner who also flies are restricted.
    for user in ["otto", "odile"] {
        for write in [
            "annotate swarm bench note=x --overwrite".to_owned(),
            format!("create -f {operator}"),
            format!("delete -f {operator}"),
        ] {
            let said = answer(user, &write);
            assert!(
                !said.contains("denied") && !said.contains("rror"),
                "{user}: {write}: {said}"
            );
        }
    }
    kubectl_line("delete swarm bench");
}

#[test]
fn whoever_may_connect_reaches_the_coordinator_and_reads_no_secret() {
    kubectl_line(&format!(
        "-n {SYSTEM} create rolebinding connie --role=skein-connect --user=connie"
    ));
    for request in [
        "get configmap/skein-ca",
        "get lease.coordination.k8s.io/skein-coordinator",
        "list pods",
        "create pods --subresource=portforward",
        "get pods --subresource=portforward",
    ] {
        assert!(
            user_may("connie", &format!("{request} -n {SYSTEM}")),
            "may not {request}"
        );
    }
    for request in [
        "get secret/skein-ca",
        "get configmap/other",
        "update lease.coordination.k8s.io/skein-coordinator",
        "create pods --subresource=exec",
        "delete pods",
        "get drones.skein.dev",
    ] {
        assert!(!user_may("connie", &format!("{request} -n {SYSTEM}")), "may {request}");
    }
}

#[test]
fn whoever_may_have_a_key_noted_makes_requests_and_reads_and_approves_none() {
    kubectl_line("create clusterrolebinding pia --clusterrole=skein-person --user=pia");
    let of = "certificatesigningrequests.certificates.k8s.io";
    assert!(user_may("pia", &format!("create {of}")));
    for request in [
        format!("get {of}"),
        format!("list {of}"),
        format!("delete {of}"),
        format!("update {of}"),
        format!("update {of} --subresource=approval"),
        format!("update {of} --subresource=status"),
        "approve signers.certificates.k8s.io".to_owned(),
        "sign signers.certificates.k8s.io".to_owned(),
        format!("get configmap/skein-ca -n {SYSTEM}"),
        "get drones.skein.dev -A".to_owned(),
    ] {
        assert!(!user_may("pia", &request), "may {request}");
    }
}

#[test]
fn whoever_may_enroll_reads_the_one_key_and_writes_the_one_list() {
    kubectl_line(&format!(
        "-n {SYSTEM} create rolebinding enrico --role=skein-enroll --user=enrico"
    ));
    for (may, request) in [
        (true, "get secret/skein-ca"),
        (true, "get configmap/skein-enrolled"),
        (true, "update configmap/skein-enrolled"),
        (true, "create configmaps"),
        (false, "update secret/skein-ca"),
        (false, "list secrets"),
        (false, "update configmap/skein-ca"),
        (false, "list pods"),
    ] {
        assert_eq!(user_may("enrico", &format!("{request} -n {SYSTEM}")), may, "{request}");
    }
}

/// Requests a connection to a port of `pod`; none is made, as no kubelet runs here.
fn forward(user: &str, pod: &str) -> String {
    let path = format!("/api/v1/namespaces/{SYSTEM}/pods/{pod}/portforward?ports=14550");
    let (user, args) = (format!("--as={user}"), ["get", "--raw", &path]);
    let output = PLANE.kubectl().output([&args[..], &[&user]].concat()).unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn whoever_may_connect_is_forwarded_to_a_coordinator_and_to_no_agent() {
    kubectl_line(&format!(
        "-n {SYSTEM} create rolebinding carl --role=skein-connect --user=carl"
    ));
    let refused = "a port-forward goes to a coordinator only";
    // A policy takes effect some moments after its creation.
    wait_for("the policy to be in force", Duration::from_secs(60), || {
        let said = forward("carl", "skein-agent-abcde");
        anyhow::ensure!(said.contains(refused), "{said}");
        Ok(())
    })
    .unwrap();
    for pod in ["other", "x-skein-coordinator-1", "skein-coordinator"] {
        let said = forward("carl", pod);
        assert!(said.contains(refused), "{pod}: {said}");
    }
    let said = forward("carl", "skein-coordinator-6c5f8-abcde");
    assert!(said.contains("not found"), "{said}");
    let said = forward("system:admin-of-this-test", "skein-agent-abcde");
    assert!(
        said.contains("cannot get") || said.contains("forbidden"),
        "nobody is somebody: {said}"
    );
    kubectl_line("create clusterrolebinding adele --clusterrole=cluster-admin --user=adele");
    let said = forward("adele", "skein-agent-abcde");
    assert!(said.contains("not found"), "{said}");
}

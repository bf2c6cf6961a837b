//! The permissions and settings of the Pods.

use serde_json::{Value, json};

use super::{PLANE, SYSTEM, kubectl, object, objects, pod_template, rendered};

/// The PodSecurity refusal at level `restricted`, by a dry run; `None` if it is accepted.
fn restricted_refusal(template: &Value) -> Option<String> {
    let namespace = "restricted";
    // Tests that run beside this one create the same.
    let create = |object: &Value| {
        let args = ["apply", "--server-side", "-f", "-"];
        PLANE.kubectl().run_with(args, &object.to_string()).unwrap()
    };
    let level = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace,
        "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    create(&level);
    let account = template["spec"]["serviceAccountName"].as_str().unwrap();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": account, "namespace": namespace}});
    create(&account);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": {"name": "trial", "namespace": namespace}});
    let args = ["create", "--dry-run=server", "-f", "-"];
    let refusal = PLANE.kubectl().run_with(args, &pod.to_string()).err()?.to_string();
    let exceptions = refusal.split("latest\": ").nth(1).unwrap_or(&refusal);
    Some(exceptions.to_owned())
}

fn template_with(kind: &str, name: &str, settings: &[&str]) -> Value {
    object(&objects(&rendered(settings)), kind, name)["spec"]["template"].clone()
}

#[test]
fn the_coordinator_meets_the_restricted_pod_security_level() {
    let with_everything = [
        "tls.secretName=mine",
        "images.pullSecrets[0].name=login",
        "coordinator.extraEnv[0].name=RUST_BACKTRACE,coordinator.extraEnv[0].value=a",
    ];
    for settings in [[].as_slice(), &with_everything] {
        let template = template_with("Deployment", "skein-coordinator", settings);
        assert_eq!(restricted_refusal(&template), None);
    }
}

#[test]
fn the_agent_differs_from_the_restricted_level_only_where_its_manifest_says_why() {
    let state_folder = [
        r#"unrestricted capabilities (container "state-folder" must not include "CHOWN""#,
        r#"runAsNonRoot != true (container "state-folder""#,
        r#"runAsUser=0 (container "state-folder""#,
    ];
    let volumes = |names: &str| format!("restricted volume types ({names} restricted volume type \"hostPath\")");
    let state = volumes(r#"volume "state" uses"#);
    let both = volumes(r#"volumes "state", "devices" use"#);
    let plugin = "agent.device.access=plugin,agent.link=serial:/dev/ttyACM0:57600";
    let network = "agent.device.access=none,agent.link=tcp:192.0.2.1:5760";
    for (settings, volumes, of_the_agent) in [
        ([].as_slice(), &both, [].as_slice()),
        (&[plugin], &state, &[]),
        (&[network], &state, &[]),
        (
            &["agent.device.access=privileged"],
            &both,
            &[
                r#"privileged (container "agent" must not set securityContext.privileged=true)"#,
                r#"allowPrivilegeEscalation != false (container "agent""#,
            ],
        ),
    ] {
        let template = template_with("DaemonSet", "skein-agent", settings);
        let exceptions = restricted_refusal(&template).unwrap();
        let mut expected = state_folder.to_vec();
        expected.push(volumes);
        expected.extend(of_the_agent);
        for one in &expected {
            assert!(exceptions.contains(one), "{one:?} is not in {exceptions}");
        }
        let parts = exceptions.split("), ").count();
        assert_eq!(parts, expected.len(), "{exceptions}");
    }
}

#[test]
fn the_agent_outlives_a_landing_and_is_never_ended_by_a_rollout_or_a_probe() {
    let object = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "daemonset/skein-agent"])
        .unwrap();
    assert_eq!(object["spec"]["updateStrategy"]["type"], "OnDelete");
    let pod = &object["spec"]["template"]["spec"];
    // From 120 m, at half the default sink rates of the autopilots.
    let (height, near_ground) = (120.0, 10.0);
    let (fast, slow, disarm) = (1.5, 0.5, 10.0);
    let landing: f64 = 2.0 * ((height - near_ground) / fast + near_ground / slow + disarm);
    let agent = &pod["containers"][0];
    let env = agent["env"].as_array().unwrap();
    let timeout = env.iter().find(|e| e["name"] == "SKEIN_LANDING_TIMEOUT").unwrap();
    let timeout: f64 = timeout["value"].as_str().unwrap().parse().unwrap();
    assert!(timeout >= landing, "{timeout} s are less than {landing} s");
    assert!(pod["terminationGracePeriodSeconds"].as_f64().unwrap() >= timeout + 20.0);
    for probe in ["livenessProbe", "startupProbe"] {
        assert_eq!(
            agent[probe],
            Value::Null,
            "{probe} would restart the agent of a flying vehicle"
        );
    }
    assert_eq!(agent["readinessProbe"]["exec"]["command"][1], "--check-ready");
    assert_eq!(pod["priorityClassName"], "system-node-critical");
}

#[test]
fn the_agent_knows_its_node_and_holds_nothing_but_a_short_word_for_it() {
    let template = pod_template("daemonset/skein-agent");
    let agent = &template["spec"]["containers"][0];
    let env = agent["env"].as_array().unwrap().clone();
    let of = |name: &str| env.iter().find(|e| e["name"] == name).unwrap_or(&Value::Null).clone();
    assert_eq!(of("NODE")["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName");
    assert_eq!(of("SKEIN_LINK")["value"], "serial:/host/dev/ttyACM0:57600");
    // No token for the Kubernetes API, and one that is valid for the coordinator only.
    assert_eq!(template["spec"]["automountServiceAccountToken"], false);
    let mounted = |volume: &str| {
        let mounts = agent["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == volume).unwrap();
        mount["mountPath"].as_str().unwrap().to_owned()
    };
    let volumes = template["spec"]["volumes"].as_array().unwrap();
    let volume = |name: &str| volumes.iter().find(|volume| volume["name"] == name).unwrap();
    let sources = volume("token")["projected"]["sources"].as_array().unwrap();
    let [source] = sources.as_slice() else {
        panic!("{sources:?}");
    };
    let token = &source["serviceAccountToken"];
    assert_eq!(token["audience"], "skein-coordinator");
    assert_eq!(token["expirationSeconds"], 600);
    let file = format!("{}/{}", mounted("token"), token["path"].as_str().unwrap());
    assert_eq!(of("SKEIN_TOKEN_FILE")["value"], *file);
    // It starts although the authority is not published yet, and finds it later.
    assert_eq!(
        volume("ca")["configMap"],
        json!({"name": "skein-ca", "optional": true, "defaultMode": 420})
    );
    assert_eq!(of("SKEIN_COORDINATOR_CA")["value"], format!("{}/ca.crt", mounted("ca")));
    let secrets = volumes.iter().filter(|volume| volume["secret"].is_object());
    assert_eq!(secrets.count(), 0);
}

#[test]
fn agents_are_led_to_the_leader_and_each_replica_may_be_ready() {
    let template = pod_template("daemonset/skein-agent");
    let env = template["spec"]["containers"][0]["env"].as_array().unwrap().clone();
    let address = env.iter().find(|e| e["name"] == "SKEIN_COORDINATOR").unwrap();
    assert_eq!(
        address["value"],
        format!("https://skein-coordinator.{SYSTEM}.svc:50051")
    );
    let service = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "service/skein-coordinator"])
        .unwrap();
    let port = &service["spec"]["ports"][0];
    assert_eq!((&port["port"], &port["name"]), (&json!(50051), &json!("grpc")));
    // The leader writes the Service's endpoints; a selector would also include standbys.
    assert_eq!(service["spec"]["selector"], Value::Null);
    let coordinator = &pod_template("deployment/skein-coordinator")["spec"]["containers"][0];
    let env = coordinator["env"].as_array().unwrap();
    let of = |name: &str| env.iter().find(|e| e["name"] == name).unwrap()["valueFrom"]["fieldRef"]["fieldPath"].clone();
    assert_eq!(
        (of("POD_NAME"), of("POD_IP")),
        (json!("metadata.name"), json!("status.podIP"))
    );
    // The kubelet's probe uses plain text, which the port for agents does not accept.
    assert_eq!(coordinator["readinessProbe"]["grpc"]["port"], 50052);
}

#[test]
fn a_rollout_or_a_drain_leaves_a_coordinator_running() {
    let coordinator = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "deployment/skein-coordinator"])
        .unwrap();
    assert_eq!(coordinator["spec"]["replicas"], 2);
    assert_eq!(
        coordinator["spec"]["strategy"]["rollingUpdate"],
        json!({"maxSurge": 1, "maxUnavailable": 0})
    );
    let budget = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "poddisruptionbudget/skein-coordinator"])
        .unwrap();
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["selector"], coordinator["spec"]["selector"]);
}

#[test]
fn every_image_is_ours_and_names_a_version() {
    for workload in ["deployment/skein-coordinator", "daemonset/skein-agent"] {
        let spec = pod_template(workload)["spec"].clone();
        for list in ["containers", "initContainers"] {
            for container in spec[list].as_array().into_iter().flatten() {
                let image = container["image"].as_str().unwrap();
                assert!(
                    image.starts_with("skein-"),
                    "{image} is not in a cluster that has only our images"
                );
                let version = image.rsplit_once(':').map(|(_, version)| version);
                assert!(version.is_some_and(|v| v != "latest"), "{image}");
                assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{image}");
                assert_eq!(
                    container["securityContext"]["capabilities"]["drop"],
                    json!(["ALL"]),
                    "{image}"
                );
                assert!(container["resources"]["limits"]["memory"].is_string(), "{image}");
            }
        }
    }
}

fn refusal_at_home(account: &str, spec: &Value) -> Option<String> {
    let mut spec = spec.clone();
    spec["serviceAccountName"] = json!(account);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": "trial", "namespace": SYSTEM}});
    let args = ["create", "--dry-run=server", "-f", "-"];
    let refused = PLANE.kubectl().run_with(args, &pod.to_string()).err()?;
    Some(refused.to_string())
}

#[test]
fn in_the_namespace_of_skein_only_an_agent_may_what_an_agent_needs() {
    let agent = pod_template("daemonset/skein-agent")["spec"].clone();
    let coordinator = pod_template("deployment/skein-coordinator")["spec"].clone();
    // A policy takes effect some moments after its creation.
    testkit::wait_for("the policy to be in force", std::time::Duration::from_secs(60), || {
        anyhow::ensure!(refusal_at_home("skein-coordinator", &agent).is_some());
        Ok(())
    })
    .unwrap();
    let types = [
        "get",
        "validatingadmissionpolicy/skein-pods",
        "-o",
        "jsonpath={.status.typeChecking}",
    ];
    assert_eq!(kubectl(&types), "{}");
    assert_eq!(refusal_at_home("skein-agent", &agent), None);
    assert_eq!(refusal_at_home("skein-coordinator", &coordinator), None);
    let with = |spec: &Value, path: &str, value: Value| {
        let mut spec = spec.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap()[key] = value;
        spec
    };
    let mut volumes = agent["volumes"].clone();
    let etc = json!({"name": "etc", "hostPath": {"path": "/etc"}});
    volumes.as_array_mut().unwrap().push(etc);
    let mut nfs = coordinator["volumes"].as_array().cloned().unwrap_or_default();
    nfs.push(json!({"name": "share", "nfs": {"server": "192.0.2.1", "path": "/"}}));
    for (account, spec, words) in [
        (
            "skein-coordinator",
            with(&coordinator, "/volumes", json!(nfs)),
            "NFS and the like only by a PersistentVolumeClaim",
        ),
        (
            "skein-coordinator",
            with(
                &coordinator,
                "/containers/0/ports",
                json!([{"containerPort": 50051, "hostPort": 50051}]),
            ),
            "must not open a port of its node",
        ),
        (
            "skein-coordinator",
            agent.clone(),
            "only the agent may see folders of its node",
        ),
        ("default", agent.clone(), "only the agent may see folders of its node"),
        (
            "skein-agent",
            with(&agent, "/volumes", volumes),
            "only /var/lib/skein and /dev",
        ),
        (
            "skein-agent",
            with(&agent, "/hostNetwork", json!(true)),
            "may share the network",
        ),
        (
            "skein-coordinator",
            with(&coordinator, "/hostPID", json!(true)),
            "may share the network",
        ),
        (
            "skein-agent",
            with(
                &agent,
                "/containers/0/securityContext",
                json!({"privileged": true, "capabilities": {"drop": ["ALL"]}}),
            ),
            "must set allowPrivilegeEscalation to false and not be privileged",
        ),
        (
            "skein-agent",
            with(
                &agent,
                "/containers/0/securityContext/capabilities",
                json!({"drop": ["ALL"], "add": ["CHOWN"]}),
            ),
            "must drop ALL capabilities and add none",
        ),
        (
            "skein-coordinator",
            with(&coordinator, "/containers/0/securityContext/capabilities", json!({})),
            "must drop ALL capabilities and add none",
        ),
        (
            "skein-agent",
            with(&agent, "/securityContext/runAsNonRoot", json!(false)),
            "must set runAsNonRoot",
        ),
        (
            "skein-coordinator",
            with(
                &coordinator,
                "/securityContext/seccompProfile",
                json!({"type": "Unconfined"}),
            ),
            "must set seccompProfile to RuntimeDefault",
        ),
    ] {
        let refusal = refusal_at_home(account, &spec).unwrap_or_else(|| panic!("{account} may: {words}"));
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
}

#[test]
fn the_policy_refuses_all_that_the_restricted_level_refuses() {
    let template = pod_template("deployment/skein-coordinator");
    let spec = template["spec"].clone();
    testkit::wait_for("the policy to be in force", std::time::Duration::from_secs(60), || {
        let mut shared = spec.clone();
        shared["hostPID"] = json!(true);
        anyhow::ensure!(refusal_at_home("skein-coordinator", &shared).is_some());
        Ok(())
    })
    .unwrap();
    let probe = |what: &str| json!({what: {"host": "192.0.2.1", "port": 80}});
    let changes = [
        ("/hostNetwork", json!(true)),
        ("/hostPID", json!(true)),
        ("/hostIPC", json!(true)),
        ("/securityContext/runAsUser", json!(0)),
        ("/securityContext/runAsNonRoot", json!(false)),
        ("/securityContext/seccompProfile", json!({"type": "Unconfined"})),
        ("/securityContext/appArmorProfile", json!({"type": "Unconfined"})),
        ("/securityContext/seLinuxOptions", json!({"type": "spc_t"})),
        ("/securityContext/seLinuxOptions", json!({"user": "system_u"})),
        ("/securityContext/seLinuxOptions", json!({"role": "system_r"})),
        (
            "/securityContext/sysctls",
            json!([{"name": "kernel.msgmax", "value": "65536"}]),
        ),
        ("/containers/0/securityContext/runAsUser", json!(0)),
        ("/containers/0/securityContext/runAsNonRoot", json!(false)),
        (
            "/containers/0/securityContext",
            json!({"privileged": true, "capabilities": {"drop": ["ALL"]}}),
        ),
        ("/containers/0/securityContext/allowPrivilegeEscalation", json!(true)),
        (
            "/containers/0/securityContext/capabilities",
            json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
        ),
        ("/containers/0/securityContext/capabilities", json!({})),
        (
            "/containers/0/securityContext/seccompProfile",
            json!({"type": "Unconfined"}),
        ),
        (
            "/containers/0/securityContext/appArmorProfile",
            json!({"type": "Unconfined"}),
        ),
        ("/containers/0/securityContext/seLinuxOptions", json!({"type": "spc_t"})),
        ("/containers/0/ports", json!([{"containerPort": 1, "hostPort": 50051}])),
        ("/containers/0/livenessProbe", probe("tcpSocket")),
        ("/containers/0/readinessProbe", probe("httpGet")),
        ("/containers/0/startupProbe", probe("httpGet")),
        ("/containers/0/lifecycle", json!({"preStop": probe("httpGet")})),
        ("/containers/0/lifecycle", json!({"postStart": probe("httpGet")})),
        ("/volumes", json!([{"name": "node", "hostPath": {"path": "/"}}])),
        (
            "/volumes",
            json!([{"name": "share", "nfs": {"server": "192.0.2.1", "path": "/"}}]),
        ),
    ];
    for (path, value) in changes {
        let mut changed = spec.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key] = value.clone();
        let judged = restricted_refusal(&json!({"spec": changed}));
        assert!(judged.is_some(), "PodSecurity lets pass {path}: {value}");
        let refusal = refusal_at_home("skein-coordinator", &changed);
        let refusal = refusal.unwrap_or_else(|| panic!("the policy lets pass {path}: {value}"));
        assert!(refusal.contains("skein-pods"), "{path}: {value}: {refusal}");
    }
    // /proc can be unmasked in a user namespace only; nothing of Skein needs it.
    let mut unmasked = spec.clone();
    unmasked["hostUsers"] = json!(false);
    unmasked["containers"][0]["securityContext"]["procMount"] = json!("Unmasked");
    let refusal = refusal_at_home("skein-coordinator", &unmasked).unwrap();
    assert!(refusal.contains("must keep procMount Default"), "{refusal}");
    for (path, value) in [
        (
            "/securityContext/seLinuxOptions",
            json!({"type": "container_t", "level": "s0:c1"}),
        ),
        ("/securityContext/appArmorProfile", json!({"type": "RuntimeDefault"})),
        (
            "/securityContext/sysctls",
            json!([{"name": "net.ipv4.tcp_syncookies", "value": "1"}]),
        ),
        ("/containers/0/lifecycle", json!({"preStop": {"httpGet": {"port": 80}}})),
    ] {
        let mut changed = spec.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key] = value.clone();
        assert_eq!(restricted_refusal(&json!({"spec": changed})), None, "{path}: {value}");
        assert_eq!(refusal_at_home("skein-coordinator", &changed), None, "{path}: {value}");
    }
}

#[test]
fn a_container_for_debugging_gets_no_more_than_the_others_of_its_pod() {
    let mut spec = pod_template("deployment/skein-coordinator")["spec"].clone();
    spec["serviceAccountName"] = json!("skein-coordinator");
    // A node that does not exist: nothing has to run.
    spec["nodeName"] = json!("nowhere");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": "debugged", "namespace": SYSTEM}});
    PLANE.kubectl().apply(&pod.to_string()).unwrap();
    let debug = |security: Value| {
        let container = json!({"name": "debug", "image": "busybox:1", "securityContext": security});
        let patch = json!({"spec": {"ephemeralContainers": [container]}}).to_string();
        PLANE.kubectl().run([
            "-n",
            SYSTEM,
            "patch",
            "pod",
            "debugged",
            "--subresource=ephemeralcontainers",
            "--type=strategic",
            "-p",
            &patch,
            "--dry-run=server",
        ])
    };
    testkit::wait_for("the policy to be in force", std::time::Duration::from_secs(60), || {
        let refusal = debug(json!({"privileged": true})).err();
        let refusal = refusal.map(|error| error.to_string()).unwrap_or_default();
        anyhow::ensure!(
            refusal.contains("must set allowPrivilegeEscalation to false"),
            "{refusal}"
        );
        Ok(())
    })
    .unwrap();
    debug(json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})).unwrap();
    kubectl(&["-n", SYSTEM, "delete", "pod", "debugged", "--grace-period=0", "--force"]);
}

//! Decisions that become outdated while they are executed.

use super::*;
use crate::verbs::tests::world::{BOATS, THINGS, boat, thing, world};
use serde_json::json;

#[tokio::test]
async fn a_dependent_that_was_let_go_while_its_owner_went_stays() {
    let world = world().await;
    let core = &world.api.core;
    let owner = world.post(THINGS, thing("owner")).await.is(201).body;
    let mut boat = boat("one");
    boat["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "a.dev/v1", "kind": "Thing", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    world.post(BOATS, boat).await.is(201);
    let (path, key) = (format!("{BOATS}/one"), Key::new("boats.a.dev", "default", "one"));
    let object = core.store.get(&key).expect("there");
    let free = json!({"metadata": {"ownerReferences": null}});
    world.merge(&path, free).await.is(200);
    world.delete(&format!("{THINGS}/owner")).await.is(200);
    // The collector has read the boat's old state, in which its owner is gone.
    let kind = core.storing("boats.a.dev").expect("served");
    let value = parsed(&object).expect("JSON");
    let done = as_dependent(core, kind, &object, &value).await;
    assert_eq!(done.map_err(|refusal| refusal.code), Err(409), "to be looked at again");
    world.get(&path).await.is(200);
    reconcile(core, &key).await.expect("nothing is to be done");
    world.get(&path).await.is(200);
}

#[test]
fn only_what_is_gone_needs_nothing_more() {
    let result = |code: u16| unless_gone(Err(Refusal::new(code, "", ""))).map_err(|refusal| refusal.code);
    assert_eq!([404, 409, 500].map(result), [Ok(()), Err(409), Err(500)]);
}

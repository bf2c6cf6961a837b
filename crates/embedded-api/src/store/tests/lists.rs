//! Lists: order, pages, and older revisions.

use super::build::{DRONES, delete, drone, newest, number, open, open_with, put};
use crate::store::{Compacted, Key, Listed, Page, Store};

fn names(listed: &Listed) -> Vec<String> {
    let names = listed.objects.iter().map(|object| &object.key);
    names.map(|key| format!("{}/{}", key.namespace, key.name)).collect()
}

async fn fleet(store: &Store) {
    for (namespace, name) in [("b", "1"), ("a", "2"), ("a-b", "1"), ("a", "1"), ("c", "1")] {
        put(store, &Key::new(DRONES, namespace, name), 0).await.expect("kept");
    }
    put(store, &Key::new("nodes", "", "a"), 0).await.expect("kept");
}

#[tokio::test]
async fn a_list_is_ordered_by_namespace_and_name() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    fleet(&store).await;
    let all = store.list(DRONES, None, &Page::default(), |_| true).expect("listed");
    assert_eq!(names(&all), ["a/1", "a/2", "a-b/1", "b/1", "c/1"]);
    assert_eq!((all.revision, all.more, all.remaining), (6, None, None));
    let one = store
        .list(DRONES, Some("a"), &Page::default(), |_| true)
        .expect("listed");
    assert_eq!(names(&one), ["a/1", "a/2"]);
    let none = store.list("swarms", None, &Page::default(), |_| true).expect("listed");
    assert_eq!((names(&none).len(), none.revision), (0, 6));
}

#[tokio::test]
async fn a_list_holds_what_is_wanted() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    fleet(&store).await;
    let wanted = |object: &crate::store::Object| &*object.key.name == "1";
    let listed = store.list(DRONES, None, &Page::default(), wanted).expect("listed");
    assert_eq!(names(&listed), ["a/1", "a-b/1", "b/1", "c/1"]);
    let page = Page {
        limit: Some(4),
        ..Page::default()
    };
    let last = store.list(DRONES, None, &page, wanted).expect("listed");
    assert_eq!((names(&last).len(), last.more), (4, None));
}

#[tokio::test]
async fn pages_make_up_the_list_as_it_was_when_the_first_was_read() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    for name in ["a", "b", "c", "d", "e"] {
        put(&store, &drone(name), 1).await.expect("kept");
    }
    let mut page = Page {
        limit: Some(2),
        ..Page::default()
    };
    let first = store.list(DRONES, None, &page, |_| true).expect("first page");
    assert_eq!(names(&first), ["default/a", "default/b"]);
    assert_eq!(first.remaining, Some(3));
    put(&store, &drone("d"), 2).await.expect("kept");
    put(&store, &drone("d"), 3).await.expect("kept");
    delete(&store, &drone("c")).await.expect("deleted");
    put(&store, &drone("bb"), 2).await.expect("kept");
    put(&store, &drone("z"), 2).await.expect("kept");
    page.at = Some(first.revision);
    page.after = first.more;
    let second = store.list(DRONES, None, &page, |_| true).expect("second page");
    assert_eq!(names(&second), ["default/c", "default/d"]);
    assert_eq!(
        second.objects.iter().map(|object| number(object)).collect::<Vec<_>>(),
        [1, 1]
    );
    assert_eq!((second.revision, second.remaining), (first.revision, Some(1)));
    page.after = second.more;
    let third = store.list(DRONES, None, &page, |_| true).expect("third page");
    assert_eq!((names(&third), third.more), (vec!["default/e".to_owned()], None));
}

#[tokio::test]
async fn a_page_does_not_leave_its_namespace() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    fleet(&store).await;
    let mut page = Page {
        limit: Some(1),
        ..Page::default()
    };
    let first = store.list(DRONES, Some("a"), &page, |_| true).expect("first page");
    page.after = first.more;
    let second = store.list(DRONES, Some("a"), &page, |_| true).expect("second page");
    assert_eq!((names(&second), second.more), (vec!["a/2".to_owned()], None));
}

#[tokio::test]
async fn a_list_older_than_the_history_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(2));
    for number in 0..10 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    let floor = store.floor();
    assert!(floor > 1, "{floor}");
    let at = |revision| {
        let page = Page {
            at: Some(revision),
            ..Page::default()
        };
        store.list(DRONES, None, &page, |_| true)
    };
    assert_eq!(at(floor).expect("at the floor").objects.len(), 1);
    assert_eq!(
        at(floor - 1),
        Err(Compacted {
            requested: floor - 1,
            floor
        })
    );
}

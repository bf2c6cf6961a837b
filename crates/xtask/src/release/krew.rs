//! The manifest by which krew, the plugin manager of kubectl, installs `kubectl skein`.

use anyhow::Context;
use serde_json::{Value, json};

use crate::image::layout::hex;
use crate::image::program::{Arch, Program};

const DESCRIPTION: &str = "\
Shows the drones of Skein, grounds and releases them, and gives them back after a takeover.
It goes through the API server with your kubeconfig. You need Role skein-connect in the
namespace of Skein.
";

pub fn platform(arch: Arch, uri: &str, archive: &[u8]) -> Value {
    let program = Program::Cli.name();
    json!({
        "selector": {"matchLabels": {"os": "linux", "arch": arch.name()}},
        "uri": uri,
        "sha256": hex(archive),
        "files": [{"from": program, "to": "."}, {"from": "LICENSE", "to": "."}],
        "bin": program,
    })
}

pub fn manifest(version: &str, platforms: &[Value]) -> anyhow::Result<String> {
    let manifest = json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "skein"},
        "spec": {
            "version": format!("v{version}"),
            "shortDescription": "Show and ground drones",
            "description": DESCRIPTION,
            "platforms": platforms,
        },
    });
    serde_saphyr::to_string(&manifest).context("the krew manifest cannot be written as YAML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_what_krew_needs_to_download_check_and_link_the_plugin() {
        let uri = "https://downloads.example/skein-0.1.0-linux-arm64.tar.gz";
        let platform = platform(Arch::Arm64, uri, b"archive");
        let text = manifest("0.1.0", &[platform]).unwrap();
        let read: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
        assert_eq!(read["kind"], "Plugin");
        assert_eq!(read["metadata"]["name"], "skein");
        assert_eq!(read["spec"]["version"], "v0.1.0");
        assert_eq!(read["spec"]["description"], DESCRIPTION);
        let only = &read["spec"]["platforms"][0];
        assert_eq!(only["selector"]["matchLabels"], json!({"os": "linux", "arch": "arm64"}));
        assert_eq!((&only["uri"], &only["sha256"]), (&json!(uri), &json!(hex(b"archive"))));
        assert_eq!(only["bin"], "skein");
        // krew allows 50 characters, and its index wants the licence beside the program.
        assert!(read["spec"]["shortDescription"].as_str().unwrap().len() <= 50);
        assert_eq!(only["files"][1]["from"], "LICENSE");
    }
}

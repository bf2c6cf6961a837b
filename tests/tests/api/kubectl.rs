//! kubectl as a step of a case: its exit status, its output, and its errors.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::session::Session;

const PATIENCE: Duration = Duration::from_secs(90);

impl Session {
    pub fn kubectl(&mut self, args: &[&str]) -> String {
        self.run(args, None, &[])
    }

    pub fn kubectl_with(&mut self, args: &[&str], stdin: &Value) -> String {
        self.run(args, Some(&stdin.to_string()), &[])
    }

    /// `editor` is a shell command that gets the file's name as its last argument.
    pub fn kubectl_edit(&mut self, args: &[&str], editor: &str) -> String {
        self.run(args, None, &[("KUBE_EDITOR", editor)])
    }

    fn run(&mut self, args: &[&str], stdin: Option<&str>, env: &[(&str, &str)]) -> String {
        let namespace = self.ns().to_owned();
        let mut all = vec!["-n", &namespace];
        all.extend(args);
        let mut command: Command = self.side().kubectl().command(&all);
        command.envs(env.iter().copied()).env("TERM", "dumb");
        let output = testkit::run::output(command, stdin, PATIENCE).unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // kubectl's log is not for users: it sometimes reports a watch that a busy server began late.
        let stderr: String = stderr.split_inclusive('\n').filter(|line| !is_log(line)).collect();
        let input = stdin.map_or(String::new(), |text| {
            format!(" <<< {}", text.chars().take(300).collect::<String>())
        });
        let parsed = serde_json::from_str::<Value>(&stdout).ok().filter(Value::is_object);
        let parsed = parsed.unwrap_or_else(|| stdout.clone().into());
        let result = json!({"exit": output.status.code(), "stdout": parsed, "stderr": stderr});
        self.note(&format!("kubectl {}{input}", args.join(" ")), result);
        stdout
    }
}

/// `I1121 06:48:44.153317    2051 reflector.go:664] ...`.
fn is_log(line: &str) -> bool {
    match line.as_bytes() {
        [b'I' | b'W' | b'E', day @ .., _] if day.len() > 4 => day[..4].iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

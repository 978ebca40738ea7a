//! How a command is looked after: signals, the terminal, its end, and what it leaves.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use git_agentwt::fence::supervise::{CommandProcess, Supervisor};

use super::{World, alone, as_each_user, is_there};
use crate::support::wait_until;

/// How long a command may take to end that was asked to, unless `KILL_AFTER` says it.
const SHORTLY: Duration = Duration::from_millis(300);

/// Looks after the command in `LINE` (words apart by newlines), and writes how it ended into `END`.
#[test]
#[ignore = "other tests start it: it ends all that its process has started"]
fn supervisor() {
    let variable = |name: &str| std::env::var(name).expect("it is given");
    let line: Vec<String> = variable("LINE").split('\n').map(Into::into).collect();
    let seconds = std::env::var("SECONDS_LEFT").ok();
    let kill_after = std::env::var("KILL_AFTER").ok();
    let mut command = std::process::Command::new(&line[0]);
    command.args(&line[1..]).env_clear();
    command.env("PATH", variable("PATH")).env("TERM", "dumb");
    let supervisor = Supervisor {
        command,
        timeout: seconds.map(|text| Duration::from_secs_f64(text.parse().expect("a number"))),
        kill_after: kill_after.map_or(SHORTLY, |text| {
            Duration::from_secs_f64(text.parse().expect("a number"))
        }),
        signal: &Arc::default(),
        process: CommandProcess::Below(
            std::env::var("ABOVE").map_or(0, |text| text.parse().expect("a number")),
        ),
    };
    let ended = match supervisor.run() {
        Ok(ended) => format!("{ended:?}"),
        Err(error) => format!("{:?} {error}", error.status()),
    };
    std::fs::write(variable("END"), ended).expect("it can be written");
}

impl World {
    fn supervised(&self, line: &[String], seconds: Option<f64>) -> std::process::Command {
        let ours = alone("fences::supervised::supervisor");
        let mut command = self.command(&ours[0]);
        command
            .args(&ours[1..])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
            .env("LINE", line.join("\n"))
            .env("END", self.path("outside/end"));
        command.envs(seconds.map(|seconds| ("SECONDS_LEFT", seconds.to_string())));
        command
    }

    /// How a fenced script ended.
    fn end_of(&self, line: &[&str], seconds: Option<f64>) -> String {
        let line = self.fenced(&self.start(), line);
        let status = self.supervised(&line, seconds).status().expect("it starts");
        assert!(status.success());
        self.end()
    }

    fn end(&self) -> String {
        std::fs::read_to_string(self.path("outside/end")).expect("it has ended")
    }

    fn start_supervised(&self, script: &str) -> Child {
        let line = self.fenced(&self.start(), &["sh", "-c", script]);
        let child = self.supervised(&line, None).spawn().expect("it starts");
        wait_until("the command runs", || {
            is_there(&self.path("work/src/ready"))
        });
        child
    }
}

fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("it runs");
}

#[test]
fn the_end_is_that_of_the_command() {
    as_each_user(|world| {
        assert_eq!(world.end_of(&["true"], None), "Status(0)");
        assert_eq!(world.end_of(&["sh", "-c", "exit 37"], None), "Status(37)");
        assert_eq!(
            world.end_of(&["sh", "-c", "kill -SEGV $$"], None),
            "Signal(11)"
        );
        assert_eq!(world.end_of(&["/no/such/program"], None), "Status(127)");
        let missing = ["/no/such/program".to_owned()];
        assert!(
            world
                .supervised(&missing, None)
                .status()
                .is_ok_and(|status| status.success())
        );
        let end = world.end();
        assert!(
            end.starts_with("Some(127) cannot start /no/such/program: "),
            "{end}"
        );
    });
}

#[test]
fn the_environment_is_the_one_given_and_no_other() {
    as_each_user(|world| {
        let line = world.fenced(&world.start(), &["sh", "-c", "env >src/env"]);
        let status = world
            .supervised(&line, None)
            .env("SECRET", "of the host")
            .status();
        assert!(status.expect("it starts").success());
        let env = std::fs::read_to_string(world.path("work/src/env")).expect("it was written");
        assert!(
            env.contains("TERM=dumb") && !env.contains("SECRET"),
            "{env}"
        );
    });
}

/// Whether a process that wrote its number into a file runs; a zombie does not.
fn runs(world: &World, file: &str) -> bool {
    let pid = std::fs::read_to_string(world.path(file)).expect("it was written");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn nothing_that_a_command_started_is_left() {
    as_each_user(|world| {
        // a daemon: a session of its own, ignores what it can, and its parent has gone
        let script = "setsid sh -c 'trap \"\" HUP TERM; (sleep 600 & echo $! >src/below; wait) & echo $$ >src/daemon; wait' \
            >/dev/null 2>&1 & until test -s src/below; do sleep 0.01; done";
        assert_eq!(world.end_of(&["sh", "-c", script], None), "Status(0)");
        assert!(!runs(world, "work/src/daemon") && !runs(world, "work/src/below"));
        // the control: without a supervisor it goes on
        std::fs::remove_file(world.path("work/src/below")).expect("it is there");
        let line = world.fenced(&world.start(), &["sh", "-c", script]);
        assert!(world.run(&line).status.success());
        assert!(runs(world, "work/src/daemon") && runs(world, "work/src/below"));
        for file in ["work/src/daemon", "work/src/below"] {
            let pid = std::fs::read_to_string(world.path(file)).expect("it was written");
            let killed = world.run(&["kill", "-KILL", pid.trim()].map(str::to_owned));
            assert!(killed.status.success());
        }
    });
}

#[test]
fn a_storm_of_processes_ends() {
    as_each_user(|world| {
        let script = "for i in 1 2 3 4; do (while :; do (sleep 0.001 &) ; done) & done; sleep 0.2";
        assert_eq!(world.end_of(&["sh", "-c", script], None), "Status(0)");
    });
}

#[test]
fn a_timeout_asks_first_and_kills_then() {
    as_each_user(|world| {
        let began = Instant::now();
        // it ends by itself, so only its start and its end are given much time
        let asked = "trap 'echo asked >src/asked; exit 3' TERM; sleep 600 & wait";
        let line = world.fenced(&world.start(), &["sh", "-c", asked]);
        let status = world
            .supervised(&line, Some(2.0))
            .env("KILL_AFTER", "120")
            .status();
        assert!(status.expect("it starts").success());
        assert_eq!(world.end(), "TimedOut");
        assert!(is_there(&world.path("work/src/asked")));
        let deaf = "trap '' TERM; while :; do sleep 600; done";
        assert_eq!(world.end_of(&["sh", "-c", deaf], Some(0.8)), "TimedOut");
        assert!(began.elapsed() < Duration::from_secs(300));
        assert_eq!(
            world.end_of(&["sh", "-c", "exit 4"], Some(300.0)),
            "Status(4)"
        );
    });
}

#[test]
fn signals_are_the_commands() {
    use rustix::process::Signal;
    as_each_user(|world| {
        let all = [
            ("TERM", Signal::TERM),
            ("INT", Signal::INT),
            ("HUP", Signal::HUP),
            ("QUIT", Signal::QUIT),
            ("USR1", Signal::USR1),
            ("USR2", Signal::USR2),
        ];
        for (name, signal) in all {
            let script = format!(
                "trap 'rm src/ready; exit 9' {name}; echo >src/ready; while :; do sleep 0.01; done"
            );
            let mut child = world.start_supervised(&script);
            send(&child, signal);
            assert!(child.wait().expect("it ends").success());
            assert_eq!(world.end(), "Status(9)", "{name}");
        }
        let mut child = world.start_supervised("echo >src/ready; exec sleep 600");
        send(&child, Signal::TERM);
        assert!(child.wait().expect("it ends").success());
        assert_eq!(world.end(), "Signal(15)");
    });
}

#[test]
fn a_killed_supervisor_takes_its_command_with_it() {
    as_each_user(|world| {
        let mut child =
            world.start_supervised("echo $$ >src/number; echo >src/ready; exec sleep 600");
        assert!(runs(world, "work/src/number"));
        send(&child, rustix::process::Signal::KILL);
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(9));
        wait_until("it was ended", || !runs(world, "work/src/number"));
    });
}

/// Types into a terminal in which an interactive shell starts the supervisor.
#[test]
fn keys_of_the_terminal_reach_the_command() {
    as_each_user(|world| {
        let line = |script: &str| {
            let line = world.fenced(&world.start(), &["sh", "-c", script]);
            world.supervised(&line, None)
        };
        let script = "trap 'echo interrupted >>src/log' INT; trap 'echo continued >>src/log' CONT; \
            stty size >src/size; trap 'stty size >src/resized' WINCH; \
            tty >/dev/null && echo >src/ready; while ! test -e src/stop; do sleep 0.02; done; \
            echo >src/reads; read word; echo $word >src/word";
        let command = line(script);
        let words = alone("fences::supervised::supervisor");
        let typed = format!("'{}'\n", words.join("' '"));
        let mut terminal = world.command("script");
        terminal.args(["-qfc", "exec bash --norc --noprofile -i"]);
        let shown = world.path("outside/terminal");
        terminal.arg(&shown);
        terminal.envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        terminal
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut terminal = terminal.spawn().expect("script(1) of util-linux");
        let mut keys = terminal.stdin.take().expect("a pipe");
        let mut press = |text: &str| {
            keys.write_all(text.as_bytes()).expect("it reads");
            keys.flush().expect("it reads");
        };
        press(&typed);
        wait_until("it runs", || is_there(&world.path("work/src/ready")));
        let log = || std::fs::read_to_string(world.path("work/src/log")).unwrap_or_default();
        press("\x03");
        wait_until("interrupted", || log().contains("interrupted"));
        // Ctrl-Z: the shell has the terminal again
        press("\x1a");
        let shown = || std::fs::read(&shown).unwrap_or_default();
        wait_until("the shell says that the command was stopped", || {
            String::from_utf8_lossy(&shown()).contains("Stopped")
        });
        press("echo >src/shell\n");
        wait_until("the shell answers", || {
            is_there(&world.path("work/src/shell"))
        });
        press("fg\n");
        wait_until("continued", || log().contains("continued"));
        assert_eq!(log().matches("interrupted").count(), 1, "once for one key");
        std::fs::write(world.path("work/src/stop"), "").expect("it can be written");
        wait_until("the command reads", || {
            is_there(&world.path("work/src/reads"))
        });
        press("typed\n");
        wait_until("read", || is_there(&world.path("work/src/word")));
        wait_until("ended", || is_there(&world.path("outside/end")));
        wait_until("the end is written", || !world.end().is_empty());
        assert_eq!(world.end(), "Status(0)");
        let word = std::fs::read_to_string(world.path("work/src/word")).expect("it was read");
        assert_eq!(word, "typed\n");
        press("exit\n");
        terminal.wait().expect("it ends");
    });
}

#[test]
fn bubblewrap_keeps_a_command_in_its_scope_and_ends_with_it() {
    if !crate::support::installed("bwrap") {
        return;
    }
    as_each_user(|world| {
        let mounted = |script: &str, seconds| {
            let line = world.mounted(&["sh", "-ec", script]);
            let mut command = world.supervised(&line, seconds);
            assert!(
                command
                    .env("ABOVE", "2")
                    .status()
                    .expect("it starts")
                    .success()
            );
            world.end()
        };
        for (script, passes) in [
            ("echo a >src/a; cat readme; kill -0 $$", true),
            ("echo a >readme", false),
            ("echo a >../outside/file", false),
            ("cat ../main/file", false),
        ] {
            let end = if passes { "Status(0)" } else { "Status(1)" };
            let found = mounted(script, None);
            assert!(
                found == end || (!passes && found == "Status(2)"),
                "{script}: {found}"
            );
            let control = world.run(&["sh", "-ec", script].map(str::to_owned));
            assert!(control.status.success(), "{script}");
        }
        let daemon = "setsid sh -c 'echo $$ >src/daemon; exec sleep 77' >/dev/null 2>&1 & until test -s src/daemon; do sleep 0.01; done";
        assert_eq!(mounted(daemon, None), "Status(0)");
        let asked = "trap 'echo asked >src/asked; exit 3' TERM; sleep 600 & wait";
        assert_eq!(mounted(asked, Some(1.5)), "TimedOut");
        assert!(
            is_there(&world.path("work/src/asked")),
            "the command itself is asked"
        );
        let deaf = "trap '' TERM; while :; do sleep 600; done";
        assert_eq!(mounted(deaf, Some(0.3)), "TimedOut");
    });
}

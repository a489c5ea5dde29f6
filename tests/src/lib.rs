//! A whole Daybook for tests: real programs in a directory of their own.
//!
//! The programs are those that `cargo build --release` (or the profile of the tests) has put beside the test binary.

pub mod bus;
pub mod replay;
pub mod rounds;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What a command printed, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub out: String,
    pub err: String,
    pub code: i32,
}

impl Answer {
    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "failed: {self:?}");
        self.out
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Answer {
        Answer {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

/// A cluster: configuration, state, and a daemon that may or may not run.
///
/// Where it ends its log is verified ([`replay::verify`]), and the test fails with the first difference.
pub struct Cluster {
    pub root: PathBuf,
    daemon: Option<Child>,
    /// Whether a daemon has written since the log was verified.
    is_unverified: bool,
    _keep: Option<TempDir>,
}

/// Two nodes with four CPUs, one of them with four GPUs.
pub const TWO_NODES: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
GresTypes=gpu
KillWait=2
ReturnToService=2
MinJobAge=300
NodeName=DEFAULT CPUs=4 RealMemory=1000
NodeName=n1 NodeAddr=127.0.0.1
NodeName=g1 NodeAddr=127.0.0.1 Gres=gpu:a100:4 Weight=10
PartitionName=main Nodes=n1,g1 Default=YES MaxTime=1-0 DefaultTime=10
PartitionName=gpu Nodes=g1 MaxTime=1:00:00
";

/// How long anything in these tests may take; only a failure waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// A cluster with this `slurm.conf`, not started.
    pub fn new(slurm_conf: &str) -> Cluster {
        let keep = tempfile::Builder::new().prefix("daybook-test-").tempdir().expect("a temporary directory");
        // Jobs of other users pass through it.
        std::fs::set_permissions(keep.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
        let mut cluster = Cluster::in_directory(keep.path(), slurm_conf);
        cluster._keep = Some(keep);
        cluster
    }

    /// The same in a directory of the caller's.
    pub fn in_directory(root: &Path, slurm_conf: &str) -> Cluster {
        let config = root.join("config");
        std::fs::create_dir_all(root.join("work")).expect("work");
        std::fs::create_dir_all(&config).expect("config");
        std::fs::write(config.join("slurm.conf"), slurm_conf).expect("slurm.conf");
        let gpus = root.join("dev");
        std::fs::create_dir_all(&gpus).expect("dev");
        if slurm_conf.contains("NodeName=g1") {
            (0..4).for_each(|index| std::fs::write(gpus.join(format!("gpu{index}")), "").expect("a device"));
            let gres = format!("NodeName=g1 Name=gpu Type=a100 File={}/gpu[0-3]\n", gpus.display());
            std::fs::write(config.join("gres.conf"), gres).expect("gres.conf");
        }
        Cluster { root: root.to_path_buf(), daemon: None, is_unverified: false, _keep: None }
    }

    /// A started cluster with [`TWO_NODES`].
    pub fn started() -> Cluster {
        let mut cluster = Cluster::new(TWO_NODES);
        cluster.start();
        cluster
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("daybook.sock")
    }

    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Where commands run and output files land.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn daemon_command(&self) -> Command {
        let log = std::fs::File::options().append(true).create(true).open(self.root.join("daybookd.log"));
        let mut command = Command::new(program("daybookd"));
        command.arg("run");
        command.arg("--config").arg(self.root.join("config"));
        command.arg("--state").arg(self.state());
        command.arg("--socket").arg(self.socket());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.expect("daybookd.log"));
        command
    }

    /// Starts the daemon and waits for `ready`; `Err` has what it said instead.
    pub fn try_start(&mut self) -> Result<(), String> {
        let mut child = self.daemon_command().spawn().expect("daybookd starts");
        let stdout = child.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        if line.trim_end() == "ready" {
            self.daemon = Some(child);
            self.is_unverified = true;
            return Ok(());
        }
        let _ = child.wait();
        Err(self.daemon_log())
    }

    #[track_caller]
    pub fn start(&mut self) {
        if let Err(why) = self.try_start() {
            panic!("daybookd is not ready:\n{why}");
        }
    }

    pub fn daemon_log(&self) -> String {
        std::fs::read_to_string(self.root.join("daybookd.log")).unwrap_or_default()
    }

    pub fn daemon_pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// TERM, and waits; gives whether it ended cleanly.
    pub fn stop(&mut self) -> bool {
        let Some(mut child) = self.daemon.take() else { return true };
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        child.wait().is_ok_and(|status| status.success())
    }

    /// A client's command, not run yet.
    pub fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("daybook"));
        command.arg(name).args(arguments);
        command
            .env("DAYBOOK_SOCKET", self.socket())
            .env("TZ", "UTC")
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    /// Runs a client's command.
    pub fn run(&self, name: &str, arguments: &[&str]) -> Answer {
        self.command(name, arguments).output().expect("daybook runs").into()
    }

    /// Runs a client's command as another user (and group of the same number); needs root.
    pub fn run_as(&self, uid: u32, name: &str, arguments: &[&str]) -> Answer {
        use std::os::unix::process::CommandExt;
        // The build may lie where other users cannot pass.
        let client = self.root.join("daybook");
        if !client.exists() {
            std::fs::copy(program("daybook"), &client).expect("a copy of the client");
        }
        let mut command = Command::new(client);
        command.arg(name).args(arguments).env("DAYBOOK_SOCKET", self.socket()).env("TZ", "UTC");
        command.current_dir("/").stdin(Stdio::null()).uid(uid).gid(uid);
        command.output().expect("daybook runs").into()
    }

    /// Submits a script given as text; gives the job id.
    #[track_caller]
    pub fn submit(&self, options: &[&str], script: &str) -> u32 {
        let mut arguments = vec!["--parsable"];
        arguments.extend_from_slice(options);
        let wrapped = format!("--wrap={script}");
        arguments.push(&wrapped);
        let id = self.run("sbatch", &arguments).ok();
        id.trim().parse().unwrap_or_else(|_| panic!("no job id: {id:?}"))
    }

    /// One job's fields from sacct (`State|ExitCode`), of its allocation.
    pub fn sacct(&self, job: u32, fields: &str) -> String {
        self.run("sacct", &["-X", "-n", "-P", "-j", &job.to_string(), "-o", fields])
            .ok()
            .trim_end()
            .to_string()
    }

    /// Waits until a job's state in the ledger is final; gives it.
    #[track_caller]
    pub fn wait_ended(&self, job: u32) -> String {
        let mut last = String::new();
        wait_until(&format!("job {job} ends"), || {
            last = self.sacct(job, "State");
            !last.is_empty()
                && !last.lines().any(|state| {
                    matches!(state, "PENDING" | "RUNNING" | "SUSPENDED" | "COMPLETING" | "REQUEUED")
                })
        });
        last
    }

    /// Waits until squeue shows a job in this state.
    #[track_caller]
    pub fn wait_state(&self, job: u32, state: &str) {
        wait_until(&format!("job {job} is {state}"), || {
            self.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%T"]).out.trim() == state
        });
    }

    /// The output file of a job with the default name.
    pub fn output(&self, job: u32) -> String {
        std::fs::read_to_string(self.work().join(format!("slurm-{job}.out"))).unwrap_or_default()
    }

    /// A request to the API with a body (or `null` for GET), through curl-like plain HTTP; status and JSON.
    pub fn api(&self, method: &str, path: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
        use std::io::Write;
        let mut socket = std::os::unix::net::UnixStream::connect(self.socket()).expect("the socket");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        write!(
            socket,
            "{method} {path} HTTP/1.0\r\nhost: daybook\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("answered");
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, serde_json::from_str(body).unwrap_or(serde_json::Value::Null))
    }

    /// Checks the physical book: per GPU and node the classes add up to the installed time.
    #[track_caller]
    pub fn check_conservation(&self) {
        let mut rows = Vec::new();
        // The book counts whole seconds up to the last commit: a cluster younger than one has nothing in it.
        wait_until("the physical book has a second in it", || {
            self.submit(&["-o", "/dev/null"], "true");
            let (status, answer) = self.api("POST", "/v1/ledger/capacity", &serde_json::json!({}));
            assert_eq!(status, 200, "{answer}");
            rows = answer["rows"].as_array().expect("rows").clone();
            !rows.is_empty()
        });
        for row in rows {
            let classes: u64 =
                row["seconds"].as_object().expect("classes").values().filter_map(|s| s.as_u64()).sum();
            assert_eq!(Some(classes), row["installed"].as_u64(), "{row}");
        }
    }

    /// Verifies the stopped cluster's log; gives what the program says.
    #[track_caller]
    pub fn verify(&mut self) -> String {
        self.try_verify().unwrap_or_else(|why| panic!("{why}\ndaybookd said:\n{}", self.daemon_log()))
    }

    /// The same where a scenario has damaged what there is: `Err` has what the program says.
    pub fn try_verify(&mut self) -> Result<String, String> {
        assert!(self.daemon.is_none(), "stop the daemon first");
        self.is_unverified = false;
        replay::verify(&self.state())
    }

    /// Jobs outlive their daemon: ends those of this test's spools.
    fn end_jobs(&self) {
        let mark = self.root.display().to_string();
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        for process in processes.flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&mark) {
                let pid = nix::unistd::Pid::from_raw(pid);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        self.end_jobs();
        if self.is_unverified && !std::thread::panicking() {
            self.verify();
        }
    }
}

/// A program beside this test.
pub fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("the test's own path");
    let directory = here.parent().and_then(Path::parent).expect("deps lies in the target directory");
    let path = directory.join(name);
    assert!(path.exists(), "{} is missing: build the workspace first (tools/test does)", path.display());
    path
}

/// Waits until something is true, looking again every few milliseconds; panics after [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the test runs as root; what needs it says so and is left out otherwise.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

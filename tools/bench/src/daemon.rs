//! A daemon under measurement, and its clients.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

/// One node with as many CPUs as make 1,000 jobs run without waiting for each other's resources too long.
const CONFIGURATION: &str = "\
ClusterName=bench
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxJobCount=1000000
MinJobAge=300
NodeName=n1 NodeAddr=127.0.0.1 CPUs=64 RealMemory=64000
PartitionName=main Nodes=n1 Default=YES MaxTime=INFINITE DefaultTime=60
";

pub struct Daemon {
    root: PathBuf,
    child: Child,
}

impl Daemon {
    pub fn start(root: &Path) -> Result<Daemon, String> {
        Daemon::start_with(root, "")
    }

    /// The same with a `daybook.toml`.
    pub fn start_with(root: &Path, toml: &str) -> Result<Daemon, String> {
        let config = root.join("config");
        std::fs::create_dir_all(&config).map_err(|error| error.to_string())?;
        std::fs::write(config.join("daybook.toml"), toml).map_err(|error| error.to_string())?;
        std::fs::write(config.join("slurm.conf"), CONFIGURATION).map_err(|error| error.to_string())?;
        Ok(Daemon { root: root.to_path_buf(), child: spawn(root)? })
    }

    /// `kill -9`, start; how long until `ready`.
    pub fn kill_and_start(&mut self) -> Result<Duration, String> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let started = Instant::now();
        self.child = spawn(&self.root)?;
        Ok(started.elapsed())
    }

    /// What it has said on standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.root.join("daybookd.log")).unwrap_or_default()
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("daybook.sock")
    }

    /// A client's command.
    pub fn command(&self, name: &str, arguments: &[&str]) -> Result<Command, String> {
        let mut command = Command::new(program("daybook")?);
        command.arg(name).args(arguments).env("DAYBOOK_SOCKET", self.socket()).current_dir("/tmp");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// Runs a client's command; how long it took.
    pub fn time(&self, name: &str, arguments: &[&str]) -> Result<Duration, String> {
        let mut command = self.command(name, arguments)?;
        let started = Instant::now();
        let status = command.status().map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(started.elapsed()),
            false => Err(format!("{name} {arguments:?} failed")),
        }
    }

    /// Resident and proportional memory in KiB.
    pub fn memory_kib(&self) -> (u64, u64) {
        let read = |file: &str, field: &str| {
            let text =
                std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(field)).map(str::to_string);
            line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
        };
        (read("status", "VmRSS:"), read("smaps_rollup", "Pss:"))
    }

    /// A connection to the API.
    pub async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream =
            tokio::net::UnixStream::connect(self.socket()).await.map_err(|error| error.to_string())?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = here.with_file_name(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} is missing; build the workspace first", path.display()))
    }
}

fn spawn(root: &Path) -> Result<Child, String> {
    let log = std::fs::File::options().create(true).append(true).open(root.join("daybookd.log"));
    let mut child = Command::new(program("daybookd")?)
        .arg("run")
        .arg("--config")
        .arg(root.join("config"))
        .arg("--state")
        .arg(root.join("state"))
        .arg("--socket")
        .arg(root.join("daybook.sock"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log.map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut line = String::new();
    let stdout = child.stdout.take().ok_or("no standard output")?;
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    match line.trim_end() {
        "ready" => Ok(child),
        _ => Err(format!("daybookd did not get ready; see {}", root.join("daybookd.log").display())),
    }
}

/// One request; the answer's JSON.
pub async fn post(sender: &mut SendRequest<Full<Bytes>>, path: &str, body: &Value) -> Result<Value, String> {
    let request = hyper::Request::post(path)
        .header("host", "daybook")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| error.to_string())?;
    sender.ready().await.map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    match status.is_success() {
        true => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        false => Err(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// A submission as sbatch would send it, with an environment of the usual size.
pub fn submission(script: &str, hold: bool) -> Value {
    let environment: Vec<String> =
        (0..40).map(|number| format!("VARIABLE_{number}=a value of usual length")).collect();
    json!({
        "request_id": uuid::Uuid::new_v4().to_string(),
        "name": "bench",
        "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
        "hold": hold,
        "script": format!("#!/bin/sh\n{script}\n"),
        "environment": environment,
        "work_dir": "/tmp",
        "std_out": "/dev/null",
        "umask": 18,
        "submit_host": "bench",
        "submit_line": "sbatch --wrap true",
    })
}

/// Submits held jobs one after another over one connection; how long each took.
pub async fn submit_and_time(daemon: &Daemon, count: usize) -> Result<Vec<Duration>, String> {
    let mut sender = daemon.connect().await?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        post(&mut sender, "/v1/jobs", &submission("true", true)).await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

/// Submits `count` jobs over `connections` connections at once.
pub async fn submit_many(
    daemon: &Daemon,
    count: usize,
    connections: usize,
    script: &str,
    hold: bool,
) -> Result<(), String> {
    let mut tasks = Vec::new();
    for number in 0..connections {
        let mut sender = daemon.connect().await?;
        let share = count / connections + usize::from(number < count % connections);
        let script = script.to_string();
        tasks.push(tokio::spawn(async move {
            for _ in 0..share {
                post(&mut sender, "/v1/jobs", &submission(&script, hold)).await?;
            }
            Ok::<(), String>(())
        }));
    }
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}

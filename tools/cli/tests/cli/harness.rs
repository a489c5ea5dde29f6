//! A daemon that answers as a test wants, and the program run against it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use daybook_schemas::api::{ApiError, ErrorCode};
use serde_json::Value;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: Value,
}

/// What the daemon does with it.
pub enum Reply {
    Answer(Value),
    Refuse(ApiError),
    /// Closes the connection without a word.
    HangUp,
}

/// A refusal with Slurm's sentence.
pub fn refuse(code: ErrorCode, message: &str) -> Reply {
    Reply::Refuse(ApiError::new(code, message))
}

/// A daemon on a socket of its own; it ends with the test.
pub struct Daemon {
    pub directory: tempfile::TempDir,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Daemon {
    /// Starts one that answers by `answer`.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Daemon {
        let daemon = Daemon::absent();
        let listener = UnixListener::bind(daemon.socket()).expect("a socket in a fresh directory");
        let (requests, answer) = (daemon.requests.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, answer) = (requests.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &requests, answer.as_ref()));
            }
        });
        daemon
    }

    /// Only the place where one could be.
    pub fn absent() -> Daemon {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Daemon { directory, requests: Arc::default() }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("daybook.sock")
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no test panics while it holds this").clone()
    }

    /// The body of the only request.
    pub fn only_body(&self) -> Value {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "one request: {requests:?}");
        requests.remove(0).body
    }

    /// Prepares `COMMAND ARGUMENT...`, split at white space, in the daemon's directory.
    pub fn call(&self, line: &str) -> Call<'_> {
        let mut words = line.split_whitespace().map(str::to_string);
        let name = words.next().expect("a command's name");
        Call { daemon: self, name, arguments: words.collect(), stdin: String::new(), variables: Vec::new() }
    }

    /// Runs it and gives what is recorded of it.
    pub fn run(&self, line: &str) -> String {
        self.call(line).run()
    }

    /// Writes a file into the daemon's directory.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file in a fresh directory");
        path
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// A command to be run.
pub struct Call<'a> {
    daemon: &'a Daemon,
    name: String,
    arguments: Vec<String>,
    stdin: String,
    variables: Vec<(String, String)>,
}

impl Call<'_> {
    /// One more argument, as it is.
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_string());
        self
    }

    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.to_string();
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_string(), value.to_string()));
        self
    }

    /// Runs it; the answer has the form of Slurm's recordings: `stdout:` and `stderr:` blocks where there is
    /// output, then `exit: N`.
    pub fn run(self) -> String {
        let mut child = Command::new(env!("CARGO_BIN_EXE_daybook"))
            .arg0(&self.name)
            .args(&self.arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .env("DAYBOOK_SOCKET", self.daemon.socket())
            .env("DAYBOOK_CONNECT_SECONDS", "0")
            .envs(self.variables)
            .current_dir(self.daemon.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        if let Some(mut input) = child.stdin.take() {
            // A program that does not read its input closes it.
            let _ = input.write_all(self.stdin.as_bytes());
        }
        let output = child.wait_with_output().expect("the program ends");
        let mut text = String::new();
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                text.push_str(&format!("{name}:\n{}", String::from_utf8_lossy(bytes)));
            }
        }
        text.push_str(&format!("exit: {}", output.status.code().expect("an exit status, no signal")));
        text
    }
}

fn serve(stream: UnixStream, requests: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Reply) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let reply = answer(&request);
        requests.lock().expect("no test panics while it holds this").push(request);
        let (status, body) = match reply {
            Reply::Answer(body) => (200, body),
            Reply::Refuse(error) => {
                (error.code.http_status(), serde_json::to_value(&error).expect("an error is JSON"))
            }
            Reply::HangUp => return,
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<UnixStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
    let mut words = line.split_whitespace().map(str::to_string);
    let (method, path) = (words.next()?, words.next()?);
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|&length| length > 0)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).ok()? };
    Some(Request { method, path, body })
}

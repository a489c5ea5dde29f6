//! The question whether to go on.

use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use crate::say;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The usual question.
pub const COMMIT: &str = "Would you like to commit changes?";

/// Whether to go on; the end of the input and half a minute without an answer are a no. Nobody is asked where
/// `immediate` says so.
pub fn agreed(question: &str, immediate: bool) -> bool {
    if immediate {
        return true;
    }
    say::print(&format!("{question} (You have 30 seconds to decide)\n(N/y): "));
    let (answers, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let mut letter = [0];
        while std::io::stdin().read(&mut letter).is_ok_and(|length| length == 1) {
            if answers.send(letter[0]).is_err() {
                return;
            }
        }
    });
    loop {
        match answer.recv_timeout(PATIENCE) {
            Ok(letter) => {
                say::print("\n");
                match letter {
                    b'y' | b'Y' => return true,
                    b'n' | b'N' | b'\n' => return false,
                    _ => say::print("Y or N please\n(N/y): "),
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                say::print("\n");
                return false;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                say::print("timeout\n");
                return false;
            }
        }
    }
}

//! The built program against a daemon that answers as a test wants: exact output, errors and exit status, and what
//! was sent. The expected texts are those that a Slurm 22.05.8 gave.

mod connection;
mod harness;
mod priorities;
mod program;
mod reservations;
mod sacctmgr;
mod sbatch;
mod scancel;
mod scontrol;
mod showing;
mod why;

//! The program by which a group of version 2 refuses devices.
//!
//! Version 2 has no list of devices: the kernel runs a BPF program of the type `cgroup_device` whenever a process of the
//! group opens or makes a device file, and refuses if it gives 0 (kernel documentation, `cgroup-v2.rst`, "Device
//! controller"; instruction encoding: `bpf/standardization/instruction-set.rst`).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use nix::libc;

use crate::group::Device;

const PROG_LOAD: libc::c_int = 5;
const PROG_ATTACH: libc::c_int = 8;
const PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const ATTACH_CGROUP_DEVICE: u32 = 6;
/// Beside programs that others attach (systemd does): all of them must allow.
const ALLOW_MULTI: u32 = 2;
const CHARACTER_DEVICE: i32 = 2;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers, offset, immediate }
}

/// Loads 32 bits at an offset of the context (register 1) into a register.
const fn load(register: u8, offset: i16) -> Instruction {
    instruction(0x61, 0x10 | register, offset, 0)
}

/// Jumps over so many instructions unless the register has the value.
const fn unless_equal(register: u8, value: i32, over: i16) -> Instruction {
    instruction(0x55, register, over, value)
}

const fn give(value: i32) -> [Instruction; 2] {
    [instruction(0xb7, 0, 0, value), instruction(0x95, 0, 0, 0)]
}

/// Refuses these character devices, allows everything else. The context has the access and the type, the major and the
/// minor number, 32 bits each.
fn program(denied: &[Device]) -> Vec<Instruction> {
    let mut program = vec![load(2, 0), instruction(0x57, 2, 0, 0xffff), load(3, 4), load(4, 8)];
    for device in denied {
        let number = |number: u32| i32::from_ne_bytes(number.to_ne_bytes());
        program.extend([
            unless_equal(2, CHARACTER_DEVICE, 4),
            unless_equal(3, number(device.major), 3),
            unless_equal(4, number(device.minor), 2),
        ]);
        program.extend(give(0));
    }
    program.extend(give(1));
    program
}

/// The kernel's `bpf_attr`, as far as it is used: for loading.
#[repr(C)]
struct Load {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

/// The same for attaching.
#[repr(C)]
struct Attach {
    target_fd: u32,
    attach_bpf_fd: u32,
    attach_type: u32,
    attach_flags: u32,
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    let size = libc::c_ulong::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes of the attributes, and what they point to, which outlives the call.
    let outcome = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}

/// Refuses these devices to the group whose directory this is, for as long as the group is there.
pub(crate) fn deny(group: &File, denied: &[Device]) -> io::Result<()> {
    let instructions = program(denied);
    let load = Load {
        prog_type: PROG_TYPE_CGROUP_DEVICE,
        insn_cnt: u32::try_from(instructions.len()).unwrap_or(u32::MAX),
        insns: instructions.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buf: 0,
        kern_version: 0,
        prog_flags: 0,
    };
    let loaded = bpf(PROG_LOAD, &load)?;
    let descriptor = i32::try_from(loaded).map_err(io::Error::other)?;
    // SAFETY: the kernel has just given this descriptor, and nobody else has it.
    let loaded = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let attach = Attach {
        target_fd: group.as_raw_fd().cast_unsigned(),
        attach_bpf_fd: loaded.as_raw_fd().cast_unsigned(),
        attach_type: ATTACH_CGROUP_DEVICE,
        attach_flags: ALLOW_MULTI,
    };
    bpf(PROG_ATTACH, &attach).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_ends_at_the_next_device() {
        let denied = [Device { major: 195, minor: 0 }, Device { major: 195, minor: 3 }];
        let program = program(&denied);
        assert_eq!(program.len(), 4 + 2 * 5 + 2);
        for (at, jump) in program.iter().enumerate().filter(|(_, instruction)| instruction.code == 0x55) {
            let target = at + 1 + usize::try_from(jump.offset).unwrap();
            assert!(target == 9 || target == 14, "{at} goes to {target}");
        }
    }
}

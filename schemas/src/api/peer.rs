/// Who is at the other end of the connection, as the kernel says. The server puts it into each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Process id, where the kernel knows it.
    pub pid: Option<i32>,
}

//! How many CPUs a node has, and how they are arranged.

/// What a `NodeName` line says; each at least 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    pub cpus: Option<u32>,
    pub boards: Option<u32>,
    pub sockets: Option<u32>,
    pub sockets_per_board: Option<u32>,
    pub cores_per_socket: Option<u32>,
    pub threads_per_core: Option<u32>,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topology {
    pub cpus: u32,
    pub boards: u32,
    pub sockets: u32,
    pub cores_per_socket: u32,
    pub threads_per_core: u32,
}

/// What does not fit; the topology is then put right as Slurm does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// `Sockets` and `SocketsPerBoard` are both given; the second is used.
    SocketsTwice,
    /// Fewer sockets than boards; one board is used.
    SocketsBelowBoards { sockets: u32, boards: u32 },
    /// `CPUs` is neither the sockets nor the cores nor the threads; the threads are used.
    Cpus { given: u32, sockets: u32, cores: u32, threads: u32 },
}

/// Fills in what is missing: sockets from CPUs or boards, CPUs from the product.
pub(crate) fn complete(given: Given) -> (Topology, Vec<Misfit>) {
    let mut misfits = Vec::new();
    let cores_per_socket = given.cores_per_socket.unwrap_or(1);
    let threads_per_core = given.threads_per_core.unwrap_or(1);
    let mut boards = given.boards.unwrap_or(1);
    let threads_per_socket = cores_per_socket.saturating_mul(threads_per_core);
    let sockets = match (given.sockets_per_board, given.sockets, given.cpus) {
        (Some(per_board), sockets, _) => {
            if sockets.is_some() {
                misfits.push(Misfit::SocketsTwice);
            }
            boards.saturating_mul(per_board)
        }
        (None, Some(sockets), _) => sockets,
        (None, None, Some(cpus)) if cpus.is_multiple_of(threads_per_socket) => cpus / threads_per_socket,
        (None, None, _) => boards,
    };
    if sockets < boards {
        misfits.push(Misfit::SocketsBelowBoards { sockets, boards });
        boards = 1;
    }
    let cores = sockets.saturating_mul(cores_per_socket);
    let threads = cores.saturating_mul(threads_per_core);
    let mut cpus = given.cpus.unwrap_or(threads);
    if cpus != sockets && cpus != cores && cpus != threads {
        misfits.push(Misfit::Cpus { given: cpus, sockets, cores, threads });
        cpus = threads;
    }
    (Topology { cpus, boards, sockets, cores_per_socket, threads_per_core }, misfits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs, Boards, Sockets, SocketsPerBoard, CoresPerSocket, ThreadsPerCore; 0: not given.
    fn given(numbers: [u32; 6]) -> Given {
        let some = |number: u32| (number > 0).then_some(number);
        Given {
            cpus: some(numbers[0]),
            boards: some(numbers[1]),
            sockets: some(numbers[2]),
            sockets_per_board: some(numbers[3]),
            cores_per_socket: some(numbers[4]),
            threads_per_core: some(numbers[5]),
        }
    }

    #[test]
    fn what_is_missing_follows_from_what_is_given() {
        // given: as above; result: CPUs, Boards, Sockets, CoresPerSocket, ThreadsPerCore, misfits
        for (numbers, expected) in [
            ([0, 0, 0, 0, 0, 0], ([1, 1, 1, 1, 1], 0)),
            ([8, 0, 0, 0, 0, 0], ([8, 1, 8, 1, 1], 0)),
            ([8, 1, 0, 1, 8, 1], ([8, 1, 1, 8, 1], 0)),
            ([16, 0, 0, 0, 4, 2], ([16, 1, 2, 4, 2], 0)),
            ([0, 0, 2, 0, 16, 0], ([32, 1, 2, 16, 1], 0)),
            ([0, 2, 0, 2, 8, 2], ([64, 2, 4, 8, 2], 0)),
            // As many CPUs as cores: threads are not given out.
            ([12, 0, 2, 0, 6, 2], ([12, 1, 2, 6, 2], 0)),
            ([2, 0, 2, 0, 6, 2], ([2, 1, 2, 6, 2], 0)),
            ([40, 0, 2, 0, 16, 1], ([32, 1, 2, 16, 1], 1)),
            ([7, 0, 0, 0, 4, 2], ([8, 1, 1, 4, 2], 1)),
            ([0, 1, 4, 2, 1, 1], ([2, 1, 2, 1, 1], 1)),
            ([0, 4, 2, 0, 1, 1], ([2, 1, 2, 1, 1], 1)),
        ] {
            let (topology, misfits) = complete(given(numbers));
            let Topology { cpus, boards, sockets, cores_per_socket, threads_per_core } = topology;
            let found = ([cpus, boards, sockets, cores_per_socket, threads_per_core], misfits.len());
            assert_eq!(found, expected, "{numbers:?}");
        }
    }
}

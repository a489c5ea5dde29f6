//! Payload in the object store, by content hash.

use std::sync::Arc;

use async_nats::jetstream::object_store::{GetErrorKind, ObjectStore};
use daybook_schemas::BlobHash;
use tokio::io::AsyncReadExt;

use super::connect::chain;
use crate::ReadError;
use crate::bounds::BLOB_BYTES_MAX;
use crate::prepared::Blob;

pub(super) struct Blobs {
    store: ObjectStore,
}

impl Blobs {
    pub(super) fn new(store: ObjectStore) -> Blobs {
        Blobs { store }
    }

    /// Puts a blob where it is not there yet; afterwards it is as safe as a commit.
    pub(super) async fn put(&self, blob: &Blob) -> Result<(), String> {
        // What is there has these bytes: its name is their hash, and it is named only once its bytes are there.
        let is_there =
            self.store.info(blob.hash.0.as_str()).await.is_ok_and(|info| info.size == blob.bytes.len());
        if is_there {
            return Ok(());
        }
        let mut bytes: &[u8] = &blob.bytes;
        match self.store.put(blob.hash.0.as_str(), &mut bytes).await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("blob {} cannot be stored: {}", blob.hash, chain(&error))),
        }
    }

    /// A blob's bytes, checked against its address.
    pub(super) async fn get(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        let unavailable = |why: String| ReadError::Unavailable(format!("blob {hash}: {why}"));
        let mut object = match self.store.get(hash.0.as_str()).await {
            Ok(object) => object,
            Err(error)
                if error.kind() == GetErrorKind::NotFound || error.kind() == GetErrorKind::InvalidName =>
            {
                return Ok(None);
            }
            Err(error) => return Err(unavailable(chain(&error))),
        };
        if object.info().size > BLOB_BYTES_MAX {
            return Err(ReadError::DamagedBlob(hash.clone()));
        }
        let mut bytes = Vec::with_capacity(object.info().size);
        if object.info().size > 0 {
            object.read_to_end(&mut bytes).await.map_err(|error| unavailable(chain(&error)))?;
        }
        match BlobHash::of(&bytes) == *hash {
            true => Ok(Some(bytes.into())),
            false => Err(ReadError::DamagedBlob(hash.clone())),
        }
    }
}

//! The certificate authority of one cluster, and the servers' certificates.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData,
};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use time::{Duration, OffsetDateTime};
use x509_cert::Certificate;
use x509_cert::der::{DecodePem, Encode};

use crate::error::Error;
use crate::files::{self, PUBLIC, SECRET};

/// How long an authority's certificate is valid; a new authority means new files on every machine.
const AUTHORITY_DAYS: i64 = 20 * 365;
/// How long a server's certificate is valid; `daybook keys renew` makes new ones.
const SERVER_DAYS: i64 = 2 * 365;
/// How far behind a client's clock may be.
const CLOCK_DIFFERENCE: Duration = Duration::hours(24);

/// The authority's certificate: public, and on every machine.
pub const AUTHORITY_FILE: &str = "ca.pem";
/// The authority's private key: stays where the keys are made.
pub const AUTHORITY_KEY_FILE: &str = "ca.key";
/// A server's certificate.
pub const SERVER_FILE: &str = "server.pem";
/// A server's private key.
pub const SERVER_KEY_FILE: &str = "server.key";

/// Makes an authority in a directory.
pub fn make_authority(directory: &Path, cluster: &str) -> Result<(), Error> {
    let key = KeyPair::generate()?;
    let mut params = authority_params(cluster);
    valid_for(&mut params, AUTHORITY_DAYS);
    let certificate = params.self_signed(&key)?;
    files::write(&directory.join(AUTHORITY_KEY_FILE), SECRET, key.serialize_pem().as_bytes())?;
    files::write(&directory.join(AUTHORITY_FILE), PUBLIC, certificate.pem().as_bytes())
}

fn authority_params(cluster: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("Daybook {cluster}"));
    // It signs servers, not further authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// Makes a certificate for each host, signed by the authority in `authority`, and writes each with its key to the
/// directory beside it. Nothing is written when one cannot be made.
pub fn make_servers(authority: &Path, cluster: &str, hosts: &[(&str, PathBuf)]) -> Result<(), Error> {
    let key = KeyPair::from_pem(&files::read(&authority.join(AUTHORITY_KEY_FILE))?)?;
    let issuer = Issuer::new(authority_params(cluster), key);
    let mut made = Vec::with_capacity(hosts.len());
    for (host, directory) in hosts {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(alternative_names(host))?;
        params.distinguished_name = named(host);
        // Servers are clients of each other on their routes.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        valid_for(&mut params, SERVER_DAYS);
        let certificate = params.signed_by(&key, &issuer)?;
        made.push((directory, key.serialize_pem(), certificate.pem()));
    }
    for (directory, key, certificate) in made {
        files::write(&directory.join(SERVER_KEY_FILE), SECRET, key.as_bytes())?;
        files::write(&directory.join(SERVER_FILE), PUBLIC, certificate.as_bytes())?;
    }
    Ok(())
}

/// What there is to know of a certificate.
pub struct Seen {
    /// The end of its validity.
    pub valid_until: OffsetDateTime,
    /// Whether the authority's key signed it.
    pub signed_by_authority: bool,
    /// Whether it is for the private key that lies beside it.
    pub key_matches: bool,
}

/// Looks at a certificate, its private key and the authority's certificate; the error says what cannot be read.
pub fn look_at(pem: &str, key_pem: &str, authority_pem: &str) -> Result<Seen, String> {
    let certificate = Certificate::from_pem(pem).map_err(|error| error.to_string())?;
    let authority =
        Certificate::from_pem(authority_pem).map_err(|error| format!("the authority's: {error}"))?;
    let key = KeyPair::from_pem(key_pem).map_err(|error| format!("its key: {error}"))?;
    let unreadable = |error: x509_cert::der::Error| error.to_string();
    let signed = certificate.tbs_certificate.to_der().map_err(unreadable)?;
    let authority_key = &authority.tbs_certificate.subject_public_key_info.subject_public_key;
    let own_key = certificate.tbs_certificate.subject_public_key_info.to_der().map_err(unreadable)?;
    let valid_until = certificate.tbs_certificate.validity.not_after.to_unix_duration().as_secs();
    Ok(Seen {
        valid_until: i64::try_from(valid_until)
            .ok()
            .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok())
            .ok_or("the end of its validity is no date")?,
        // All keys made here are of this kind, so another kind's signature is not the authority's.
        signed_by_authority: UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, authority_key.raw_bytes())
            .verify(&signed, certificate.signature.raw_bytes())
            .is_ok(),
        key_matches: own_key == key.subject_public_key_info(),
    })
}

/// The names under which a server is reached: its own, and this machine's from itself.
fn alternative_names(host: &str) -> Vec<String> {
    let mut names = vec![host.to_string()];
    for own in ["localhost", "127.0.0.1"] {
        if own != host {
            names.push(own.to_string());
        }
    }
    names
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn valid_for(params: &mut CertificateParams, days: i64) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - CLOCK_DIFFERENCE;
    params.not_after = now + Duration::days(days);
}

//! The certificate authority of one cluster, and the servers' certificates.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData,
};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

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
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("Daybook {cluster}"));
    // It signs servers, not further authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_for(&mut params, AUTHORITY_DAYS);
    let certificate = params.self_signed(&key)?;
    files::write(&directory.join(AUTHORITY_KEY_FILE), SECRET, key.serialize_pem().as_bytes())?;
    files::write(&directory.join(AUTHORITY_FILE), PUBLIC, certificate.pem().as_bytes())
}

/// Makes a certificate for each host, signed by the authority in `authority`, and writes each with its key to the
/// directory beside it. Nothing is written when one cannot be made.
pub fn make_servers(authority: &Path, hosts: &[(&str, PathBuf)]) -> Result<(), Error> {
    let key = KeyPair::from_pem(&files::read(&authority.join(AUTHORITY_KEY_FILE))?)?;
    let issuer = Issuer::from_ca_cert_pem(&files::read(&authority.join(AUTHORITY_FILE))?, key)?;
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
    let (_, pem) = parse_x509_pem(pem.as_bytes()).map_err(|error| error.to_string())?;
    let certificate = pem.parse_x509().map_err(|error| error.to_string())?;
    let (_, pem) =
        parse_x509_pem(authority_pem.as_bytes()).map_err(|error| format!("the authority's: {error}"))?;
    let authority = pem.parse_x509().map_err(|error| format!("the authority's: {error}"))?;
    let key = KeyPair::from_pem(key_pem).map_err(|error| format!("its key: {error}"))?;
    Ok(Seen {
        valid_until: certificate.validity().not_after.to_datetime(),
        signed_by_authority: certificate.verify_signature(Some(authority.public_key())).is_ok(),
        key_matches: certificate.public_key().raw == key.subject_public_key_info(),
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

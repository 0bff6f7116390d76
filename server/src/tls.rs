//! TLS and mutual TLS, with ring, from files that are read again when they change. Nothing is installed
//! for the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::{fs, io};

use leaseflake::Error;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::ServerOptions;
use crate::phase::{Heard, Phase};

/// The files, and what they say just now.
pub(crate) struct Tls {
    cert: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
    read: RwLock<Read>,
}

#[derive(Clone)]
struct Read {
    contents: Contents,
    config: Arc<ServerConfig>,
}

/// What the files hold, byte by byte.
type Contents = Vec<Vec<u8>>;

impl Tls {
    /// TLS by these options; `None` where they name no certificate.
    pub(crate) fn of(options: &ServerOptions) -> Result<Option<Arc<Tls>>, Error> {
        let (Some(cert), Some(key)) = (&options.tls_cert, &options.tls_key) else { return Ok(None) };
        let read = read(cert, key, options.tls_client_ca.as_deref())?;
        Ok(Some(Arc::new(Tls {
            cert: cert.clone(),
            key: key.clone(),
            client_ca: options.tls_client_ca.clone(),
            read: RwLock::new(read),
        })))
    }

    /// Whether clients must show a certificate.
    pub(crate) fn is_mutual(&self) -> bool {
        self.client_ca.is_some()
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let read = self.read.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&read.config))
    }

    /// Reads the files again, and takes them over if they have changed and make sense.
    fn reload(&self) -> Result<bool, Error> {
        let contents = contents(&self.cert, &self.key, self.client_ca.as_deref())?;
        if contents == self.read.read().unwrap_or_else(PoisonError::into_inner).contents {
            return Ok(false);
        }
        let read = parsed(contents, &self.cert, &self.key, self.client_ca.as_deref())?;
        *self.read.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(true)
    }

    /// Looks at the files every so often. Files that make no sense change nothing, and are told of once.
    pub(crate) async fn watch(self: Arc<Tls>, every: std::time::Duration, mut phase: Heard) {
        let mut told = String::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = phase.reached(Phase::Finishing) => return,
            }
            let tls = Arc::clone(&self);
            match tokio::task::spawn_blocking(move || tls.reload()).await {
                Ok(Ok(changed)) => {
                    told.clear();
                    if changed {
                        tracing::info!("the TLS files have changed: new connections get the new ones");
                    }
                }
                Ok(Err(error)) if told != error.message() => {
                    told = error.message().to_owned();
                    tracing::error!(code = error.name(), "the TLS files of before stay in use: {told}");
                }
                Ok(Err(_)) => {}
                Err(panic) => tracing::error!("reading the TLS files panicked: {panic}"),
            }
        }
    }
}

fn read(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Read, Error> {
    parsed(contents(cert, key, client_ca)?, cert, key, client_ca)
}

fn contents(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Contents, Error> {
    let named = [("tls_cert", Some(cert)), ("tls_key", Some(key)), ("tls_client_ca", client_ca)];
    let files = named.into_iter().filter_map(|(name, path)| path.map(|path| (name, path)));
    files.map(|(name, path)| fs::read(path).map_err(|error| unreadable(name, path, &error))).collect()
}

fn unreadable(name: &str, path: &Path, error: &io::Error) -> Error {
    Error::invalid(name, path.display(), format_args!("a file in PEM that can be read ({error})"))
}

fn parsed(contents: Contents, cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Read, Error> {
    let chain = certificates("tls_cert", cert, &contents[0])?;
    let private = PrivateKeyDer::from_pem_slice(&contents[1])
        .map_err(|error| Error::invalid("tls_key", key.display(), format_args!("a private key in PEM ({error})")))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let wrong = |error: rustls::Error| {
        let files = format!("{} and {}", cert.display(), key.display());
        Error::invalid("tls_cert and tls_key", files, format_args!("a certificate and its own key ({error})"))
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(wrong)?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let refused = |why: &dyn std::fmt::Display| {
                Error::invalid("tls_client_ca", path.display(), format_args!("certificates of signers in PEM ({why})"))
            };
            let mut roots = RootCertStore::empty();
            for certificate in certificates("tls_client_ca", path, &contents[2])? {
                roots.add(certificate).map_err(|error| refused(&error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| refused(&error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, private).map_err(wrong)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Read { contents, config: Arc::new(config) })
}

fn certificates(name: &str, path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong =
        |why: &dyn std::fmt::Display| Error::invalid(name, path.display(), format_args!("certificates in PEM ({why})"));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
    if chain.is_empty() { Err(wrong(&"there is none")) } else { Ok(chain) }
}

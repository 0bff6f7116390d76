//! TLS, mutual TLS, and files that change while the server runs.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leaseflake_server::client::Channel;
use leaseflake_server::{Server, ServerOptions};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use support::{memory, one, service, start, until};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A signer of certificates.
struct Signer {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: CertificateDer<'static>,
}

/// A certificate and its key.
struct Identity {
    chain: String,
    key: String,
    der: CertificateDer<'static>,
    key_der: PrivateKeyDer<'static>,
}

impl Signer {
    fn new() -> Signer {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Signer { pem: certificate.pem(), der: certificate.der().clone(), issuer: Issuer::new(params, key) }
    }

    fn sign(&self, name: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            chain: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
            key_der: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }

    /// A client that trusts this signer, with a certificate of its own or without.
    fn client(&self, identity: Option<&Identity>) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match identity {
            Some(identity) => {
                builder.with_client_auth_cert(vec![identity.der.clone()], identity.key_der.clone_key()).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

/// A channel, and the certificate that the server showed.
async fn connect(server: &Server, client: &TlsConnector) -> std::io::Result<(Channel, CertificateDer<'static>)> {
    let stream = TcpStream::connect(server.address()).await?;
    let stream = client.connect(ServerName::try_from("localhost").unwrap(), stream).await?;
    let shown = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    Ok((Channel::over(stream, "localhost").await?, shown))
}

/// Whether a call gets through.
async fn is_served(server: &Server, client: &TlsConnector) -> bool {
    match connect(server, client).await {
        Ok((channel, _)) => one(&channel).await.is_ok(),
        Err(_) => false,
    }
}

fn write(folder: &Path, identity: &Identity) {
    fs::write(folder.join("cert.pem"), &identity.chain).unwrap();
    fs::write(folder.join("key.pem"), &identity.key).unwrap();
}

fn options(folder: &Path) -> ServerOptions {
    let mut options = service();
    options.tls_cert = Some(folder.join("cert.pem"));
    options.tls_key = Some(folder.join("key.pem"));
    options.tls_reload = Duration::from_millis(100);
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_certificate_only_tls_is_served_and_new_files_are_taken_over_without_a_failed_call() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Signer::new();
    let first = signer.sign("localhost");
    write(folder.path(), &first);
    let server = start(options(folder.path()), memory()).await;
    let client = signer.client(None);
    let (channel, shown) = connect(&server, &client).await.unwrap();
    assert_eq!(shown, first.der);
    one(&channel).await.unwrap();
    // Whoever comes without TLS, or trusts somebody else, is refused.
    let plain = Channel::connect(server.address()).await.unwrap();
    one(&plain).await.unwrap_err();
    assert!(!is_served(&server, &Signer::new().client(None)).await);

    // Files that make no sense, or a certificate that is not the key's: the old ones stay.
    fs::write(folder.path().join("cert.pem"), "no certificate").unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(connect(&server, &client).await.unwrap().1, first.der);
    let second = signer.sign("localhost");
    fs::write(folder.path().join("cert.pem"), &second.chain).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(connect(&server, &client).await.unwrap().1, first.der);
    fs::write(folder.path().join("key.pem"), &second.key).unwrap();
    until("the new certificate is shown", async || connect(&server, &client).await.unwrap().1 == second.der).await;
    one(&channel).await.expect("old connections go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_signer_of_clients_only_they_are_served_and_a_new_signer_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let (signer, clients, strangers) = (Signer::new(), Signer::new(), Signer::new());
    write(folder.path(), &signer.sign("localhost"));
    let ca = folder.path().join("clients.pem");
    fs::write(&ca, &clients.pem).unwrap();
    let mut options = options(folder.path());
    options.tls_client_ca = Some(ca.clone());
    let server = start(options, memory()).await;
    let known = signer.client(Some(&clients.sign("a client")));
    let stranger = signer.client(Some(&strangers.sign("a stranger")));
    assert!(is_served(&server, &known).await);
    assert!(!is_served(&server, &stranger).await);
    assert!(!is_served(&server, &signer.client(None)).await);
    fs::write(&ca, &strangers.pem).unwrap();
    until("the new signer's clients are served", async || is_served(&server, &stranger).await).await;
    assert!(!is_served(&server, &known).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_used_are_refused_at_the_start_with_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Signer::new();
    let (one, other) = (signer.sign("localhost"), signer.sign("localhost"));
    let refusal = async || Server::start(options(folder.path()), memory()).await.map(drop).unwrap_err().to_string();
    assert!(refusal().await.contains("cert.pem"));
    write(folder.path(), &one);
    fs::write(folder.path().join("key.pem"), "no key").unwrap();
    assert!(refusal().await.contains("key.pem"));
    fs::write(folder.path().join("key.pem"), &other.key).unwrap();
    assert!(refusal().await.contains("cert.pem"));
}

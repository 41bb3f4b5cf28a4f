//! QUIC between keys: both sides prove that they hold their Ed25519 key (RFC 7250), and there are
//! no certificates of authorities, names or passwords.
//!
//! A peer's key is all that TLS proves. Whether it is admitted is decided by the session.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use quinn::{
    AsyncUdpSocket, ClientConfig, Endpoint, EndpointConfig, IdleTimeout, ServerConfig,
    TransportConfig, VarInt,
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error as TlsError, SignatureScheme,
    client::{
        AlwaysResolvesClientRawPublicKeys,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{
        CryptoProvider, WebPkiSupportedAlgorithms,
        ring::{default_provider, sign::any_eddsa_type},
        verify_tls13_signature_with_raw_key,
    },
    pki_types::{
        CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
    },
    server::{
        AlwaysResolvesServerRawPublicKeys,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::CertifiedKey,
    version::TLS13,
};

use crate::{
    peer_error::PeerError,
    peer_key::{PeerId, PeerSecretKey},
};

/// The name of the protocol in TLS.
const ALPN: &[u8] = b"yfs-peer/1";

/// The name of every server: none is looked up.
const SERVER_NAME: &str = "peer.invalid";

/// What a connection may send before its peer is admitted, in bytes.
const FIRST_WINDOW: u32 = 16 << 10;

/// What a connection may send before this side has read it, in bytes.
const WINDOW: u32 = 4 << 20;

/// The silence after which a connection is dead, and after which this side shows that it is alive.
const IDLE_TIMEOUT_MS: u32 = 25_000;
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// Makes the endpoint of a peer on a socket.
pub(crate) fn endpoint(
    key: &PeerSecretKey,
    socket: Arc<dyn AsyncUdpSocket>,
) -> Result<Endpoint, PeerError> {
    let provider = Arc::new(default_provider());
    let own = Arc::new(certified_key(key)?);
    let mut tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])
        .map_err(tls_failure)?
        .with_client_cert_verifier(Arc::new(AnyPeerKey::new(&provider)))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.max_early_data_size = 0;
    let crypto = QuicServerConfig::try_from(tls).map_err(|error| failure(&error.to_string()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    let runtime = Arc::new(quinn::TokioRuntime);
    let endpoint_config = EndpointConfig::default();
    Ok(Endpoint::new_with_abstract_socket(endpoint_config, Some(config), socket, runtime)?)
}

/// Makes the configuration of a connection to one peer, which is the only one that it accepts.
pub(crate) fn client_config(key: &PeerSecretKey, peer: PeerId) -> Result<ClientConfig, PeerError> {
    let provider = Arc::new(default_provider());
    let own = Arc::new(certified_key(key)?);
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])
        .map_err(tls_failure)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OnePeerKey::new(&provider, peer)))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own)));
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.enable_early_data = false;
    tls.resumption = rustls::client::Resumption::disabled();
    let crypto = QuicClientConfig::try_from(tls).map_err(|error| failure(&error.to_string()))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport());
    Ok(config)
}

/// Connects to a peer at one of its addresses.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    config: ClientConfig,
    address: SocketAddr,
) -> Result<quinn::Connection, String> {
    let connecting = endpoint.connect_with(config, address, SERVER_NAME);
    connecting.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
}

/// Returns the key that the other side of a connection holds.
pub(crate) fn remote_id(connection: &quinn::Connection) -> Option<PeerId> {
    let identity = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    PeerId::from_spki(identity.first()?)
}

/// Lets an admitted peer send as much as the transport allows.
pub(crate) fn open_window(connection: &quinn::Connection) {
    connection.set_receive_window(VarInt::from_u32(WINDOW));
}

/// Reports whether an address belongs to this machine or its local network.
pub(crate) fn is_local(address: SocketAddr) -> bool {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(FIRST_WINDOW))
        .send_window(u64::from(WINDOW))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_TIMEOUT_MS))));
    Arc::new(config)
}

fn certified_key(key: &PeerSecretKey) -> Result<CertifiedKey, PeerError> {
    let secret = PrivatePkcs8KeyDer::from(key.to_pkcs8());
    let signer = any_eddsa_type(&secret).map_err(tls_failure)?;
    Ok(CertifiedKey::new(vec![CertificateDer::from(key.id().to_spki())], signer))
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` has")]
fn tls_failure(error: TlsError) -> PeerError {
    failure(&error.to_string())
}

fn failure(reason: &str) -> PeerError {
    PeerError::Io(std::io::Error::other(format!("TLS: {reason}")))
}

/// Accepts any client that holds the Ed25519 key that it names.
#[derive(Debug)]
struct AnyPeerKey {
    algorithms: WebPkiSupportedAlgorithms,
}

/// Accepts a server only if it holds the key of one peer.
#[derive(Debug)]
struct OnePeerKey {
    algorithms: WebPkiSupportedAlgorithms,
    peer: PeerId,
}

impl AnyPeerKey {
    fn new(provider: &CryptoProvider) -> Self {
        Self { algorithms: provider.signature_verification_algorithms }
    }
}

impl OnePeerKey {
    fn new(provider: &CryptoProvider, peer: PeerId) -> Self {
        Self { algorithms: provider.signature_verification_algorithms, peer }
    }
}

/// Verifies that the other side holds the key that it named.
fn verify_key(
    message: &[u8],
    key: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, TlsError> {
    if signed.scheme != SignatureScheme::ED25519 {
        return Err(TlsError::General("only Ed25519 keys are accepted".to_owned()));
    }
    let key = SubjectPublicKeyInfoDer::from(key.as_ref());
    verify_tls13_signature_with_raw_key(message, &key, signed, algorithms)
}

impl ClientCertVerifier for AnyPeerKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        if PeerId::from_spki(end_entity).is_none() || !intermediates.is_empty() {
            return Err(CertificateError::BadEncoding.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_key(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ServerCertVerifier for OnePeerKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let is_it = PeerId::from_spki(end_entity) == Some(self.peer) && intermediates.is_empty();
        if is_it {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_key(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

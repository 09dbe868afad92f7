//! A client with a pin or a CA file sends nothing to an impostor.

#[cfg(test)]
mod tls {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use countersign_client::{Endpoint, Error, KeyPin, TlsTrust, fetch};
    use countersign_tls::rustls::{ServerConnection, StreamOwned};
    use countersign_tls::{ServerIdentity, generate_key, issue_certificate, pem, server_config};
    use countersign_types::time::Timestamp;

    const DAY: i64 = 86_400_000;
    const BODY: &str = "believed";
    /// A test may only say that something does not hang.
    const HANG: Duration = Duration::from_mins(1);

    /// A server with a certificate, and what it was sent.
    struct TestServer {
        address: String,
        pin: KeyPin,
        certificate: Vec<u8>,
        heard: Arc<Mutex<Vec<u8>>>,
    }

    fn now() -> i64 {
        i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap()
    }

    /// Serves one response to every connection. The certificate was issued `issued` ms from now.
    fn serve(key: &[u8], names: &[&str], issued: i64) -> TestServer {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        serve_with(key, issue_certificate(key, &names, Timestamp(now() + issued)).unwrap())
    }

    fn serve_with(key: &[u8], certificate: Vec<u8>) -> TestServer {
        let identity = ServerIdentity::from_der(key, &certificate).unwrap();
        let pin = identity.pin().unwrap();
        let config = server_config(Arc::new(identity)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let mut room = [0; 4096];
                let Ok(count) = stream.read(&mut room) else { continue };
                log.lock().unwrap().extend_from_slice(&room[..count]);
                let length = BODY.len();
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{BODY}");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        TestServer { address, pin, certificate, heard }
    }

    fn ask(address: &str, trust: TlsTrust) -> Result<String, Error> {
        fetch(&Endpoint::Tls { authority: address.to_owned(), trust }, "/secret")
    }

    /// Nothing was sent, and the error names the reason.
    fn refuses(server: &TestServer, trust: TlsTrust, why: &str) {
        match ask(&server.address, trust) {
            Err(error @ Error::Certificate { .. }) => {
                assert!(error.to_string().contains(why), "{error}");
                assert!(!error.is_transient());
            }
            other => panic!("{other:?}, expected {why}"),
        }
        assert!(server.heard.lock().unwrap().is_empty(), "something was sent");
    }

    fn ca_file(folder: &Path, certificate: &[u8]) -> TlsTrust {
        let file = folder.join("ca.pem");
        std::fs::write(&file, pem(certificate)).unwrap();
        TlsTrust::CaFile(file)
    }

    #[test]
    fn the_pinned_key_is_accepted_also_with_a_renewed_certificate() {
        let key = generate_key().unwrap();
        let server = serve(&key, &["gate.example.org"], 0);
        assert_eq!(ask(&server.address, TlsTrust::Pin(server.pin)).unwrap(), BODY);
        let renewed = serve(&key, &["gate.example.org"], -200 * DAY);
        assert_eq!(ask(&renewed.address, TlsTrust::Pin(server.pin)).unwrap(), BODY);
    }

    #[test]
    fn another_key_with_the_right_name_is_refused() {
        let genuine = serve(&generate_key().unwrap(), &["localhost", "127.0.0.1"], 0);
        let impostor = serve(&generate_key().unwrap(), &["localhost", "127.0.0.1"], 0);
        refuses(&impostor, TlsTrust::Pin(genuine.pin), "another key");
        let folder = tempfile::tempdir().unwrap();
        refuses(&impostor, ca_file(folder.path(), &genuine.certificate), "refused");
    }

    #[test]
    fn a_certificate_outside_its_validity_is_refused() {
        let key = generate_key().unwrap();
        let expired = serve(&key, &["localhost", "127.0.0.1"], -399 * DAY);
        refuses(&expired, TlsTrust::Pin(expired.pin), "it has expired");
        let folder = tempfile::tempdir().unwrap();
        refuses(&expired, ca_file(folder.path(), &expired.certificate), "it has expired");
        let early = serve(&key, &["localhost", "127.0.0.1"], 10 * DAY);
        refuses(&early, TlsTrust::Pin(early.pin), "not valid yet");
    }

    #[test]
    fn a_ca_file_binds_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let named = serve(&generate_key().unwrap(), &["127.0.0.1"], 0);
        let trust = ca_file(folder.path(), &named.certificate);
        assert_eq!(ask(&named.address, trust).unwrap(), BODY);
        let other = serve(&generate_key().unwrap(), &["gate.example.org"], 0);
        refuses(&other, ca_file(folder.path(), &other.certificate), "another host name");
    }

    #[test]
    fn the_certificate_of_an_authority_works_with_a_pin_only() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().to_vec();
        let server = serve_with(&key.serialize_der(), certificate);
        let folder = tempfile::tempdir().unwrap();
        refuses(&server, ca_file(folder.path(), &server.certificate), "pin its key instead");
        assert_eq!(ask(&server.address, TlsTrust::Pin(server.pin)).unwrap(), BODY);
    }

    #[test]
    fn a_ca_file_that_others_can_change_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let server = serve(&generate_key().unwrap(), &["127.0.0.1"], 0);
        let trust = ca_file(folder.path(), &server.certificate);
        let file = folder.path().join("ca.pem");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(ask(&server.address, trust).is_err());
        assert!(server.heard.lock().unwrap().is_empty());
    }

    #[test]
    fn a_man_in_the_middle_that_forwards_bytes_learns_nothing() {
        let server = serve(&generate_key().unwrap(), &["127.0.0.1"], 0);
        let middle = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = middle.local_addr().unwrap().to_string();
        let (target, seen) = (server.address.clone(), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            let (mut inside, _) = middle.accept().unwrap();
            let mut outside = TcpStream::connect(target).unwrap();
            let (mut answer, mut asker) =
                (outside.try_clone().unwrap(), inside.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut answer, &mut asker));
            let mut room = [0; 4096];
            while let Ok(count @ 1..) = inside.read(&mut room) {
                log.lock().unwrap().extend_from_slice(&room[..count]);
                if outside.write_all(&room[..count]).is_err() {
                    break;
                }
            }
        });
        assert_eq!(ask(&address, TlsTrust::Pin(server.pin)).unwrap(), BODY);
        let seen = seen.lock().unwrap();
        assert!(!seen.is_empty() && !seen.windows(7).any(|part| part == b"/secret"));
    }

    #[test]
    fn a_plain_or_silent_server_is_an_error_in_time() {
        let plain = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = plain.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (mut stream, _) = plain.accept().unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            // A handshake that goes on for ever, a byte at a time.
            while stream.write_all(&[22]).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let pin = KeyPin::parse(&format!("sha256:{}", "00".repeat(32))).unwrap();
        let started = Instant::now();
        assert!(ask(&address, TlsTrust::Pin(pin)).is_err());
        assert!(started.elapsed() < HANG);
    }
}

//! The sockets that the service listens on, with bounds on the bytes that the kernel buffers for each connection.
//!
//! Without bounds, the kernel buffers as much as its own limits allow, which is several MiB in each direction: bytes
//! that the service has not read yet, and bytes that the client has not read yet. With some hundred connections these
//! are gigabytes, which count against the memory limit of a container like the memory of the service itself.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Maximum bytes of a connection that were received and not read yet; as many as a client may send ahead over HTTP/2.
const RECEIVED_BYTES_MAX: u32 = 256 << 10;
/// Maximum bytes of a connection that wait to be sent: enough for 20 MB/s at a round trip of 50 ms.
const TO_SEND_BYTES_MAX: u32 = 1 << 20;
/// Maximum connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Listens on an address, `host:port`. If a name has several addresses, uses the first that can be listened on.
///
/// # Errors
/// The name cannot be resolved, or none of its addresses can be listened on.
pub async fn listen(wanted: &str) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in tokio::net::lookup_host(wanted).await? {
        match listen_on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted service does not have to wait until the kernel forgets the connections of the previous process.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit these sizes. Linux doubles both; half of the receive buffer is for its own overhead.
    socket.set_recv_buffer_size(RECEIVED_BYTES_MAX)?;
    socket.set_send_buffer_size(TO_SEND_BYTES_MAX / 2)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpStream;

    use super::*;

    /// Returns how many bytes can be sent to a peer that reads nothing.
    async fn sent_unread(stream: &mut TcpStream) -> usize {
        let (mut sent, piece) = (0, [0; 64 << 10]);
        let sending = async {
            while let Ok(bytes) = stream.write(&piece).await {
                sent += bytes;
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(300), sending).await;
        sent
    }

    #[tokio::test]
    async fn the_kernel_holds_little_of_what_nobody_reads() {
        let listener = listen("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        // Keeps the buffers of the client small, because they are not what is measured.
        socket.set_send_buffer_size(64 << 10).unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        let connected = socket.connect(listener.local_addr().unwrap());
        let (mut client, accepted) = tokio::try_join!(connected, listener.accept()).unwrap();
        let mut accepted = accepted.0;
        let received = sent_unread(&mut client).await;
        assert!((64 << 10..1 << 20).contains(&received), "{received}");
        let to_send = sent_unread(&mut accepted).await;
        assert!((256 << 10..2 << 20).contains(&to_send), "{to_send}");
    }

    #[tokio::test]
    async fn what_cannot_be_listened_on_is_an_error() {
        let taken = listen("127.0.0.1:0").await.unwrap();
        let again = listen(&taken.local_addr().unwrap().to_string()).await;
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(listen("127.0.0.1").await.is_err());
    }
}

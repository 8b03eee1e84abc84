//! How many bytes are read from a client that has not shown what it pays for.
//!
//! Much of HTTP/2 is answered by the protocol and never becomes a request: pings, settings, frames of unknown types, streams
//! past those a connection may have. It costs time all the same. So a connection reads only what was paid: a request with a
//! valid key pays for its body and for the next heads ([`PaidReads::pay`]). What is read beyond is counted for the address
//! of the client, and once that is more than it may send, its connections are read no faster than that.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::address_buckets::{AddressBuckets, BucketSize};
use toise_base::clock::Clock;

/// Bytes that a connection reads before it has shown a key: a usual head.
const FIRST_BYTES: u64 = 1 << 10;
/// Bytes of further heads that a request with a valid key pays for.
const HEADS_BYTES: u64 = 128 << 10;
/// Bytes that are read at once of what is not paid.
const PIECE_BYTES: usize = 1 << 10;
/// Bytes that are not paid and that an address may send a second: a body of 4 MiB without a valid key is read to its end in
/// time.
const UNPAID_PER_S: u32 = 2 << 20;
/// Those it may send at once. A stream of HTTP/2 takes 25 bytes.
const UNPAID_AT_ONCE: u32 = 64 << 10;
const UNPAID: BucketSize = BucketSize {
    holds: UNPAID_AT_ONCE,
    every: Duration::from_nanos(1_000_000_000 / UNPAID_PER_S as u64),
};
/// Longest wait of a connection between two pieces.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What every address sent lately and did not pay for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct UnpaidReads {
    buckets: AddressBuckets,
    clock: Clock,
}

/// What a connection may still read; an extension of its requests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PaidReads(Option<Arc<AtomicU64>>);

/// A stream that is read as far as it is paid, and then at the pace of its client.
#[derive(Debug)]
pub struct PaidStream<S> {
    stream: S,
    peer: IpAddr,
    paid: PaidReads,
    unpaid: UnpaidReads,
    wait: Option<Pin<Box<Sleep>>>,
}

impl UnpaidReads {
    /// Nobody sent anything yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            buckets: AddressBuckets::new(UNPAID),
            clock,
        }
    }

    /// Counts bytes of an address, or none; how long to wait before more are read.
    fn count(&self, peer: IpAddr, bytes: u64) -> Duration {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let now = self.clock.monotonic();
        let wait = self.buckets.add(peer, bytes, now, WAIT_MAX);
        wait.unwrap_or(WAIT_MAX)
    }
}

impl PaidReads {
    /// Of a connection that was just accepted.
    pub fn begin() -> Self {
        Self(Some(Arc::new(AtomicU64::new(FIRST_BYTES))))
    }

    /// Of a connection that may read whatever comes: one of a proxy, which has the requests of many clients, or of an
    /// operator.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Pays for a body of at most `body_bytes` bytes and for further heads.
    pub fn pay(&self, body_bytes: u64) {
        if let Self(Some(left)) = self {
            let more = body_bytes.saturating_add(HEADS_BYTES);
            let add = |left: u64| Some(left.saturating_add(more));
            // The closure always gives a value, so this cannot fail.
            let _ = left.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        }
    }

    fn left(&self) -> u64 {
        let Self(left) = self;
        left.as_ref()
            .map_or(u64::MAX, |left| left.load(Ordering::Acquire))
    }

    /// Takes bytes that were read; those that were not paid.
    fn take(&self, bytes: u64) -> u64 {
        let Self(Some(left)) = self else {
            return 0;
        };
        let take = |left: u64| Some(left.saturating_sub(bytes));
        let (Ok(before) | Err(before)) =
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        bytes.saturating_sub(before)
    }
}

impl<S> PaidStream<S> {
    /// A stream of a client.
    pub fn new(stream: S, peer: IpAddr, paid: PaidReads, unpaid: UnpaidReads) -> Self {
        Self {
            stream,
            peer,
            paid,
            unpaid,
            wait: None,
        }
    }

    /// Counts bytes that are not paid; whether the stream waits now.
    fn waits(&mut self, unpaid: u64, context: &mut Context<'_>) -> bool {
        let wait = self.unpaid.count(self.peer, unpaid);
        if wait.is_zero() {
            return false;
        }
        let wait = self.wait.insert(Box::pin(tokio::time::sleep(wait)));
        // From now on it wakes the task.
        wait.as_mut().poll(context).is_pending()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PaidStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        let paid = usize::try_from(self.paid.left()).unwrap_or(usize::MAX);
        if paid == 0 && self.waits(0, context) {
            return Poll::Pending;
        }
        let most = paid.max(PIECE_BYTES).min(buffer.remaining());
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece))?;
        let bytes = piece.filled().len();
        buffer.advance(bytes);
        let unpaid = self.paid.take(bytes as u64);
        if unpaid > 0 {
            self.waits(unpaid, context);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PaidStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const TWO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// An endless stream of a client.
    fn endless(
        peer: IpAddr,
        paid: &PaidReads,
        unpaid: &UnpaidReads,
    ) -> PaidStream<tokio::io::Repeat> {
        PaidStream::new(tokio::io::repeat(b'x'), peer, paid.clone(), unpaid.clone())
    }

    /// Bytes that are read at once before the stream waits.
    async fn read_at_once(stream: &mut PaidStream<tokio::io::Repeat>) -> usize {
        let (mut bytes, mut buffer) = (0, vec![0; 64 << 10]);
        loop {
            // What makes it wait is to be the stream alone.
            let read = tokio::task::unconstrained(stream.read(&mut buffer));
            match futures::poll!(std::pin::pin!(read)) {
                Poll::Ready(read) => bytes += read.unwrap(),
                Poll::Pending => return bytes,
            }
        }
    }

    #[tokio::test]
    async fn what_is_not_paid_is_read_at_the_pace_of_its_address() {
        let clock = Clock::steered(chrono::Utc::now());
        let unpaid = UnpaidReads::new(clock.clone());
        let at_once = UNPAID.holds as usize + PIECE_BYTES;
        let mut first = endless(ONE, &PaidReads::begin(), &unpaid);
        let read = read_at_once(&mut first).await;
        let expected = at_once + FIRST_BYTES as usize;
        assert!(
            (expected - PIECE_BYTES..=expected).contains(&read),
            "{read}"
        );
        // Another connection of the address gets a head and no more.
        let mut second = endless(ONE, &PaidReads::begin(), &unpaid);
        assert_eq!(read_at_once(&mut second).await, FIRST_BYTES as usize);
        // Other addresses are not touched by it, and neither is what is paid.
        let mut other = endless(TWO, &PaidReads::begin(), &unpaid);
        assert!(read_at_once(&mut other).await >= UNPAID.holds as usize);
        let paid = PaidReads::begin();
        paid.pay(5 << 20);
        let mut paying = endless(ONE, &paid, &unpaid);
        assert!(read_at_once(&mut paying).await >= 5 << 20);
        // Once it has waited there may be as much again.
        clock.advance_ms(1_000 + WAIT_MAX.as_millis() as i64);
        let mut later = endless(ONE, &PaidReads::begin(), &unpaid);
        assert!(read_at_once(&mut later).await >= UNPAID.holds as usize);
    }

    #[tokio::test]
    async fn a_connection_of_many_clients_is_read_as_it_comes() {
        let unpaid = UnpaidReads::new(Clock::system());
        let mut proxy = endless(ONE, &PaidReads::unlimited(), &unpaid);
        let mut buffer = vec![0; 64 << 10];
        for _ in 0..1_000 {
            let read = proxy.read(&mut buffer).await.unwrap();
            assert_eq!(read, buffer.len());
        }
    }
}

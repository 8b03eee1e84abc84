//! Signatures of deliveries, as Standard Webhooks defines them: HMAC-SHA256 of `id.timestamp.body`, in base64 after
//! `v1,`.
//!
//! During the rotation of a secret, both secrets sign and a space separates the signatures. A receiver accepts a
//! delivery if one of them is valid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Header with the identifier of the delivery, the same for all retries.
pub const ID_HEADER: &str = "webhook-id";
/// Header with the time of the attempt, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
/// Header with the webhook key of the account.
pub const KEY_HEADER: &str = "x-webhook-key";
/// Header with the next webhook key of the account, while the key is being rotated.
pub const NEXT_KEY_HEADER: &str = "x-webhook-key-next";
/// Maximum difference between the clocks of sender and receiver, in seconds.
pub const TOLERANCE_S: u64 = 300;

const VERSION: &str = "v1,";
const SECRET_PREFIX: &str = "whsec_";
/// Block size of SHA-256, bytes: longer secrets are replaced by their digest (RFC 2104).
const BLOCK_BYTES: usize = 64;

/// The reason why a delivery cannot be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The timestamp is not a number of seconds.
    #[error("{TIMESTAMP_HEADER} is missing or not a number of seconds")]
    NoTimestamp,
    /// The timestamp is too old, or in the future.
    #[error(
        "{TIMESTAMP_HEADER} is more than {TOLERANCE_S} s from now: an old delivery was sent again, or a clock is wrong"
    )]
    Untimely,
    /// No signature matches the secret.
    #[error("no signature matches: the secret differs, or the body was changed")]
    Forged,
}

/// Returns the value of the signature header: one signature per secret.
pub fn sign<'s>(
    secrets: impl IntoIterator<Item = &'s [u8]>,
    id: &str,
    timestamp_s: i64,
    body: &[u8],
) -> String {
    let timestamp = timestamp_s.to_string();
    let signatures: Vec<String> = secrets
        .into_iter()
        .map(|secret| VERSION.to_owned() + &STANDARD.encode(digest(secret, id, &timestamp, body)))
        .collect();
    signatures.join(" ")
}

/// Verifies a delivery as a receiver does: first its time, then its signatures in constant time.
///
/// # Errors
/// The reason why it cannot be verified.
pub fn verify(
    secret: &[u8],
    id: &str,
    timestamp: &str,
    body: &[u8],
    signatures: &str,
    now: DateTime<Utc>,
) -> Result<(), VerifyError> {
    let sent_s: i64 = timestamp.parse().map_err(|_| VerifyError::NoTimestamp)?;
    if now.timestamp().abs_diff(sent_s) > TOLERANCE_S {
        return Err(VerifyError::Untimely);
    }
    let expected = STANDARD.encode(digest(secret, id, timestamp, body));
    let is_valid = signatures
        .split(' ')
        .filter_map(|signature| signature.strip_prefix(VERSION))
        .any(|signature| expected.as_bytes().ct_eq(signature.as_bytes()).into());
    if is_valid {
        Ok(())
    } else {
        Err(VerifyError::Forged)
    }
}

/// Decodes a secret in the format shown to its owner: `whsec_` and base64. `None` if it is malformed.
pub fn read_secret(text: &str) -> Option<Vec<u8>> {
    let base64 = text.trim().strip_prefix(SECRET_PREFIX)?;
    STANDARD
        .decode(base64)
        .ok()
        .filter(|bytes| !bytes.is_empty())
}

fn digest(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
    // A key of exactly one block has the right length by its type, so nothing can fail.
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    if secret.len() <= BLOCK_BYTES {
        block[..secret.len()].copy_from_slice(secret)
    } else {
        block[..32].copy_from_slice(&Sha256::digest(secret))
    }
    let mut signer = Hmac::<Sha256>::new(&block);
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        signer.update(part);
    }
    signer.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;
    use standardwebhooks::Webhook;

    // The test vector of the Standard Webhooks libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP_S: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(TIMESTAMP_S + seconds, 0).unwrap()
    }

    #[test]
    fn the_published_vector_of_standard_webhooks_is_signed_and_verified() {
        let secret = read_secret(SECRET).unwrap();
        let signature = sign([secret.as_slice()], ID, TIMESTAMP_S, BODY);
        assert_eq!(signature, SIGNATURE);
        let timestamp = TIMESTAMP_S.to_string();
        assert_eq!(
            verify(&secret, ID, &timestamp, BODY, SIGNATURE, at(0)),
            Ok(())
        );
    }

    #[test]
    fn a_changed_old_or_foreign_delivery_is_rejected() {
        let secret = read_secret(SECRET).unwrap();
        let timestamp = TIMESTAMP_S.to_string();
        let verify = |id, timestamp, body, signatures, now| {
            verify(&secret, id, timestamp, body, signatures, now)
        };
        for seconds in [-300, 300] {
            assert_eq!(verify(ID, &timestamp, BODY, SIGNATURE, at(seconds)), Ok(()));
        }
        for seconds in [-301, 301] {
            let aged = verify(ID, &timestamp, BODY, SIGNATURE, at(seconds));
            assert_eq!(aged, Err(VerifyError::Untimely));
        }
        assert_eq!(
            verify(ID, "", BODY, SIGNATURE, at(0)),
            Err(VerifyError::NoTimestamp)
        );
        for (id, body, signatures) in [
            ("msg_other", BODY, SIGNATURE),
            (ID, b"{}".as_slice(), SIGNATURE),
            (ID, BODY, ""),
            (ID, BODY, "v1,"),
            (ID, BODY, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            (ID, BODY, "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ] {
            assert_eq!(
                verify(id, &timestamp, body, signatures, at(0)),
                Err(VerifyError::Forged)
            );
        }
    }

    #[test]
    fn both_secrets_sign_during_a_rotation() {
        let (new, old) = ([7; 32], [9; 80]);
        let signatures = sign([new.as_slice(), &old], ID, TIMESTAMP_S, BODY);
        assert_eq!(signatures.split(' ').count(), 2);
        let timestamp = TIMESTAMP_S.to_string();
        for secret in [new.as_slice(), &old] {
            assert_eq!(
                verify(secret, ID, &timestamp, BODY, &signatures, at(0)),
                Ok(())
            );
        }
    }

    #[test]
    fn the_library_of_standard_webhooks_verifies_and_makes_the_same_signatures() {
        let now = Utc::now();
        let timestamp = now.timestamp().to_string();
        let secrets: [&[u8]; 4] = [&[7; 24], &[1; 64], &[9; 65], &[3; 200]];
        for secret in secrets {
            let library = Webhook::from_bytes(secret.to_vec()).unwrap();
            for body in ["", "{}", r#"{"title": "Maison à Étretat, 3 pièces"}"#] {
                let body = body.as_bytes();
                let other = [5; 32];
                let signatures = sign([other.as_slice(), secret], ID, now.timestamp(), body);
                let mut headers = HeaderMap::new();
                headers.insert(ID_HEADER, ID.parse().unwrap());
                headers.insert(TIMESTAMP_HEADER, timestamp.parse().unwrap());
                headers.insert(SIGNATURE_HEADER, signatures.parse().unwrap());
                library.verify(body, &headers).unwrap();
                assert!(library.verify(b"changed", &headers).is_err());
                let theirs = library.sign(ID, now.timestamp(), body).unwrap();
                assert_eq!(theirs, sign([secret], ID, now.timestamp(), body));
                assert_eq!(verify(secret, ID, &timestamp, body, &theirs, now), Ok(()));
            }
        }
    }

    #[test]
    fn a_secret_is_read_as_it_is_shown() {
        assert_eq!(read_secret("whsec_AAAA"), Some(vec![0, 0, 0]));
        for text in ["AAAA", "whsec_", "whsec_ÿ", "whsec_A"] {
            assert_eq!(read_secret(text), None, "{text}");
        }
    }
}

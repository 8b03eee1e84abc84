//! Forms with a file, read piece by piece. The file goes to a temporary file, so that memory does not grow with it.
//!
//! The form parser buffers its input until it finds a boundary or the end of a part's head, and searches the whole
//! buffer again with each piece. So it receives pieces of a useful length ([`UploadPieces`]), one at a time, and no new
//! piece once it has received [`HELD_BYTES_MAX`] without finding anything.

use std::fs::File;
use std::io::{self, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use multer::{Field, Multipart};
use tokio::io::AsyncWriteExt;
use warp::http::header::CONTENT_TYPE;

use crate::endpoint::call::Call;
use crate::input::upload::{PIECE_BYTES, UploadPieces};
use toise_contract::Fault;
use toise_service::error::ApiError;

/// Maximum fields other than the file.
const FIELDS_MAX: usize = 300;
/// Maximum bytes of a field other than the file.
const FIELD_BYTES_MAX: usize = 4 << 10;
/// Maximum bytes before the first boundary, or of the head of a part. The parser takes two pieces before it searches
/// them, so this is more than two.
const HELD_BYTES_MAX: usize = 4 * PIECE_BYTES;

/// A form as received.
pub struct ReceivedForm {
    /// Fields in order, by name.
    pub fields: Vec<(String, String)>,
    /// The file.
    pub file: ReceivedFile,
}

/// A file as received.
pub struct ReceivedFile {
    /// Its contents, to be read from the beginning. The file has no name and is deleted when it is closed.
    pub file: File,
    /// The name that the sender gave it.
    pub name: String,
}

/// Receives the form of a call, whose file is the field `file_field`.
///
/// # Errors
/// The body is not a form, is too long, or has no file.
pub async fn receive(
    call: &Call<'_>,
    file_field: &str,
    bytes_max: usize,
) -> Result<ReceivedForm, ApiError> {
    let media_type = call.headers.get(CONTENT_TYPE);
    let boundary = media_type
        .and_then(|media_type| multer::parse_boundary(media_type.to_str().ok()?).ok())
        .ok_or_else(|| Fault::new("content-type", "must have the boundary of the form"))?;
    let mut upload = call.upload.lock().await;
    let pieces = UploadPieces::new(&mut upload, bytes_max);
    let pieces = stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.next().await.transpose()?;
        Some((piece, pieces))
    });
    read_form(pieces, boundary, file_field).await
}

async fn read_form(
    pieces: impl Stream<Item = Result<Bytes, ApiError>> + Send,
    boundary: String,
    file_field: &str,
) -> Result<ReceivedForm, ApiError> {
    let (held, mut failure) = (Held::default(), None);
    let received = {
        let state = (Box::pin(pieces), held.clone(), &mut failure);
        let pieces = stream::unfold(state, |(mut pieces, held, failure)| async move {
            // The parser takes pieces as long as some are ready, and searches them only when it has to wait. So it must
            // wait for the end too: if the end came together with the last piece, the parser would not search that
            // piece.
            tokio::task::yield_now().await;
            let piece = pieces.next().await?;
            let piece = piece.and_then(|piece| held.add(piece)).map_err(|error| {
                let message = error.to_string();
                *failure = Some(error);
                io::Error::other(message)
            });
            Some((piece, (pieces, held, failure)))
        });
        let form = Multipart::new(pieces, boundary);
        read_parts(Parts { form, held }, file_field).await
    };
    // An error that ended the body is the cause of everything that the form lacks, so it is reported.
    match failure {
        Some(error) => Err(error),
        None => received,
    }
}

/// The bytes that the parser received since it last found something.
#[derive(Clone, Default)]
struct Held(Arc<AtomicUsize>);

impl Held {
    fn add(&self, piece: Bytes) -> Result<Bytes, ApiError> {
        let before = self.0.fetch_add(piece.len(), Ordering::Relaxed);
        if before < HELD_BYTES_MAX {
            return Ok(piece);
        }
        let message = format!(
            "must be a form: no boundary, or no end of a part's head, within {HELD_BYTES_MAX} bytes"
        );
        Err(Fault::new("body", message).into())
    }

    fn found(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The parts of a form.
struct Parts<'f> {
    form: Multipart<'f>,
    held: Held,
}

/// One part of a form.
struct Part<'f> {
    field: Field<'f>,
    held: Held,
}

impl<'f> Parts<'f> {
    async fn next(&mut self) -> Result<Option<Part<'f>>, ApiError> {
        let field = self.form.next_field().await.map_err(not_a_form)?;
        self.held.found();
        let held = self.held.clone();
        Ok(field.map(|field| Part { field, held }))
    }
}

impl Part<'_> {
    async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        let chunk = self.field.chunk().await.map_err(not_a_form)?;
        self.held.found();
        Ok(chunk)
    }
}

async fn read_parts(mut parts: Parts<'_>, file_field: &str) -> Result<ReceivedForm, ApiError> {
    let mut fields = Vec::new();
    let mut file = None;
    while let Some(part) = parts.next().await? {
        let name = part.field.name().unwrap_or_default().to_owned();
        if name == file_field {
            if file.is_some() {
                return Err(Fault::new(name, "must be given once").into());
            }
            file = Some(read_file(part).await?);
            continue;
        }
        if fields.len() == FIELDS_MAX {
            return Err(
                Fault::new(name, format!("is one field too many; at most {FIELDS_MAX}")).into(),
            );
        }
        let text = read_text(&name, part).await?;
        fields.push((name, text));
    }
    let file = file.ok_or_else(|| Fault::new(file_field, "is required and must be a file"))?;
    Ok(ReceivedForm { fields, file })
}

async fn read_file(mut part: Part<'_>) -> Result<ReceivedFile, ApiError> {
    let name = part.field.file_name().unwrap_or_default().to_owned();
    let temporary = tempfile::tempfile().map_err(ApiError::internal)?;
    let mut file = tokio::fs::File::from_std(temporary);
    while let Some(piece) = part.chunk().await? {
        file.write_all(&piece).await.map_err(ApiError::internal)?;
    }
    file.flush().await.map_err(ApiError::internal)?;
    let mut file = file.into_std().await;
    file.rewind().map_err(ApiError::internal)?;
    Ok(ReceivedFile { file, name })
}

async fn read_text(name: &str, mut part: Part<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(piece) = part.chunk().await? {
        if bytes.len() + piece.len() > FIELD_BYTES_MAX {
            let message = format!("must have at most {FIELD_BYTES_MAX} bytes");
            return Err(Fault::new(name, message).into());
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| Fault::new(name, "must be UTF-8").into())
}

fn not_a_form(error: multer::Error) -> ApiError {
    Fault::new("body", format!("must be a form: {error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Reads a form from pieces; also returns how many of its bytes were taken.
    async fn read(body: Vec<u8>, piece_bytes: usize) -> (Result<ReceivedForm, String>, usize) {
        let taken = AtomicUsize::new(0);
        let pieces = body.chunks(piece_bytes).map(|piece| {
            taken.fetch_add(piece.len(), Ordering::Relaxed);
            Ok(Bytes::copy_from_slice(piece))
        });
        let form = read_form(stream::iter(pieces), "frontier".to_owned(), "data").await;
        let taken = taken.load(Ordering::Relaxed);
        (form.map_err(|error| error.to_string()), taken)
    }

    fn form(file: &[u8]) -> Vec<u8> {
        let mut body = b"--frontier\r\nContent-Disposition: form-data; name=\"columns\"\r\n\r\ntown\r\n\
            --frontier\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.csv\"\r\n\r\n"
            .to_vec();
        body.extend_from_slice(file);
        body.extend_from_slice(b"\r\n--frontier--\r\n");
        body
    }

    #[tokio::test]
    async fn a_long_file_arrives_whole_however_it_is_cut() {
        let file: Vec<u8> = (0..8 * HELD_BYTES_MAX)
            .map(|at| b"a,\r\n--frontie"[at % 13])
            .collect();
        for piece_bytes in [1_000, PIECE_BYTES] {
            let mut received = read(form(&file), piece_bytes).await.0.unwrap();
            let mut found = Vec::new();
            received.file.file.read_to_end(&mut found).unwrap();
            assert!(found == file, "{piece_bytes}");
            assert_eq!(received.fields, [("columns".to_owned(), "town".to_owned())]);
        }
    }

    #[tokio::test]
    async fn a_short_form_arrives_in_one_piece_or_byte_by_byte() {
        for piece_bytes in [1, 7, PIECE_BYTES] {
            let mut received = read(form(b"town\nMende\n"), piece_bytes).await.0.unwrap();
            let mut found = String::new();
            received.file.file.read_to_string(&mut found).unwrap();
            assert_eq!(found, "town\nMende\n", "{piece_bytes}");
        }
    }

    #[tokio::test]
    async fn what_has_no_boundary_or_an_endless_head_is_refused_before_much_of_it_is_taken() {
        let endless = vec![b'a'; 100 * PIECE_BYTES];
        let head = b"--frontier\r\nContent-Disposition: form-data; name=\"columns\"; x=";
        for begin in [&b""[..], &head[..], b"--frontier\r\n"] {
            let body = [begin, &endless].concat();
            let (received, taken) = read(body, PIECE_BYTES).await;
            let refused = received.err().unwrap();
            assert!(refused.contains("no end of a part's head"), "{refused}");
            assert!(taken < HELD_BYTES_MAX + 3 * PIECE_BYTES, "{taken}");
        }
    }
}

//! Forms with a file: read piece by piece, the file into a temporary one, so that memory does not grow with it.

use std::fs::File;
use std::io::{self, Seek};

use bytes::Bytes;
use futures::stream;
use multer::{Field, Multipart};
use tokio::io::AsyncWriteExt;
use warp::http::header::CONTENT_TYPE;

use super::call::Call;
use super::error::ApiError;
use toise_contract::Fault;

/// Maximum fields besides the file.
const FIELDS_MAX: usize = 300;
/// Maximum bytes of a field besides the file.
const FIELD_BYTES_MAX: usize = 4 << 10;

/// A form as received.
pub struct ReceivedForm {
    /// Fields in order, by name.
    pub fields: Vec<(String, String)>,
    /// The file.
    pub file: ReceivedFile,
}

/// A file as received.
pub struct ReceivedFile {
    /// Its contents, to be read from the beginning. It has no name and is gone when it is closed.
    pub file: File,
    /// The name its sender gave it.
    pub name: String,
}

/// Receives the form of a call, whose file is the field `file_field`.
///
/// # Errors
/// The body is no form, too long, or has no file.
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
    let mut failure = None;
    let received = {
        let failure = &mut failure;
        let chunks = stream::unfold((&mut **upload, 0), |(upload, before)| async move {
            let chunk = upload.chunk().await.transpose()?;
            let read = before + chunk.as_ref().map_or(0, Bytes::len);
            let chunk = chunk.and_then(|chunk| match read > bytes_max {
                true => Err(ApiError::TooLarge { bytes_max }),
                false => Ok(chunk),
            });
            Some((chunk, (upload, read)))
        });
        let chunks = futures::StreamExt::map(chunks, |chunk| {
            chunk.map_err(|error| {
                let message = error.to_string();
                *failure = Some(error);
                io::Error::other(message)
            })
        });
        read_form(Multipart::new(chunks, boundary), file_field).await
    };
    // What ended the body says more than what the form lacks for it.
    match failure {
        Some(error) => Err(error),
        None => received,
    }
}

async fn read_form(mut form: Multipart<'_>, file_field: &str) -> Result<ReceivedForm, ApiError> {
    let mut fields = Vec::new();
    let mut file = None;
    while let Some(field) = form.next_field().await.map_err(not_a_form)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == file_field {
            if file.is_some() {
                return Err(Fault::new(name, "must be given once").into());
            }
            file = Some(read_file(field).await?);
            continue;
        }
        if fields.len() == FIELDS_MAX {
            return Err(
                Fault::new(name, format!("is one field too many; at most {FIELDS_MAX}")).into(),
            );
        }
        let text = read_text(&name, field).await?;
        fields.push((name, text));
    }
    let file = file.ok_or_else(|| Fault::new(file_field, "is required and must be a file"))?;
    Ok(ReceivedForm { fields, file })
}

async fn read_file(mut field: Field<'_>) -> Result<ReceivedFile, ApiError> {
    let name = field.file_name().unwrap_or_default().to_owned();
    let temporary = tempfile::tempfile().map_err(ApiError::internal)?;
    let mut file = tokio::fs::File::from_std(temporary);
    while let Some(piece) = field.chunk().await.map_err(not_a_form)? {
        file.write_all(&piece).await.map_err(ApiError::internal)?;
    }
    file.flush().await.map_err(ApiError::internal)?;
    let mut file = file.into_std().await;
    file.rewind().map_err(ApiError::internal)?;
    Ok(ReceivedFile { file, name })
}

async fn read_text(name: &str, mut field: Field<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(not_a_form)? {
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

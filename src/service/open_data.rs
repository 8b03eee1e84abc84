//! The interface through which the service queries the open-data tables.

use std::error::Error;

use toise_engine::cancellation::Interrupt;
use toise_opendata::history::{History, HistoryRequest};
use toise_opendata::{
    Dataset, DatasetSearchRequest, MatchAnswer, MatchRequest, OpenData, SearchAnswer,
};

/// The error of a query. It is an internal failure, because requests are validated first, or
/// [`toise_engine::Error::RowsChanged`].
pub type AnswerError = Box<dyn Error + Send + Sync>;

/// Runs open-data queries: on the tables of the lake, or on rows in memory in tests.
///
/// The calls block and compute; they run on the query pool.
pub trait OpenDataBackend: Send + Sync + 'static {
    /// Returns a page of records.
    fn search(
        &self,
        dataset: Dataset,
        request: &DatasetSearchRequest,
        interrupt: &Interrupt,
    ) -> Result<SearchAnswer, AnswerError>;

    /// Returns the ranked candidates of one request.
    fn find_matches(
        &self,
        dataset: Dataset,
        request: &MatchRequest,
        interrupt: &Interrupt,
    ) -> Result<MatchAnswer, AnswerError>;

    /// Returns a page of the history of a parcel or of a building.
    fn history(
        &self,
        request: &HistoryRequest,
        interrupt: &Interrupt,
    ) -> Result<History, AnswerError>;

    /// Returns whether sales or diagnostics were generated, as in a demo.
    fn has_invented_rows(&self) -> Result<bool, AnswerError> {
        Ok(false)
    }
}

impl OpenDataBackend for OpenData {
    fn search(
        &self,
        dataset: Dataset,
        request: &DatasetSearchRequest,
        interrupt: &Interrupt,
    ) -> Result<SearchAnswer, AnswerError> {
        let open_data = self.interruptible(interrupt);
        Ok(OpenData::search(&open_data, dataset, request)?)
    }

    fn find_matches(
        &self,
        dataset: Dataset,
        request: &MatchRequest,
        interrupt: &Interrupt,
    ) -> Result<MatchAnswer, AnswerError> {
        let open_data = self.interruptible(interrupt);
        Ok(OpenData::find_matches(&open_data, dataset, request)?)
    }

    fn history(
        &self,
        request: &HistoryRequest,
        interrupt: &Interrupt,
    ) -> Result<History, AnswerError> {
        let open_data = self.interruptible(interrupt);
        Ok(OpenData::history(&open_data, request)?)
    }

    fn has_invented_rows(&self) -> Result<bool, AnswerError> {
        Ok(OpenData::has_invented_rows(self)?)
    }
}

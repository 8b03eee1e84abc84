//! Training of the estimator on the recorded sales of a data folder, for the commands `train`, `demo`, `refresh` and
//! `start`.

use std::path::Path;

use chrono::NaiveDate;

use toise_base::clock::{Clock, iso};
use toise_base::progress::Progress;
use toise_estimate::clean::Funnel;
use toise_estimate::{Model, join, model, read_sales, train};

/// Trains on the sales of a data folder up to a day, with progress bars. `warn` is called with a hint if many sales
/// cannot be used.
///
/// # Errors
/// The lake cannot be read, or has too few sales.
pub fn train_lake(
    data: &Path,
    until: Option<NaiveDate>,
    clock: &Clock,
    progress: Progress,
    warn: impl FnOnce(&str),
) -> Result<(Model, Funnel), model::Error> {
    let end = until.map_or(i32::MAX, |until| model::days(until) + 1);
    let bar = progress.rows("reading", read_sales::rows(data)?);
    let (mut sales, mut funnel) = read_sales::sales(data, end, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    if let Some(hint) = read_sales::position_hint(&funnel) {
        warn(&hint);
    }
    join::join(data, &mut sales, &mut funnel)?;
    let sales = sales.into_iter().map(|one| one.sale).collect();
    let bar = progress.rows("training", train::STEPS);
    let trained_at = iso(clock.now());
    let model = train::train(sales, end, trained_at, &mut funnel, &|| bar.inc(1))?;
    bar.finish_and_clear();
    Ok((model, funnel))
}

//! The IRIS contours of Paris as a layer, over official sales: the same quarter as the import found by other code.

use super::open_data::{folder, text};
use crate::support::process::run;

#[test]
fn every_sale_of_paris_is_in_the_quarter_that_its_import_found() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let contours = real.join("iris/iris_paris_and_adjacent_wgs84.geojson.gz");
    let contours = text(&contours);
    let sales = real.join("dvf/geodvf_paris_2020-2023.csv.gz");
    run(data, &["import", "dvf", text(&sales), "--iris", contours]);
    let layer = run(data, &["import", "layer", "iris", contours]);
    assert!(layer["features"].as_u64().unwrap() > 992, "{layer}");

    let query = "select count(*) as sales, \
                 count(*) filter (where within(lon, lat, 'iris')) as inside, \
                 count(*) filter (where code_iris = iris_code) as same \
                 from dvf join layer_iris on feature = nearest(lon, lat, 'iris')['feature'] \
                 where lon is not null and iris_code is not null";
    let rows = run(data, &["sql", query]);
    let count = |name: &str| rows[0][name].as_u64().unwrap();
    let (sales, inside, same) = (count("sales"), count("inside"), count("same"));
    assert!(sales > 10_000 && inside == sales, "{rows}");
    // A position on the border of two quarters is in both.
    assert!(sales - same <= sales / 10_000, "{rows}");
}

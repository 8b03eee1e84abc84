//! Match requests like those of a portfolio: commune, type, surface within 2 %, and both consumption figures rounded.

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use toise::opendata::{MatchRequest, ScoringTarget, TargetValue};

use super::{Sql, all, between, is};

/// Returns up to `count` requests for diagnostics from all over the lake. They are in the order of their reversed
/// numbers, which is unrelated to place and time.
pub fn diagnostics(sql: &Sql, count: usize) -> Vec<MatchRequest> {
    let rows = sql.ask(&format!(
        "select cast(code_insee_ban as varchar), cast(type_batiment as varchar), surface_habitable_logement, \
         conso_5_usages_par_m2_ep, emission_ges_5_usages_par_m2 from dpe where code_insee_ban is not null \
         and type_batiment in ('appartement', 'maison') and surface_habitable_logement is not null \
         and conso_5_usages_par_m2_ep is not null and emission_ges_5_usages_par_m2 is not null \
         order by reverse(numero_dpe) limit {count}"
    ));
    let mut requests = Vec::with_capacity(count);
    for batch in rows {
        let plain = |index: usize| {
            let text = arrow::datatypes::DataType::Utf8;
            arrow::compute::cast(batch.column(index), &text).unwrap()
        };
        let (communes, kinds) = (plain(0), plain(1));
        let number =
            |index: usize, row: usize| batch.column(index).as_primitive::<Float64Type>().value(row);
        for row in 0..batch.num_rows() {
            let surface = number(2, row);
            let target = |column, index| ScoringTarget {
                column,
                goal: TargetValue::Number(number(index, row).round()),
            };
            requests.push(MatchRequest {
                address: None,
                filter: all([
                    is("code_insee_ban", communes.as_string::<i32>().value(row)),
                    is("type_batiment", kinds.as_string::<i32>().value(row)),
                    between("surface_habitable_logement", surface * 0.98, surface * 1.02),
                ]),
                targets: vec![
                    target("conso_5_usages_par_m2_ep", 3),
                    target("emission_ges_5_usages_par_m2", 4),
                ],
                size: 5,
            });
        }
    }
    requests
}

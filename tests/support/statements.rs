//! SQL statements from a grammar and written by hand, most of which exceed the limits of a server.

use super::draw::Draw;

/// Maximum nesting of a drawn expression.
const DEPTH_MAX: usize = 6;
/// Names of functions with one argument that are nested many times.
const WRAPPERS: [&str; 8] = [
    "coalesce", "abs", "upper", "nullif", "md5", "make_array", "round", "concat",
];
const NUMBERS: [&str; 7] = ["price_eur", "lat", "lon", "surface_m2", "1", "1e300", "0"];
const TEXTS: [&str; 6] = ["id", "city", "record", "'é'", "''", "insee_code"];
const PATTERNS: [&str; 6] = [
    "(a+)+$",
    "(",
    "[a-",
    "(?i)x{1000}{1000}",
    ".*.*.*=.*",
    "\\\\pL{50,100}",
];

/// Statements that once harmed a server, and similar ones.
pub fn by_hand() -> Vec<String> {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!(
            "select {}{inner}{}",
            open.repeat(times),
            close.repeat(times)
        )
    };
    let mut statements = vec![
        nested("coalesce(1, ", "2", ")", 45),
        nested("[", "1", "]", 60),
        nested("make_array(", "1", ")", 200),
        nested("(", "1", ")", 2_000),
        nested("not ", "true", "", 1_500),
        nested("abs(", "-1", ")", 400),
        nested("case when true then ", "1", " end", 150),
        nested("(select ", "1", ")", 100),
        "select count(*) from (select sum(length(repeat(record, 100))) over (order by id) from dvf)".into(),
        "select max(repeat(record, 100000)) from dvf".into(),
        "select array_agg(record) over () from dvf".into(),
        "select string_agg(a.record, b.record) from dvf a cross join dvf b".into(),
        "select count(*) from dvf a, dvf b, dvf c where a.lat + b.lat > c.lat".into(),
        "select * from dvf a, dvf b order by a.record, b.record".into(),
        "select * from range(1, 1000000000000)".into(),
        "select array_agg(value) from range(1, 1000000000)".into(),
        "select generate_series(1, 100000000)".into(),
        "select range(0, 1000000000)".into(),
        "select lpad('x', 1000000000, 'y')".into(),
        "select repeat(repeat(repeat('x', 10000), 10000), 100)".into(),
        "select regexp_replace(repeat('a', 100000), '(a*)*b', 'c')".into(),
        "select regexp_like('a', '(')".into(),
        "select id from dvf where id ~ '('".into(),
        "select true between 0 and 1".into(),
        "select 1 / 0".into(),
        "select cast('x' as int)".into(),
        "select -9223372036854775808 / -1".into(),
        "select date '2020-01-01' + interval '999999999 years'".into(),
        "select array_repeat(array_repeat(1, 10000), 100000)".into(),
        "with recursive t as (select 1 as n union all select n + 1 from t) select count(*) from t".into(),
        "with recursive t as (select 'x' as n union all select n || n from t) select max(n) from t".into(),
        "select distinct record || cast(value as text) from dvf, range(1, 100000)".into(),
        "select median(value), approx_distinct(record) from dvf, range(1, 10000)".into(),
        "select percentile_cont(0.5) within group (order by value) from range(1, 100000000)".into(),
        "select sum(value) over (order by value rows between unbounded preceding and unbounded following) from range(1, 10000000)".into(),
        "select unnest(range(1, 10000)), unnest(range(1, 10000))".into(),
        "select encode(repeat('x', 100000000), 'base64')".into(),
        "select to_char(now(), repeat('%Y', 1000000))".into(),
        "select struct(record, record, record) from dvf".into(),
        "select geo_distance(lat, lon, lon, lat) from dvf, range(1, 1000000)".into(),
        "drop table dvf".into(),
        "copy (select 1) to 'x.csv'".into(),
        "set datafusion.execution.batch_size = 1".into(),
        "explain analyze select count(*) from dvf a, dvf b, dvf c".into(),
        "select".into(),
        "select ' from dvf".into(),
        "\u{0}select 1".into(),
    ];
    for (kind, count) in [("union all", 500), ("intersect", 60), ("except", 60)] {
        statements.push(vec!["select 1"; count].join(&format!(" {kind} ")));
    }
    for count in [50, 400] {
        let columns: Vec<String> = (0..count)
            .map(|column| format!("record as c{column}"))
            .collect();
        statements.push(format!("select {} from dvf", columns.join(", ")));
        let conditions: Vec<String> = (0..count)
            .map(|number| format!("price_eur = {number}"))
            .collect();
        statements.push(format!(
            "select id from dvf where {}",
            conditions.join(" or ")
        ));
        let joins: Vec<String> = (0..count / 10)
            .map(|number| format!("dvf t{number}"))
            .collect();
        statements.push(format!("select count(*) from {}", joins.join(", ")));
    }
    let list: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    statements.push(format!(
        "select id from dvf where price_eur in ({})",
        list.join(",")
    ));
    statements
}

/// Draws a statement: nested selections with joins, windows, aggregates, repeats and patterns. Many do not type-check.
pub fn drawn(draw: &mut Draw) -> String {
    selection(draw, 0)
}

fn selection(draw: &mut Draw, depth: usize) -> String {
    let count = 1 + draw.below(4);
    let columns: Vec<String> = (0..count)
        .map(|column| format!("{} as c{column}", expression(draw, depth + 1)))
        .collect();
    let mut statement = format!("select {} from {}", columns.join(", "), source(draw, depth));
    if draw.once_in(2) {
        statement += &format!(" where {}", condition(draw, depth + 1));
    }
    if draw.once_in(4) {
        statement += " group by 1";
    }
    if draw.once_in(3) {
        statement += " order by 1";
    }
    if draw.once_in(2) {
        statement += &format!(" limit {}", draw.below(2_000));
    }
    statement
}

fn source(draw: &mut Draw, depth: usize) -> String {
    match draw.below(if depth < 3 { 6 } else { 3 }) {
        0 => "dvf".into(),
        1 => "dvf a cross join range(1, 100)".into(),
        2 => format!("range(1, {}) cross join dvf", 1 + draw.below(1_000_000)),
        3 => format!("({}) t cross join dvf", selection(draw, depth + 1)),
        4 => "dvf join dvf b on dvf.city < b.city".into(),
        _ => "dvf left join (select insee_code as other, count(*) as n from dvf group by 1) g on other = dvf.insee_code".into(),
    }
}

fn condition(draw: &mut Draw, depth: usize) -> String {
    match draw.below(5) {
        0 => format!("regexp_like({}, '{}')", text(draw), draw.one_of(&PATTERNS)),
        1 => format!("{} like '%{}%'", text(draw), draw.below(100)),
        2 => format!(
            "{} between {} and {}",
            expression(draw, depth),
            expression(draw, depth),
            expression(draw, depth)
        ),
        3 => format!(
            "not ({} > {})",
            expression(draw, depth),
            expression(draw, depth)
        ),
        _ => format!(
            "exists (select 1 from dvf x where x.lat > {})",
            expression(draw, depth)
        ),
    }
}

fn text(draw: &mut Draw) -> String {
    let text = (*draw.one_of(&TEXTS)).to_owned();
    match draw.below(4) {
        0 => format!("repeat({text}, {})", 1 + draw.below(100_000)),
        1 => format!("{text} || {text}"),
        _ => text,
    }
}

fn expression(draw: &mut Draw, depth: usize) -> String {
    if depth >= DEPTH_MAX {
        return (*draw.one_of(&NUMBERS)).to_owned();
    }
    match draw.below(10) {
        0 => {
            let wrapper = draw.one_of(&WRAPPERS);
            let times = 1 + draw.below(40);
            let inner = expression(draw, DEPTH_MAX);
            format!(
                "{}{inner}{}",
                format!("{wrapper}(").repeat(times),
                ")".repeat(times)
            )
        }
        1 => {
            let times = 1 + draw.below(50);
            format!("{}1{}", "[".repeat(times), "]".repeat(times))
        }
        2 => format!(
            "sum({}) over (order by {})",
            expression(draw, depth + 1),
            expression(draw, depth + 1)
        ),
        3 => format!("array_agg({}) over (partition by city)", text(draw)),
        4 => format!("(select count(*) from {})", source(draw, depth + 2)),
        5 => format!(
            "case when {} then {} end",
            condition(draw, depth + 1),
            expression(draw, depth + 1)
        ),
        6 => text(draw),
        7 => format!(
            "cast({} as {})",
            expression(draw, depth + 1),
            draw.one_of(&["int", "text", "date", "double"])
        ),
        8 => format!(
            "{} {} {}",
            expression(draw, depth + 1),
            draw.one_of(&["+", "/", "%", "*", "||"]),
            expression(draw, depth + 1)
        ),
        _ => (*draw.one_of(&NUMBERS)).to_owned(),
    }
}

select property_type, count(*) as sales from dvf group by 1 order by 2 desc limit 10
with a as (select 1 as x union all select 2), b as (select * from a, a as c) select * from b where x in (1, 2, 3)
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select n, sum(n) over (order by n rows between 2 preceding and current row) from t
select case when value > 1 then 'é' || repeat('x', 3) else concat($1, ?) end as "a b", [1, null][1], {'k': 1} from range(1, 10) as r(value)
select a.id, b.* exclude (id) from dvf as a left join dvf for version as of 2 as b using (id) where a.price_eur between 1e5 and 2.5e5
summarize select cast('2024-01-31' as date) + interval '1 month' as d, x::double as y from (values (1, 'a'), (2, null)) as t(x, z)
explain analyze select median(value), array_agg(distinct value order by value desc) filter (where value % 2 = 0) from range(1, 5)
select t.x, u.n from (select unnest([1, 2, 3]) as x) as t, lateral (select t.x + 1 as n) as u group by grouping sets ((1, 2), ()), 1
select regexp_extract('ab12', '[0-9]+'), strftime(date '2024-02-01', '%Y'), 'a' like '%a' escape '\', not exists (select 1 where false)
select extract(year from d), d at time zone 'Europe/Paris' from (select timestamp '2024-01-01 00:00:00' as d) qualify row_number() over () = 1
(select 1 as n intersect select 2) except all (table dvf) -- comment /* inner */
from range(3) as t(n) select n, $name; select 2

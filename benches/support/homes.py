"""A portfolio of homes to value, as a SQL query of recorded sales."""

# Homes like those sold, each moved by some metres and with another surface, so that no two are equal.
HOMES_SQL = """
with sold as (
  select *, row_number() over (order by id) as place from dvf
  where property_type in ('Appartement', 'Maison') and lon is not null and lat is not null
    and surface_m2 between 12 and 300 and main_rooms > 0
)
select 'h' || cast(copy * 10000000 + place as varchar) as id, lon + copy * 0.00001 as longitude,
  lat + copy * 0.00001 as latitude, property_type as type, surface_m2 + copy * 0.1 as surface_m2,
  main_rooms as room_count, land_surface_m2
from sold cross join (select value as copy from generate_series(0, {copies})) limit {homes}
"""

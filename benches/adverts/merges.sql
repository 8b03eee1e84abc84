/* How many merged pairs contradict each other, and how many adverts that agree with another in commune, price, surface,
   rooms, bedrooms and energy class are merged. Districts are no column. */
with thin as (
  select url, property_flx_id as property, location_insee_code as commune, habitation_surface_total as surface,
    current_price_value as price, habitation_room_count as rooms, habitation_bedroom_count as bedrooms,
    habitation_climate_epc_energy as energy
  from adverts
), pairs as (
  select count(*) as merged_pairs,
    sum(cast(a.commune <> b.commune as int)) as other_commune,
    sum(cast(abs(a.surface - b.surface) > 0.03 * greatest(a.surface, b.surface) as int)) as other_surface,
    sum(cast(abs(a.price - b.price) > 0.15 * greatest(a.price, b.price) as int)) as other_price
  from thin a join thin b on a.property = b.property and a.url < b.url
), alike as (
  select a.url, max(cast(a.property = b.property as int)) as is_merged
  from thin a join thin b on a.commune = b.commune and a.price = b.price and a.surface = b.surface
  where a.url <> b.url
    and (a.rooms is not distinct from b.rooms)
    and (a.bedrooms is not distinct from b.bedrooms)
    and (a.energy is not distinct from b.energy)
  group by a.url
)
select pairs.*, count(*) as alike, sum(is_merged) as alike_merged
from pairs cross join alike
group by merged_pairs, other_commune, other_surface, other_price

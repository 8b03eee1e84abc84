"""Sets up, tunes, loads, indexes, starts and stops a separate PostgreSQL for the comparison, on loopback.

It is tuned for a machine that serves nothing else: a quarter of the memory for shared buffers, the rest assumed to be
page cache, the costs of a disk without seeks, parallel plans, and no JIT (which takes longer than these queries). Rows
are loaded in the order of the Parquet files, department by department along a space-filling curve, which suits every
query with a place. The record of a property is `json` in a separate table, so that the filtered rows are narrow. Its
text is sent as stored.
"""

import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import duckdb
import psycopg

# Number of records copied before the responses that contain them are deleted.
RECORDS_AT_ONCE = 50_000

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 20
effective_cache_size = '12GB'
work_mem = '256MB'
maintenance_work_mem = '2GB'
random_page_cost = 1.1
effective_io_concurrency = 200
max_parallel_workers_per_gather = {cores}
max_parallel_workers = {cores}
max_parallel_maintenance_workers = {cores}
jit = off
default_statistics_target = 500
default_toast_compression = 'lz4'
wal_level = minimal
max_wal_senders = 0
max_wal_size = '2GB'
checkpoint_timeout = '30min'
fsync = off
logging_collector = off
"""

COLUMNS = [
    ("flx_id", "uuid"), ("record_key", "bigint"), ("type", "text"), ("offer_type", "text"),
    ("location_department", "text"), ("location_insee_code", "text"), ("location_postal_code", "text"),
    ("lat", "float8"), ("lon", "float8"), ("price_latest_value", "float8"), ("price_latest_value_per_area", "float8"),
    ("habitation_surface_total", "float8"), ("habitation_room_count", "int4"), ("habitation_bedroom_count", "int4"),
    ("habitation_climate_epc_energy", "text"), ("habitation_characteristics_has_terrace", "bool"),
    ("meta_first_seen_at", "timestamptz"), ("meta_last_seen_at", "timestamptz"), ("meta_is_totally_offline", "bool"),
]

TABLES = f"""
create extension postgis;
create extension unaccent;
create text search configuration plain (copy = simple);
alter text search configuration plain alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with unaccent, simple;
create text search configuration stemmed (copy = french);
alter text search configuration stemmed alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with unaccent, french_stem;
create table loaded ({", ".join(f"{name} {kind}" for name, kind in COLUMNS)});
create table property_adverts (flx_id uuid, source text, is_online bool, is_pro bool, price_latest_value float8);
create table records (flx_id uuid, record json);
"""

# Adds places and words to the records, then every index that a query can use, statistics, and the visibility map.
FINISH = [
    """create table properties as select loaded.*,
         case when lat is not null then st_setsrid(st_makepoint(lon, lat), 4326) end as position,
         to_tsvector('plain', texts.words) as words, to_tsvector('stemmed', texts.words) as stems
       from loaded left join lateral (
         select concat_ws(' . ', record->>'title', record->>'description',
                          (select string_agg(tag, ' . ') from json_array_elements_text(record->'tags') tag)) as words
         from records where records.flx_id = loaded.flx_id) texts on true
       order by record_key""",
    "drop table loaded",
    "alter table properties add primary key (flx_id)",
    "create index on properties (location_insee_code, price_latest_value)",
    "create index on properties (location_postal_code, meta_last_seen_at)",
    "create index on properties (location_department, type, price_latest_value)",
    "create index on properties (price_latest_value)",
    "create index on properties (habitation_surface_total)",
    "create index on properties (meta_last_seen_at)",
    "create index on properties (meta_first_seen_at)",
    "create index on properties (habitation_climate_epc_energy, location_department)",
    "create index on properties using gist (position)",
    "create index on properties using gin (words)",
    "create index on properties using gin (stems)",
    "create index on property_adverts (flx_id)",
    "create index on property_adverts (source, is_online, price_latest_value)",
    "vacuum (analyze) properties",
    "vacuum (analyze) property_adverts",
    "vacuum (analyze) records",
]


class Server:
    """PostgreSQL in a separate folder. The superuser may not run it, so it then runs as `postgres`."""

    def __init__(self, options):
        self.options = options
        self.folder = options.postgres
        self.lower = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, *command):
        subprocess.run([*self.lower, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start(self):
        if not (self.folder / "PG_VERSION").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.lower:
                shutil.chown(self.folder, "postgres")
            self.folder.chmod(0o700)
            self.run(self.options.bin / "initdb", "-D", self.folder, "-U", "bench", "-A", "trust", "-E", "UTF8",
                     "--locale=C.UTF-8")
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            settings = SETTINGS.format(cores=os.cpu_count()) + f"shared_buffers = '{memory // 4 // 2**20}MB'\n"
            with (self.folder / "postgresql.auto.conf").open("a") as file:
                file.write(settings)
        self.run(self.options.bin / "pg_ctl", "-D", self.folder, "-w", "-o", f"-p {self.port}", "-l",
                 self.folder / "server.log", "start")
        return self.connect()

    def connect(self):
        return psycopg.connect(f"host=127.0.0.1 port={self.port} user=bench dbname=postgres", autocommit=True,
                               prepare_threshold=None)

    def stop(self):
        self.run(self.options.bin / "pg_ctl", "-D", self.folder, "-m", "fast", "stop")

    def fill(self, connection, toise):
        """Loads and indexes the data, unless this was done before."""
        if connection.execute("select to_regclass('filled')").fetchone()[0]:
            return
        print("filling PostgreSQL: columns, adverts, records, indexes", file=sys.stderr)
        connection.execute(TABLES)
        lake = duckdb.connect()
        files = f"'{self.options.data}/lake/properties/*.parquet'"
        copy(connection, "loaded", lake, f"select {', '.join(name for name, _ in COLUMNS)} from {files}",
             self.options.data)
        copy(connection, "property_adverts", lake,
             "select flx_id, advert.source, advert.is_online, advert.is_pro, advert.price_latest_value "
             f"from (select flx_id, unnest(adverts) as advert from {files})", self.options.data)
        ids = [row[0] for row in lake.execute(f"select flx_id from {files}").fetchall()]
        copy_records(connection, toise, ids)
        for statement in FINISH:
            print("  " + " ".join(statement.split())[:100], file=sys.stderr)
            connection.execute(statement)
        connection.execute("create table filled ()")


def copy(connection, table, lake, query, folder):
    """Copies the result of a query over the Parquet files, by way of a CSV file."""
    path = folder / f"{table}.csv"
    lake.execute(f"copy ({query}) to '{path}' (header false)")
    with connection.cursor().copy(f"copy {table} from stdin (format csv)") as rows, path.open("rb") as file:
        while block := file.read(1 << 20):
            rows.write(block)
    path.unlink()


def copy_records(connection, toise, ids):
    """Copies the records from the server's responses, a hundred at a time."""
    channel = http.client.HTTPConnection(toise.address)
    connection.execute("create table answers (answer json)")
    for start in range(0, len(ids), RECORDS_AT_ONCE):
        some = ids[start:start + RECORDS_AT_ONCE]
        with connection.cursor().copy("copy answers from stdin") as rows:
            for first in range(0, len(some), 100):
                body = json.dumps({"flxIds": some[first:first + 100]})
                channel.request("POST", "/v2/protected/properties/_many", body, toise.headers)
                answer = channel.getresponse()
                if answer.status != 200:
                    raise SystemExit(f"toise answered {answer.status}: {answer.read()[:300]!r}")
                rows.write_row((answer.read().decode(),))
        connection.execute("""
            insert into records select (record->>'flxId')::uuid, record
            from answers, json_array_elements(answer->'data') record;
            truncate answers""")
    connection.execute("drop table answers; alter table records add primary key (flx_id)")

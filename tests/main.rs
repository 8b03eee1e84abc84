//! Tests of the behaviour that users rely on: the contract through a real socket, the engine compared with a plain
//! implementation of the contract, the lake under faults, and the command as a process. One module per resource.

mod alerts {
    mod commands;
    mod deliveries;
    mod index;
    mod layers;
    mod matches;
    mod model;
    mod open_data;
    mod operating;
    mod receivers;
    mod registry;
    mod words;
}
mod contract {
    mod access;
    mod accounts;
    mod admin;
    mod alert_matches;
    mod alerts;
    mod areas;
    mod checks;
    mod collecting;
    mod collecting_politeness;
    mod collecting_shares;
    mod connections;
    mod console;
    mod credits;
    mod deciding;
    mod erasures;
    mod errors;
    mod estimates;
    mod fields;
    mod geocoding;
    mod geocoding_bounds;
    mod geocoding_upstream;
    mod idempotency;
    mod ingestion;
    mod interrupted_calls;
    mod keys;
    mod layers;
    mod limits;
    mod listings;
    mod market;
    mod mcp;
    mod open_data_alerts;
    mod openapi;
    mod opendata;
    mod place_codes;
    mod policy;
    mod portfolio_changes;
    mod portfolios;
    mod rents;
    mod samples;
    mod searches;
    mod server;
    mod sql;
    mod sql_calls;
    mod sql_hostile;
    mod tested_receivers;
    mod tiles;
}
mod engine {
    mod areas;
    mod bulk;
    mod history;
    mod layers;
    mod listings;
    mod matching;
    mod portfolios;
    mod previews;
    mod projection;
    mod search;
    mod sql;
    mod valuing;
}
mod fuzz;
mod journeys {
    mod addressed_homes;
    mod addresses;
    mod alerts;
    mod backups;
    mod cases_adverts;
    mod cases_flight;
    mod cases_places;
    mod cases_queries;
    mod cases_records;
    mod cases_texts;
    mod clock_jumps;
    #[cfg(unix)]
    mod closed_pipes;
    mod crash_collection;
    mod crash_delivery;
    mod crash_import;
    mod crash_ingest;
    mod crash_ledger;
    mod crash_portfolios;
    mod damaged_files;
    mod deciding;
    mod doctor;
    mod dying_workers;
    mod empty_files;
    mod erasing;
    #[cfg(unix)]
    mod examples;
    #[cfg(unix)]
    mod few_descriptors;
    mod foreign_files;
    mod foreign_readers;
    #[cfg(target_os = "linux")]
    mod full_disk;
    mod geocoding;
    #[cfg(target_os = "linux")]
    mod hanging_disk;
    mod help;
    mod home_report;
    mod hostile_sql;
    mod ingesting;
    mod layers;
    mod maintenance;
    mod market;
    mod mcp;
    #[cfg(target_os = "linux")]
    mod memory_dumps;
    mod missing_folders;
    mod open_data_alerts;
    mod operating;
    mod operators;
    mod other_engines;
    mod parcels;
    mod partitions;
    mod portfolio_forms;
    mod publishing;
    mod rebuilding;
    mod refreshing;
    mod rents;
    mod replicas;
    mod secrets;
    mod serving;
    mod sql;
    #[cfg(target_os = "linux")]
    mod stopped_servers;
    mod suggesting;
    mod synthetic_data;
    #[cfg(target_os = "linux")]
    mod two_servers;
    mod unwritable_parts;
    mod valuing;
}
mod lake {
    mod columns;
    mod damage;
    pub mod import;
    mod readers;
    mod sharing;
}
mod real {
    mod addressed_homes;
    mod addresses;
    mod areas;
    mod estimates;
    mod layers;
    mod market;
    mod matching;
    mod open_data;
    mod parcels;
    mod queries;
}
mod support;
#[cfg(target_os = "linux")]
mod torture;

//! What users rely on: the contract through a real socket, the engine against a plain reading of the contract, the
//! lake under faults, the command as a process. One module per resource.

mod contract {
    mod errors;
    mod keys;
    mod opendata;
    mod server;
}
mod engine {
    mod matching;
    mod search;
    mod sql;
}
mod journeys {
    mod killed_imports;
    mod serving;
    mod upkeep;
}
mod lake {
    mod damage;
    mod import;
    mod readers;
}
mod real {
    mod open_data;
}
mod support;

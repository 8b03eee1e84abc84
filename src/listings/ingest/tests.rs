//! Ingestion.

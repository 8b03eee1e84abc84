//! The calls of Flight SQL. The gate admits each call, and the SQL service that HTTP also uses answers it.

use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, CommandGetCatalogs, CommandGetDbSchemas,
    CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, CommandStatementQuery, DoPutPreparedStatementResult,
    ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse,
    IpcMessage, SchemaAsIpc, Ticket,
};
use async_trait::async_trait;
use datafusion::common::ParamValues;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use prost::Message;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use crate::catalog::{self, failed, undescribed};
use crate::gate::{self, AUTHORIZATION, MessageKind, query_status, sql_caller, status};
use crate::parameters;
use crate::prepared::{PreparedStatement, PreparedStatements};
use toise_accounts::prices::Consumption;
use toise_accounts::sql_limits::SqlLimits;
use toise_service::admission::Admitted;
use toise_service::{App, billing};
use toise_sql::request::{Output, SqlRequest};
use toise_sql::running::{Piece, QueryShape, RunningQuery};
use toise_sql::text::TEXT_BYTES_MAX;

/// Header with the versions of the tables that a query reads.
const SNAPSHOTS: &str = "x-toise-snapshots";

type Answer = Response<<FlightSql as FlightService>::DoGetStream>;

/// The Flight SQL service.
pub(super) struct FlightSql {
    app: App,
    prepared: PreparedStatements,
}

impl FlightSql {
    pub fn new(app: App) -> Self {
        Self {
            app,
            prepared: PreparedStatements::default(),
        }
    }

    /// Admits a call that is free.
    async fn admit<T>(&self, request: &Request<T>) -> Result<Admitted, Status> {
        gate::admit(&self.app, request, MessageKind::Free).await
    }

    /// Admits a call that runs a query.
    async fn admit_query<T>(&self, request: &Request<T>) -> Result<Admitted, Status> {
        gate::admit(&self.app, request, MessageKind::Query).await
    }

    /// Admits a call that prepares, describes or closes a query.
    async fn admit_part<T>(&self, request: &Request<T>) -> Result<Admitted, Status> {
        gate::admit(&self.app, request, MessageKind::PartOfQuery).await
    }

    /// Runs a query and sends its rows as they arrive. The call is charged once the first rows are available.
    async fn run(
        &self,
        mut admitted: Admitted,
        sql: String,
        parameters: Option<ParamValues>,
    ) -> Result<Answer, Status> {
        let caller = sql_caller(&admitted);
        let reservation = admitted.take_reservation().map_err(status)?;
        let key = admitted.key;
        let request = SqlRequest {
            sql,
            parameters,
            key_limits: key.allowance.sql,
            limits: SqlLimits::default(),
            output: Output::Batches,
            caller,
        };
        let running = self.app.data.sql.run(request).await.map_err(query_status)?;
        let id = caller.request_id;
        let charged = billing::charge(&self.app, &key, id, Consumption::Sql, reservation).await;
        charged.map_err(status)?;
        let snapshots = MetadataValue::try_from(running.snapshots());
        let schema = Arc::clone(running.schema());
        let mut response = encoded(schema, batches(running));
        if let Ok(snapshots) = snapshots {
            response.metadata_mut().insert(SNAPSHOTS, snapshots);
        }
        Ok(response)
    }

    /// Returns the columns and placeholders of a statement.
    async fn shape(&self, admitted: &Admitted, sql: &str) -> Result<QueryShape, Status> {
        let shape = self.app.data.sql.describe(sql, sql_caller(admitted));
        shape.await.map_err(query_status)
    }

    /// Describes a statement and returns the ticket that runs it.
    async fn describe(
        &self,
        admitted: &Admitted,
        sql: &str,
        ticket: impl ProstMessageExt,
        descriptor: FlightDescriptor,
    ) -> Result<Response<FlightInfo>, Status> {
        let shape = self.shape(admitted, sql).await?;
        info(&shape.schema, ticket, descriptor)
    }
}

/// Describes a result: its columns, and the ticket with which the client fetches it.
fn info(
    schema: &Schema,
    ticket: impl ProstMessageExt,
    descriptor: FlightDescriptor,
) -> Result<Response<FlightInfo>, Status> {
    let ticket = Ticket::new(ticket.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(undescribed)?
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_descriptor(descriptor);
    Ok(Response::new(info))
}

/// Returns the rows of a query as a stream; dropping the stream stops the query.
fn batches(running: RunningQuery) -> impl Stream<Item = Result<RecordBatch, FlightError>> + Send {
    stream::unfold(Some(running), |state| async move {
        let mut running = state?;
        match running.next().await? {
            Ok(Piece::Batch(batch)) => Some((Ok(batch), Some(running))),
            Ok(Piece::Bytes(_)) => {
                let fault = "the query did not answer with batches".to_owned();
                Some((Err(FlightError::ProtocolError(fault)), None))
            }
            Err(error) => Some((Err(query_status(error).into()), None)),
        }
    })
}

fn encoded(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Answer {
    let data = FlightDataEncoderBuilder::new()
        .with_schema(schema)
        .build(batches);
    Response::new(data.map_err(Status::from).boxed())
}

/// Returns a result of one batch that is already in memory.
fn single(batch: Result<RecordBatch, FlightError>) -> Result<Answer, Status> {
    let batch = batch.map_err(failed)?;
    let schema = batch.schema();
    Ok(encoded(schema, stream::iter([Ok(batch)])))
}

/// Encodes columns for the response to an action.
fn schema_bytes(schema: &Schema) -> Result<bytes::Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message: Result<IpcMessage, _> = SchemaAsIpc::new(schema, &options).try_into();
    Ok(message.map_err(undescribed)?.0)
}

/// Returns the text of the statement in a ticket.
fn ticket_text(bytes: &[u8]) -> Result<String, Status> {
    if bytes.len() > TEXT_BYTES_MAX {
        let message = format!("the query has more than {TEXT_BYTES_MAX} bytes");
        return Err(Status::invalid_argument(message));
    }
    let text = String::from_utf8(bytes.to_vec());
    text.map_err(|_| Status::invalid_argument("the ticket is not one of this server"))
}

#[async_trait]
impl FlightSqlService for FlightSql {
    type FlightService = FlightSql;

    /// Checks a key, sent as the password, and answers with it as bearer token.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<
        Response<Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>>,
        Status,
    > {
        let text = gate::check(&self.app, &request).await?;
        let handshake = HandshakeResponse {
            protocol_version: 0,
            payload: text.clone().into(),
        };
        let messages = stream::iter([Ok(handshake)]).boxed();
        let mut response: Response<Pin<Box<dyn Stream<Item = _> + Send>>> = Response::new(messages);
        if let Ok(token) = MetadataValue::try_from(format!("Bearer {text}")) {
            response.metadata_mut().insert(AUTHORIZATION, token);
        }
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let admitted = self.admit_part(&request).await?;
        let ticket = TicketStatementQuery {
            statement_handle: query.query.clone().into(),
        };
        let descriptor = request.into_inner();
        self.describe(&admitted, &query.query, ticket, descriptor)
            .await
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        let admitted = self.admit_query(&request).await?;
        let sql = ticket_text(&ticket.statement_handle)?;
        self.run(admitted, sql, None).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let admitted = self.admit_part(&request).await?;
        let shape = self.shape(&admitted, &query.query).await?;
        let parameters = shape.parameters.iter().map(|(name, data_type)| {
            let data_type = data_type.clone().unwrap_or(DataType::Null);
            Field::new(name, data_type, true)
        });
        let parameters = Schema::new(parameters.collect::<Vec<Field>>());
        let statement = PreparedStatement {
            sql: query.query.into(),
            parameters: None,
        };
        let handle = self.prepared.insert(admitted.key.key_id, statement);
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: handle.as_bytes().to_vec().into(),
            dataset_schema: schema_bytes(&shape.schema)?,
            parameter_schema: schema_bytes(&parameters)?,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<(), Status> {
        let admitted = self.admit_part(&request).await?;
        let key_id = admitted.key.key_id;
        self.prepared
            .remove(&query.prepared_statement_handle, key_id)
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let admitted = self.admit_part(&request).await?;
        let handle = query.prepared_statement_handle;
        let key_id = admitted.key.key_id;
        // Refuses an unknown statement before its parameters are read.
        self.prepared.get(&handle, key_id)?;
        let values = parameters::read(request.into_inner()).await?;
        self.prepared.bind(&handle, key_id, values)?;
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(handle),
        })
    }

    /// Refuses the call: queries do not change anything, and take one row of parameters. Drivers send several rows
    /// (`executemany`) as an update.
    async fn do_put_prepared_statement_update(
        &self,
        _query: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        self.admit(&request).await?;
        Err(Status::invalid_argument(
            "only queries are possible, and each runs with one row of parameters: execute it once for every row",
        ))
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let admitted = self.admit_part(&request).await?;
        let handle = &query.prepared_statement_handle;
        let (_, statement) = self.prepared.get(handle, admitted.key.key_id)?;
        let descriptor = request.into_inner();
        self.describe(&admitted, &statement.sql, query, descriptor)
            .await
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        let admitted = self.admit_query(&request).await?;
        let handle = &query.prepared_statement_handle;
        let (_, statement) = self.prepared.get(handle, admitted.key.key_id)?;
        let PreparedStatement {
            sql, parameters, ..
        } = statement;
        let parameters = parameters.map(Arc::unwrap_or_clone);
        self.run(admitted, sql.to_string(), parameters).await
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request).await?;
        let schema = query.into_builder().schema();
        info(&schema, query, request.into_inner())
    }

    async fn do_get_catalogs(
        &self,
        _query: CommandGetCatalogs,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        self.admit(&request).await?;
        single(catalog::catalogs())
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request).await?;
        let schema = query.clone().into_builder().schema();
        info(&schema, query, request.into_inner())
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        self.admit(&request).await?;
        single(catalog::schemas(query))
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request).await?;
        let schema = query.clone().into_builder().schema();
        info(&schema, query, request.into_inner())
    }

    async fn do_get_tables(
        &self,
        query: CommandGetTables,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        self.admit(&request).await?;
        single(catalog::tables(query, &self.app.data.sql))
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request).await?;
        let schema = query.into_builder().schema();
        info(&schema, query, request.into_inner())
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        self.admit(&request).await?;
        single(catalog::table_types(query))
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.admit(&request).await?;
        let schema = query.clone().into_builder(catalog::info()?).schema();
        info(&schema, query, request.into_inner())
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<Ticket>,
    ) -> Result<Answer, Status> {
        self.admit(&request).await?;
        single(query.into_builder(catalog::info()?).build())
    }

    /// Does nothing: the capabilities of the server are built once, for all calls.
    async fn register_sql_info(&self, _id: i32, _value: &SqlInfo) {}
}

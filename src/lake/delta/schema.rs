//! The columns of a table in the form of a Delta log, from the Arrow schemas of its files.

use arrow::datatypes::{DataType, Field, Schema};
use serde_json::{Value, json};

/// Returns the columns of all files, those of the first file first. Every column may be null, because an older file may
/// lack it.
///
/// # Errors
/// A column has a type that Delta tables do not have.
pub(super) fn of_files<'s>(files: impl Iterator<Item = &'s Schema>) -> Result<Value, String> {
    let mut columns: Vec<&Field> = Vec::new();
    for schema in files {
        for field in schema.fields() {
            if columns.iter().all(|known| known.name() != field.name()) {
                columns.push(field);
            }
        }
    }
    fields(columns.into_iter())
}

fn fields<'f>(fields: impl Iterator<Item = &'f Field>) -> Result<Value, String> {
    let fields = fields.map(|field| {
        let kind = type_of(field.data_type())?;
        Ok(json!({"name": field.name(), "type": kind, "nullable": true, "metadata": {}}))
    });
    let fields: Vec<Value> = fields.collect::<Result<_, String>>()?;
    Ok(json!({"type": "struct", "fields": fields}))
}

fn type_of(data_type: &DataType) -> Result<Value, String> {
    let name = match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string",
        DataType::Float64 => "double",
        DataType::Float32 => "float",
        DataType::Int64 => "long",
        DataType::Int32 => "integer",
        DataType::Boolean => "boolean",
        DataType::Date32 => "date",
        DataType::Timestamp(_, Some(_)) => "timestamp",
        DataType::List(item) => {
            let element = type_of(item.data_type())?;
            return Ok(json!({"type": "array", "elementType": element, "containsNull": true}));
        }
        DataType::Struct(of_struct) => return fields(of_struct.iter().map(AsRef::as_ref)),
        other => return Err(format!("{other} has no type in a Delta table")),
    };
    Ok(name.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn columns_of_older_files_follow_those_of_the_newest_and_lists_are_nested() {
        let city = Field::new("city", DataType::Utf8, true);
        let item = DataType::Struct(vec![city].into());
        let list = DataType::List(Arc::new(Field::new("item", item, true)));
        let newest = Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("adverts", list, true),
        ]);
        let older = Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("price", DataType::Float64, true),
        ]);
        let schema = of_files([&newest, &older].into_iter()).unwrap();
        let names: Vec<&Value> = schema["fields"].as_array().unwrap().iter().collect();
        let names: Vec<&str> = names
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["id", "adverts", "price"]);
        let element = &schema["fields"][1]["type"]["elementType"];
        assert_eq!(element["fields"][0]["type"], "string");
        let odd = Schema::new(vec![Field::new("n", DataType::UInt8, true)]);
        assert!(of_files([&odd].into_iter()).is_err());
    }
}

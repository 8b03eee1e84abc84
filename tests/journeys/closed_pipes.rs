//! Commands whose output is closed, as in `toise … | head -0`, end without a message.

use crate::support::process::{errors, toise};

#[test]
fn commands_end_quietly_when_nobody_reads_their_output() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let file = data.join("sales.csv");
    std::fs::write(
        &file,
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,code_commune,id_parcelle,type_local,surface_reelle_bati\n\
         1,2024-05-03,Vente,250000,48095,480950000A0001,Appartement,45\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        &["import", "dvf", file][..],
        &["version"],
        &["completions", "bash"],
        &["synth", "--lake", "--dvf", "10"],
        &["config"],
        &["keys", "create"],
        &["keys", "list"],
        &["sql", "select 1"],
        &["check"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = toise(data, arguments).stdout(writer).output().unwrap();
        let told = errors(&ended);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {told}");
        assert!(
            !told.contains("panicked") && !told.contains("Broken pipe"),
            "{arguments:?}: {told}"
        );
    }
}

//! Descriptions of the types of `yfs-wire`: JSON Schema for OpenAPI, and TypeScript.

use std::fmt::Write as _;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};
use ts_rs::{Config, TS};
use yfs_wire::*;

/// The first lines of the TypeScript file.
const TYPESCRIPT_HEADER: &str = "\
// The JSON that the native half of this package exchanges with it. Generated from the Rust types of
// the crate yfs-wire by `just wire`; do not edit.
";

/// Returns the schemas of the HTTP interface: the member `components.schemas` of its OpenAPI
/// document.
pub(super) fn openapi_schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    add_answers(&mut generator);
    add_requests(&mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.sort_keys();
    schemas
}

fn add_answers(generator: &mut SchemaGenerator) {
    add::<ProblemJson>(generator);
    add::<ChangeJson>(generator);
    add::<TreeJson>(generator);
    add::<DirectoryListing>(generator);
    add::<StatJson>(generator);
    add::<WriteOutcomeJson>(generator);
    add::<EditOutcomeJson>(generator);
    add::<VersionList>(generator);
    add::<BlameList>(generator);
    add::<LogList>(generator);
    add::<SearchResultJson>(generator);
    add::<TrashList>(generator);
    add::<ConflictList>(generator);
    add::<WordConflictList>(generator);
    add::<RestoredJson>(generator);
    add::<BlobJson>(generator);
    add::<UploadJson>(generator);
    add::<DownloadJson>(generator);
    add::<PeerList>(generator);
    add::<TokenJson>(generator);
    add::<TokenList>(generator);
    add::<PresentList>(generator);
    add::<ArchivedThreadJson>(generator);
    add::<ThreadList>(generator);
    add::<ThreadStatsJson>(generator);
    add::<RetentionReportJson>(generator);
    add::<ThreadListing>(generator);
    add::<ThreadMatchList>(generator);
    add::<ThreadPathList>(generator);
    add::<ArtifactList>(generator);
    add::<FileStatsJson>(generator);
    add::<CleanupReportJson>(generator);
    add::<ContextJson>(generator);
}

fn add_requests(generator: &mut SchemaGenerator) {
    add::<MkdirRequest>(generator);
    add::<TokenRequest>(generator);
    add::<NameRequest>(generator);
    add::<PresentRequest>(generator);
    add::<TransferRequest>(generator);
    add::<SymlinkRequest>(generator);
    add::<RestoreRequest>(generator);
    add::<SettleRequest>(generator);
    add::<EditRequest>(generator);
    add::<UploadRequest>(generator);
    add::<FinishUploadRequest>(generator);
    add::<DownloadRequest>(generator);
    add::<CreateThreadRequest>(generator);
    add::<ForkThreadRequest>(generator);
    add::<RetentionRequest>(generator);
    add::<ThreadMkdirRequest>(generator);
    add::<ThreadMoveRequest>(generator);
    add::<ThreadLinkRequest>(generator);
    add::<CleanupRequest>(generator);
    add::<ContextBody>(generator);
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Returns the TypeScript declarations of the types that the Node package exchanges.
pub(super) fn typescript() -> String {
    let mut text = TYPESCRIPT_HEADER.to_owned();
    declare::<UnixMillis>(&mut text);
    declare::<NodeKindJson>(&mut text);
    declare::<WriteOutcomeJson>(&mut text);
    declare::<OverlapJson>(&mut text);
    declare::<EditOutcomeJson>(&mut text);
    declare::<ChangeType>(&mut text);
    declare::<ChangeJson>(&mut text);
    declare::<SearchLimitJson>(&mut text);
    declare::<GrepLineJson>(&mut text);
    declare::<GrepFileJson>(&mut text);
    declare::<GrepTotalsJson>(&mut text);
    declare::<LinePageJson>(&mut text);
    declare::<VersionJson>(&mut text);
    declare::<BlameLineJson>(&mut text);
    declare::<LogEntryJson>(&mut text);
    declare::<BlameShareJson>(&mut text);
    declare::<AnchorJson>(&mut text);
    declare::<RedactionReportJson>(&mut text);
    declare::<RedactionJson>(&mut text);
    declare::<TrashEntryJson>(&mut text);
    declare::<ExpireReportJson>(&mut text);
    declare::<SkippedJson>(&mut text);
    declare::<ImportReportJson>(&mut text);
    declare::<ExportReportJson>(&mut text);
    declare::<ConflictJson>(&mut text);
    declare::<DocumentInfoJson>(&mut text);
    declare::<ProfileReportJson>(&mut text);
    declare::<WorkspaceStatsJson>(&mut text);
    declare::<QuarantinedJson>(&mut text);
    declare::<OpenOptionsJson>(&mut text);
    declare::<GlobQueryJson>(&mut text);
    declare::<GrepQueryJson>(&mut text);
    declare::<ImportOptionsJson>(&mut text);
    text
}

/// Appends a declaration, with its members indented.
fn declare<T: TS + 'static>(text: &mut String) {
    let config = Config::new().with_large_int("number");
    let docs = T::docs().unwrap_or_default();
    writeln!(text, "\n{docs}export {}", indent_members(&T::decl(&config))).expect("always fits");
}

fn indent_members(declaration: &str) -> String {
    let Some((head, members)) = declaration.split_once("{ \n") else {
        return declaration.to_owned();
    };
    let members = members.trim_end().trim_end_matches("};").trim_end();
    let lines = members.lines().map(|line| format!("  {}\n", line.trim_end()));
    format!("{head}{{\n{}}}", lines.collect::<String>())
}

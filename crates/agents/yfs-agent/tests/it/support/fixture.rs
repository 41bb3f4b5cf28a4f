//! Runs lines of tool calls over a filesystem in memory, and prints the replies.

use std::sync::Arc;

use expect_test::Expect;
use serde_json::Value;
use yfs_agent::{AgentSession, CallContext, ReplyBlock, ToolCatalog, ToolReply, ToolVocabulary};
use yfs_types::{
    actor::{Actor, ActorKind},
    time::Millis,
};
use yfs_vfs::{FileSystem, MemoryFs, memory::MemoryLimits};

/// A catalog and a session.
#[derive(Debug)]
pub(crate) struct ToolFixture {
    pub(crate) catalog: ToolCatalog,
    pub(crate) session: AgentSession,
}

impl ToolFixture {
    /// Makes a session over an empty filesystem in memory.
    pub(crate) fn new(vocabularies: &[ToolVocabulary]) -> Self {
        let clock = Arc::new(|| Millis(1_700_000_000_000));
        let fs = MemoryFs::with(clock, MemoryLimits::default());
        Self::over(Arc::new(fs), vocabularies)
    }

    /// Makes a session over a filesystem.
    pub(crate) fn over(fs: Arc<dyn FileSystem>, vocabularies: &[ToolVocabulary]) -> Self {
        let catalog = ToolCatalog::new(vocabularies).expect("the names differ");
        let session = AgentSession::builder(fs, agent("ada")).id("s1").build();
        Self { catalog, session }
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolReply {
        let context = CallContext::default();
        let called = self.catalog.call_tool(&self.session, name, arguments, context);
        called.await.expect("the tool exists")
    }

    /// Calls the tools of a script, one per line: a name and JSON. Returns the replies.
    pub(crate) async fn run(&self, script: &str) -> String {
        let mut printed = String::new();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
            let arguments = serde_json::from_str(arguments).expect("the arguments are JSON");
            let reply = self.call(name, arguments).await;
            printed.push_str(&format!("> {line}\n{}\n", print_reply(&reply)));
        }
        printed
    }

    /// Runs a script, and compares the replies.
    pub(crate) async fn check(&self, script: &str, expected: Expect) {
        expected.assert_eq(&self.run(script).await);
    }
}

/// Returns an agent of this name.
pub(crate) fn agent(name: &str) -> Actor {
    Actor::new(ActorKind::Agent, name)
}

fn print_reply(reply: &ToolReply) -> String {
    let mut printed = String::new();
    for block in &reply.blocks {
        match block {
            ReplyBlock::Text(text) => printed.push_str(&visible(text)),
            ReplyBlock::Image { data, mime } => {
                printed.push_str(&format!("[image {mime}, {} bytes]", data.len()));
            }
            ReplyBlock::Audio { data, mime } => {
                printed.push_str(&format!("[audio {mime}, {} bytes]", data.len()));
            }
            ReplyBlock::Resource { uri, data, mime } => {
                printed.push_str(&format!("[resource {uri} {mime}, {} bytes]", data.len()));
            }
            _ => printed.push_str("[another block]"),
        }
    }
    if reply.is_error { format!("! {printed}") } else { printed }
}

/// Returns a text with visible carriage returns and blank lines of one space, which an expected
/// text cannot have.
fn visible(text: &str) -> String {
    let lines = text.split('\n').map(|line| if line == " " { "␠" } else { line });
    lines.collect::<Vec<_>>().join("\n").replace('\r', "␍")
}

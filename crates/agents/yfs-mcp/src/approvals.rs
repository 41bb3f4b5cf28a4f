//! Approvals: a rule that interrupts asks the person in front of the client, by elicitation.
//!
//! Before protocol version 2026-07-28 the server sends the question while the call waits. Since
//! then, the call ends with the open questions, and the client repeats it with the answers. The
//! state that travels with them holds the earlier answers; it needs no seal, because the client is
//! the side that approves.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationSchema, InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
        ServerRequest,
    },
    service::{Peer, RequestContext},
};
use serde_json::{Value, json};
use yfs_agent::{
    approval::{AnswerFuture, DirectoryAnswer},
    permissions::{AccessKind, ApprovalBroker, ApprovalDecision, ApprovalRequest, AskedObject},
};
use yfs_types::path::VPath;
use yfs_vfs::CancellationToken;

/// The text that a refused call adds if the client cannot ask.
pub(crate) const CANNOT_ASK: &str = "This needs the approval of a person, and this client cannot \
     ask one (it lacks the elicitation capability).";

/// The most answers that the state of a repeated call may hold.
const MAX_ANSWERS: usize = 256;

/// The beginning of the names of questions about directories.
const DIRECTORY_KEY: &str = "directory:";

tokio::task_local! {
    /// The approvals of the call that the task runs.
    static CALL_APPROVALS: Arc<CallApprovals>;
}

/// A broker that asks the client of the call under way. Outside of a call it refuses.
#[derive(Debug, Default, Clone, Copy)]
pub struct ElicitingBroker;

/// The way in which the question about a directory is answered.
pub(crate) enum DirectoryReply {
    /// The client cannot ask, or will answer when it repeats the call.
    Refused,
    /// The client has answered.
    Answered(DirectoryAnswer),
    /// The client can be asked now.
    AskNow,
}

/// The questions and answers of one call.
#[derive(Debug)]
pub(crate) struct CallApprovals {
    asking: AskingWay,
    cancel: CancellationToken,
    answers: BTreeMap<String, ApprovalDecision>,
    open: Mutex<BTreeMap<String, ElicitRequest>>,
    was_unable: Mutex<bool>,
}

#[derive(Debug)]
enum AskingWay {
    /// The client has no elicitation.
    Unable,
    /// The question is sent during the call.
    During(Peer<RoleServer>),
    /// The call is repeated with the answer.
    ByRepeating,
}

#[async_trait]
impl ApprovalBroker for ElicitingBroker {
    fn for_this_call(&self) -> Option<Arc<dyn ApprovalBroker>> {
        CallBroker::over(Arc::new(*self))
    }

    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        match CALL_APPROVALS.try_with(Arc::clone) {
            Ok(approvals) => approvals.decide(request).await,
            Err(_) => ApprovalDecision::Refuse,
        }
    }
}

/// A broker that asks the client of one call, whichever task or thread works for it.
#[derive(Debug)]
pub(crate) struct CallBroker {
    inner: Arc<dyn ApprovalBroker>,
    call: Arc<CallApprovals>,
}

impl CallBroker {
    /// Binds a broker to the call that the task runs; `None` outside of a call.
    pub(crate) fn over(inner: Arc<dyn ApprovalBroker>) -> Option<Arc<dyn ApprovalBroker>> {
        let call = CallApprovals::current()?;
        Some(Arc::new(Self { inner, call }))
    }
}

#[async_trait]
impl ApprovalBroker for CallBroker {
    fn is_approved(&self, request: &ApprovalRequest) -> bool {
        self.inner.is_approved(request)
    }

    fn asked_object<'a>(&self, request: &'a ApprovalRequest) -> AskedObject<'a> {
        self.inner.asked_object(request)
    }

    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        self.call.scope(self.inner.decide(request)).await
    }
}

impl CallApprovals {
    pub(crate) fn of_request(
        context: &RequestContext<RoleServer>,
        responses: Option<InputResponses>,
        state: Option<&str>,
    ) -> Arc<Self> {
        let can_ask = context.client_capabilities().is_some_and(|has| has.elicitation.is_some());
        let asking = match (can_ask, is_stateless(context)) {
            (false, _) => AskingWay::Unable,
            (true, true) => AskingWay::ByRepeating,
            (true, false) => AskingWay::During(context.peer.clone()),
        };
        let mut answers = state.map(parse_state).unwrap_or_default();
        for (key, response) in responses.into_iter().flatten().take(MAX_ANSWERS) {
            let is_directory = key.starts_with(DIRECTORY_KEY);
            let decision = serde_json::from_value(response).map(|result| match is_directory {
                true => decision_about_directory(directory_answer_of(&result)),
                false => decision_of(&result),
            });
            answers.insert(key, decision.unwrap_or(ApprovalDecision::Refuse));
        }
        let cancel = context.ct.clone();
        Arc::new(Self {
            asking,
            cancel,
            answers,
            open: Mutex::default(),
            was_unable: Mutex::default(),
        })
    }

    /// Runs a call with these approvals.
    pub(crate) async fn scope<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        CALL_APPROVALS.scope(self.clone(), call).await
    }

    /// Returns whether a question could not be asked.
    pub(crate) fn was_unable(&self) -> bool {
        *self.was_unable.lock()
    }

    /// Returns the open questions, if the call must be repeated with answers.
    pub(crate) fn open_questions(&self) -> Option<InputRequiredResult> {
        let open = std::mem::take(&mut *self.open.lock());
        if open.is_empty() {
            return None;
        }
        let requests = open.into_iter().map(|(key, ask)| (key, InputRequest::Elicitation(ask)));
        let answers = self.answers.iter();
        let state: Value =
            answers.map(|(key, decision)| (key.clone(), Value::from(name_of(*decision)))).collect();
        Some(InputRequiredResult::new(Some(requests.collect()), Some(state.to_string())))
    }

    /// Returns the approvals of the call that the task runs.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CALL_APPROVALS.try_with(Arc::clone).ok()
    }

    /// Returns how the question about a directory is answered.
    pub(crate) fn reply_about(&self, directory: &VPath) -> DirectoryReply {
        match &self.asking {
            AskingWay::Unable => {
                *self.was_unable.lock() = true;
                DirectoryReply::Refused
            }
            AskingWay::During(_) => DirectoryReply::AskNow,
            AskingWay::ByRepeating => {
                let key = format!("{DIRECTORY_KEY}{directory}");
                match self.answer_or_ask(key, || question_about(directory)) {
                    Some(ApprovalDecision::Once) => DirectoryReply::Answered(DirectoryAnswer::Yes),
                    Some(ApprovalDecision::Session) => {
                        DirectoryReply::Answered(DirectoryAnswer::Session)
                    }
                    Some(ApprovalDecision::Refuse) => DirectoryReply::Answered(DirectoryAnswer::No),
                    None => DirectoryReply::Refused,
                }
            }
        }
    }

    /// Asks the client about a directory. The question outlives the call: others may wait for it.
    pub(crate) fn ask_about(&self, directory: &VPath) -> AnswerFuture {
        let AskingWay::During(peer) = &self.asking else {
            return Box::pin(std::future::ready(DirectoryAnswer::No));
        };
        let (peer, question) = (peer.clone(), question_about(directory));
        Box::pin(async move {
            match peer.send_request(ServerRequest::ElicitRequest(question)).await {
                Ok(ClientResult::ElicitResult(result)) => directory_answer_of(&result),
                _ => DirectoryAnswer::No,
            }
        })
    }

    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        match &self.asking {
            AskingWay::Unable => {
                *self.was_unable.lock() = true;
                ApprovalDecision::Refuse
            }
            AskingWay::During(peer) => {
                let ask = ServerRequest::ElicitRequest(question_of(request));
                tokio::select! {
                    answer = peer.send_request(ask) => match answer {
                        Ok(ClientResult::ElicitResult(result)) => decision_of(&result),
                        _ => ApprovalDecision::Refuse,
                    },
                    () = self.cancel.cancelled() => ApprovalDecision::Refuse,
                }
            }
            AskingWay::ByRepeating => {
                let answer = self.answer_or_ask(key_of(request), || question_of(request));
                answer.unwrap_or(ApprovalDecision::Refuse)
            }
        }
    }

    /// Returns the answer that came with the repeated call. Without one, the question is open.
    fn answer_or_ask(
        &self,
        key: String,
        question: impl FnOnce() -> ElicitRequest,
    ) -> Option<ApprovalDecision> {
        let answer = self.answers.get(&key).copied();
        let mut open = self.open.lock();
        if answer.is_none() && open.len() + self.answers.len() < MAX_ANSWERS {
            open.insert(key, question());
        }
        answer
    }
}

/// Reports whether the protocol version of a request has no sessions and no requests by the server.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the name of a question, which is the same when the call is repeated.
fn key_of(request: &ApprovalRequest) -> String {
    let below = if request.is_subtree { "/**" } else { "" };
    format!("{}:{}{below}", verb_of(request), request.path)
}

fn question_of(request: &ApprovalRequest) -> ElicitRequest {
    let mut object = shown_path(&request.path);
    if request.is_subtree {
        object += " and everything below it";
    }
    if request.spelled != request.path {
        object += &format!(" (named {})", shown_path(&request.spelled));
    }
    let verb = verb_of(request);
    let message = format!("May the agent {verb} {object}?");
    let choices = "once: this call; session: later calls too, and all below the object";
    question(message, choices, ["once", "session", "refuse"], "once")
}

fn question_about(directory: &VPath) -> ElicitRequest {
    let directory = shown_path(directory);
    let message = format!("May the agent use {directory} and everything below it?");
    let choices = "yes: from now on; session: until the server ends; no: not now";
    question(message, choices, ["yes", "session", "no"], "session")
}

fn question(
    message: String,
    description: &str,
    choices: [&str; 3],
    default: &str,
) -> ElicitRequest {
    let approval = json!({
        "type": "string", "title": "Approval", "description": description, "enum": choices,
        "default": default,
    });
    let schema = json!({ "type": "object", "properties": { "approval": approval } });
    let schema = schema.as_object().cloned().unwrap_or_default();
    let requested_schema = ElicitationSchema::from_json_schema(schema)
        .unwrap_or_else(|_| ElicitationSchema::new(BTreeMap::new()));
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    ElicitRequest::new(params)
}

fn verb_of(request: &ApprovalRequest) -> &'static str {
    match (request.access, request.reads) {
        (AccessKind::Read, _) => "read",
        (AccessKind::Write, false) => "change",
        (AccessKind::Write, true) => "read and change",
    }
}

/// Returns a path as a question shows it: characters that would change how the question appears,
/// such as line ends and those that reverse the text, are escaped.
fn shown_path(path: &VPath) -> String {
    let is_plain = |char: char| match char {
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        '\u{61c}' | '\u{feff}' | '\u{ad}' => false,
        char => !char.is_control(),
    };
    let show = |char: char| match is_plain(char) {
        true => char.to_string(),
        false => char.escape_unicode().to_string(),
    };
    path.as_str().chars().map(show).collect()
}

/// Returns what a person chose: `default` if an accepting answer does not say what.
fn choice_of<'a>(result: &'a ElicitResult, default: &'a str) -> &'a str {
    let content = result.content.as_ref();
    let choice = content.and_then(|content| content.get("approval")).and_then(Value::as_str);
    match result.action {
        ElicitationAction::Accept => choice.unwrap_or(default),
        _ => "no",
    }
}

fn decision_of(result: &ElicitResult) -> ApprovalDecision {
    decision_named(choice_of(result, "once"))
}

/// Returns the answer about a directory. An approval that does not say for how long is for the
/// session.
fn directory_answer_of(result: &ElicitResult) -> DirectoryAnswer {
    match choice_of(result, "session") {
        "yes" => DirectoryAnswer::Yes,
        "session" => DirectoryAnswer::Session,
        _ => DirectoryAnswer::No,
    }
}

/// Returns the answer in the form in which the state of a repeated call keeps it.
fn decision_about_directory(answer: DirectoryAnswer) -> ApprovalDecision {
    match answer {
        DirectoryAnswer::Yes => ApprovalDecision::Once,
        DirectoryAnswer::Session => ApprovalDecision::Session,
        DirectoryAnswer::No => ApprovalDecision::Refuse,
    }
}

fn name_of(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::Once => "once",
        ApprovalDecision::Session => "session",
        ApprovalDecision::Refuse => "refuse",
    }
}

fn decision_named(name: &str) -> ApprovalDecision {
    match name {
        "once" => ApprovalDecision::Once,
        "session" => ApprovalDecision::Session,
        _ => ApprovalDecision::Refuse,
    }
}

fn parse_state(state: &str) -> BTreeMap<String, ApprovalDecision> {
    let names: BTreeMap<String, String> = serde_json::from_str(state).unwrap_or_default();
    let answers = names.into_iter().take(MAX_ANSWERS);
    answers.map(|(key, name)| (key, decision_named(&name))).collect()
}

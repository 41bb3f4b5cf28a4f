//! `/mcp`: the files for agents, by the Model Context Protocol over streamable HTTP.
//!
//! A client presents a token as everywhere else, and sees what it grants. `?profile=` chooses the
//! tools.

mod stateless_sessions;

use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use yfs::Workspace;
use yfs_agent::{
    AgentSession, audit::AuditSink, json_query::JsonQueryRunner, work_budget::WorkShare,
};
use yfs_agent_workspace::session_over;
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_mcp::{
    ClientIdentity, McpProfile, OpenedSession, RequestOpener, SessionOpener, SessionRefusal,
};

pub(crate) use self::stateless_sessions::StatelessSessions;
use crate::{
    access::{AccessGrant, for_agent},
    caller::RequestCaller,
    extract::QueryParameters,
    live_presence::{LiveReadings, readings_of},
    problem::HttpProblem,
    server_state::ServerState,
};

/// The query of a request.
#[derive(Debug, Deserialize)]
pub(crate) struct McpQuery {
    profile: Option<String>,
}

/// Opens the sessions of a token.
#[derive(Debug)]
struct GrantOpener {
    workspace: Workspace,
    grant: AccessGrant,
    profile: McpProfile,
    audit: Option<Arc<dyn AuditSink>>,
    json_query: Option<JsonQueryRunner>,
    work_share: WorkShare,
    /// The grant and the profile as text.
    credential: String,
    stateless: Arc<StatelessSessions>,
    app: ServerState,
}

/// Answers a request to `/mcp`.
pub(crate) async fn mcp(
    caller: RequestCaller,
    State(app): State<ServerState>,
    QueryParameters(query): QueryParameters<McpQuery>,
    mut request: Request,
) -> Response {
    let profile = match query.profile.as_deref().map(str::parse).transpose() {
        Ok(profile) => profile.unwrap_or_default(),
        Err(unknown) => {
            let error: yfs_mcp::UnknownProfile = unknown;
            return HttpProblem::new(StatusCode::BAD_REQUEST, error.to_string()).into_response();
        }
    };
    let credential = format!("{:?} {profile}", caller.grant);
    let (workspace, grant, audit) = (app.workspace.clone(), caller.grant, app.audit.clone());
    let work_share = app.work.of(&grant.id);
    let share = Some(work_share.clone());
    let json_query = app.json_query.clone().map(|runner| JsonQueryRunner { share, ..runner });
    let stateless = app.mcp_sessions.clone();
    let opener = GrantOpener {
        workspace,
        grant,
        profile,
        audit,
        json_query,
        work_share,
        credential,
        stateless,
        app: app.clone(),
    };
    request.extensions_mut().insert(RequestOpener(Arc::new(opener)));
    app.mcp.handle(request).await.map(axum::body::Body::new)
}

#[async_trait]
impl SessionOpener for GrantOpener {
    async fn open_session(&self, client: &ClientIdentity) -> Result<OpenedSession, SessionRefusal> {
        if !client.is_stateless {
            return self.open(client);
        }
        self.stateless.find_or_open(&self.credential, client, || self.open(client))
    }

    fn credential(&self) -> &str {
        &self.credential
    }

    fn directories(&self) -> &[VPath] {
        match self.grant.is_whole() {
            true => &[],
            false => std::slice::from_ref(&self.grant.path),
        }
    }
}

impl GrantOpener {
    fn open(&self, client: &ClientIdentity) -> Result<OpenedSession, SessionRefusal> {
        let label = new_label().map_err(|error| SessionRefusal(error.to_string()))?;
        let mut grant = self.grant.clone();
        if grant.actor.name.is_empty() {
            // The grant of an open server has no actor of its own.
            grant.actor = Actor::new(ActorKind::Agent, client.name.as_deref().unwrap_or("mcp"));
        }
        let fs = for_agent(&self.workspace, &grant, &label);
        let fs = fs.map_err(|error| SessionRefusal(error.to_string()))?;
        let fs = readings_of(fs, &grant.actor, LiveReadings::of(&self.app));
        // The tools of history reach the whole workspace.
        let builder = match grant.is_whole() {
            true => session_over(&self.workspace, grant.actor.clone(), &label),
            false => AgentSession::builder(fs.clone(), grant.actor.clone()).id(label),
        };
        let builder = match &self.audit {
            Some(audit) => builder.audit(audit.clone()),
            None => builder,
        };
        let builder = match &self.json_query {
            Some(runner) => builder.json_query(runner.clone()),
            None => builder,
        };
        let builder = builder.work_share(self.work_share.clone());
        let agent = builder.fs(fs).shared(client.is_stateless).build();
        let directories = [grant.path.clone()];
        let session = OpenedSession::with_directories(agent, self.profile, &directories);
        Ok(session.read_only(!grant.may_write()))
    }
}

/// Returns the label of a session's changes.
fn new_label() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes)?;
    let mut label = String::from("mcp-");
    for byte in bytes {
        write!(label, "{byte:02x}").expect("a string takes all");
    }
    Ok(label)
}

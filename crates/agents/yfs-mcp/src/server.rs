//! The protocol: which request is answered by what.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
        Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
        ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, Peer, RequestContext, SubscriptionContext},
};
use tokio::sync::mpsc::Receiver;
use yfs_types::path::VPath;

use crate::{
    approvals::is_stateless,
    client_session::ClientSession,
    inline_blocking::InlineBlocking,
    open_session::{OpenedSession, SessionOpener},
    profile::McpProfile,
    prompts, resources, tool_calls, unread_request,
    watching::{ResourceChanges, TreeWatcher, next_changes, watch_trees},
};

/// The most resources that a client of an older protocol version may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 4096;

/// How to use the tools, for the model.
const INSTRUCTIONS: &str = "The files of this server are shared: people and other agents may \
     change them at any time, and concurrent changes are merged. Prefer edits to writing whole \
     files. A removed file is in the trash, and earlier versions can be restored.";

/// The server of one client. Clones are handles of one server.
#[derive(Debug, Clone)]
pub struct McpServer {
    client: Arc<ClientSession>,
}

impl McpServer {
    /// Makes a server whose session an opener decides on.
    pub fn new(opener: Arc<dyn SessionOpener>) -> Self {
        Self { client: Arc::new(ClientSession::new(Some(opener))) }
    }

    /// Makes a server whose requests bring their openers, as those over HTTP do.
    pub fn with_request_openers() -> Self {
        Self { client: Arc::new(ClientSession::new(None)) }
    }

    async fn session(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<OpenedSession, ErrorData> {
        InlineBlocking::new(self.client.of_request(context)).await
    }

    /// Begins to report changes to a client of an older protocol version, if it is not done yet.
    async fn watch_for(&self, context: &RequestContext<RoleServer>, session: &OpenedSession) {
        if is_stateless(context) {
            return;
        }
        let mut watcher = self.client.watcher.lock().await;
        if watcher.is_none() {
            let (tasks, changes) = watch_trees(&session.trees).await;
            let send = notify_peer(context.peer.clone(), self.client.clone(), changes);
            *watcher = Some(TreeWatcher::new(tasks, send));
        }
    }
}

impl McpServer {
    /// Returns how the server presents itself to the client that sent a request.
    fn info_for(&self, context: &RequestContext<RoleServer>) -> ServerConfig {
        let mut info = self.get_info();
        let opener = self.client.opener_of(context);
        let directories = opener.as_ref().map_or(&[][..], |opener| opener.directories());
        if let (Some(instructions), false) = (&mut info.instructions, directories.is_empty()) {
            let names: Vec<&str> = directories.iter().map(VPath::as_str).collect();
            instructions.push_str(&format!(
                " This client may use {} and what is below, and nothing else: begin there.",
                names.join(", ")
            ));
        }
        info
    }
}

impl ServerHandler for McpServer {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut negotiated = self.negotiate_initialize(&request)?;
        negotiated.instructions = self.info_for(&context).instructions;
        Ok(negotiated)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.info_for(&context)))
    }

    fn get_info(&self) -> ServerConfig {
        if self.client.profile() == McpProfile::Reference {
            return reference_info();
        }
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("yfs", env!("CARGO_PKG_VERSION"))
                    .with_title("yfs, a collaborative filesystem"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let session = self.session(&context).await?;
        let tools = session.offered_tools().map(tool_calls::tool_of).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let session = self.session(&context).await?;
        InlineBlocking::new(tool_calls::call_tool(&session, request, context)).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let session = self.session(&context).await?;
        self.watch_for(&context, &session).await;
        let cursor = page.and_then(|page| page.cursor);
        InlineBlocking::new(resources::list_resources(&session, cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let session = self.session(&context).await?;
        InlineBlocking::new(resources::read_resource(&session, request, context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let session = self.session(&context).await?;
        InlineBlocking::new(resources::complete_path(&session, request)).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        Ok(prompts::prompt(&request.name, &arguments)?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.session(&context).await?;
        resources::checked_path(&request.uri)?;
        {
            let mut subscribed = self.client.subscribed.lock();
            if subscribed.len() >= MAX_SUBSCRIPTIONS && !subscribed.contains(&request.uri) {
                let message = format!("a client may subscribe to {MAX_SUBSCRIPTIONS} resources");
                return Err(ErrorData::invalid_params(message, None));
            }
            subscribed.insert(request.uri);
        }
        self.watch_for(&context, &session).await;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.client.subscribed.lock().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.clone();
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let session = self.session(context.request_context()).await?;
        let (_tasks, mut changes) = watch_trees(&session.trees).await;
        tokio::select! {
            () = context.cancelled() => (),
            () = notify_subscription(&context, &mut changes) => (),
        }
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unread_request::error_of(request))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.client.open_with_roots(&context.peer).await;
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.client.reopen().await;
    }
}

/// Returns how the server presents itself in the profile `reference`: as the reference server does.
fn reference_info() -> ServerConfig {
    let capabilities =
        ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
    let name = Implementation::new("secure-filesystem-server", env!("CARGO_PKG_VERSION"));
    ServerConfig::new(capabilities).with_server_info(name)
}

/// Sends changes to a client of an older protocol version until it is gone.
async fn notify_peer(
    peer: Peer<RoleServer>,
    client: Arc<ClientSession>,
    mut changes: Receiver<ResourceChanges>,
) {
    while let Some(changes) = next_changes(&mut changes).await {
        if changes.is_list_changed && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        let subscribed = client.subscribed.lock().clone();
        let updated = subscribed.into_iter().filter(|uri| changes.touches(uri));
        for uri in updated {
            let update = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
    }
}

/// Sends changes to one subscription until it is gone.
///
/// The subscription was acknowledged before the changes were followed, so each of its files is
/// reported once at the beginning.
async fn notify_subscription(
    context: &SubscriptionContext,
    changes: &mut Receiver<ResourceChanges>,
) {
    let sink = context.sink();
    let accepted = context.accepted();
    let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
    let wants_list = accepted.resources_list_changed == Some(true);
    let mut next = Some(ResourceChanges { is_all: true, ..ResourceChanges::default() });
    while let Some(changed) = next {
        if changed.is_list_changed && wants_list {
            let sent = sink.notify_resource_list_changed().await;
            if sent.is_err() {
                return;
            }
        }
        for uri in uris.iter().filter(|uri| changed.touches(uri)) {
            if sink.notify_resource_updated(uri.clone()).await.is_err() {
                return;
            }
        }
        next = next_changes(changes).await;
    }
}

//! Templates of contexts: the default one, written directly, and others by Handlebars.

use std::fmt::Write as _;

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, no_escape,
};
use serde::Serialize;
use serde_json::Value;

use crate::{error::ArtifactError, tool_response::human_size};

/// The template of `docs/spec/artifacts.md`, followed by what is left out.
pub const DEFAULT_TEMPLATE: &str = "<file_list>
{{#each files}}
- {{this.path}} ({{this.size}}, {{this.type}})
  {{#if this.preview}}Preview: {{this.preview}}{{/if}}
{{/each}}
</file_list>
{{#if omitted.files}}
{{omitted.files}} more files ({{omitted.size}}) are not listed:
{{#each omitted.directories}}
- {{this.path}} ({{this.files}} files, {{this.size}})
{{/each}}
To see them, ask for the context of one of these directories, or for more tokens.
{{/if}}
";

/// What a template sees.
#[derive(Debug, Serialize)]
pub(super) struct TemplateData<'a> {
    pub(super) files: Vec<&'a TemplateFile<'a>>,
    pub(super) omitted: OmittedFiles<'a>,
}

/// What a template sees of a file.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TemplateFile<'a> {
    pub(super) path: &'a str,
    pub(super) name: &'a str,
    pub(super) size: String,
    pub(super) bytes: u64,
    #[serde(rename = "type")]
    pub(super) media_type: String,
    /// Not empty, if it is there.
    pub(super) preview: Option<String>,
    pub(super) stats: Option<String>,
}

/// The files that are not listed.
#[derive(Debug, Default, Serialize)]
pub(super) struct OmittedFiles<'a> {
    pub(super) files: usize,
    pub(super) size: String,
    pub(super) directories: Vec<OmittedDirectory<'a>>,
}

/// The files of a directory that are not listed.
#[derive(Debug, Serialize)]
pub(super) struct OmittedDirectory<'a> {
    pub(super) path: &'a str,
    pub(super) files: usize,
    pub(super) size: String,
}

/// A template that is ready to use.
#[derive(Debug)]
pub(super) enum ContextTemplate {
    /// [`DEFAULT_TEMPLATE`], which is written without an interpreter.
    Default,
    /// Another one.
    Custom(Box<Handlebars<'static>>),
}

impl ContextTemplate {
    /// Parses a template; the default one if there is none.
    pub(super) fn parse(template: Option<&str>) -> Result<Self, ArtifactError> {
        match template {
            None => Ok(Self::Default),
            Some(template) => Ok(Self::Custom(Box::new(template_engine(template)?))),
        }
    }

    /// Reports whether this is the default template: it shows the path of each file, and no
    /// statistics.
    pub(super) fn is_default(&self) -> bool {
        matches!(self, Self::Default)
    }

    /// Renders a context.
    pub(super) fn render(&self, data: &TemplateData<'_>) -> Result<String, ArtifactError> {
        match self {
            Self::Default => Ok(render_default(data)),
            Self::Custom(engine) => engine
                .render("context", data)
                .map_err(|error| ArtifactError::Template(Box::new(error))),
        }
    }
}

/// Renders [`DEFAULT_TEMPLATE`].
fn render_default(data: &TemplateData<'_>) -> String {
    let mut text = "<file_list>\n".to_owned();
    for file in &data.files {
        for part in ["- ", file.path, " (", &file.size, ", ", &file.media_type, ")\n  "] {
            text.push_str(part);
        }
        if let Some(preview) = &file.preview {
            text.push_str("Preview: ");
            text.push_str(preview);
        }
        text.push('\n');
    }
    text.push_str("</file_list>\n");
    let OmittedFiles { files, size, directories } = &data.omitted;
    if *files == 0 {
        return text;
    }
    let written = (|| {
        writeln!(text, "{files} more files ({size}) are not listed:")?;
        for OmittedDirectory { path, files, size } in directories {
            writeln!(text, "- {path} ({files} files, {size})")?;
        }
        writeln!(
            text,
            "To see them, ask for the context of one of these directories, or for more tokens."
        )
    })();
    written.expect("a string takes all");
    text
}

/// Makes an engine with a template named `context`, and the helpers `size`, `type`, `preview` and
/// `stats`.
///
/// - `{{size file}}` and `{{size 1024}}`: a size as people write it.
/// - `{{type file}}`: the media type.
/// - `{{preview file 80}}`: the preview, in at most so many characters.
/// - `{{stats file}}`: the description from the statistics.
fn template_engine(template: &str) -> Result<Handlebars<'static>, ArtifactError> {
    let mut engine = Handlebars::new();
    engine.register_escape_fn(no_escape);
    engine.register_helper("size", Box::new(write_size));
    engine.register_helper("type", Box::new(MemberWriter("type")));
    engine.register_helper("preview", Box::new(write_preview));
    engine.register_helper("stats", Box::new(MemberWriter("stats")));
    engine
        .register_template_string("context", template)
        .map_err(|error| ArtifactError::Template(Box::new(error)))?;
    Ok(engine)
}

fn parameter<'a>(
    helper: &'a Helper<'_>,
    index: usize,
    name: &'static str,
) -> Result<&'a Value, RenderError> {
    let found = helper.param(index).map(handlebars::PathAndJson::value);
    found.ok_or_else(|| RenderErrorReason::ParamNotFoundForIndex(name, index).into())
}

fn write_size(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "size")?;
    let n_bytes = value.get("bytes").unwrap_or(value).as_u64().unwrap_or(0);
    Ok(out.write(&human_size(n_bytes))?)
}

fn write_preview(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "preview")?;
    let preview = value.get("preview").and_then(Value::as_str).unwrap_or_default();
    let limit = helper.param(1).and_then(|limit| limit.value().as_u64());
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    if preview.chars().count() <= limit {
        return Ok(out.write(preview)?);
    }
    let shown: String = preview.chars().take(limit.saturating_sub(1)).collect();
    Ok(out.write(&format!("{shown}…"))?)
}

/// Writes a member of a file that is a text.
struct MemberWriter(&'static str);

impl HelperDef for MemberWriter {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let value = parameter(helper, 0, self.0)?;
        Ok(out.write(value.get(self.0).and_then(Value::as_str).unwrap_or_default())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the default template is rendered as Handlebars renders it.
    fn check(files: &[TemplateFile<'_>], omitted: OmittedFiles<'_>) {
        let engine = template_engine(DEFAULT_TEMPLATE).expect("a template");
        let data = TemplateData { files: files.iter().collect(), omitted };
        let expected = engine.render("context", &data).expect("it renders");
        assert_eq!(ContextTemplate::Default.render(&data).expect("it renders"), expected);
    }

    #[test]
    fn the_default_template_is_rendered_as_handlebars_does() {
        let file = |path: &'static str, preview: Option<&str>| TemplateFile {
            path,
            name: "name",
            size: "1.5KB".to_owned(),
            bytes: 1_536,
            media_type: "text/plain".to_owned(),
            preview: preview.map(str::to_owned),
            stats: Some("not shown".to_owned()),
        };
        let files = [
            file("/a <b> & {{c}}/\"d\".txt", None),
            file("/b", Some("{{#if x}}\n\n  <&>\"'`=\u{e9}\n")),
            file("/c", Some("\n")),
        ];
        for n_files in 0..=files.len() {
            check(&files[..n_files], OmittedFiles::default());
            for n_directories in 0..3 {
                let directory =
                    |_| OmittedDirectory { path: "/x & y", files: 7, size: "9B".to_owned() };
                let directories = (0..n_directories).map(directory).collect();
                let omitted = OmittedFiles { files: 12, size: "2KB".to_owned(), directories };
                check(&files[..n_files], omitted);
            }
        }
    }
}

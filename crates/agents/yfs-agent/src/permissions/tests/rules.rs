//! Tests of the rules alone.

use expect_test::{Expect, expect};

use super::{
    super::BadRule, AccessRow, Allow, Deny, PermissionRule, PermissionRules, Read, Write, compile,
};

fn check(rules: &str, paths: &str, expected: Expect) {
    let rules = compile(rules);
    let rows = paths.split_whitespace().map(|path| {
        let path = path.parse().expect("a path");
        AccessRow(&rules, path).to_string()
    });
    expected.assert_eq(&rows.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_first_match_decides_and_the_default_is_allow() {
    check(
        "allow r /a/b/**
         deny rw /a/**
         ask w /c",
        "/a/b/c /a/x /a /c /d",
        expect![[r#"
            /a/b/c read Allow, write Deny
            /a/x read Deny, write Deny
            /a read Allow, write Allow
            /c read Allow, write Interrupt
            /d read Allow, write Allow"#]],
    );
}

#[test]
fn patterns_have_braces_ranges_classes_and_hidden_names() {
    check(
        "deny rw /{a,b/c}/*.rs
         deny rw /v{1..3}
         deny rw /w{x..z}
         deny rw /[!k]ey
         deny rw /**/deep/?
         deny rw /all/**",
        "/a/x.rs /a/d/x.rs /b/c/.rs /v2 /v4 /wy /wa /hey /key /p/q/deep/x /deep/xy /all/.h/x",
        expect![[r#"
            /a/x.rs read Deny, write Deny
            /a/d/x.rs read Allow, write Allow
            /b/c/.rs read Deny, write Deny
            /v2 read Deny, write Deny
            /v4 read Allow, write Allow
            /wy read Deny, write Deny
            /wa read Allow, write Allow
            /hey read Deny, write Deny
            /key read Allow, write Allow
            /p/q/deep/x read Deny, write Deny
            /deep/xy read Allow, write Allow
            /all/.h/x read Deny, write Deny"#]],
    );
}

#[test]
fn case_is_folded_where_the_backend_folds_it() {
    let rule = PermissionRule::new(Deny, &[Read], "/Secret/**");
    let strict = PermissionRules::new([rule.clone()]).expect("a rule");
    let folded = PermissionRules::ignoring_case([rule]).expect("a rule");
    let path = "/sEcReT/KEY".parse().expect("a path");
    assert_eq!(strict.mode_at(Read, &path), Allow);
    assert_eq!(folded.mode_at(Read, &path), Deny);
}

#[test]
fn a_subtree_is_literal() {
    let directory = "/a[1]*".parse().expect("a path");
    let rules = PermissionRules::new([PermissionRule::subtree(Deny, &[Read], &directory)]);
    let rules = rules.expect("a rule");
    let mode = |path: &str| rules.mode_at(Read, &path.parse().expect("a path"));
    let modes = [mode("/a[1]*"), mode("/a[1]*/x/y"), mode("/a1x"), mode("/a1x/x")];
    assert_eq!(modes, [Deny, Deny, Allow, Allow]);
}

#[test]
fn rules_that_would_not_mean_what_they_say_are_rejected() {
    let reason = |path: &str| match PermissionRules::new([PermissionRule::new(Deny, &[Read], path)])
    {
        Ok(_) => "accepted".to_owned(),
        Err(BadRule::Pattern { reason, .. }) => reason.to_string(),
        Err(error) => error.to_string(),
    };
    let paths =
        ["a", "/a/", "/a/../b", "/./a", "/[[:alpha:]]", "/{a", "/{a}", "/{1..9999}", "/[a", "/"];
    let shown: Vec<_> = paths.iter().map(|path| format!("{path}: {}", reason(path))).collect();
    expect![[r#"
        a: the path "a" of a rule does not begin with a slash
        /a/: the path "/a/" of a rule ends with a slash; add ** for everything below
        /a/../b: the pattern contains the component '..'
        /./a: the path "/./a" of a rule has a component that is a dot
        /[[:alpha:]]: the path "/[[:alpha:]]" of a rule has a named character class
        /{a: the pattern has an unbalanced brace
        /{a}: the path "/{a}" of a rule has braces without a comma or a range
        /{1..9999}: the path "/{1..9999}" of a rule has braces without a comma or a range
        /[a: malformed pattern: error parsing glob '[a': unclosed character class; missing ']'
        /: the path "/" of a rule ends with a slash; add ** for everything below"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_rule_about_everything_below_hides_later_rules() {
    let rules = compile("allow rw /a/**\ndeny r /a/b/**\nask w /**/c\ndeny rw /**");
    let below = |path: &str| {
        let path = path.parse().expect("a path");
        [rules.strictest_below(Read, &path), rules.strictest_below(Write, &path)]
    };
    assert_eq!(below("/a"), [Allow, Allow]);
    assert_eq!(below("/a/b"), [Allow, Allow]);
    assert_eq!(below("/"), [Deny, Deny]);
    assert_eq!(below("/x"), [Deny, Deny]);
}

#[test]
fn directories_are_allowed_and_the_way_to_them_is_seen() {
    let directories = ["/home/ana/notes", "/srv"].map(|path| path.parse().expect("a path"));
    let rules = PermissionRules::only_below(&directories).expect("rules");
    let paths = "/ /home /home/ana /home/bob /home/ana/notes /home/ana/notes/a /home/ana/x /srv/a";
    let rows =
        paths.split(' ').map(|path| AccessRow(&rules, path.parse().expect("a path")).to_string());
    expect![[r#"
        / read Allow, write Deny
        /home read Allow, write Deny
        /home/ana read Allow, write Deny
        /home/bob read Deny, write Deny
        /home/ana/notes read Allow, write Allow
        /home/ana/notes/a read Allow, write Allow
        /home/ana/x read Deny, write Deny
        /srv/a read Allow, write Allow"#]]
    .assert_eq(&rows.collect::<Vec<_>>().join("\n"));
    let root = PermissionRules::only_below(&["/".parse().expect("a path")]).expect("rules");
    assert_eq!(root.mode_at(Read, &"/x".parse().expect("a path")), Allow);
}

//! Hostile and unusual bodies.

use super::*;

#[test]
fn what_an_element_holds_stands_for_itself() {
    let xml = "<?xml version=\"1.0\"?><D:prop xmlns:D='DAV:' xmlns:e='urn:e' xml:lang='de'>\
               a &amp; &#x42;<![CDATA[<c>]]><e:b e:x='1 &lt; 2' y='&quot;'><D:c/></e:b>\
               <n/></D:prop>";
    let root = parse(xml.as_bytes()).unwrap();
    assert!(root.name.is_dav("prop") && root.language() == Some("de"));
    let inner = root.inner_xml();
    let again = parse(format!("<q:prop xmlns:q='DAV:' xml:lang='de'>{inner}</q:prop>").as_bytes());
    assert_eq!(again.unwrap(), root, "{inner}");
}

#[test]
fn bodies_that_are_not_plain_xml_are_refused() {
    let deep = "<a>".repeat(100_000);
    let wide = format!("<a>{}</a>", "<b/>".repeat(100_000));
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxxxxxx\"><!ENTITY y \"&x;&x;&x;\">]><a>&y;</a>";
    for xml in [
        "",
        "text",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>text",
        "<p:a/>",
        "<a p:b=''/>",
        "<a xmlns:p=''><p:b/></a>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#xd800;</a>",
        "<a b='1' b='2'/>",
        "<a b='&x;'/>",
        "<a\"b/>",
        "<1a/>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        bomb,
        &deep,
        &wide,
    ] {
        assert!(parse(xml.as_bytes()).is_err(), "{}", xml.get(..60).unwrap_or(xml));
    }
    assert!(parse(b"<a>\xff</a>").is_err());
}

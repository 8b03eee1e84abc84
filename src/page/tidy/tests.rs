//! Tests tidying of deep, broken and hostile markup.

use super::*;

fn tame(html: &str) -> String {
    tidy(html).html
}

#[test]
fn open_elements_are_closed_in_order() {
    assert_eq!(
        tame("<div><b>un<i>deux</b>trois"),
        "<div><b>un<i>deux</i></b>trois</div>"
    );
    assert_eq!(
        tame("<ul><li>a<li>b</ul>c</div>"),
        "<ul><li>a</li><li>b</li></ul>c"
    );
    assert_eq!(
        tame("<table><tr><td><p>a<td>b</div><tr><td>c</table>"),
        "<table><tr><td><p>a</p></td><td>b</td></tr><tr><td>c</td></tr></table>"
    );
    assert_eq!(
        tame("<P CLASS=x>a<Div>b"),
        "<p CLASS=\"x\">a</p><div>b</div>"
    );
}

#[test]
fn scripts_styles_and_comments_are_removed_and_json_ld_is_returned() {
    let page = "<!doctype html><!-- <b> --><script>if (a<b) '</b>'</script>\
        <script type='application/LD+json; charset=utf-8'>{\"a\": \"</p>\"}</SCRIPT><style>p>b{}</style>\
        <title>3 < 4</title><svg><title>icon</title></svg>fin";
    let tidied = tidy(page);
    assert_eq!(tidied.html, "<title>3 &lt; 4</title>fin");
    assert_eq!(tidied.json_ld, [r#"{"a": "</p>"}"#]);
}

#[test]
fn attributes_keep_their_values_with_any_quoting() {
    assert_eq!(
        tame(r#"<meta a=1 b='say "x"' c = "d>e" f/>g 1<2"#),
        r#"<meta a="1" b="say &quot;x&quot;" c="d>e" f="">g 1&lt;2"#
    );
    for broken in [
        "<", "<a", "<a b=", "<a b='c", "</", "<!--", "<!", "<script>", "<a b=\"é",
    ] {
        tame(broken);
    }
}

#[test]
fn depth_and_counts_are_limited() {
    let deep = tame(&"<div>".repeat(10_000));
    assert_eq!(deep.matches("<div>").count(), DEPTH_MAX);
    assert_eq!(deep.matches("</div>").count(), DEPTH_MAX);
    let styled = tame(&"<b><u>".repeat(1_000));
    assert_eq!(
        styled.matches("<b>").count() + styled.matches("<u>").count(),
        STYLES_MAX
    );
    let wide: String = (0..1_000).map(|n| format!(" a{n}=1")).collect();
    assert_eq!(
        tame(&format!("<p{wide}>")).matches("=\"1\"").count(),
        ATTRIBUTES_MAX
    );
    assert_eq!(
        tame(&"<br>".repeat(60_000)).matches("<br>").count(),
        ELEMENTS_MAX
    );
}

package uritemplate

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/check"
)

// values are the string values of RFC 6570, section 3.2.
var values = map[string]string{
	"base": "http://example.com/home/", "dub": "me/too", "empty": "", "half": "50%", "hello": "Hello World!",
	"path": "/foo/bar", "v": "6", "var": "value", "who": "fred", "x": "1024", "y": "768",
	"unicode": "käse €😀", "encoded": "a%2Fb%2", "a.b": "dotted", "zero": "Ā\x00", "broken": "a\xff", "%41": "triplet",
}

// The examples of RFC 6570, and further cases.
func TestExpand(t *testing.T) {
	for template, want := range map[string]string{
		"": "", "file:///a": "file:///a", "{var}": "value", "{hello}": "Hello%20World%21", "{half}": "50%25",
		"O{empty}X": "OX", "O{undef}X": "OX", "{x,y}": "1024,768", "{x,hello,y}": "1024,Hello%20World%21,768",
		"?{x,empty}": "?1024,", "?{x,undef}": "?1024", "?{undef,y}": "?768", "{var:3}": "val", "{var:30}": "value",
		"{+var}": "value", "{+hello}": "Hello%20World!", "{+half}": "50%25",
		"{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex", "{+base}index": "http://example.com/home/index",
		"O{+empty}X": "OX", "{+path}/here": "/foo/bar/here", "here?ref={+path}": "here?ref=/foo/bar",
		"up{+path}{var}/here": "up/foo/barvalue/here", "{+x,hello,y}": "1024,Hello%20World!,768",
		"{+path,x}/here": "/foo/bar,1024/here", "{+path:6}/here": "/foo/b/here", "{#var}": "#value",
		"{#half}": "#50%25", "foo{#empty}": "foo#", "foo{#undef}": "foo", "{#x,hello,y}": "#1024,Hello%20World!,768",
		"{#path:6}/here": "#/foo/b/here", "{.half,who}": ".50%25.fred", "X{.empty}": "X.", "X{.undef}": "X",
		"X{.var:3}": "X.val", "{/who,dub}": "/fred/me%2Ftoo", "{/var,empty}": "/value/",
		"{/var,x}/here": "/value/1024/here", "{/var:1,var}": "/v/value", "{;half}": ";half=50%25",
		"{;v,empty,who}": ";v=6;empty;who=fred", "{;v,bar,who}": ";v=6;who=fred", "{;hello:5}": ";hello=Hello",
		"{?x,y,empty}": "?x=1024&y=768&empty=", "{?x,y,undef}": "?x=1024&y=768", "{?var:3}": "?var=val",
		"?fixed=yes{&x}": "?fixed=yes&x=1024", "{&x,y,empty}": "&x=1024&y=768&empty=", "{var*}{/who*}": "value/fred",
		"{unicode}": "k%C3%A4se%20%E2%82%AC%F0%9F%98%80", "{+unicode:2}": "k%C3%A4", "{+encoded}": "a%2Fb%252",
		"{encoded}": "a%252Fb%252", "{a.b}": "dotted", "{?%41}": "?%41=triplet", "{zero}": "%C4%80%00",
		"{broken}": "a%FF", "käse %zz%20 |": "k%C3%A4se%20%25zz%20%20%7C",
	} {
		got, err := Expand(template, values)
		check.NoError(t, err, template)
		check.Equal(t, template, got, want)
	}
}

func TestExpandRefuses(t *testing.T) {
	for template, want := range map[string]string{
		"{a": `"{" without a "}"`, "a}": `"}" without a "{"`, "{a}}": `"}" without a "{"`, "{{a}}": "letters, digits",
		"{}": "names no variable", "{+}": "letters, digits", "{a,}": "letters, digits", "{a..b}": "letters, digits",
		"{a b}": "letters, digits", "{a%2}": "letters, digits", "{=a}": "reserved operator", "{a:}": "1 to 9999",
		"{a:0}": "1 to 9999", "{a:+1}": "1 to 9999", "{a:1*}": "1 to 9999", "{a:10000}": "1 to 9999",
		strings.Repeat("x", MaxTemplate+1): "8193 bytes, more than 8192",
	} {
		check.Text(t, check.Err(Expand(template, nil)), want)
	}
}

func TestExpandIsBounded(t *testing.T) {
	half := map[string]string{"a": strings.Repeat("x", MaxExpansion/2)}
	check.Equal(t, "bytes at the bound", len(check.Value(Expand("{a}{a}", half))(t)), MaxExpansion)
	check.Text(t, check.Err(Expand("{a}{a}x", half)), "more than 1048576 bytes")
	check.Text(t, check.Err(Expand("{a}{a"+strings.Repeat(",a", 4000)+"}", half)), "more than 1048576 bytes")
}

// An expansion has only characters of a URI, and the length of its parts; a single value can be decoded from it.
func FuzzExpand(f *testing.F) {
	for _, template := range []string{"file:///{path}", "{+a}{#a}{.a}{/a}{;a}{?a,b}{&a*}", "{a:3}", "{", "}", "{{a}}", "{a:99999}", "%zz", "\xff{a}"} {
		f.Add(template, "käse & %20")
	}
	f.Fuzz(func(t *testing.T, template, value string) {
		values := map[string]string{"a": value, "path": value}
		uri, err := Expand(template, values)
		most := 3*len(template)*(len(value)+2) + 3
		check.That(t, len(uri) <= most, "%q expands to %d bytes, want at most %d", template, len(uri), most)
		for i := range len(uri) {
			c := uri[i]
			check.Require(t, c > ' ' && c < 0x7f && strings.IndexByte(`"<>\^{|}`+"`", c) < 0, "%q expands to %q, which has %q", template, uri, c)
		}
		if err == nil && !strings.Contains(template, "{") && utf8.ValidString(template) && !strings.Contains(template, "%") {
			got, err := url.PathUnescape(uri)
			check.That(t, err == nil && got == template, "%q expands to %q, which is %q, %v", template, uri, got, err)
		}
		alone, err := Expand("{a}", values)
		check.That(t, len(alone) <= MaxExpansion, "got %d bytes", len(alone))
		got, unescapeErr := url.PathUnescape(alone)
		check.That(t, err != nil || unescapeErr == nil && got == value, "%q expands to %q, which is %q (%v)", value, alone, got, unescapeErr)
	})
}

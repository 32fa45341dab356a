package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var colors = []Option{{"red", "Rot"}, {"green", "Grün"}, {"2", "Number two"}, {"a,b", "Comma"}, {"RED", "Loud"}}

func TestParse(t *testing.T) {
	text := Field{Kind: KindString}
	number := Field{Kind: KindNumber, Min: new(0.1), Max: new(1e300)}
	integer := Field{Kind: KindInteger}
	boolean := Field{Kind: KindBoolean}
	choice := Field{Kind: KindChoice, Options: colors}
	choices := Field{Kind: KindChoices, Options: colors, Max: new(2.0)}
	twins := Field{Kind: KindChoice, Options: []Option{{"1", "Same"}, {"0", "Same"}}}
	for _, tt := range []struct {
		field Field
		text  string
		want  any // an error when nil
	}{
		{text, " as typed ", " as typed "},
		{text, "\xff", nil},
		{Field{Kind: KindString, Min: new(2.0), Max: new(3.0)}, "äöü", "äöü"},
		{Field{Kind: KindString, Min: new(2.0), Max: new(3.0)}, "ä", nil},
		{Field{Kind: KindString, Min: new(2.0), Max: new(3.0)}, "äöüß", nil},
		{Field{Kind: KindString, Pattern: "[0-9]$"}, "room 5", "room 5"},
		{Field{Kind: KindString, Pattern: "[0-9]$"}, "room", nil},

		{Field{Kind: KindString, Format: "email"}, " a@example.com ", "a@example.com"},
		{Field{Kind: KindString, Format: "email"}, "A <a@example.com>", nil},
		{Field{Kind: KindString, Format: "email"}, "example.com", nil},
		{Field{Kind: KindString, Format: "uri"}, "https://example.com/a?b#c", "https://example.com/a?b#c"},
		{Field{Kind: KindString, Format: "uri"}, "urn:isbn:1", "urn:isbn:1"},
		{Field{Kind: KindString, Format: "uri"}, "example.com/a", nil},
		{Field{Kind: KindString, Format: "uri"}, "https://example.com/a b", nil},
		{Field{Kind: KindString, Format: "uri"}, "https://example.com/ä", nil},
		{Field{Kind: KindString, Format: "date"}, "2024-02-29", "2024-02-29"},
		{Field{Kind: KindString, Format: "date"}, "2023-02-29", nil},
		{Field{Kind: KindString, Format: "date"}, "2024-2-9", nil},
		{Field{Kind: KindString, Format: "date-time"}, "2024-02-29T12:00:00.5+01:00", "2024-02-29T12:00:00.5+01:00"},
		{Field{Kind: KindString, Format: "date-time"}, "2024-02-29T12:00:00", nil},
		{Field{Kind: KindString, Format: "date-time"}, "2024-02-29T1:00:00Z", nil},
		{Field{Kind: KindString, Format: "date-time"}, "2024-02-29T11:00:00,5Z", nil},
		{Field{Kind: KindString, Format: "date-time"}, "2024-02-29", nil},
		{Field{Kind: KindString, Format: "color"}, "red ", "red "},

		{number, " 0.1 ", 0.1}, {number, "1.50", 1.5}, {number, "1E2", 100.0}, {number, "1e300", 1e300},
		{number, "0.0999", nil}, {number, "1e301", nil}, {number, "1e999999999", nil},
		{number, "9007199254740993", nil}, // would be rounded
		{number, "0.1000000000000000055511151231257827", 0.1},
		{Field{Kind: KindNumber}, "1e-999999999", 0.0},
		{Field{Kind: KindNumber}, "-0", 0.0},
		{Field{Kind: KindNumber}, "0e999999999", 0.0},
		{Field{Kind: KindNumber}, "0." + strings.Repeat("0", 100) + "1", nil},
		{number, "NaN", nil}, {number, "Inf", nil}, {number, "0x10", nil}, {number, "1_0", nil}, {number, "007", nil},
		{number, "1 2", nil}, {number, `"1"`, nil}, {number, "true", nil}, {number, "one", nil},

		{integer, "42", int64(42)},
		{integer, "-42.0", int64(-42)},
		{integer, "1e3", int64(1000)},
		{integer, "9007199254740993", int64(9007199254740993)},
		{integer, "9223372036854775807", int64(math.MaxInt64)},
		{integer, "9223372036854775808", nil},
		{integer, "1.5", nil},
		{Field{Kind: KindInteger, Min: new(0.5)}, "0", nil},
		{Field{Kind: KindInteger, Max: new(5.0)}, "6", nil},
		{Field{Kind: KindInteger, Max: new(math.Inf(1))}, "6", int64(6)},

		{boolean, "Yes", true}, {boolean, "y", true}, {boolean, "TRUE", true}, {boolean, "1", true},
		{boolean, " no ", false}, {boolean, "N", false}, {boolean, "false", false}, {boolean, "0", false},
		{boolean, "maybe", nil},

		{choice, "red", "red"}, {choice, "RED", "RED"}, {choice, "Red", nil},
		{choice, "rot", "red"}, {choice, "GRÜN", "green"}, {choice, "1", "red"}, {choice, "2", "2"}, {choice, "5", "RED"},
		{choice, "0", nil}, {choice, "6", nil}, {choice, "blue", nil},
		{twins, "1", "1"}, {twins, "2", "0"}, {twins, "Same", nil}, {twins, "same", nil},

		{choices, "a,b", []string{"a,b"}},
		{choices, "green, Rot", []string{"green", "red"}},
		{choices, "green", []string{"green"}},
		{choices, "red,red", nil}, {choices, "red,green,2", nil}, {choices, "red,", nil}, {choices, "red,blue", nil},

		{Field{Kind: KindChoices, Options: []Option{{"ny", "New York, NY"}, {"la", "Los Angeles"}}}, "ny,la", []string{"ny", "la"}},

		{Field{Kind: "object"}, "x", nil},
	} {
		got, err := tt.field.Parse(tt.text)
		if tt.want == nil {
			check.Fails(t, err, tt.field.Kind, tt.text)
			continue
		}
		check.NoError(t, err, tt.field.Kind, tt.text)
		check.Same(t, tt.text, got, tt.want)
		check.NoError(t, tt.field.Check(got), tt.field.Kind, tt.text)
		again, err := tt.field.Parse(tt.field.Text(got))
		check.NoError(t, err, "the text of", tt.text)
		check.Same(t, "the text of "+tt.text, again, got)
	}
}

func TestParseOfNothing(t *testing.T) {
	for _, kind := range []Kind{KindString, KindNumber, KindInteger, KindBoolean, KindChoice, KindChoices} {
		f := Field{Kind: kind}
		got, err := f.Parse("")
		check.NoError(t, err, kind)
		check.Equal(t, kind, got, nil)
		f.Required = true
		check.Fails(t, check.Err(f.Parse("")), kind, "required")
		f.Default = []string{"d"}
		got = check.Value(f.Parse(""))(t)
		check.Same(t, kind, got, any([]string{"d"}))
		got.([]string)[0] = "changed"
		check.Same(t, "the default after a change of the value", f.Default, any([]string{"d"}))
	}
}

type measure float32

func TestCheck(t *testing.T) {
	number, integer := Field{Kind: KindNumber}, Field{Kind: KindInteger}
	choices := Field{Kind: KindChoices, Options: colors, Min: new(1.0)}
	for _, tt := range []struct {
		field Field
		value any
		ok    bool
	}{
		{Field{Kind: KindString}, "", true},
		{Field{Kind: KindString}, 5, false},
		{Field{Kind: KindString}, nil, true},
		{Field{Kind: KindString, Required: true}, nil, false},
		{Field{Kind: KindString, Required: true, Default: "d"}, nil, true},
		{number, 0.1, true}, {number, float32(0.1), true}, {number, 5, true}, {number, uint8(5), true}, {number, json.Number("1e3"), true},
		{number, math.NaN(), false}, {number, math.Inf(1), false}, {number, json.Number(""), false}, {number, json.Number("x"), false},
		{number, "5", false}, {number, true, false}, {number, int64(1<<53 + 1), false}, {number, time.Second, true}, {number, measure(0.1), true},
		{integer, int64(math.MinInt64), true}, {integer, 3.0, true}, {integer, 3.5, false}, {integer, 1e19, false},
		{integer, uint64(math.MaxUint64), false}, {integer, json.Number("3.0"), true},
		{Field{Kind: KindBoolean}, true, true}, {Field{Kind: KindBoolean}, "true", false},
		{Field{Kind: KindChoice, Options: colors}, "red", true},
		{Field{Kind: KindChoice, Options: colors}, "Rot", false}, // a title
		{Field{Kind: KindChoice, Options: colors}, 1, false},
		{choices, []string{"red", "green"}, true}, {choices, []any{"red"}, true},
		{choices, []any{"red", 1}, false}, {choices, []string{}, false}, {choices, []string{"Rot"}, false},
		{choices, []string{"red", "red"}, false}, {choices, "red", false},
		{Field{Kind: "object"}, "x", false},
	} {
		check.Equal(t, fmt.Sprintf("%s %#v fits", tt.field.Kind, tt.value), tt.field.Check(tt.value) == nil, tt.ok)
	}
}

func TestNumbersOfTooManyDigits(t *testing.T) {
	for text, kind := range map[string]Kind{"9007199254740993": KindNumber, "1000000000000000000001": KindNumber, "9223372036854775807": KindNumber, "9223372036854775808": KindInteger} {
		check.Text(t, check.Err((&Field{Kind: kind}).Parse(text)), "number: this one has too many digits", text)
	}
	check.Equal(t, "a number that is not rounded", check.Value((&Field{Kind: KindNumber}).Parse("1000000000000000000000"))(t), any(1e21))
}

func TestErrorsSayWhatIsExpected(t *testing.T) {
	many := make([]Option, 12)
	for i := range many {
		many[i] = Option{Value: fmt.Sprint("v", i), Title: fmt.Sprint("v", i)}
	}
	for _, tt := range []struct {
		field Field
		want  string
	}{
		{Field{Kind: KindString, Min: new(3.0), Max: new(9.0), Pattern: "^a"}, `field "f": want text, length at least 3, at most 9, matching "^a"`},
		{Field{Kind: KindString, Format: "date"}, `field "f": want a day of the calendar, as in 2027-05-31`},
		{Field{Kind: KindNumber, Min: new(0.5), Max: new(1e5)}, `field "f": want a number, at least 0.5, at most 100000`},
		{Field{Kind: KindString, Max: new(1e6)}, `field "f": want text, length at most 1000000`},
		{Field{Kind: KindInteger, Min: new(18.0)}, `field "f": want a whole number, at least 18`},
		{Field{Kind: KindBoolean}, `field "f": want yes or no`},
		{Field{Kind: KindChoice, Options: colors[:2]}, `field "f": want one of "red" (Rot), "green" (Grün)`},
		{Field{Kind: KindChoices, Options: colors[:1], Min: new(1.0)}, `field "f": want any of "red" (Rot), each once, count at least 1`},
		{Field{Kind: KindChoice, Options: many}, `field "f": want one of "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", and 2 more`},
		{Field{Kind: "object"}, `field "f": want a kind that fields have, not "object"`},
	} {
		tt.field.Name = "f"
		check.Equal(t, "", fmt.Sprint(tt.field.Check(struct{}{})), tt.want)
	}
}

// The reason of an error stands by itself, whatever the name of the field, and a long name is cut.
func TestFieldError(t *testing.T) {
	name := strings.Repeat("n", 2000)
	for _, tt := range []struct {
		field      Field
		text, want string
	}{
		{Field{Kind: KindInteger}, "x", "want a whole number"},
		{Field{Kind: KindBoolean}, "x", "want yes or no"},
		{Field{Kind: KindBoolean, Required: true}, "", "an answer is required: yes or no"},
		{Field{Kind: KindChoice, Options: []Option{{"1", "a"}, {"2", "A"}}}, "a", ""},
		{Field{Kind: KindChoice, Options: []Option{{"1", "a"}, {"2", "a"}}}, "a", "several options have this name: give the value or the number of one"},
	} {
		tt.field.Name = name
		_, err := tt.field.Parse(tt.text)
		wrong, ok := errors.AsType[*FieldError](err)
		switch {
		case ok != (tt.want != ""):
			t.Errorf("%s: got %T", tt.field.Kind, err)
		case ok && (wrong.Reason != tt.want || len(err.Error()) > 1024+200 || !strings.HasPrefix(err.Error(), `field "nnn`) || !strings.HasSuffix(err.Error(), ": "+tt.want)):
			t.Errorf("%s: got %q and %.1500s, want %q", tt.field.Kind, wrong.Reason, err, tt.want)
		}
	}
	_, err := Complete(form(`"age":{"type":"integer"}`, "age"), &mcp.ElicitResult{Action: mcp.ElicitAccept})
	wrong, ok := errors.AsType[*FieldError](err)
	check.That(t, ok && wrong.Reason == "an answer is required: a whole number", "got %v, want it to wrap the error of the field", err)
}

func TestErrorsKeepTheAnswer(t *testing.T) {
	const secret = "hunter2"
	for _, f := range []Field{
		{Kind: KindString, Format: "email"}, {Kind: KindNumber}, {Kind: KindInteger}, {Kind: KindBoolean},
		{Kind: KindChoice, Options: colors}, {Kind: KindChoices, Options: colors},
		{Kind: KindChoice, Options: []Option{{"1", "Hunter2"}, {"2", "HUNTER2"}}},
	} {
		err := check.Err(f.Parse(secret))
		check.That(t, err != nil && !strings.Contains(err.Error(), secret), "%s: got %v, want an error without the answer", f.Kind, err)
	}
}

func TestComplete(t *testing.T) {
	p := form(`"name":{"type":"string","default":"anonymous"},
		"age":{"type":"integer"},
		"tags":{"type":"array","items":{"enum":["a","b"]},"default":["a"]},
		"ok":{"type":"boolean","default":false}`, "age")
	for _, tt := range []struct {
		name          string
		content, want map[string]any // an error when nil
		wantErr       string
	}{
		{"defaults are filled in", map[string]any{"age": 5}, map[string]any{"name": "anonymous", "age": int64(5), "tags": []string{"a"}, "ok": false}, ""},
		{"answers come before defaults", map[string]any{"name": "", "age": 5.0, "tags": []any{}, "ok": true},
			map[string]any{"name": "", "age": int64(5), "tags": []string{}, "ok": true}, ""},
		{"nil is not an answer", map[string]any{"name": nil, "age": json.Number("5"), "ok": nil},
			map[string]any{"name": "anonymous", "age": int64(5), "tags": []string{"a"}, "ok": false}, ""},
		{"missing", map[string]any{"name": "x"}, nil, `elicitation answer: field "age": an answer is required: a whole number`},
		{"no content", nil, nil, `elicitation answer: field "age": an answer is required: a whole number`},
		{"wrong", map[string]any{"age": "five"}, nil, `elicitation answer: field "age": want a whole number`},
		{"unknown", map[string]any{"age": 5, "size": 1, "color": "x"}, nil, `elicitation answer: field "color" is not in the form`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given := &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: tt.content}
			before := fmt.Sprintf("%#v", *given)
			got, err := Complete(p, given)
			check.Equal(t, "the caller's result changed to", fmt.Sprintf("%#v", *given), before)
			if tt.want == nil {
				check.Equal(t, "error", fmt.Sprint(err), tt.wantErr)
				return
			}
			check.Must(t, err)
			check.Same(t, "", got, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: tt.want})
		})
	}
}

func TestCompleteCopies(t *testing.T) {
	p := form(`"tags":{"type":"array","items":{"enum":["a","b"]}}`)
	mine := []string{"a"}
	got := check.Value(Complete(p, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"tags": mine}}))(t)
	mine[0] = "b"
	check.Same(t, "", got.Content["tags"], any([]string{"a"}))
}

func TestCompleteDropsContent(t *testing.T) {
	broken := &mcp.ElicitParams{Mode: mcp.ElicitForm}
	link := &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com"}
	content := map[string]any{"secret": "x"}
	for _, tt := range []struct {
		params *mcp.ElicitParams
		action string
	}{
		{form(`"a":{"type":"string"}`, "a"), mcp.ElicitDecline}, {form(``), mcp.ElicitCancel}, {broken, mcp.ElicitDecline},
		{link, mcp.ElicitAccept}, {link, mcp.ElicitDecline}, {link, mcp.ElicitCancel},
	} {
		got, err := Complete(tt.params, &mcp.ElicitResult{Action: tt.action, Content: content})
		check.NoError(t, err, tt.params.Mode, tt.action)
		check.Same(t, tt.params.Mode, got, &mcp.ElicitResult{Action: tt.action})
	}
}

func TestCompleteRefuses(t *testing.T) {
	for _, tt := range []struct {
		params       *mcp.ElicitParams
		action, want string
	}{
		{form(``), "", `elicitation answer: action "", want accept, decline or cancel`},
		{form(``), "Accept", `elicitation answer: action "Accept", want accept, decline or cancel`},
		{&mcp.ElicitParams{Mode: mcp.ElicitURL}, "ok", `elicitation answer: action "ok", want accept, decline or cancel`},
		{&mcp.ElicitParams{Mode: mcp.ElicitForm}, mcp.ElicitAccept, `requested schema: want a JSON object`},
	} {
		check.Equal(t, tt.action, fmt.Sprint(check.Err(Complete(tt.params, &mcp.ElicitResult{Action: tt.action}))), tt.want)
	}
}

package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

type trip struct {
	City string `json:"city" jsonschema:"Where to"`
	Days int    `json:"days,omitempty" minimum:"1"`
}

// A function works like a tool of a server: its arguments are parsed, repaired and checked, and the model gets its result.
func TestFunc(t *testing.T) {
	same := func(_ context.Context, in trip) (trip, error) { return in, nil }
	text := func(_ context.Context, in trip) (string, error) { return in.City, nil }
	for name, tt := range map[string]struct {
		tool                    Source
		input, want, structured string
		isError                 bool
	}{
		"text":    {Func("f", "Does it.", text, nil), `{"city":"Rome"}`, "Rome", "", false},
		"JSON":    {Func("f", "Does it.", same, nil), `{"city":"<Rome>","days":"3"}`, `{"city":"<Rome>","days":3}`, `{"city":"<Rome>","days":3}`, false},
		"missing": {Func("f", "Does it.", same, nil), `{}`, `Error: arguments of f: missing required property "city". Nothing was done. Correct the arguments and call the tool again.`, "", true},
		"unknown": {Func("f", "Does it.", same, nil), `{"city":"Rome","City":"Oslo"}`, `Error: arguments of f: unknown property "City"; known are "city", "days". Nothing was done. Correct the arguments and call the tool again.`, "", true},
		"bound":   {Func("f", "Does it.", same, nil), `{"city":"Rome","days":0}`, `Error: arguments of f: at "/days": want a number >= 1, got number 0. Nothing was done. Correct the arguments and call the tool again.`, "", true},
		"failure": {Func("f", "", func(context.Context, trip) (int, error) { return 0, errors.New("no trains") }, nil), `{"city":"Rome"}`, "Error: no trains", "", true},
		"panic":   {Func("f", "", func(context.Context, trip) (int, error) { panic("oops") }, nil), `{"city":"Rome"}`, "Error: the tool panicked: oops", "", true},
		"nothing": {Func("f", "", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }, nil), "", "(the tool returned no content)", "", false},
		"result": {Func("f", "", func(context.Context, map[string]int) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "full"}}}, nil
		}, nil), `{"a":1}`, "Error: full", "", true},
		"no result":  {Func("f", "", func(context.Context, struct{}) (*mcp.CallToolResult, error) { return nil, nil }, nil), "", "(the tool returned no content)", "", false},
		"not a JSON": {Func("f", "", func(context.Context, trip) (func(), error) { return func() {}, nil }, nil), `{"city":"Rome"}`, "Error: result: json: unsupported type: func()", "", true},
		"integers":   {Func("f", "", same, nil), `{"city":"Rome","days":3.0}`, `{"city":"Rome","days":3}`, `{"city":"Rome","days":3}`, false},
		"exponents":  {Func("f", "", func(_ context.Context, in map[string][]int) (map[string][]int, error) { return in, nil }, nil), `{"a":[1e2,2.0]}`, `{"a":[100,2]}`, `{"a":[100,2]}`, false},
		"too large":  {Func("f", "", func(context.Context, struct{ N int8 }) (int, error) { return 1, nil }, nil), `{"N":128}`, `Error: arguments of f: at "/N": want a number <= 127, got number 128. Nothing was done. Correct the arguments and call the tool again.`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.tool.Catalog(profile.Plain).Call(t.Context(), call("1", "f", tt.input))
			check.That(t, r.Text == tt.want && r.IsError == tt.isError && r.Fatal() == nil, "got %q, fatal %v, want %q", r.Text, r.Fatal(), tt.want)
			check.That(t, r.Raw == nil || string(r.Raw.StructuredContent) == tt.structured, "got %+v, want structured content %s", r.Raw, tt.structured)
		})
	}
	f := Func("f", "Does it.", same, nil)
	const want = `{"type":"object","properties":{"city":{"description":"Where to","type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}`
	got := f.Catalog(profile.OpenAI).Definitions()[0].Function
	check.That(t, got.Description == "Does it." && string(got.Parameters.(json.RawMessage)) == want, "got %q with %s", got.Description, got.Parameters)
	check.Equal(t, "another catalog for no profile", f.Catalog(""), f.Catalog(profile.Plain))
}

// Functions use the approvals, interceptors and bounds of their options, and the hints of the host.
func TestFuncOptions(t *testing.T) {
	var log bytes.Buffer
	var asked, ran []string
	common := &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Policy: Policy{MaxResult: 256},
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Server+" "+a.Name)
			return approval.Decision{Allow: true, Arguments: json.RawMessage(`{"city":"Oslo"}`)}, nil
		},
		Intercept: before(func(_ context.Context, r *Request) { ran = append(ran, r.Tool.Name()) }),
	}
	where := func(ctx context.Context, in trip) (string, error) {
		if in.City == "nowhere" {
			panic("lost")
		}
		return in.City + IdempotencyKeyFrom(ctx) + strings.Repeat("!", 300), nil
	}
	common.Policy.Trust = TrustFull // of servers: it trusts no function
	distrusting, repeated := *common, *common
	distrusting.Policy.Trust = TrustNone
	repeated.Policy.Repeat = func(*mcp.Tool) bool { return true }
	source := Merge(
		Func("write", "", where, &FuncOptions{Options: common}),
		Func("read", "", where, &FuncOptions{ReadOnly: true, Server: "files", Options: &distrusting}),
		Func("again", "", where, &FuncOptions{Trusted: true, HonoursKeys: true, Options: common}),
		Func("more", "", where, &FuncOptions{Trusted: true, Options: &repeated}),
	)
	catalog := source.Catalog(profile.Plain)
	for _, tool := range catalog.Tools() {
		p := check.Value(catalog.Prepare(call("1", tool.Name(), `{"city":"Rome"}`)))(t)
		want := "RomeK!"
		if tool.Name() == "write" {
			want = "[the user changed the arguments to {\"city\":\"Oslo\"}]\nOsloK!"
		}
		r := p.WithIdempotencyKey("K").Run(t.Context())
		check.That(t, strings.HasPrefix(r.Text, want) && len(r.Text) <= 256, "%s: got %q", tool.Name(), r.Text)
		check.Equal(t, tool.Name()+" may be called again", tool.Repeatable(), tool.Name() != "write")
	}
	check.Same(t, "calls", ran, []string{"write", "read", "again", "more"})
	check.Same(t, "approvals", asked, []string{"local write"})
	check.NoError(t, check.Err(catalog.LookupStored("files", "read", "")), "the function by its label")
	catalog.Call(t.Context(), call("1", "read", `{"city":"nowhere"}`))
	check.That(t, strings.Contains(log.String(), "panicked: lost") && strings.Contains(log.String(), "TestFuncOptions"),
		"got the log %s, want the stack of the panic", log.String())
}

// The end of the context and a timeout are not failures of the function.
func TestFuncThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		for want, tt := range map[string]struct {
			limit time.Duration
			opts  *FuncOptions
			fatal bool
		}{
			"Error: the call was cancelled; the tool may or may not have run":     {time.Second, nil, true},
			"Error: the tool gave no answer in time; it may still be running":     {time.Hour, &FuncOptions{Options: &Options{Policy: Policy{CallTimeout: time.Second}}}, false},
			"Error: the call was cancelled before it was sent. Nothing was done.": {0, nil, true},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			r := Func("waits", "", waits, tt.opts).Catalog(profile.Plain).Call(ctx, call("1", "waits", ""))
			cancel()
			check.That(t, r.Text == want && (r.Fatal() != nil) == tt.fatal && r.Interrupted() != r.Unsent(),
				"got %q, fatal %v, want %q", r.Text, r.Fatal(), want)
		}
	})
}

func TestFuncThatIsNoTool(t *testing.T) {
	none := func(context.Context, struct{}) (int, error) { return 0, nil }
	for want, f := range map[string]func(){
		`adapter: function "f": schema of chan int: chan int has no JSON`: func() {
			Func("f", "", func(context.Context, chan int) (int, error) { return 0, nil }, nil)
		},
		`adapter: function "f": the argument is int; want a struct or a map with string keys`: func() {
			Func("f", "", func(context.Context, int) (int, error) { return 0, nil }, nil)
		},
		"adapter: function has no name": func() { Func("", "", none, nil) },
		`unknown profile "x"`:           func() { Func("f", "", none, nil).Catalog("x") },
		`unknown profile "y"`:           func() { Merge().Catalog("y") },
	} {
		func() {
			defer func() { check.Contains(t, "panic", fmt.Sprint(recover()), want) }()
			f()
		}()
	}
}

// flatInput has a field of each kind that flat decodes.
type flatInput struct {
	Name   string  `json:"name"`
	Yes    bool    `json:"yes,omitempty"`
	Small  int8    `json:"small"`
	Count  int     `json:"count"`
	Byte   uint8   `json:"byte"`
	Share  float64 `json:"share"`
	Single float32
	Not    *int `json:"-"`
}

// flatTexts are decoded by flat, and otherTexts are left to encoding/json.
var (
	flatTexts = []string{
		`{}`, `{"name":"Ann","yes":true,"small":-3,"count":12,"byte":255,"share":1.5e3,"Single":0.1}`, `{"yes":false}`,
		`{"name":"\u00e4\ud83d\ude00\ud800 \n"}`, "{\"name\":\"\xff\"}", `{"name":"a","name":"b"}`, `{"n\u0061me":"x"}`,
		`{"count":-0}`, `{"share":-0}`, `{"count":7, "name": "x"}`, ` { "count" : 7 }`, `{"small":-128,"byte":0,"count":9223372036854775807}`,
	}
	otherTexts = []string{
		`{"name":null,"count":null}`, `{"NAME":"Ann","single":2}`, `{"count":1.0}`, `{"count":1e2}`, `{"small":128}`, `{"byte":-1}`,
		`{"share":1e999}`, `{"Single":1e39}`, `{"count":"1"}`, `{"name":1}`, `{"yes":"true"}`, `{"other":[{}],"count":1}`,
		`{"hidden":"x","Not":["x"]}`, `{"count":7} `, `{"count":7} {}`, `{"count":7`, `{"count":7,}`, `[]`, `null`, ``,
	}
)

// flat decodes objects as encoding/json does, or not at all.
func FuzzFlat(f *testing.F) {
	for _, text := range slices.Concat(flatTexts, otherTexts) {
		f.Add([]byte(text))
	}
	reads := newFlat(reflect.TypeFor[flatInput]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want flatInput
		if !reads.read(data, reflect.ValueOf(&got).Elem()) {
			return
		}
		err := json.Unmarshal(data, &want)
		check.That(t, err == nil && reflect.DeepEqual(got, want), "%q: got %+v, want %+v, %v", data, got, want, err)
	})
}

// newFlat accepts structs of scalar fields, but no type with its own way of decoding.
func TestFlat(t *testing.T) {
	reads := newFlat(reflect.TypeFor[flatInput]())
	for _, text := range flatTexts {
		var got, want flatInput
		check.NoError(t, json.Unmarshal([]byte(text), &want))
		check.That(t, reads.read([]byte(text), reflect.ValueOf(&got).Elem()) && got == want, "%s: got %+v, want %+v in one pass", text, got, want)
	}
	for _, text := range otherTexts {
		check.That(t, !reads.read([]byte(text), reflect.ValueOf(new(flatInput)).Elem()), "%s: it is read in one pass", text)
	}
	for _, field := range []any{
		"", false, 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), float64(0), time.Duration(0),
	} {
		input := reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeOf(field)}})
		check.That(t, len(newFlat(input)) == 1, "a field of type %T is not read in one pass", field)
	}
	for _, other := range []any{
		struct{ At readItself }{}, struct{ N json.Number }{}, struct{ flatInput }{}, struct{ P *int }{}, struct{ L []string }{}, map[string]string{},
		struct {
			N int `json:"n,string"`
		}{}, struct {
			A int `json:"a b"`
		}{},
	} {
		check.That(t, newFlat(reflect.TypeOf(other)) == nil, "%T is read in one pass", other)
	}
}

// readItself is a string type that decodes itself.
type readItself string

func (r *readItself) UnmarshalText([]byte) error { *r = "read"; return nil }

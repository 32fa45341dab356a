package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const forecasts = `{"tools":[{"name":"forecast","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"degrees":{"type":"number"}}}}]}`

// The model and the log learn of a result that violates its output schema, whichever option checks it.
func TestOutputsAreChecked(t *testing.T) {
	const bad = `{"content":[{"type":"text","text":"very warm"}],"structuredContent":{"degrees":"warm"}}`
	for name, test := range map[string]struct {
		opts          Options
		tools, result string
		want          string // in the model's text besides the result's
	}{
		"off":            {Options{}, forecasts, bad, ""},
		"on":             {Options{Policy: Policy{CheckOutputs: true}}, forecasts, bad, `does not fit the output schema that it declares: at "/degrees"`},
		"fits":           {Options{Policy: Policy{CheckOutputs: true}}, forecasts, `{"content":[{"type":"text","text":"very warm"}],"structuredContent":{"degrees":7}}`, ""},
		"no such schema": {Options{Policy: Policy{CheckOutputs: true}}, strings.Replace(forecasts, `"outputSchema":{`, `"outputSchema":{"$schema":"urn:own",`, 1), bad, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			test.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			ts := open(t, &test.opts, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": test.tools, "tools/call": test.result})})
			r := callTool(t, ts, "forecast", "{}")
			breach := test.want != ""
			check.That(t, strings.Contains(r.Text, "very warm") && strings.Contains(r.Text, test.want) && r.IsError == breach && r.Raw != nil,
				"got %+v, want the result, and %q", r, test.want)
			_, ok := errors.AsType[*mcpclient.OutputError](r.Err)
			check.That(t, ok == breach && r.Fatal() == nil, "got the error %v, fatal %v", r.Err, r.Fatal())
			check.Equal(t, "the log has the breach", strings.Contains(log.String(), "does not fit the output schema"), breach)
			check.Equal(t, "the log says that nothing is checked", strings.Contains(log.String(), "are not checked"), name == "no such schema")
		})
	}
}

// evens is a validator that refuses an odd argument n.
type evens struct{}

func (evens) Compile(schema json.RawMessage) (func(json.RawMessage) error, error) {
	if strings.Contains(string(schema), "refused") {
		return nil, errors.New("refused")
	}
	return func(value json.RawMessage) error {
		var args struct{ N int }
		if err := json.Unmarshal(value, &args); err != nil || args.N%2 != 0 {
			return &mcpclient.SchemaViolation{Path: "/n", Message: "odd"}
		}
		return nil
	}, nil
}

// The host's validator checks the arguments of models, after their repair, and of the host.
func TestValidatorOfArguments(t *testing.T) {
	ts := open(t, &Options{ClientOptions: &mcpclient.Options{Validator: evens{}}}, Server{Name: "s", Transport: scripted(t, map[string]string{
		"tools/list": `{"tools":[{"name":"x","inputSchema":` + number + `},{"name":"y","inputSchema":{"title":"refused"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"done"}]}`,
	})})
	skipped := ts.Servers()[0].Skipped
	check.That(t, len(skipped) == 1 && skipped["y"] != nil, "got %+v left out, want the tool that the validator refuses", skipped)
	tools := ts.Catalog(profile.Plain)
	check.Equal(t, "the even one sent", tools.Call(t.Context(), call("1", "x", `{"n":"2"}`)).Text, "done")
	r := tools.Call(t.Context(), call("1", "x", `{"n":"3"}`))
	_, bad := errors.AsType[*argumentError](r.Err)
	check.That(t, bad && strings.Contains(r.Err.Error(), `"/n"`) && strings.Contains(r.Text, "odd"), "got %q with %v, want the odd one refused", r.Text, r.Err)
	check.Text(t, check.Err(prepare(t, ts, "x", `{"n":4}`).WithArguments(json.RawMessage(`{"n":5}`))), "", "no error of odd arguments of the host")
}
